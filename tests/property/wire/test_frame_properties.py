"""Frames do not depend on the pieces in which their bytes arrive."""

from contextlib import suppress
from itertools import pairwise

import pytest
from hypothesis import given
from hypothesis import strategies as st

from odradek.model.errors import BadRequest
from odradek.wire.frame import Frames
from odradek.wire.header import read_request_head

pytestmark = pytest.mark.slow

BODIES = st.lists(st.binary(max_size=50) | st.integers(0, 200_000).map(bytes), max_size=8)


@given(BODIES, st.lists(st.integers(0, 400_000)))
def test_frames_come_out_whole_whatever_the_pieces(bodies: list[bytes], cuts: list[int]) -> None:
    stream = b"".join(len(body).to_bytes(4, "big") + body for body in bodies)
    borders = [0, *sorted(cut % (len(stream) + 1) for cut in cuts), len(stream)]
    frames = Frames(200_000)
    found = []
    for start, end in pairwise(borders):
        found += [bytes(frame) for frame in frames.feed(stream[start:end])]
    assert found == bodies


@given(st.lists(st.binary(max_size=20), max_size=5))
def test_frames_come_out_whole_byte_by_byte(bodies: list[bytes]) -> None:
    frames = Frames(20)
    found = []
    for byte in b"".join(len(body).to_bytes(4, "big") + body for body in bodies):
        space = frames.space()
        space[0] = byte
        found += [bytes(frame) for frame in frames.take(1)]
    assert found == bodies


@given(st.lists(st.binary(max_size=40), max_size=10))
def test_garbage_raises_nothing_but_bad_request(pieces: list[bytes]) -> None:
    frames = Frames(30)
    with suppress(BadRequest):
        for piece in pieces:
            for frame in frames.feed(piece):
                with suppress(BadRequest):
                    read_request_head(frame)
