"""The queue in front of a socket: bytes and ranges of files, in whatever pieces the socket takes them."""

from collections.abc import Sequence
from pathlib import Path
from random import Random
from typing import IO

import pytest

from odradek.model.buffer import Buffer
from odradek.net.outgoing import Outgoing

MB = 1 << 20


class Range:
    def __init__(self, file: IO[bytes], position: int, size: int) -> None:
        self.position = position
        self.size = size
        self.released = 0
        self._file = file

    def fileno(self) -> int:
        return self._file.fileno()

    def release(self) -> None:
        self.released += 1


class Sink:
    """A socket that takes so many bytes, call by call, and then no more for now."""

    def __init__(self, takes: Sequence[int]) -> None:
        self.got = b""
        self.offered: list[int] = []
        self._takes = list(takes)

    def send(self, data: Buffer, _flags: int = 0) -> int:
        return self.sendmsg([data])

    def sendmsg(self, run: Sequence[Buffer], _ancillary: object = (), _flags: int = 0) -> int:
        data = b"".join(run)
        self.offered.append(len(data))
        if not self._takes:
            raise BlockingIOError
        taken = data[: self._takes.pop(0)]
        self.got += taken
        return len(taken)


@pytest.fixture
def file(tmp_path: Path) -> IO[bytes]:
    path = tmp_path / "segment"
    path.write_bytes(Random(1).randbytes(3 * MB))
    return path.open("rb")


def test_all_of_it_goes_out_in_order_however_much_is_taken_at_a_time(file: IO[bytes]) -> None:
    content = file.read()
    for seed in range(200):
        rng = Random(seed)
        outgoing, expected = Outgoing(), b""
        parts: list[bytes | Range] = []
        ranges: list[Range] = []
        for _ in range(rng.randint(1, 150)):
            if rng.random() < 0.5:
                some = rng.randbytes(rng.randint(0, 300))
                parts.append(some)
                expected += some
            else:
                size = rng.randint(1, rng.choice((100, 10_000)))
                position = rng.randrange(len(content) - size)
                ranges.append(Range(file, position, size))
                parts.append(ranges[-1])
                expected += content[position : position + size]
        outgoing.add(parts)
        got = b""
        while len(outgoing):
            sink = Sink([rng.randint(1, 20_000) for _ in range(rng.randint(0, 3))])
            assert outgoing.send(sink) is not bool(outgoing), seed  # type: ignore[arg-type]
            got += sink.got
        assert got == expected, seed
        assert [each.released for each in ranges] == [1] * len(ranges), seed
        assert outgoing.size == 0
    file.close()


def test_an_answer_with_many_ranges_is_one_call(file: IO[bytes]) -> None:
    outgoing, sink = Outgoing(), Sink([10 * MB])
    outgoing.add([b"head", *(Range(file, 1000 * n, MB // 2) for n in range(6))])
    assert outgoing.send(sink)  # type: ignore[arg-type]
    assert sink.offered == [4 + 3 * MB]
    file.close()


def test_a_socket_that_is_full_is_not_offered_much_more_than_it_takes(file: IO[bytes]) -> None:
    outgoing, full = Outgoing(), Sink([MB])
    outgoing.add([Range(file, 0, 2 * MB), Range(file, 0, 3 * MB), Range(file, 0, 3 * MB)])
    assert not outgoing.send(full)  # type: ignore[arg-type]
    assert full.offered == [4 * MB, 4 * MB]
    later = Sink([MB, MB])
    assert not outgoing.send(later)  # type: ignore[arg-type]
    assert later.offered == [MB, MB, MB]
    outgoing.clear()
    file.close()


def test_what_comes_before_a_file_that_was_cut_is_sent(file: IO[bytes]) -> None:
    outgoing, sink = Outgoing(), Sink([MB, MB])
    outgoing.add([b"head", Range(file, 0, 100), b"next", Range(file, 3 * MB, 100)])
    with pytest.raises(OSError, match="a file ended before its range did"):
        outgoing.send(sink)  # type: ignore[arg-type]
    assert sink.got.startswith(b"head")
    assert sink.got.endswith(b"next")
    assert len(sink.got) == 108
    outgoing.clear()
    file.close()
