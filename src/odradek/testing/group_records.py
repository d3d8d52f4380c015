"""What a coordinator wrote of a group, read from a broker of either make with Fetch."""

from collections.abc import Iterator

from odradek.records.batch import parse_head
from odradek.records.record import read_records
from odradek.testing.same_answers import SETTINGS, Asker
from odradek.wire.messages.fetch import FetchPartition, FetchRequest, FetchResponse, FetchTopic
from odradek.wire.schema import Message
from odradek.wire.stored import CONSUMER_OFFSETS

Record = tuple[Message, Message | None]

_TOPIC = "__consumer_offsets"
_VERSION = 12
_OF_OFFSETS = (0, 1)


async def records_of(ask: Asker, group_id: str) -> list[Record]:
    """All but offsets, in their order."""
    found: list[Record] = []
    for partition in range(int(SETTINGS["offsets.topic.num.partitions"])):
        at, end = 0, 1
        while at < end:
            wanted = FetchPartition(partition=partition, fetch_offset=at, partition_max_bytes=1 << 20)
            request = FetchRequest(max_wait_ms=0, min_bytes=0, topics=(FetchTopic(topic=_TOPIC, partitions=(wanted,)),))
            answer: FetchResponse = await ask.quietly(request, _VERSION)
            data = answer.responses[0].partitions[0]
            end = data.high_watermark
            for offset, key, value in _read(data.records):
                if offset >= at:
                    at = offset + 1
                    named = getattr(key, "group_id", None) or getattr(key, "group", None)
                    if named == group_id and key.spec.key not in _OF_OFFSETS:
                        found.append((key, value))
    return found


def _read(data: object) -> Iterator[tuple[int, Message, Message | None]]:
    assert data is None or isinstance(data, (bytes, memoryview))
    rest = memoryview(data or b"")
    while rest:
        head = parse_head(rest)
        if head.size > len(rest):
            return
        for record in read_records(rest[: head.size], head):
            key = CONSUMER_OFFSETS.read_key(record.key or b"")
            value = None if record.value is None else CONSUMER_OFFSETS.read_value(key, record.value)[0]
            yield record.offset, key, value
        rest = rest[head.size :]
