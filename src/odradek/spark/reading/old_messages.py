"""Messages of the formats before v2, which brokers still serve from logs that are old enough, made into batches.

A message: offset int64, size int32 of what follows, CRC-32 of what follows it uint32, magic int8, attributes int8,
timestamp int64 in magic 1 alone, key and value with an int32 length each, -1 for null. Attributes: bits 0 to 2 the
codec, bit 3 LogAppendTime. The value of a compressed message is messages; their offsets are absolute in magic 0, and
count from 0 in magic 1, where the outer one has the offset of the last.

Nothing here is fast: such logs are rare, and grow no more.
"""

import zlib
from collections.abc import Iterator
from struct import Struct
from struct import error as StructError
from typing import NamedTuple

from odradek.model.errors import CorruptBatch
from odradek.model.numbers import NO_TIMESTAMP, Offset, TimestampMs
from odradek.records.batch import CODEC_MASK, LOG_OVERHEAD, BatchHead, Codec, TimestampType, parse_head
from odradek.records.builder import BatchSpec, build_batch
from odradek.records.compression import decompress
from odradek.records.record import Record
from odradek.spark.reading.old_lz4 import with_right_check

_START = Struct(">qiIbb")
_INT64 = Struct(">q")
_INT32 = Struct(">i")
_CRC_END = 16
_LOG_APPEND_TIME = 0x08
_CODECS = (Codec.GZIP, Codec.SNAPPY, Codec.LZ4)
UNTIMED = 1 << 14
"""In the attributes of a head as this package keeps it: of messages of magic 0, which have no time of any type. Format
v2 has no word for that, and leaves the bit alone."""


class Rewritten(NamedTuple):
    head: BatchHead
    batch: memoryview
    end: int
    """Where the message ends."""


class _Message(NamedTuple):
    offset: int
    magic: int
    attributes: int
    timestamp: TimestampMs
    key: bytes | None
    value: bytes | None
    end: int


def rewrite(data: memoryview, at: int) -> Rewritten | None:
    """The message at `at` as a batch of format v2; None where it is cut off. Raises CorruptBatch."""
    if len(data) - at < LOG_OVERHEAD:
        return None
    end = at + LOG_OVERHEAD + _INT32.unpack_from(data, at + 8)[0]
    if end > len(data):
        return None
    outer = _read(data, at)
    append_time = outer.timestamp if outer.magic and outer.attributes & _LOG_APPEND_TIME else None
    records = [
        Record(Offset(offset), each.timestamp if append_time is None else append_time, each.key, each.value)
        for offset, each in _unpacked(outer)
    ]
    spec = BatchSpec(
        base_offset=records[0].offset,
        last_offset_delta=outer.offset - records[0].offset,
        timestamp_type=TimestampType.CREATE_TIME if append_time is None else TimestampType.LOG_APPEND_TIME,
        max_timestamp=append_time,
    )
    try:
        batch = build_batch(records, spec)
    except (ValueError, StructError) as error:  # offsets that do not rise, or are too far from each other
        raise CorruptBatch(f"the messages within a message: {error}") from None
    head = parse_head(batch)
    if not outer.magic:
        head = head._replace(attributes=head.attributes | UNTIMED)
    return Rewritten(head, memoryview(batch), outer.end)


def _unpacked(outer: _Message) -> list[tuple[int, _Message]]:
    """The messages with their offsets: those inside of it, or itself."""
    code = outer.attributes & CODEC_MASK
    if not code:
        return [(outer.offset, outer)]
    if code not in _CODECS or outer.value is None:
        raise CorruptBatch(f"message of codec {code}, which this format has not, or without a value")
    value = with_right_check(outer.value) if code == Codec.LZ4 and not outer.magic else outer.value
    inner = list(_messages(memoryview(decompress(Codec(code), memoryview(value)))))
    if not inner:
        raise CorruptBatch("compressed message without messages")
    base = outer.offset - inner[-1].offset if outer.magic else 0
    return [(base + each.offset, each) for each in inner]


def _messages(data: memoryview) -> Iterator[_Message]:
    at = 0
    while at < len(data):
        message = _read(data, at)
        if message.attributes & CODEC_MASK:
            raise CorruptBatch("compressed message within another")
        yield message
        at = message.end


def _read(data: memoryview, at: int) -> _Message:
    try:
        offset, size, crc, magic, attributes = _START.unpack_from(data, at)
        end = at + LOG_OVERHEAD + size
        if magic not in (0, 1) or not at + _CRC_END < end <= len(data):
            raise CorruptBatch(f"message of {size} bytes and magic {magic}, where {len(data) - at} bytes are left")
        if zlib.crc32(data[at + _CRC_END : end]) != crc:
            raise CorruptBatch("its CRC is wrong")
        place = at + _START.size
        timestamp = NO_TIMESTAMP
        if magic:
            timestamp = TimestampMs(_INT64.unpack_from(data, place)[0])
            place += _INT64.size
        key, place = _part(data, place, end)
        value, place = _part(data, place, end)
    except StructError:
        raise CorruptBatch(f"message at {at} is cut off") from None
    if place != end:
        raise CorruptBatch(f"message at {at} ends at {place}, and says {end}")
    return _Message(offset, magic, attributes, timestamp, key, value, end)


def _part(data: memoryview, at: int, end: int) -> tuple[bytes | None, int]:
    (size,) = _INT32.unpack_from(data, at)
    at += _INT32.size
    if size < 0:
        return None, at
    if size > end - at:
        raise CorruptBatch(f"key or value of {size} bytes at {at}, where {end - at} are left")
    return bytes(data[at : at + size]), at + size
