"""DescribeLogDirs, versions 1 to 5. Directories that failed, or could not be opened, come with an error."""

import asyncio
import os
import shutil
from concurrent.futures import Executor
from typing import NamedTuple

from odradek.broker.broker import Broker
from odradek.broker.call import Call
from odradek.model.errors import StorageFailed
from odradek.model.topic_partition import TopicPartition
from odradek.storage.log import Log
from odradek.storage.log_dir import LogDir
from odradek.storage.log_dirs import LogDirs
from odradek.wire.messages.describe_log_dirs import (
    DescribeLogDirsPartition,
    DescribeLogDirsRequest,
    DescribeLogDirsResponse,
    DescribeLogDirsResult,
    DescribeLogDirsTopic,
)

VERSIONS = (1, 5)


class Space(NamedTuple):
    """Of the disk that a directory is on."""

    total_bytes: int
    usable_bytes: int


class DescribeLogDirs:
    def __init__(self, broker: Broker, logs: LogDirs, pool: Executor) -> None:
        self._broker = broker
        self._logs = logs
        self._pool = pool

    async def handle(self, _call: Call, request: DescribeLogDirsRequest) -> DescribeLogDirsResponse:
        """Without a list: all partitions."""
        wanted = None
        if request.topics is not None:
            wanted = {TopicPartition(topic.topic, index) for topic in request.topics for index in topic.partitions}
        dirs = list(self._logs.dirs)
        spaces = [await self._space(each) for each in dirs]
        # From here on in one breath: what moves meanwhile would be in two directories, or a copy of nothing in one.
        results = [self._describe(each, space, wanted) for each, space in zip(dirs, spaces, strict=True)]
        return DescribeLogDirsResponse(results=(*results, *map(_failed, self._logs.unusable)))

    async def _space(self, log_dir: LogDir) -> Space | None:
        """None where the directory has failed."""
        path = _absolute(log_dir.path)
        try:
            log_dir.check_online()
            # A disk that hangs must not hold up everybody else.
            usage = await asyncio.get_running_loop().run_in_executor(self._pool, shutil.disk_usage, path)
        except (StorageFailed, OSError):
            return None
        return Space(usage.total, usage.free)

    def _describe(
        self, log_dir: LogDir, space: Space | None, wanted: set[TopicPartition] | None
    ) -> DescribeLogDirsResult:
        if space is None:
            return _failed(log_dir.path)
        return DescribeLogDirsResult(
            log_dir=_absolute(log_dir.path),
            topics=self._topics(log_dir, wanted),
            total_bytes=space.total_bytes,
            usable_bytes=space.usable_bytes,
            is_cordoned=log_dir.path in self._logs.cordoned,
        )

    def _topics(self, log_dir: LogDir, wanted: set[TopicPartition] | None) -> tuple[DescribeLogDirsTopic, ...]:
        found: dict[str, list[DescribeLogDirsPartition]] = {}
        for logs, is_future in ((log_dir.logs, False), (log_dir.future_logs, True)):
            for where in sorted(logs):
                if wanted is None or where in wanted:
                    found.setdefault(where.topic, []).append(self._partition(logs[where], is_future=is_future))
        return tuple(DescribeLogDirsTopic(name=name, partitions=tuple(parts)) for name, parts in found.items())

    def _partition(self, log: Log, *, is_future: bool) -> DescribeLogDirsPartition:
        """A future log lags behind the end of the one that it is to replace, any other behind its high watermark."""
        current = self._logs.get(log.partition)
        if current is None:
            lag = -1
        elif is_future:
            lag = current.end_offset - log.end_offset
        else:
            lag = max(current.high_watermark - log.end_offset, 0)
        return DescribeLogDirsPartition(
            partition_index=log.partition.partition,
            partition_size=log.size + log.arriving_bytes,
            offset_lag=lag,
            is_future_key=is_future,
        )


def _failed(path: str) -> DescribeLogDirsResult:
    return DescribeLogDirsResult(error_code=StorageFailed.code, log_dir=_absolute(path), topics=())


def _absolute(path: str) -> str:
    return os.path.abspath(path)
