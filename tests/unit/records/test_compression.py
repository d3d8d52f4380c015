from concurrent.futures import ThreadPoolExecutor
from random import Random
from struct import pack

import cramjam
import pytest
import zstandard

from odradek.model.errors import CorruptBatch
from odradek.records.batch import Codec
from odradek.records.compression import INFLATED_MAX, compress, decompress

CODECS = [Codec.GZIP, Codec.SNAPPY, Codec.LZ4, Codec.ZSTD]
TEXT = b"one spool of thread, two spools of thread, three spools of thread; " * 3000
"""Compresses well, and takes several blocks in every codec but gzip, which has none."""

# Made by the codecs of Kafka's Java client from "hello ".
HELLO = {
    Codec.GZIP: "1f8b08000000000000ffcb48cdc9c9570000f6f981ed06000000",
    Codec.SNAPPY: "82534e4150505900000000010000000100000008061468656c6c6f20",
    Codec.LZ4: "04224d186040820600008068656c6c6f2000000000",
    Codec.ZSTD: "28b52ffd005830000068656c6c6f20010000",
}


def inflate(codec: Codec, data: bytes, limit: int = INFLATED_MAX) -> bytes:
    return bytes(decompress(codec, memoryview(data), limit))


@pytest.mark.parametrize("codec", Codec)
@pytest.mark.parametrize("data", [b"", b"x", bytes(100_000), TEXT], ids=["nothing", "one", "zeros", "text"])
def test_data_comes_back(codec: Codec, data: bytes) -> None:
    assert inflate(codec, compress(codec, data)) == data
    assert inflate(codec, compress(codec, memoryview(data)), len(data)) == data


@pytest.mark.parametrize("codec", CODECS)
def test_what_java_wrote_is_read(codec: Codec) -> None:
    assert inflate(codec, bytes.fromhex(HELLO[codec])) == b"hello "


@pytest.mark.parametrize("codec", [Codec.SNAPPY, Codec.LZ4])
def test_what_is_written_is_what_java_writes(codec: Codec) -> None:
    assert compress(codec, b"hello ").hex() == HELLO[codec]


@pytest.mark.parametrize(
    ("codec", "levels"),
    [(Codec.GZIP, [-1, *range(1, 10)]), (Codec.LZ4, range(1, 18)), (Codec.ZSTD, [-131_072, -5, -1, 1, 3, 9, 19, 22])],
)
def test_every_level_of_kafka_works(codec: Codec, levels: list[int]) -> None:
    data = TEXT[:70_000]
    for level in levels:
        assert inflate(codec, compress(codec, data, level)) == data, level
        assert compress(codec, memoryview(data), level) == compress(codec, data, level), level


@pytest.mark.parametrize(("codec", "low", "high"), [(Codec.GZIP, 1, 9), (Codec.LZ4, 1, 17), (Codec.ZSTD, -131_072, 22)])
def test_levels_beyond_are_clamped(codec: Codec, low: int, high: int) -> None:
    assert compress(codec, TEXT, high + 100) == compress(codec, TEXT, high)
    assert compress(codec, TEXT, low - 100) == compress(codec, TEXT, low)


@pytest.mark.parametrize(
    ("codec", "levels"), [(Codec.GZIP, (1, 9)), (Codec.LZ4, (9, 1, 17)), (Codec.ZSTD, (-50, 1, 22))]
)
def test_a_higher_level_compresses_more(codec: Codec, levels: tuple[int, ...]) -> None:
    # The default of lz4, 9, stands for the fast compressor, as in Java.
    data = b"".join(b"%d %x " % (number * number, number) for number in range(10_000))
    sizes = [len(compress(codec, data, level)) for level in levels]
    assert sizes == sorted(sizes, reverse=True)
    assert len(set(sizes)) == len(sizes)


@pytest.mark.parametrize(("codec", "level"), [(Codec.GZIP, -1), (Codec.LZ4, 9), (Codec.ZSTD, 3)])
def test_the_default_level_is_that_of_kafka(codec: Codec, level: int) -> None:
    assert compress(codec, TEXT) == compress(codec, TEXT, level)


def test_snappy_of_librdkafka_is_one_raw_block() -> None:
    assert inflate(Codec.SNAPPY, bytes(cramjam.snappy.compress_raw(TEXT))) == TEXT


def test_snappy_frames_of_other_versions_and_block_sizes_are_read() -> None:
    blocks = [bytes(cramjam.snappy.compress_raw(part)) for part in (TEXT, b"", b"tail")]
    frame = b"\x82SNAPPY\x00" + pack(">ii", 9, 9) + b"".join(pack(">i", len(block)) + block for block in blocks)
    assert inflate(Codec.SNAPPY, frame) == TEXT + b"tail"


def test_lz4_with_all_checksums_is_read() -> None:
    writer = cramjam.lz4.Compressor(level=1, content_checksum=True, block_linked=False)
    writer.compress(TEXT)
    assert inflate(Codec.LZ4, bytes(writer.finish())) == TEXT


def test_lz4_with_linked_blocks_is_refused_as_java_does() -> None:
    writer = cramjam.lz4.Compressor(level=1, content_checksum=False, block_linked=True)
    writer.compress(TEXT)
    with pytest.raises(CorruptBatch, match="independent"):
        inflate(Codec.LZ4, bytes(writer.finish()))


