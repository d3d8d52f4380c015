"""Answers to heartbeats."""

from odradek.coordinators.groups.consumer.member import Partitions
from odradek.model.errors import BrokerError
from odradek.wire.messages.consumer_group_heartbeat import (
    Assignment,
    ConsumerGroupHeartbeatResponse,
    TopicPartitions,
)

_TEXT_MAX = 1000
"""Characters. Texts quote what the client sent, and clients read none that is longer than 32,767 bytes."""


def refused(error: BrokerError) -> ConsumerGroupHeartbeatResponse:
    return ConsumerGroupHeartbeatResponse(error_code=error.code, error_message=str(error)[:_TEXT_MAX])


def assignment_of(partitions: Partitions) -> Assignment:
    return Assignment(
        topic_partitions=tuple(
            TopicPartitions(topic_id=topic_id, partitions=tuple(sorted(epochs)))
            for topic_id, epochs in sorted(partitions.items())
        )
    )
