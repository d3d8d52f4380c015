"""Fetches of committed records, and what is in their answers."""

from collections.abc import Mapping

from odradek.model.topic_partition import TopicPartition
from odradek.wire.messages.fetch import FetchPartition, FetchRequest, FetchResponse, FetchTopic, PartitionData
from support.sim.groups.requests import by_topic

_READ_COMMITTED = 1
_WAIT_MS = 200


def fetch_request(positions: Mapping[TopicPartition, int], size: int) -> FetchRequest:
    """`size` is how many bytes of each partition are wanted; there is one batch at least."""
    return FetchRequest(
        max_wait_ms=_WAIT_MS,
        min_bytes=1,
        isolation_level=_READ_COMMITTED,
        topics=tuple(
            FetchTopic(
                topic=topic,
                partitions=tuple(
                    FetchPartition(
                        partition=number,
                        fetch_offset=positions[TopicPartition(topic, number)],
                        partition_max_bytes=size,
                    )
                    for number in numbers
                ),
            )
            for topic, numbers in by_topic(positions).items()
        ),
    )


def partitions_in(response: FetchResponse) -> dict[TopicPartition, PartitionData]:
    """Those that could be read."""
    return {
        TopicPartition(topic.topic, data.partition_index): data
        for topic in response.responses
        for data in topic.partitions
        if not data.error_code
    }
