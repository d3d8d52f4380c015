"""What becomes of a node whose log directories go offline while it runs.

It goes on with those that are left. Without any, or without the one that has the metadata log, it has to end, as Kafka
does: whoever started it sees that it is gone and may start it anew, where one that refused every request would look as
if it was there.
"""

import asyncio
import logging
from collections.abc import Callable, Sequence
from functools import partial

from odradek.broker.broker import Broker
from odradek.model.errors import StorageFailed
from odradek.storage.log_dir import LogDir

logger = logging.getLogger(__name__)


class OfflineLogDirs:
    def __init__(self, broker: Broker, dirs: Sequence[LogDir], metadata: LogDir, end: Callable[[str], None]) -> None:
        """`end` is called with the reason when there is nothing to go on with; perhaps more than once."""
        self._broker = broker
        self._dirs = dirs
        self._metadata = metadata
        self._end = end

    def watch(self) -> None:
        """From now on. Directories that are offline already count too."""
        loop = asyncio.get_running_loop()
        for log_dir in (self._metadata, *self._dirs):
            # Disks fail in any thread.
            log_dir.on_offline = partial(loop.call_soon_threadsafe, self._went_offline, log_dir)
        if not all(log_dir.online for log_dir in (self._metadata, *self._dirs)):
            self._update()

    def _went_offline(self, log_dir: LogDir) -> None:
        logger.error("a log directory failed", extra={"path": log_dir.path, "reason": log_dir.offline_reason})
        self._update()

    def _update(self) -> None:
        """Fail the partitions in offline directories; end the node where it cannot go on."""
        in_offline = [log_dir for log_dir in self._dirs if not log_dir.online]
        offline = self._broker.partitions.keys() & {where for each in in_offline for where in each.logs}
        for where in sorted(offline - self._broker.offline):
            self._broker.partitions[where].fail(StorageFailed(f"the log directory of {where} is offline"))
        self._broker.offline |= offline
        if not self._metadata.online:
            self._end(f"{self._metadata.path} has the metadata log, and failed: {self._metadata.offline_reason}")
        elif not any(log_dir.online for log_dir in self._dirs):
            reasons = "; ".join(f"{log_dir.path}: {log_dir.offline_reason}" for log_dir in self._dirs)
            self._end(f"no log directory can be used any more: {reasons}")
