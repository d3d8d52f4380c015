from contextlib import suppress

import pytest
from hypothesis import given
from hypothesis import strategies as st

from odradek.model.errors import CorruptBatch
from odradek.records.batch import Codec
from odradek.records.compression import compress, decompress, decompress_into, inflated_max

CODECS = st.sampled_from([Codec.GZIP, Codec.SNAPPY, Codec.LZ4, Codec.ZSTD])
LEVELS = {
    Codec.GZIP: st.sampled_from([-1, *range(1, 10)]),
    Codec.SNAPPY: st.none(),
    Codec.LZ4: st.integers(1, 17),
    Codec.ZSTD: st.integers(-131_072, 22),
}

PIECES = st.lists(st.tuples(st.binary(max_size=40), st.integers(1, 4000)), max_size=4)
"""Data with and without repetition, below and above the sizes of blocks."""


def joined(pieces: list[tuple[bytes, int]]) -> bytes:
    return b"".join(piece * times for piece, times in pieces)


@given(CODECS, PIECES, st.data())
def test_round_trip_at_every_level(codec: Codec, pieces: list[tuple[bytes, int]], data: st.DataObject) -> None:
    plain = joined(pieces)
    packed = compress(codec, plain, data.draw(st.none() | LEVELS[codec]))
    assert bytes(decompress(codec, memoryview(packed), len(plain))) == plain


@given(CODECS, PIECES, st.integers(0, 1 << 20))
def test_a_limit_holds(codec: Codec, pieces: list[tuple[bytes, int]], limit: int) -> None:
    plain = joined(pieces)
    packed = memoryview(compress(codec, plain))
    if len(plain) <= limit:
        assert bytes(decompress(codec, packed, limit)) == plain
        return
    with pytest.raises(CorruptBatch):
        decompress(codec, packed, limit)


@given(CODECS, st.binary(max_size=300))
def test_garbage_raises_nothing_but_corrupt_batch(codec: Codec, garbage: bytes) -> None:
    with suppress(CorruptBatch):
        assert len(decompress(codec, memoryview(garbage), 10_000)) <= 10_000


@given(CODECS, PIECES, st.lists(st.tuples(st.integers(0, 2000), st.integers(0, 255)), max_size=4), st.integers(0, 2000))
def test_damage_raises_nothing_but_corrupt_batch(
    codec: Codec, pieces: list[tuple[bytes, int]], changes: list[tuple[int, int]], cut: int
) -> None:
    packed = bytearray(compress(codec, joined(pieces)))
    for at, byte in changes:
        packed[at % len(packed)] = byte
    with suppress(CorruptBatch):
        assert len(decompress(codec, memoryview(packed)[: len(packed) - cut], 1_000_000)) <= 1_000_000


@given(CODECS, PIECES, st.integers(0, 40), st.integers(0, 1 << 20))
def test_inflating_into_memory_of_the_callers(
    codec: Codec, pieces: list[tuple[bytes, int]], spare: int, room_max: int
) -> None:
    plain = joined(pieces)
    packed = memoryview(compress(codec, plain))
    bound = inflated_max(codec, packed)
    if bound is None:
        assert codec in (Codec.GZIP, Codec.SNAPPY)
        return
    assert bound >= len(plain)
    room = bytearray(min(bound, room_max) + spare)
    if len(room) < len(plain):
        with pytest.raises(CorruptBatch):
            decompress_into(codec, packed, memoryview(room))
        return
    size = decompress_into(codec, packed, memoryview(room))
    assert bytes(room[:size]) == plain


@given(CODECS, st.binary(max_size=300))
def test_a_bound_on_garbage_raises_nothing_but_corrupt_batch(codec: Codec, garbage: bytes) -> None:
    with suppress(CorruptBatch):
        bound = inflated_max(codec, memoryview(garbage))
        if bound is not None:
            decompress_into(codec, memoryview(garbage), memoryview(bytearray(min(bound, 10_000))))
