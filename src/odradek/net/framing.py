"""The requests of one connection, cut out of the bytes that come, and their answers in the order of the requests.

Nothing here waits, receives or sends: `Connection` does that, between a channel and this. Frames are views on the
buffers that the bytes were received into. Memory is bounded: it follows what a client sent, not what it announced, and
no frame is handed out while too many requests are under way or too much waits to be sent.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from struct import Struct
from typing import Protocol

from odradek.net.buffers import Buffers
from odradek.net.outgoing import Outgoing, release
from odradek.process.network import Part

_SIZE = Struct(">i")
_SIZE_BYTES = _SIZE.size
_TOGETHER_BYTES_MAX = 32 << 10
_TOGETHER_MAX = 32
_NOTHING = memoryview(bytearray())


@dataclass(frozen=True, slots=True)
class Limits:
    """Of one connection."""

    frame_bytes_max: int = 104_857_600
    """socket.request.max.bytes"""
    under_way_max: int = 100
    """Requests without an answer."""
    waiting_bytes_max: int = 1 << 20
    """Bytes of answers in memory that the client does not take."""
    waiting_parts_max: int = 128
    """Parts of answers that the client does not take: each may hold a file open."""
    held_bytes_max: int = 256 << 20
    """Of requests of all connections that outlive their handlers. Beyond it, no connection is read from."""
    turn_s: float = 0.005
    """How long the requests of one connection are handled before the other connections have their turn."""


class Driver(Protocol):
    """What moves the bytes of a `Framing`."""

    def flush(self) -> None:
        """Answers wait in `outgoing`, or the connection is to end when what is in it is sent."""
        ...

    def close(self, reason: str | None) -> None: ...


class Reply:
    """The answer to one request, in its place among the answers of its connection. Made for each frame, in order."""

    __slots__ = ("_framing", "parts", "refusal")

    def __init__(self, framing: "Framing") -> None:
        self._framing = framing
        self.parts: Sequence[Part] | None = None
        self.refusal: str | None = None
        framing.replies.append(self)

    def send(self, parts: Sequence[Part]) -> None:
        """Answer; an empty answer sends nothing, but lets the ones behind it go."""
        if self._framing.is_closed:
            release(parts)
            return
        self.parts = parts
        self._framing.answered()

    def refuse(self, reason: str) -> None:
        """Close the connection, once the answers before this one are sent. Nothing more is read from it."""
        if self._framing.is_closed:
            return
        if self.parts is not None:
            self._framing.driver.close(reason)
            return
        self.parts = ()
        self.refusal = reason
        self._framing.is_refused = True
        self._framing.answered()


class Framing:
    __slots__ = (
        "_buffer",
        "_buffers",
        "_filled",
        "_limits",
        "_total",
        "at",
        "data",
        "driver",
        "is_closed",
        "is_in_turn",
        "is_refused",
        "outgoing",
        "replies",
        "space",
    )

    def __init__(self, buffers: Buffers, limits: Limits, driver: Driver) -> None:
        self.driver = driver
        self._buffers = buffers
        self._limits = limits
        self.space = buffers.shared
        """Where the next bytes are to be received; then `received` is called."""
        self.data = _NOTHING
        """What was received, from `at` on not looked at: in the shared buffer until `keep` is called."""
        self.at = 0
        self._buffer: bytearray | None = None
        """Of a frame that did not come whole, with its size: `_filled` bytes of `_total` are here. Once all are, it is
        looked at as `data`, and `_total` is 0."""
        self._filled = 0
        self._total = 0
        self.replies: list[Reply] = []  # never many; a deque takes 760 bytes, also of a connection that is idle
        """Those whose answers are not on their way yet."""
        self.outgoing = Outgoing()
        self.is_in_turn = False
        """Whether frames are being handled: small answers wait for the end of that, and leave together."""
        self.is_refused = False
        """A request was refused: what comes after it is not looked at."""
        self.is_closed = False

    # --- requests

    def received(self, count: int) -> None:
        """So many bytes are in `space`."""
        if self._total:
            self._filled += count
            self._continue()
            return
        new = self.space[:count]
        if self.at < len(self.data):
            new = memoryview(bytearray(self.data[self.at :]) + new)
        self.data = new
        self.at = 0

    def next_frame(self) -> memoryview | None:
        """The next frame, without its size. None if none has come whole, none may come any more, or a bound is reached.

        The view can be written to. It is good until `keep` is called.
        """
        if (self.replies or self.outgoing.parts) and (self.is_refused or self.is_full):
            return None
        data, at = self.data, self.at
        start = at + _SIZE_BYTES
        if start > len(data):
            return None
        (size,) = _SIZE.unpack_from(data, at)
        end = start + size
        if 0 <= size <= self._limits.frame_bytes_max:
            if end <= len(data):
                self.at = end
                return data[start:end]
            self._begin(_SIZE_BYTES + size)
        else:
            Reply(self).refuse(f"a frame of {size} bytes; {self._limits.frame_bytes_max} are allowed")
        return None

    def keep(self) -> bool:
        """Other connections receive next: what was not looked at leaves the buffer that all share.

        Returns whether there is any. A part of a frame does not count, unless it is of the frame's size.
        """
        if self.at < len(self.data):
            if self.data.obj is self._buffers.shared.obj:
                self.data = memoryview(bytearray(self.data[self.at :]))
                self.at = 0
            return True
        self.data = _NOTHING
        self.at = 0
        if self._buffer is not None and not self._total:
            self._buffers.give_back(self._buffer)
            self._buffer = None
        return False

    @property
    def has_begun(self) -> bool:
        """Whether something is here that was not handed out: a part of a frame, or frames that must wait."""
        return self._total > 0 or self.at < len(self.data)

    @property
    def is_full(self) -> bool:
        limits, outgoing = self._limits, self.outgoing
        return (
            len(self.replies) >= limits.under_way_max
            or outgoing.size >= limits.waiting_bytes_max
            or len(outgoing.parts) >= limits.waiting_parts_max
        )

    @property
    def has_room(self) -> bool:
        """Room again, after it was full: enough of it, so as not to go on one request at a time at the edge."""
        limits, outgoing = self._limits, self.outgoing
        return (
            len(self.replies) <= limits.under_way_max // 2
            and outgoing.size <= limits.waiting_bytes_max // 2
            and len(outgoing.parts) <= limits.waiting_parts_max // 2
        )

    def _begin(self, total: int) -> None:
        """The rest of a frame is still to come: it gets a buffer of its own."""
        first = self.data[self.at :]
        self._buffer = self._buffers.borrow(total, len(first))
        self._buffer[: len(first)] = first
        self._filled, self._total = len(first), total
        self.at = len(self.data)
        self.space = memoryview(self._buffer)[len(first) : total]

    def _continue(self) -> None:
        buffer, total = self._buffer, self._total
        assert buffer is not None
        if self._filled == total:
            self.data = memoryview(buffer)[:total]
            self.at = self._total = 0
            self.space = self._buffers.shared
            return
        if self._filled == len(buffer):
            buffer = self._buffer = self._buffers.grow(buffer, total)
        self.space = memoryview(buffer)[self._filled : total]

    # --- answers

    def answered(self) -> None:
        """An answer was given: it may leave, and those behind it, as far as they are there.

        Small answers leave at the end of the turn, those to requests that came together with one call: a call to the
        system costs more than it takes to make one of them.
        """
        replies, outgoing = self.replies, self.outgoing
        while replies and (parts := replies[0].parts) is not None and replies[0].refusal is None:
            del replies[0]
            outgoing.add(parts)
        if (
            self.is_in_turn
            and outgoing.size < _TOGETHER_BYTES_MAX
            and len(outgoing.parts) < _TOGETHER_MAX
            and not self.is_refused
        ):
            return
        self.driver.flush()

    @property
    def refusal(self) -> str | None:
        """Why the connection is to be closed now: all answers before that are on their way."""
        return self.replies[0].refusal if self.is_refused and self.replies else None

    def close(self) -> None:
        """Forget all that came and all that was not sent."""
        self.is_closed = True
        for reply in self.replies:
            release(reply.parts or ())
        self.replies.clear()
        self.outgoing.clear()
        self.data, self.at = _NOTHING, 0
        self._buffer = None
        self._total = 0
