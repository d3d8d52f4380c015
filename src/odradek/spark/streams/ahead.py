"""How far partitions go and what comes next in them, in one answer: for a stream that keeps up.

A broker that is asked for records tells with them where their partition begins and ends. So a stream that knows who
leads what need not ask for that, and what it got goes along with the plan: no task has to fetch it again.
"""

import asyncio
from collections.abc import Iterator, Mapping
from dataclasses import replace
from struct import Struct
from typing import NamedTuple

from odradek.client.errors import ClientError
from odradek.model.errors import CorruptBatch
from odradek.model.topic_partition import TopicPartition
from odradek.records.batch import LOG_OVERHEAD, MAGIC, MAGIC_AT, parse_head
from odradek.spark.cluster import AsksLeaders, Extent
from odradek.spark.reading.range import Ahead, Range
from odradek.wire.messages.fetch import FetchPartition, FetchRequest, FetchResponse, FetchTopic, PartitionData
from odradek.wire.schema import NO_UUID

BYTES_MAX = 512 << 10
"""Of all partitions. What is more is for the tasks, which fetch it at the same time and pass nothing on."""
_BYTES_LEAST = 1
"""For a question that is not about records: a broker still sends one batch, of those that have come since."""

_BASE_OFFSET = Struct(">q")
_LENGTH = Struct(">i")
_LENGTH_AT = 8


class Found(NamedTuple):
    """At and behind an offset."""

    start: int
    next_offset: int
    """Behind the last batch."""
    ahead: Ahead


class Seen(NamedTuple):
    extent: Extent
    found: Mapping[TopicPartition, Found]
    """Of partitions that have more, as far as it is not too much; NOTHING where records were not asked for."""


NOTHING: Mapping[TopicPartition, Found] = {}


async def look_ahead(
    client: AsksLeaders,
    known: Extent,
    starts: Mapping[TopicPartition, int],
    *,
    with_records: bool,
    read_committed: bool,
) -> Seen | None:
    """From these offsets on. None where not all is as it was known to be: then it has to be asked for anew."""
    if starts.keys() != known.latest.keys():
        return None
    by_leader: dict[int, dict[TopicPartition, int]] = {}
    for each, start in starts.items():
        asked = start if with_records else max(start, known.latest[each])
        by_leader.setdefault(known.leaders[each], {})[each] = asked
    bytes_max = BYTES_MAX if with_records else _BYTES_LEAST
    requests = {
        leader: _request(known, mine, bytes_max, read_committed=read_committed) for leader, mine in by_leader.items()
    }
    asking = [client.ask_leader(leader, request, FetchResponse) for leader, request in requests.items()]
    try:
        answers = await asyncio.gather(*asking) if len(asking) > 1 else [await each for each in asking]
    except ClientError:
        return None
    told = dict(_partitions(known, answers))
    if told.keys() != starts.keys():
        return None
    latest = {each: data.last_stable_offset if read_committed else data.high_watermark for each, data in told.items()}
    earliest = {each: data.log_start_offset for each, data in told.items()}
    if any(data.error_code or not 0 <= earliest[each] <= starts[each] <= latest[each] for each, data in told.items()):
        return None
    found = _found(starts, told, read_committed=read_committed) if with_records else NOTHING
    return Seen(replace(known, earliest=earliest, latest=latest), found)


def with_found(planned: Range, found: Mapping[TopicPartition, Found]) -> Range:
    """The range with its records, if all of them were found."""
    each = found.get(TopicPartition(planned.topic, planned.partition))
    if each is None or planned.start != each.start or planned.end > each.next_offset:
        return planned
    if planned.end == each.next_offset:
        return replace(planned, ahead=each.ahead)
    return replace(planned, ahead=each.ahead._replace(records=_before(each.ahead.records, planned.end)))


def _before(records: bytes, end: int) -> bytes:
    """Without batches that begin at `end` or behind it."""
    for at in _whole_batches(records):
        if _BASE_OFFSET.unpack_from(records, at)[0] >= end:
            return records[:at]
    return records


def _request(
    known: Extent, starts: Mapping[TopicPartition, int], bytes_max: int, *, read_committed: bool
) -> FetchRequest:
    topics: dict[str, list[FetchPartition]] = {}
    for (topic, partition), start in starts.items():
        wanted = FetchPartition(partition=partition, fetch_offset=start, partition_max_bytes=bytes_max)
        topics.setdefault(topic, []).append(wanted)
    return FetchRequest(
        max_wait_ms=0,
        min_bytes=0,
        max_bytes=bytes_max,
        isolation_level=int(read_committed),
        topics=tuple(
            FetchTopic(topic=topic, topic_id=known.topic_ids[topic], partitions=tuple(wanted))
            for topic, wanted in topics.items()
        ),
    )


def _partitions(known: Extent, answers: list[FetchResponse]) -> Iterator[tuple[TopicPartition, PartitionData]]:
    """By the ids of their topics: a broker that goes by names might tell of another topic of the same name."""
    names = {topic_id: name for name, topic_id in known.topic_ids.items() if topic_id != NO_UUID}
    for answer in answers:
        for topic in answer.responses:
            if topic.topic_id in names:
                for data in topic.partitions:
                    yield TopicPartition(names[topic.topic_id], data.partition_index), data


def _found(
    starts: Mapping[TopicPartition, int], told: Mapping[TopicPartition, PartitionData], *, read_committed: bool
) -> dict[TopicPartition, Found]:
    found = {}
    left = BYTES_MAX
    for each, data in told.items():
        received: bytes | memoryview = data.records or b""  # type: ignore[assignment]  # it is in memory
        left -= len(received)
        if left < 0:
            break
        records = bytes(received)
        next_offset = _behind_last(records)
        if next_offset is not None:
            aborted = data.aborted_transactions or () if read_committed else ()
            ahead = Ahead(records, tuple((one.producer_id, one.first_offset) for one in aborted))
            found[each] = Found(starts[each], next_offset, ahead)
    return found


def _behind_last(records: bytes) -> int | None:
    """The offset behind the last whole batch. None where there is none, and for what tasks know better: batches that
    are corrupt, and messages of older formats, which have their last offset in place of the first."""
    last = None
    for at in _whole_batches(records):
        if records[at + MAGIC_AT] != MAGIC:
            return None
        last = at
    try:
        return None if last is None else parse_head(records, last).next_offset
    except CorruptBatch:
        return None


def _whole_batches(records: bytes) -> Iterator[int]:
    """Where each begins."""
    at = 0
    while len(records) - at >= LOG_OVERHEAD:
        (length,) = _LENGTH.unpack_from(records, at + _LENGTH_AT)
        following = at + LOG_OVERHEAD + length
        if length <= MAGIC_AT - LOG_OVERHEAD or following > len(records):
            return
        yield at
        at = following
