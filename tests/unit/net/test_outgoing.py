"""The queue in front of a channel: bytes and ranges of files, in whatever pieces the channel takes them."""

from collections.abc import Callable, Sequence
from pathlib import Path
from random import Random

import pytest

from odradek.model.buffer import Buffer
from odradek.net.outgoing import Outgoing
from odradek.process.network import Part, SocketAddress, gather
from support.file_ranges import RangeOfFile

MB = 1 << 20


class Sink:
    """A channel that takes so many bytes, call by call, and then no more for now."""

    def __init__(self, takes: Sequence[int]) -> None:
        self.local = self.peer = SocketAddress("127.0.0.1", 1)
        self.got = b""
        self.calls: list[str] = []
        self._takes = list(takes)

    def send(self, data: Buffer, /) -> int:
        self.calls.append("send")
        return self._take(bytes(data))

    def send_parts(self, parts: Sequence[Part], sent_of_first: int) -> int:
        self.calls.append("send_parts")
        return self._take(gather(parts, sent_of_first, 10 * MB))

    def receive_into(self, _buffer: Buffer, /) -> int:
        raise BlockingIOError

    def on_readable(self, callback: Callable[[], object] | None) -> None: ...
    def on_writable(self, callback: Callable[[], object] | None) -> None: ...
    def close(self) -> None: ...

    def _take(self, data: bytes) -> int:
        if not self._takes:
            raise BlockingIOError
        taken = data[: self._takes.pop(0)]
        self.got += taken
        return len(taken)


@pytest.fixture
def file(tmp_path: Path) -> Path:
    path = tmp_path / "segment"
    path.write_bytes(Random(1).randbytes(MB))
    return path


def test_all_of_it_goes_out_in_order_however_much_is_taken_at_a_time(file: Path) -> None:
    content = file.read_bytes()
    for seed in range(200):
        rng = Random(seed)
        outgoing, expected = Outgoing(), b""
        parts: list[Part] = []
        ranges: list[RangeOfFile] = []
        share_of_bytes = rng.choice((0.5, 1.0))
        for _ in range(rng.randint(1, 150)):
            if rng.random() < share_of_bytes:
                some = rng.randbytes(rng.randint(0, 600))
                parts.append(some)
                expected += some
            else:
                size = rng.randint(1, rng.choice((100, 10_000)))
                position = rng.randrange(len(content) - size)
                ranges.append(RangeOfFile(file, position, size))
                parts.append(ranges[-1])
                expected += content[position : position + size]
        outgoing.add(parts)
        got = b""
        while outgoing.parts:
            sink = Sink([rng.randint(1, 20_000) for _ in range(rng.randint(0, 3))])
            assert outgoing.send(sink) is not bool(outgoing.parts), seed
            got += sink.got
        assert got == expected, seed
        assert [each.released for each in ranges] == [1] * len(ranges), seed
        assert (outgoing.size, outgoing._ranges) == (0, 0)


def test_small_answers_leave_together_in_one_call() -> None:
    outgoing, sink = Outgoing(), Sink([MB])
    for number in range(5):
        outgoing.add([b"answer", bytearray(b"%d" % number)])
    assert outgoing.size == 35
    assert outgoing.send(sink)
    assert sink.got == b"answer0answer1answer2answer3answer4"
    assert sink.calls == ["send"]


def test_large_answers_are_not_copied() -> None:
    outgoing, sink = Outgoing(), Sink([MB])
    outgoing.add([bytes(100_000)] * 3)
    assert outgoing.send(sink)
    assert sink.calls == ["send_parts"]


def test_what_is_not_sent_is_released(file: Path) -> None:
    outgoing, part = Outgoing(), RangeOfFile(file, 0, 100)
    outgoing.add([b"head", part])
    assert not outgoing.send(Sink([10]))
    assert part.released == 0
    outgoing.clear()
    assert part.released == 1
    assert (outgoing.parts, outgoing.size) == ([], 0)
