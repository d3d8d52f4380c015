"""What a node does for its logs from time to time: flush, checkpoint, retention, removal, expiry of producers.

Decisions are made on the loop, where the logs live; whatever waits for the disk runs in the pool.
"""

import asyncio
import logging
from collections.abc import Awaitable, Callable
from concurrent.futures import Executor
from dataclasses import dataclass
from typing import TYPE_CHECKING

from odradek.model.clock import Clock
from odradek.model.errors import StorageFailed
from odradek.storage.flush import Flusher
from odradek.storage.log_dir import LogDir
from odradek.storage.log_dirs import LogDirs

if TYPE_CHECKING:
    from odradek.model.numbers import TimestampMs

logger = logging.getLogger(__name__)


@dataclass(frozen=True, slots=True)
class Intervals:
    """Kafka's names for these are in the comments."""

    flush_ms: int = (
        1_000  # log.flush.scheduler.interval.ms; Kafka's default never looks, so that flush.ms has no effect
    )
    checkpoint_ms: int = 60_000  # log.flush.offset.checkpoint.interval.ms
    retention_ms: int = 300_000  # log.retention.check.interval.ms
    removal_ms: int = 1_000
    producer_expiry_ms: int = 600_000  # producer.id.expiration.check.interval.ms


class Housekeeping:
    def __init__(self, logs: LogDirs, pool: Executor, clock: Clock, intervals: Intervals = Intervals()) -> None:  # noqa: B008
        self._logs = logs
        self._pool = pool
        self._clock = clock
        self._intervals = intervals
        self.flusher = Flusher(pool)

    async def run(self) -> None:
        """Until cancelled."""
        duties = (
            ("flush", self._intervals.flush_ms, self.flush),
            ("checkpoint", self._intervals.checkpoint_ms, self.checkpoint),
            ("retention", self._intervals.retention_ms, self.apply_retention),
            ("removal", self._intervals.removal_ms, self.remove),
            ("producer-expiry", self._intervals.producer_expiry_ms, self.expire_producers),
        )
        async with asyncio.TaskGroup() as tasks:
            for name, interval_ms, duty in duties:
                tasks.create_task(self._repeat(interval_ms, duty), name=name)

    async def _repeat(self, interval_ms: int, duty: Callable[[], Awaitable[None]]) -> None:
        while True:
            await asyncio.sleep(interval_ms / 1000)
            await duty()

    async def flush(self) -> None:
        """Sync logs whose flush.ms is over, and segments that were closed."""
        now = self._clock.now_ms()
        waiting = [self.flusher.request(log) for log in self._logs if log.flush_due(now) and not log.is_held]
        if waiting:
            await asyncio.wait(waiting)

    async def checkpoint(self) -> None:
        for log_dir in list(self._logs.dirs):
            await self._checkpoint(log_dir)

    async def _checkpoint(self, log_dir: LogDir) -> None:
        changed = log_dir.changed_checkpoints()
        if changed.files:
            await asyncio.get_running_loop().run_in_executor(self._pool, log_dir.store_checkpoints, changed)

    async def apply_retention(self) -> None:
        now = self._clock.now_ms()
        for log in list(self._logs):
            try:
                count, reason = log.apply_retention(now)
            except StorageFailed:
                continue  # its directory failed and said so
            if count and reason:
                fields = {"partition": str(log.partition), "segments": count, "start_offset": log.start_offset}
                logger.info("deleted old segments", extra={**fields, "reason": reason.value})
            await asyncio.sleep(0)  # others first: there may be thousands of logs

    async def remove(self) -> None:
        """Delete files whose time has come, and what checkpoints say of partitions that were deleted."""
        now: TimestampMs = self._clock.now_ms()
        loop = asyncio.get_running_loop()
        for log_dir in list(self._logs.dirs):
            if log_dir.has_stale_checkpoints:
                await self._checkpoint(log_dir)
            due = log_dir.take_due_deletes(now)
            if due:
                await loop.run_in_executor(self._pool, log_dir.delete, due)

    async def expire_producers(self) -> None:
        now = self._clock.now_ms()
        for log in list(self._logs):
            log.producers.expire(now, self._logs.producer_expiry_ms)
