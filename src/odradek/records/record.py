"""The records inside a batch: reading them, scanning their keys, checking them.

A record, all numbers zigzag varints: length of what follows, attributes int8 (unused), timestamp delta, offset delta,
key length and key, value length and value, header count, and for each header its key length and key, its value length
and value. A negative length stands for null, where null is allowed.
"""

from collections.abc import Iterator
from typing import NamedTuple

from odradek.model.errors import CorruptBatch
from odradek.model.numbers import Offset, TimestampMs
from odradek.records.batch import HEAD_SIZE, BatchHead, Codec, TimestampType
from odradek.records.compression import INFLATED_MAX, decompress
from odradek.records.varint import INT64_BYTES_MAX, read_unsigned, unzigzag

Headers = tuple[tuple[str, bytes | None], ...]

_INT64_MIN, _INT64_MAX = -(1 << 63), (1 << 63) - 1
_make = tuple.__new__
"""Makes a named tuple in a third of the time that its constructor takes."""


class Record(NamedTuple):
    offset: Offset
    timestamp: TimestampMs
    key: bytes | None
    value: bytes | None
    headers: Headers = ()


class ScannedRecord(NamedTuple):
    offset_delta: int
    key: bytes | None
    has_value: bool


_Layout = tuple[int, int, int, int, int, int, int]
"""Of a record: timestamp delta, offset delta, where its key starts and ends, where its value starts and ends, where it
ends itself. A key or value that is null starts at -1.
"""


def read_records(batch: memoryview, head: BatchHead, limit: int = INFLATED_MAX) -> Iterator[Record]:
    """The records of `batch`, which is exactly the batch that `head` was read from.

    Raises CorruptBatch, maybe after some records, unless all of this holds: the count is that of the head, lengths add
    up to the end of the batch, offset deltas rise and stay within the head's last one, and timestamps fit into 64 bits.
    `limit` bounds what a compressed batch may inflate to.
    """
    data = _inflate(batch, head, limit)
    base_offset, base_timestamp = head.base_offset, head.base_timestamp
    append_time = head.max_timestamp if head.timestamp_type is TimestampType.LOG_APPEND_TIME else None
    for delta, offset_delta, key_at, key_end, value_at, value_end, end in _layouts(data, head):
        timestamp = base_timestamp + delta if append_time is None else append_time
        if not _INT64_MIN <= timestamp <= _INT64_MAX:
            raise CorruptBatch(f"timestamp {timestamp} of offset delta {offset_delta} does not fit into 64 bits")
        record = (
            base_offset + offset_delta,
            timestamp,
            None if key_at < 0 else data[key_at:key_end],
            None if value_at < 0 else data[value_at:value_end],
            () if end == value_end + 1 and data[value_end] == 0 else _read_headers(data, value_end, end),
        )
        yield _make(Record, record)


def scan(batch: memoryview, head: BatchHead, limit: int = INFLATED_MAX) -> Iterator[ScannedRecord]:
    """Offset delta and key of each record, and whether it has a value. Like read_records, but skips over headers."""
    data = _inflate(batch, head, limit)
    for _, offset_delta, key_at, key_end, value_at, _, _ in _layouts(data, head):
        yield _make(ScannedRecord, (offset_delta, None if key_at < 0 else data[key_at:key_end], value_at >= 0))


def check_records(batch: memoryview, head: BatchHead, limit: int = INFLATED_MAX) -> None:
    """Raises CorruptBatch for what read_records refuses, and builds nothing."""
    data = _inflate(batch, head, limit)
    least, most = _INT64_MIN - head.base_timestamp, _INT64_MAX - head.base_timestamp
    for delta, offset_delta, _, _, _, value_end, end in _layouts(data, head):
        if not least <= delta <= most and head.timestamp_type is TimestampType.CREATE_TIME:
            raise CorruptBatch(f"timestamp of offset delta {offset_delta} does not fit into 64 bits")
        if end != value_end + 1 or data[value_end] != 0:
            for _ in _header_spans(data, value_end, end):
                pass


def _inflate(batch: memoryview, head: BatchHead, limit: int) -> bytes:
    """The records as bytes: of these, single bytes and slices are read far faster than of views."""
    if len(batch) != head.size:
        raise CorruptBatch(f"batch of {head.size} bytes given as {len(batch)}")
    records = batch[HEAD_SIZE:]
    if head.codec is Codec.NONE or (head.count == 0 and not records):
        return bytes(records)
    return bytes(decompress(head.codec, records, limit))


def _layouts(data: bytes, head: BatchHead) -> Iterator[_Layout]:
    """The one loop under all readers.

    Positions only ever grow, so a part that runs past the end of its record shows in the comparison that closes the
    record, or as an IndexError at the end of the data.
    """
    if head.count < 0:
        raise CorruptBatch(f"record count of {head.count}")
    size, last, last_allowed = len(data), -1, head.last_offset_delta
    at = start = number = 0
    try:
        for number in range(head.count):
            start = at
            length, at = read_unsigned(data, at)
            end = at + (length >> 1)
            at += 1  # attributes
            timestamp, at = read_unsigned(data, at, INT64_BYTES_MAX)
            offset, at = read_unsigned(data, at)
            if offset & 1 or not last < (offset := offset >> 1) <= last_allowed:
                raise CorruptBatch(f"record {number} at {start} has an offset delta out of order")
            last = offset
            key_size, at = read_unsigned(data, at)
            key_at, at = (-1, at) if key_size & 1 else (at, at + (key_size >> 1))
            key_end = at
            value_size, at = read_unsigned(data, at)
            value_at, at = (-1, at) if value_size & 1 else (at, at + (value_size >> 1))
            if length & 1 or not at < end <= size:
                raise CorruptBatch(f"record {number} at {start} is not as long as it says")
            yield timestamp >> 1 ^ -(timestamp & 1), offset, key_at, key_end, value_at, at, end
            at = end
    except IndexError:
        raise CorruptBatch(f"record {number} at {start} is cut off") from None
    if at != size:
        raise CorruptBatch(f"{size - at} bytes are left after the last of {head.count} records")


def _read_headers(data: bytes, at: int, end: int) -> Headers:
    # Kafka takes keys that are not UTF-8 from producers: such bytes become lone surrogates here, and bytes again when
    # a batch is built.
    return tuple(
        (data[key_at:key_end].decode("utf-8", "surrogateescape"), None if value_at < 0 else data[value_at:value_end])
        for key_at, key_end, value_at, value_end in _header_spans(data, at, end)
    )


def _header_spans(data: bytes, at: int, end: int) -> Iterator[tuple[int, int, int, int]]:
    """Where the keys and values of headers start and end; `at` is where their count lies, `end` where they must end."""
    start = at
    try:
        count, at = read_unsigned(data, at)
        if count & 1 or count >> 1 > end - at:
            raise CorruptBatch(f"header count of {unzigzag(count)} at {start}")
        for _ in range(count >> 1):
            key_size, at = read_unsigned(data, at)
            if key_size & 1:
                raise CorruptBatch(f"the headers at {start} have a key that is null")
            key_at, key_end = at, at + (key_size >> 1)
            value_size, at = read_unsigned(data, key_end)
            value_at, at = (-1, at) if value_size & 1 else (at, at + (value_size >> 1))
            if at > end:
                break
            yield key_at, key_end, value_at, at
    except IndexError:
        raise CorruptBatch(f"the headers at {start} are cut off") from None
    if at != end:
        raise CorruptBatch(f"the headers at {start} end at {at} in a record that ends at {end}")
