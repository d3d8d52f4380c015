"""Frames out of the bytes of a connection, whatever the pieces in which they come."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from odradek.client.frames import ResponseFrames
from odradek.model.errors import BadRequest

SIZE_MAX = 1 << 20


def feed(answers: ResponseFrames, data: bytes, most: int) -> list[bytes]:
    """Never more than `most` bytes at a time, as a socket would give them."""
    frames = []
    while data:
        space = answers.space()
        assert len(space) > 0
        count = min(len(space), len(data), most)
        space[:count] = data[:count]
        frames += [bytes(frame) for frame in answers.take(count)]
        data = data[count:]
    return frames


def framed(*bodies: bytes) -> bytes:
    return b"".join(len(body).to_bytes(4, "big") + body for body in bodies)


SIZES = st.one_of(st.integers(0, 100), st.sampled_from([65_531, 65_532, 65_533, 65_536, 200_000]))


@given(st.lists(SIZES, max_size=6), st.one_of(st.integers(1, 9), st.integers(10, 100_000)))
def test_pieces_do_not_matter(sizes: list[int], most: int) -> None:
    if most < 10:
        sizes = [size for size in sizes if size <= 100]  # byte by byte takes long
    bodies = [bytes([at + 1]) * size for at, size in enumerate(sizes)]
    assert feed(ResponseFrames(SIZE_MAX), framed(*bodies), most) == bodies


@pytest.mark.parametrize("size", [10, 100_000])
def test_a_frame_is_the_callers_to_keep(size: int) -> None:
    answers = ResponseFrames(SIZE_MAX)
    kept = []
    for letter in b"ab":
        for piece in (framed(bytes([letter]) * size)[:7], framed(bytes([letter]) * size)[7:]):
            data = memoryview(piece)
            while data:
                space = answers.space()
                count = min(len(space), len(data))
                space[:count] = data[:count]
                kept += answers.take(count)
                data = data[count:]
    assert [bytes(frame) for frame in kept] == [b"a" * size, b"b" * size]


@pytest.mark.parametrize("size", [-1, SIZE_MAX + 1, (1 << 31) - 1])
def test_sizes_that_cannot_be(size: int) -> None:
    with pytest.raises(BadRequest, match=str(size)):
        feed(ResponseFrames(SIZE_MAX), size.to_bytes(4, "big", signed=True), 4)
