"""AlterReplicaLogDirs, versions 1 to 2: partitions begin to move when the answer leaves; DescribeLogDirs tells how far
they are."""

from odradek.broker.call import Call
from odradek.broker.partitions.moves import Moves
from odradek.model.error_code import ErrorCode
from odradek.model.errors import BrokerError
from odradek.model.topic_partition import TopicPartition
from odradek.wire.messages.alter_replica_log_dirs import (
    AlterReplicaLogDirPartitionResult,
    AlterReplicaLogDirsRequest,
    AlterReplicaLogDirsResponse,
    AlterReplicaLogDirTopicResult,
)

VERSIONS = (1, 2)


class AlterReplicaLogDirs:
    def __init__(self, moves: Moves) -> None:
        self._moves = moves

    async def handle(self, _call: Call, request: AlterReplicaLogDirsRequest) -> AlterReplicaLogDirsResponse:
        """A partition comes once in the answer, and of several directories for it the last one counts."""
        wanted = {
            TopicPartition(topic.name, index): each.path
            for each in request.dirs
            for topic in each.topics
            for index in topic.partitions
        }
        results: dict[str, list[AlterReplicaLogDirPartitionResult]] = {}
        for where, path in wanted.items():
            result = AlterReplicaLogDirPartitionResult(
                partition_index=where.partition, error_code=await self._begin(where, path)
            )
            results.setdefault(where.topic, []).append(result)
        return AlterReplicaLogDirsResponse(
            results=tuple(
                AlterReplicaLogDirTopicResult(topic_name=name, partitions=tuple(parts))
                for name, parts in results.items()
            )
        )

    async def _begin(self, where: TopicPartition, path: str) -> int:
        try:
            await self._moves.begin(where, path)
        except BrokerError as error:
            return error.code
        return ErrorCode.NONE
