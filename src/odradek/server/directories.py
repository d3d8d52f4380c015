"""The log directories of a node, and the one that has the metadata log, which may be one of them."""

import logging
from collections.abc import Callable

from odradek.metadata.uuids import from_text
from odradek.model.errors import StorageFailed
from odradek.model.topic_config import TopicConfig
from odradek.process.machine import Machine
from odradek.server.node_setting import NodeSetting
from odradek.storage.log_dir import LogDir
from odradek.storage.log_dirs import LogDirs, Setting
from odradek.storage.open_files import OpenFiles, capacity_within
from odradek.storage.recovery import Event

logger = logging.getLogger(__name__)


class Directories:
    def __init__(self, logs: LogDirs, alone: LogDirs | None, metadata: LogDir) -> None:
        self.logs = logs
        self.metadata = metadata
        """Has the metadata log."""
        self._alone = alone
        """Of the metadata log, where that lies in a directory of its own."""

    @classmethod
    def take(
        cls, setting: NodeSetting, machine: Machine, handles: int, config_of: Callable[[str], TopicConfig]
    ) -> "Directories":
        """Lock them and read whose they are. Raises what `LogDirs.take` raises, and StorageFailed where the one that
        has the metadata log cannot be used: with another, the node would begin a new cluster.

        `handles` is how many files and connections the process may have open.
        """
        given = _log_setting(setting, machine, config_of)
        open_files = OpenFiles(machine.files, capacity_within(handles))
        logs = LogDirs.take(open_files, setting.directories, given)
        alone = None
        try:
            path = setting.metadata_path
            if path not in setting.directories:
                alone = LogDirs.take(open_files, [path], given)
                alone.load()
                return cls(logs, alone, alone.dirs[0])
            found = next((log_dir for log_dir in logs.dirs if log_dir.path == path), None)
            if found is None:
                report(logs.events)
                raise StorageFailed(f"{path} has the metadata log, and cannot be used")
        except BaseException:
            cls(logs, alone, logs.dirs[0]).abandon()
            raise
        return cls(logs, None, found)

    @property
    def ids(self) -> tuple[bytes, ...]:
        """Of the log directories, as far as they have any."""
        metas = (each.meta for each in self.logs.dirs)
        return tuple(from_text(meta.directory_id) for meta in metas if meta is not None and meta.directory_id)

    def load(self) -> None:
        """Load the logs of partitions. Blocks."""
        self.logs.load()
        report(self.logs.events)

    def close(self, broker_epoch: int) -> None:
        """A clean stop. A directory that failed does not keep the others from being closed."""
        self.logs.close(broker_epoch)
        if self._alone is not None:
            self._alone.close(broker_epoch)

    def abandon(self) -> None:
        """As a crash would leave them. After a clean close there is nothing left to abandon."""
        self.logs.abandon()
        if self._alone is not None:
            self._alone.abandon()


def report(*lists: list[Event]) -> None:
    """Each event is logged once."""
    for events in lists:
        for event in events:
            logger.warning(event.text, extra=event.fields)
        events.clear()


def _log_setting(setting: NodeSetting, machine: Machine, config_of: Callable[[str], TopicConfig]) -> Setting:
    return Setting(
        clock=machine.clock,
        config_of=config_of,
        unique_id=lambda: machine.new_uuid().hex(),
        jitter=lambda jitter_ms: machine.random.randrange(jitter_ms) if jitter_ms else 0,
        producer_expiry_ms=setting.config.producer_id_expiration_ms,
        children=machine.children,
    )
