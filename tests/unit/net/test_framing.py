"""Framing without a socket: bytes in any pieces, garbage, answers in order, bounds."""

from collections.abc import Sequence
from itertools import pairwise
from struct import pack

from hypothesis import given
from hypothesis import strategies as st

from odradek.net.buffers import Buffers
from odradek.net.framing import Framing, Limits, Reply
from odradek.process.network import Part
from support.echo import framed


class Stage:
    """Receives, and hands frames out as far as they come."""

    def __init__(self, limits: Limits = Limits(), shared_bytes: int = 64) -> None:  # noqa: B008
        self.framing = Framing(Buffers(shared_bytes), limits, self)
        self.frames: list[bytes] = []
        self.replies: list[Reply] = []
        self.flushes = 0
        self.closed: list[str | None] = []

    def flush(self) -> None:
        self.flushes += 1

    def close(self, reason: str | None) -> None:
        self.closed.append(reason)

    def receive(self, data: bytes) -> None:
        """In as many turns as the buffers make of it, each with all frames that came in it."""
        while data:
            space = self.framing.space
            count = min(len(space), len(data))
            space[:count] = data[:count]
            data = data[count:]
            self.framing.received(count)
            self.turn()

    def turn(self) -> None:
        framing = self.framing
        framing.is_in_turn = True
        while (frame := framing.next_frame()) is not None:
            self.frames.append(bytes(frame))
            self.replies.append(Reply(framing))
            frame[:] = b"!" * len(frame)  # as handlers may
        framing.is_in_turn = False
        framing.keep()
        framing._buffers.shared[:] = b"?" * len(framing._buffers.shared)  # as other connections do

    @property
    def sent(self) -> list[Part]:
        return self.framing.outgoing.parts


def cut(data: bytes, cuts: Sequence[int]) -> list[bytes]:
    at = [0, *sorted(each % (len(data) + 1) for each in cuts), len(data)]
    return [data[start:end] for start, end in pairwise(at)]


@given(st.lists(st.binary(max_size=300)), st.lists(st.integers(min_value=0)), st.sampled_from((4, 5, 64, 1 << 18)))
def test_frames_are_the_same_however_they_are_cut(contents: list[bytes], cuts: list[int], shared_bytes: int) -> None:
    stage = Stage(shared_bytes=shared_bytes)
    for piece in cut(b"".join(map(framed, contents)), cuts):
        stage.receive(piece)
        for reply in stage.replies:
            reply.send(())
        stage.replies.clear()
        stage.turn()
    assert stage.frames == contents
    assert not stage.framing.has_begun


def test_frames_are_the_same_byte_by_byte() -> None:
    contents = [b"", b"a", b"hello" * 30, b"", b"last"]
    stage = Stage()
    for byte in b"".join(map(framed, contents)):
        stage.receive(bytes((byte,)))
    assert stage.frames == contents


def test_a_large_frame_grows_with_what_came() -> None:
    stage, content = Stage(shared_bytes=100_000), bytes(range(256)) * 4_000
    stage.receive(pack(">i", len(content)) + content[:96])
    assert len(stage.framing._buffer or b"") == 65_536, "not what was announced"
    stage.receive(content[96:] + framed(b"next"))
    assert stage.frames == [content, b"next"]


@given(st.binary(max_size=400), st.lists(st.integers(min_value=0)))
def test_garbage_is_frames_or_ends_the_connection(garbage: bytes, cuts: list[int]) -> None:
    """Whatever comes: never an exception, never more frames than bytes, and the same in any pieces."""
    outcomes = []
    for pieces in (cut(garbage, cuts), [garbage]):
        stage = Stage(Limits(frame_bytes_max=1_000))
        for piece in pieces:
            stage.receive(piece)
            if stage.framing.is_refused:
                break
        for reply in stage.replies:
            reply.send(())
        outcomes.append((stage.frames, stage.framing.refusal))
    assert outcomes[0] == outcomes[1]
    frames, refusal = outcomes[0]
    assert sum(4 + len(frame) for frame in frames) <= len(garbage)
    if refusal is not None:
        assert refusal.endswith("1000 are allowed")


@given(st.permutations(range(8)), st.sets(st.integers(0, 7)))
def test_answers_keep_the_order_of_the_requests(order: list[int], empty: set[int]) -> None:
    stage = Stage()
    stage.receive(b"".join(framed(b"%d" % number) for number in range(8)))
    for number in order:
        stage.replies[number].send([] if number in empty else [b"%d" % number])
    assert stage.sent == [b"%d" % number for number in range(8) if number not in empty]
    assert stage.flushes == 8


@given(st.permutations(range(6)), st.integers(0, 5))
def test_a_refusal_waits_for_the_answers_before_it(order: list[int], refused: int) -> None:
    stage = Stage()
    stage.receive(framed(b"") * 6)
    for number in order:
        if number == refused:
            stage.replies[number].refuse("bad")
        else:
            stage.replies[number].send([b"%d" % number])
    assert stage.sent == [b"%d" % number for number in range(refused)]
    assert stage.framing.refusal == "bad"
    stage.receive(framed(b"behind it"))
    assert len(stage.frames) == 6, "nothing more is handed out"


def test_small_answers_wait_for_the_end_of_the_turn() -> None:
    stage = Stage()
    stage.framing.is_in_turn = True
    first = Reply(stage.framing)
    first.send([b"small"])
    assert (stage.sent, stage.flushes) == ([b"small"], 0)
    Reply(stage.framing).send([bytes(40_000)])
    assert stage.flushes == 1


def test_what_was_answered_can_only_be_refused_at_once() -> None:
    stage = Stage()
    reply = Reply(stage.framing)
    reply.send([b"answer"])
    reply.refuse("bad")
    assert stage.closed == ["bad"]


def test_no_frame_is_handed_out_at_a_bound_and_none_is_lost() -> None:
    contents = [b"%d" % number for number in range(20)]
    stage = Stage(Limits(under_way_max=3), shared_bytes=1_000)
    stage.receive(b"".join(map(framed, contents)))
    assert len(stage.frames) == 3
    assert stage.framing.is_full
    while stage.replies:
        stage.replies.pop(0).send(())
        if stage.framing.has_room:
            stage.turn()
    assert stage.frames == contents
    assert not stage.framing.has_begun


def test_what_waits_to_be_sent_is_a_bound_too() -> None:
    for limits in (Limits(waiting_bytes_max=10), Limits(waiting_parts_max=2)):
        stage = Stage(limits, shared_bytes=1_000)
        for _ in range(2):
            Reply(stage.framing).send([b"answer"])
        stage.receive(framed(b"question"))
        assert (stage.frames, stage.framing.is_full, stage.framing.has_room) == ([], True, False)
        stage.framing.outgoing.clear()
        assert stage.framing.has_room
        stage.turn()
        assert stage.frames == [b"question"]


def test_nothing_comes_of_a_closed_connection() -> None:
    stage = Stage()
    stage.receive(framed(b"one") + framed(b"two") + b"\0\0")
    stage.framing.close()
    stage.replies[0].send([b"late"])
    stage.replies[1].refuse("late")
    stage.turn()
    assert (stage.sent, stage.flushes, stage.closed) == ([], 0, [])
    assert not stage.framing.has_begun
