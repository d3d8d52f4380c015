import zlib
from contextlib import suppress
from datetime import UTC, datetime, timedelta
from random import Random
from struct import pack
from typing import Any

import pytest

from odradek.model.errors import CorruptBatch
from odradek.model.numbers import Offset, TimestampMs
from odradek.records.batch import Codec, TimestampType
from odradek.records.builder import BatchSpec, build_batch
from odradek.records.compression import compress, decompress
from odradek.records.record import Record, read_records
from odradek.spark.reading.batches import split, visible
from odradek.spark.reading.decode import Decoder
from odradek.spark.reading.errors import CorruptRecords
from odradek.spark.reading.old_lz4 import xxhash32_of_few
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


OF_KAFKAS = {
    (0, "gzip"): """
        000000000000000b0000004aea5925ae0001ffffffff0000003c1f8b08000000000000ff636000032e2056e2d7d9b09d81e13f1000792289
        580044310337100bee9dd36c03e631660309a6a42400914ca6944b000000""",
    (0, "snappy"): """
        000000000000000b0000005a101c85080002ffffffff0000004c82534e41505059000000000100000001000000384b000009014c0a000000
        220f2cb0b70000ffffffff00000014614a010000000901540b00000011bd9c833c0000000000016b000000026262""",
    (0, "lz4"): """
        000000000000000b000000539eca72aa0003ffffffff0000004504224d1860401a3600000012000100ff050a000000220f2cb0b70000ffff
        ffff0000001461010000022d00a1000b00000011bd9c833c100080016b00000002626200000000""",
    (1, "gzip"): """
        000000000000000b00000052f20b539c01010000000000000007ffffffff0000003c1f8b08000000000000ff636080032d3d83e0658c301e
        eb7f2000d222895800540d48b1a4c4ba2c15b82e7690683690604a4a0200692357625b000000""",
    (1, "snappy"): """
        000000000000000b00000063cd391fed01020000000000000007ffffffff0000004d82534e41505059000000000100000001000000395b00
        001901142a2e3053a60111102405ffffffff00000014614a010000000901012d101918ae6a24010905012c07000000016b000000026262""",
    (1, "lz4"): """
        000000000000000b0000005e46734c2b01030000000000000007ffffffff0000004804224d186040823900000016000100642a2e3053a601
        1000af05ffffffff0000001461010000032500002d00501918ae6a240900010200c007000000016b00000002626200000000""",
}
"""Two records, 10 and 11, as `MemoryRecordsBuilder` of Apache Kafka 4.3.0 writes them in each format."""


@pytest.mark.parametrize(("magic", "codec"), OF_KAFKAS)
def test_what_kafka_compressed(magic: int, codec: str) -> None:
    times = (5, 7) if magic else (-1, -1)
    rows = [(10, times[0], None, b"a" * 20), (11, times[1], b"k", b"bb")]
    assert read(bytes.fromhex(OF_KAFKAS[magic, codec])) == rows


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


@pytest.mark.parametrize(
    ("data", "found"), [(b"", 0x02CC5D05), (b"a", 0x550D7456), (b"abc", 0x32D153FF), (b"Nobody inspects", 0x9759CD1A)]
)
def test_xxhash32(data: bytes, found: int) -> None:
    assert xxhash32_of_few(data) == found


@pytest.mark.parametrize("has_size", [False, True])
def test_lz4_of_magic_0_has_a_check_byte_of_the_wrong_bytes(*, has_size: bool) -> None:
    """Kafka's producer in Java took the magic number along. What is in it has to be right all the same."""
    inner = message(10, 0, None, b"a" * 20) + message(12, 0, b"k", b"b" * 2)
    frame = bytes(compress(Codec.LZ4, inner))
    if has_size:
        frame = frame[:4] + bytes([frame[4] | 8, frame[5]]) + pack("<q", len(inner)) + frame[6:]
    end = 14 if has_size else 6
    wrong = frame[:end] + bytes([xxhash32_of_few(frame[:end]) >> 8 & 0xFF]) + frame[end + 1 :]
    with pytest.raises(CorruptBatch):
        decompress(Codec.LZ4, memoryview(wrong))
    rows = [(10, -1, None, b"a" * 20), (12, -1, b"k", b"b" * 2)]
    assert read(message(12, 0, None, wrong, 0, Codec.LZ4)) == rows
    with pytest.raises(CorruptRecords):
        read(message(12, 1, None, wrong, 0, Codec.LZ4))
    with pytest.raises(CorruptRecords):
        read(message(12, 0, None, wrong[:end], 0, Codec.LZ4))


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
