"""DeleteRecords, versions 0 to 2: moves the start of partitions, which is on disk before the answer leaves."""

import asyncio
from collections.abc import Iterable
from concurrent.futures import Executor

from odradek.broker.broker import Broker
from odradek.broker.call import Call
from odradek.broker.coordination.internal_topics import INTERNAL_TOPICS
from odradek.controller.errors import PolicyViolation
from odradek.model.errors import BrokerError, InvalidTopic, OffsetOutOfRange
from odradek.model.numbers import NO_OFFSET, Offset
from odradek.model.topic_partition import TopicPartition
from odradek.storage.log import Log
from odradek.storage.log_dirs import LogDirs
from odradek.wire.messages.delete_records import (
    DeleteRecordsPartitionResult,
    DeleteRecordsRequest,
    DeleteRecordsResponse,
    DeleteRecordsTopicResult,
)

VERSIONS = (0, 2)
_ALL = -1
"""Up to the high watermark."""


class DeleteRecords:
    def __init__(self, broker: Broker, logs: LogDirs, pool: Executor) -> None:
        self._broker = broker
        self._logs = logs
        self._pool = pool

    async def handle(self, _call: Call, request: DeleteRecordsRequest) -> DeleteRecordsResponse:
        """A partition comes once in the answer, and of several offsets for it the last one counts."""
        offsets = {
            TopicPartition(topic.name, part.partition_index): part.offset
            for topic in request.topics
            for part in topic.partitions
        }
        outcomes = {where: self._delete(where, offset) for where, offset in offsets.items()}
        await self._checkpoint([log for log in outcomes.values() if isinstance(log, Log)])
        results: dict[str, list[DeleteRecordsPartitionResult]] = {}
        for where, outcome in outcomes.items():
            results.setdefault(where.topic, []).append(_result(where.partition, outcome))
        topics = tuple(DeleteRecordsTopicResult(name=name, partitions=tuple(parts)) for name, parts in results.items())
        return DeleteRecordsResponse(topics=topics)

    def _delete(self, where: TopicPartition, offset: int) -> Log | BrokerError:
        try:
            log = self._broker.partition(*where).log
            if where.topic in INTERNAL_TOPICS:
                raise InvalidTopic(f"records of {where.topic} are deleted by brokers only")
            if log.config.is_compacted and not log.config.is_deleted:
                raise PolicyViolation(f"{where.topic} keeps the last record of each key")
            if offset < _ALL:
                raise OffsetOutOfRange(Offset(offset), log.start_offset, log.high_watermark)
            log.advance_start(log.high_watermark if offset == _ALL else Offset(offset))
        except BrokerError as error:
            return error
        return log

    async def _checkpoint(self, logs: Iterable[Log]) -> None:
        """A start inside a segment is in no other file: without this, a crash would bring the records back."""
        homes = {log.log_dir.path for log in logs}
        loop = asyncio.get_running_loop()
        for log_dir in list(self._logs.dirs):
            if log_dir.path in homes:
                changed = log_dir.changed_checkpoints()
                await asyncio.shield(loop.run_in_executor(self._pool, log_dir.store_checkpoints, changed))


def _result(index: int, outcome: Log | BrokerError) -> DeleteRecordsPartitionResult:
    try:
        if isinstance(outcome, BrokerError):
            raise outcome
        outcome.log_dir.check_online()  # the checkpoint may have failed
    except BrokerError as error:
        return DeleteRecordsPartitionResult(partition_index=index, low_watermark=NO_OFFSET, error_code=error.code)
    return DeleteRecordsPartitionResult(partition_index=index, low_watermark=outcome.start_offset)
