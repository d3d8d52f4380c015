"""DescribeQuorum, versions 0 to 2, for a quorum of one: this node is its leader, and there are no observers."""

from odradek.broker.call import Call
from odradek.controller.topic_names import METADATA_TOPIC
from odradek.model.clock import Clock
from odradek.model.error_code import ErrorCode
from odradek.quorum.metadata_log import MetadataLog
from odradek.wire.messages.describe_quorum import (
    DescribeQuorumRequest,
    DescribeQuorumResponse,
    Listener,
    Node,
    PartitionResult,
    ReplicaState,
    TopicResult,
)
from odradek.wire.schema import NO_UUID

VERSIONS = (0, 2)
_NODES_SINCE = 2
"""And ids of directories."""


class DescribeQuorum:
    def __init__(self, metadata: MetadataLog, node_id: int, clock: Clock) -> None:
        self._metadata = metadata
        self._node_id = node_id
        self._clock = clock

    def handle(self, call: Call, request: DescribeQuorumRequest) -> DescribeQuorumResponse:
        has_nodes = call.version >= _NODES_SINCE
        topics = tuple(
            TopicResult(
                topic_name=topic.topic_name,
                partitions=tuple(
                    self._describe(topic.topic_name, each.partition_index, has_nodes=has_nodes)
                    for each in topic.partitions
                ),
            )
            for topic in request.topics
        )
        described = any(part.error_code == ErrorCode.NONE for topic in topics for part in topic.partitions)
        return DescribeQuorumResponse(topics=topics, nodes=self._nodes() if described and has_nodes else ())

    def _describe(self, topic: str, index: int, *, has_nodes: bool) -> PartitionResult:
        if (topic, index) != (METADATA_TOPIC, 0):
            return PartitionResult(
                partition_index=index,
                error_code=ErrorCode.UNKNOWN_TOPIC_OR_PARTITION,
                error_message=f"{topic}-{index} has no quorum",
                leader_id=0,
                leader_epoch=0,
                high_watermark=0,
                current_voters=(),
                observers=(),
            )
        return PartitionResult(
            partition_index=index,
            leader_id=self._node_id,
            leader_epoch=self._metadata.epoch,
            high_watermark=self._metadata.high_watermark,
            current_voters=(self._me(has_directory=has_nodes),),
            observers=(),
        )

    def _me(self, *, has_directory: bool) -> ReplicaState:
        """A leader is up to date with itself at any time."""
        record, now = self._metadata.image.voters.record, self._clock.now_ms()
        return ReplicaState(
            replica_id=self._node_id,
            replica_directory_id=record.voters[0].voter_directory_id if record and has_directory else NO_UUID,
            log_end_offset=self._metadata.latest.end_offset,
            last_fetch_timestamp=now,
            last_caught_up_timestamp=now,
        )

    def _nodes(self) -> tuple[Node, ...]:
        """With the addresses that the voters' record has; one that is a quorum by itself needs none."""
        record = self._metadata.image.voters.record
        endpoints = record.voters[0].endpoints if record else ()
        listeners = tuple(Listener(name=each.name, host=each.host, port=each.port) for each in endpoints)
        return (Node(node_id=self._node_id, listeners=listeners),)
