import zlib
from contextlib import suppress
from datetime import UTC, datetime, timedelta
from random import Random
from struct import pack
from typing import Any

import pytest

from odradek.model.numbers import Offset, TimestampMs
from odradek.records.batch import Codec, TimestampType
from odradek.records.builder import BatchSpec, build_batch
from odradek.records.compression import compress
from odradek.records.record import Record, read_records
from odradek.spark.reading.batches import split, visible
from odradek.spark.reading.decode import Decoder
from odradek.spark.reading.errors import CorruptRecords
from odradek.spark.reading.range import Range, ReadSetting

APPEND_TIME = 8


def message(
    offset: int, magic: int, key: bytes | None, value: bytes | None, timestamp: int = 0, attributes: int = 0
) -> bytes:
    body = pack(">bb", magic, attributes) + (pack(">q", timestamp) if magic else b"")
    for part in (key, value):
        body += pack(">i", -1) if part is None else pack(">i", len(part)) + part
    return pack(">qiI", offset, len(body) + 4, zlib.crc32(body)) + body


def read(data: bytes) -> list[tuple[int, int, bytes | None, bytes | None]]:
    batches = visible(split(memoryview(data), "old-0", 0), (), "old-0")
    return [record[:4] for batch in batches for record in read_records(batch.view, batch.head)]


def test_messages_of_magic_0_have_no_time() -> None:
    assert read(message(5, 0, None, b"a") + message(9, 0, b"k", None)) == [(5, -1, None, b"a"), (9, -1, b"k", None)]


def columns(data: bytes, *names: str) -> list[tuple[Any, ...]]:
    decoder = Decoder(Range("old", bytes(16), 0, 0, 1 << 40), ReadSetting(bootstrap="", columns=names))
    found = decoder.decode(visible(split(memoryview(data), "old-0", 0), (), "old-0"))
    return [row for batch in found for row in zip(*(each.to_pylist() for each in batch.columns), strict=True)]


def test_a_time_that_is_not_there_is_of_no_type() -> None:
    """As Kafka's consumer in Java and Spark's connector tell it."""
    inner = message(1, 0, None, b"b") + message(2, 0, None, b"c")
    old = message(0, 0, None, b"a") + message(2, 0, None, compress(Codec.GZIP, inner), 0, Codec.GZIP)
    none = datetime(1970, 1, 1, tzinfo=UTC) - timedelta(milliseconds=1)
    rows = [(number, none, -1) for number in range(3)]
    assert columns(old, "offset", "timestamp", "timestampType") == rows

    timed = message(3, 1, None, b"d", 1000) + message(4, 1, None, b"e", 2000, APPEND_TIME)
    unknown = build_batch([Record(Offset(5), TimestampMs(-1), None, b"f")], BatchSpec(base_offset=Offset(5)))
    assert columns(old + timed + bytes(unknown), "offset", "timestamp", "timestampType") == [
        *rows,
        (3, datetime(1970, 1, 1, 0, 0, 1, tzinfo=UTC), 0),
        (4, datetime(1970, 1, 1, 0, 0, 2, tzinfo=UTC), 1),
        (5, none, 0),
    ]


def test_messages_of_magic_1_have_one() -> None:
    assert read(message(5, 1, b"k", b"v", 1234)) == [(5, 1234, b"k", b"v")]


@pytest.mark.parametrize("codec", [Codec.GZIP, Codec.SNAPPY, Codec.LZ4])
def test_messages_within_a_message(codec: Codec) -> None:
    inner = b"".join(message(number, 1, None, b"%d" % number, 100 + number) for number in (0, 2, 3))
    outer = message(13, 1, None, compress(codec, inner), 103, codec)
    assert read(outer) == [(10, 100, None, b"0"), (12, 102, None, b"2"), (13, 103, None, b"3")]


def test_offsets_within_a_message_of_magic_0_are_absolute() -> None:
    inner = message(10, 0, None, b"a") + message(12, 0, None, b"b")
    assert read(message(12, 0, None, compress(Codec.GZIP, inner), 0, Codec.GZIP)) == [
        (10, -1, None, b"a"),
        (12, -1, None, b"b"),
    ]


def test_the_time_of_the_log_is_that_of_the_outer_message() -> None:
    inner = message(0, 1, None, b"a", 1) + message(1, 1, None, b"b", 2)
    outer = message(1, 1, None, compress(Codec.GZIP, inner), 99, Codec.GZIP | APPEND_TIME)
    assert [each[:2] for each in read(outer)] == [(0, 99), (1, 99)]
    (batch,) = split(memoryview(outer), "old-0", 0)
    assert batch.head.timestamp_type is TimestampType.LOG_APPEND_TIME


def test_old_messages_and_batches_in_one_answer() -> None:
    new = build_batch([Record(Offset(0), TimestampMs(7), None, b"new")])
    data = message(0, 1, None, b"old", 6) + bytes(new)
    assert [each[3] for each in read(data)] == [b"old", b"new"]
    for cut in range(1, len(new) + 1):
        assert [each[3] for each in read(data[:-cut])] == [b"old"]
    for cut in range(len(new) + 1, len(data)):
        assert read(data[:-cut]) == []


FAR_APART = message(0, 1, None, b"a") + message(1 << 40, 1, None, b"b")
FALLING = message(1, 1, None, b"a") + message(0, 1, None, b"b")


@pytest.mark.parametrize(
    ("data", "reason"),
    [
        (message(5, 1, None, b"v")[:-1] + b"w", "its CRC is wrong"),
        (message(5, 1, None, b"junk", 0, Codec.GZIP), "gzip data cannot be inflated"),
        (message(5, 1, None, None, 0, Codec.GZIP), "without a value"),
        (message(5, 1, None, compress(Codec.ZSTD, b""), 0, Codec.ZSTD), "codec 4, which this format has not"),
        (message(5, 1, None, compress(Codec.GZIP, b""), 0, Codec.GZIP), "without messages"),
        (message(5, 1, None, compress(Codec.GZIP, b"x" * 9), 0, Codec.GZIP), "is cut off"),
        (message(5, 1, None, compress(Codec.GZIP, FAR_APART), 0, Codec.GZIP), "the messages within a message"),
        (message(5, 1, None, compress(Codec.GZIP, FALLING), 0, Codec.GZIP), "the messages within a message"),
    ],
)
def test_what_is_wrong_is_told(data: bytes, reason: str) -> None:
    with pytest.raises(CorruptRecords, match=f"old-0 has a corrupt batch at offset 0: .*{reason}"):
        read(data)


def test_damage_raises_nothing_but_corrupt_records() -> None:
    inner = message(0, 1, b"key", b"value", 1) + message(1, 1, None, b"b", 2)
    whole = message(1, 1, None, compress(Codec.SNAPPY, inner), 2, Codec.SNAPPY) + message(2, 0, b"k", b"v")
    rng = Random(7)
    for _ in range(3000):
        damaged = bytearray(whole)
        for _ in range(rng.randrange(1, 4)):
            damaged[rng.randrange(len(damaged))] = rng.randrange(256)
        if rng.random() < 0.5:  # as if it had been sent so
            size = int.from_bytes(damaged[8:12], "big", signed=True)
            damaged[12:16] = pack(">I", zlib.crc32(damaged[16 : max(16, 12 + size)]))
        with suppress(CorruptRecords):
            read(bytes(damaged))
