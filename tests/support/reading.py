"""Reading a partition over the protocol, all of it or from anywhere."""

from collections.abc import Iterator
from typing import NamedTuple

from odradek.model.numbers import Offset
from odradek.records.batch import HEAD_SIZE, BatchHead, parse_head
from odradek.records.record import Record, read_records
from odradek.wire.messages.fetch import FetchPartition, FetchRequest, FetchResponse, FetchTopic, PartitionData
from odradek.wire.messages.list_offsets import (
    ListOffsetsPartition,
    ListOffsetsRequest,
    ListOffsetsResponse,
    ListOffsetsTopic,
)
from support.raw_client import RawClient

EARLIEST = -2


class Found(NamedTuple):
    start: int
    end: int
    records: list[Record]


async def read_partition(client: RawClient, topic: str, partition: int = 0) -> Found:
    """From its start to its high watermark, but for the markers of transactions.

    Raises ValueError where the broker answers with an error.
    """
    start = at = await offset_of(client, topic, partition, EARLIEST)
    records: list[Record] = []
    while True:
        data = await fetch(client, topic, partition, at, 1 << 20)
        if at >= data.high_watermark:
            return Found(start, at, records)
        for head, batch in _batches(data):
            if not head.is_control:
                records += [record for record in read_records(batch, head) if record.offset >= at]
            at = Offset(head.last_offset + 1)


async def fetch(client: RawClient, topic: str, partition: int, at: int, size: int = 1) -> PartitionData:
    """What is there now."""
    wanted = FetchPartition(partition=partition, fetch_offset=at, partition_max_bytes=size)
    request = FetchRequest(max_wait_ms=0, min_bytes=0, topics=(FetchTopic(topic=topic, partitions=(wanted,)),))
    data = (await client.ask(request, FetchResponse, 12)).responses[0].partitions[0]
    if data.error_code:
        raise ValueError(f"fetch of {topic}-{partition} at {at}: error {data.error_code}")
    return data


def records_of(data: PartitionData) -> list[Record]:
    """Of whole batches, but for the markers of transactions."""
    return [record for head, batch in _batches(data) if not head.is_control for record in read_records(batch, head)]


def _batches(data: PartitionData) -> Iterator[tuple[BatchHead, memoryview]]:
    """The whole ones: the last may be cut off, also within its head."""
    rest = memoryview(bytes(data.records or b""))  # type: ignore[arg-type]  # what was received is in memory
    while len(rest) >= HEAD_SIZE:
        head = parse_head(rest)
        if head.size > len(rest):
            return
        yield head, rest[: head.size]
        rest = rest[head.size :]


async def offset_of(client: RawClient, topic: str, partition: int, time: int) -> Offset:
    part = ListOffsetsPartition(partition_index=partition, timestamp=time)
    request = ListOffsetsRequest(replica_id=-1, topics=(ListOffsetsTopic(name=topic, partitions=(part,)),))
    answer = (await client.ask(request, ListOffsetsResponse, 7)).topics[0].partitions[0]
    if answer.error_code:
        raise ValueError(f"offset of {topic}-{partition} at time {time}: error {answer.error_code}")
    return Offset(answer.offset)
