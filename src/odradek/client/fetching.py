"""Batches of records, as the leader of a partition has them."""

from odradek.client.client import Client
from odradek.client.errors import Refused
from odradek.model.numbers import Offset
from odradek.model.topic_partition import TopicPartition
from odradek.wire.messages.fetch import FetchPartition, FetchRequest, FetchResponse, FetchTopic

_NAMED_MAX = 12
"""Later versions have the ids of topics in place of their names."""


async def fetch_batches(
    client: Client, leader: int, partition: TopicPartition, at: Offset, bytes_max: int = 1
) -> memoryview:
    """From the batch that has this offset, or the first one behind it.

    A broker sends one batch, however small the limit is. The last of several may be cut off.
    """
    wanted = FetchPartition(partition=partition.partition, fetch_offset=at, partition_max_bytes=bytes_max)
    topics = (FetchTopic(topic=partition.topic, partitions=(wanted,)),)
    request = FetchRequest(max_wait_ms=0, min_bytes=0, max_bytes=bytes_max, topics=topics)
    response = await client.ask_leader(leader, request, FetchResponse, _NAMED_MAX)
    data = response.responses[0].partitions[0] if response.responses else None
    code = response.error_code or (data.error_code if data is not None else 0)
    if code:
        raise Refused(code)
    return memoryview(b"" if data is None or data.records is None else data.records)  # type: ignore[arg-type]