# What follows a first stream: as Java's readers were seen to do.


@pytest.mark.parametrize("codec", [Codec.GZIP, Codec.SNAPPY, Codec.ZSTD])
def test_streams_that_follow_one_another_are_joined(codec: Codec) -> None:
    streams = compress(codec, b"hello ") + compress(codec, b"") + compress(codec, b"world")
    assert inflate(codec, streams) == b"hello world"
    with pytest.raises(CorruptBatch):
        inflate(codec, streams, len("hello world") - 1)


def test_zstd_skips_frames_that_are_to_be_skipped() -> None:
    skipped = bytes.fromhex("502a4d18 03000000 616263")
    assert inflate(Codec.ZSTD, skipped + compress(Codec.ZSTD, b"a") + skipped + compress(Codec.ZSTD, b"b")) == b"ab"


@pytest.mark.parametrize("tail", [b"garbage", compress(Codec.LZ4, b"world")], ids=["garbage", "frame"])
def test_lz4_ends_with_its_first_frame(tail: bytes) -> None:
    assert inflate(Codec.LZ4, compress(Codec.LZ4, b"hello") + tail) == b"hello"


@pytest.mark.parametrize("tail", [b"g", b"garbage" * 10, bytes(40)])
def test_gzip_ends_where_no_member_follows(tail: bytes) -> None:
    assert inflate(Codec.GZIP, compress(Codec.GZIP, b"hello") + tail) == b"hello"


def test_snappy_ignores_a_tail_too_short_for_a_length() -> None:
    assert inflate(Codec.SNAPPY, compress(Codec.SNAPPY, b"hello") + b"abc") == b"hello"
    with pytest.raises(CorruptBatch):
        inflate(Codec.SNAPPY, compress(Codec.SNAPPY, b"hello") + b"abcd")


def test_zstd_takes_nothing_else_after_a_frame() -> None:
    with pytest.raises(CorruptBatch, match="no zstd frame"):
        inflate(Codec.ZSTD, compress(Codec.ZSTD, b"hello") + b"garbage")


def test_gzip_members_without_end_are_refused() -> None:
    with pytest.raises(CorruptBatch, match="members"):
        inflate(Codec.GZIP, compress(Codec.GZIP, b"") * 50_000)


# The limit.


@pytest.mark.parametrize("codec", CODECS)
@pytest.mark.parametrize("data", [b"x", TEXT], ids=["one", "text"])
def test_one_byte_over_the_limit_is_refused(codec: Codec, data: bytes) -> None:
    with pytest.raises(CorruptBatch):
        inflate(codec, compress(codec, data), len(data) - 1)


def test_a_snappy_block_cannot_claim_more_than_its_bytes_can_hold() -> None:
    with pytest.raises(CorruptBatch, match="says that it inflates to"):
        inflate(Codec.SNAPPY, bytes.fromhex("ffffff3f 0061"))  # a length of 128 MiB, then one byte


# Garbage.


@pytest.mark.parametrize("codec", CODECS)
@pytest.mark.parametrize("data", [b"", b"\x01", b"g" * 7, b"garbage" * 100, bytes(1000), b"\xff" * 1000])
def test_garbage_is_corrupt(codec: Codec, data: bytes) -> None:
    with pytest.raises(CorruptBatch):
        inflate(codec, data)


@pytest.mark.parametrize("codec", CODECS)
def test_every_cut_is_corrupt(codec: Codec) -> None:
    whole = compress(codec, TEXT[:500])
    for size in range(len(whole)):
        if codec is Codec.SNAPPY and size in range(16, 20):
            assert inflate(codec, whole[:size]) == b""  # a frame without blocks, and a tail that Java ignores
            continue
        with pytest.raises(CorruptBatch):
            inflate(codec, whole[:size])


def test_zstd_is_inflated_by_many_threads_at_a_time() -> None:
    packed = {number: compress(Codec.ZSTD, f"{number} ".encode() * 5000) for number in range(200)}
    with ThreadPoolExecutor(8) as pool:
        inflated = pool.map(lambda number: bytes(inflate(Codec.ZSTD, packed[number])), packed)
        assert list(inflated) == [f"{number} ".encode() * 5000 for number in packed]


def test_zstd_frames_are_joined_and_others_skipped_whether_small_or_not() -> None:
    skipped = bytes.fromhex("502a4d18 03000000 616263")
    for size in (100, 200_000):
        data = Random(size).randbytes(size)
        frames = compress(Codec.ZSTD, data) + skipped + compress(Codec.ZSTD, b"tail")
        assert inflate(Codec.ZSTD, frames) == data + b"tail"
        with pytest.raises(CorruptBatch):
            inflate(Codec.ZSTD, frames, size + 3)


def test_zstd_with_a_window_larger_than_what_is_kept() -> None:
    data = TEXT[:500]
    stream = zstandard.ZstdCompressor(
        compression_params=zstandard.ZstdCompressionParameters(window_log=26, write_content_size=False)
    ).compressobj()
    assert inflate(Codec.ZSTD, stream.compress(data) + stream.flush()) == data
