"""One client's connection: frames in, replies out, in the order of the requests.

A raw non-blocking socket on the loop's readiness events: bytes are received into buffers that are used again, and
replies are sent without an intermediate copy. Memory is bounded: it follows what a client sent, not what it announced,
and a connection with too many requests under way, or too much waiting to be sent, is not read from until half of that
is gone. One whose client is over its quota is not read from for a time.
"""

import asyncio
import socket
import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from struct import Struct
from typing import Protocol

from odradek.model.buffer import Buffer
from odradek.net.buffers import Buffers
from odradek.net.outgoing import FileRange, Outgoing, release

_SIZE = Struct(">i")
_TOGETHER_BYTES_MAX = 32 << 10
_TOGETHER_MAX = 32
_NOTHING = bytearray()
"""Not to be changed: connections share it."""


@dataclass(frozen=True, slots=True)
class Limits:
    frame_bytes_max: int = 104_857_600
    """socket.request.max.bytes"""
    under_way_max: int = 100
    """Requests without an answer."""
    waiting_bytes_max: int = 1 << 20
    """Buffer of answers in memory that the client does not take."""
    waiting_parts_max: int = 128
    """Parts of answers that the client does not take: each may hold a file open."""
    held_bytes_max: int = 256 << 20
    """Of requests of all connections that outlive their handlers. Beyond it, no connection is read from."""
    turn_s: float = 0.005
    """Then the other connections have their turn, whatever else this one has sent."""


class Reply:
    """The place of an answer among the answers of its connection."""

    __slots__ = ("_connection", "parts", "refusal")

    def __init__(self, connection: "Connection") -> None:
        self._connection = connection
        self.parts: Sequence[Buffer | FileRange] | None = None
        self.refusal: str | None = None

    def send(self, parts: Sequence[Buffer | FileRange]) -> None:
        """Answer; an empty answer sends nothing, but lets the ones behind it go."""
        if self._connection.is_closed:
            release(parts)
            return
        self.parts = parts
        self._connection.answered()

    def refuse(self, reason: str) -> None:
        """Close the connection, once the answers before this one are sent. Nothing more is read from it."""
        if self.parts is not None:
            self._connection.close(reason)
        elif not self._connection.is_closed:
            self.parts = ()
            self.refusal = reason
            self._connection.refused()


class Handler(Protocol):
    def opened(self, connection: "Connection") -> None: ...

    def request(self, connection: "Connection", frame: memoryview, reply: Reply) -> None:
        """A whole frame, without its size. The view can be written to, and is good only until this returns."""
        ...

    def closed(self, connection: "Connection") -> None: ...


class Owner(Protocol):
    """What the connections of one listener share."""

    handler: Handler
    buffers: Buffers
    limits: Limits

    def forget(self, connection: "Connection") -> None:
        """It is closed."""
        ...

    is_full: bool
    """Whether as many bytes are held as may be."""

    def hold(self, size: int) -> None:
        """Count bytes of a request that outlives its handler."""
        ...

    def release(self, size: int) -> None: ...

    def send_later(self, connection: "Connection") -> None:
        """Call its `send_now` at the end of this turn of the loop, when all who have sent something were heard."""
        ...


class Connection:
    __slots__ = (
        "__weakref__",
        "_awaits_turn",
        "_backlog",
        "_buffer",
        "_buffers",
        "_feeding",
        "_filled",
        "_frame_size",
        "_handler",
        "_held",
        "_held_back",
        "_is_refused",
        "_limits",
        "_loop",
        "_outgoing",
        "_owner",
        "_replies",
        "_sock",
        "_when_closed",
        "_writing",
        "close_reason",
        "granted",
        "granted_to",
        "is_closed",
        "is_reading",
        "last_active",
        "left",
        "local",
        "peer",
        "state",
    )

    def __init__(self, loop: asyncio.AbstractEventLoop, sock: socket.socket, owner: Owner) -> None:
        """May raise OSError: the client may have left already."""
        self._loop = loop
        self._sock = sock
        self._owner = owner
        self._handler = owner.handler
        self._buffers = owner.buffers
        self._limits = owner.limits
        self._buffer: bytearray | None = None
        self._frame_size = 0
        self._filled = 0
        self._backlog = _NOTHING
        """Buffer that were received and not looked at: the start of a frame's size, or what came while paused."""
        self._feeding = False
        self._awaits_turn = False
        self._is_refused = False
        """A request was refused: what comes after it is not looked at."""
        self._held_back: asyncio.TimerHandle | None = None
        """Until this timer ends, what comes is not looked at."""
        self._held = 0
        """Requests that outlive their handlers: what comes behind them is not looked at."""
        self._replies: list[Reply] = []  # never many; a deque takes 760 bytes, also of a connection that is idle
        self._outgoing = Outgoing()
        self._writing = False
        self._when_closed: dict[Callable[[], object], None] = {}
        self.peer: tuple[str, int] = sock.getpeername()[:2]
        self.local: tuple[str, int] = sock.getsockname()[:2]
        self.state: object = None
        """For the handler: what it knows of this client."""
        self.granted = 0
        """For the handler, too: bytes that the client may send until its quota is asked, and what is left of them."""
        self.left = 0
        self.granted_to: str | None = None
        self.last_active = loop.time()
        self.is_closed = False
        self.is_reading = False
        self.close_reason: str | None = None
        owner.handler.opened(self)
        self._resume()

    @property
    def peer_name(self) -> str:
        return f"{self.peer[0]}:{self.peer[1]}"

    # --- in

    @property
    def has_begun(self) -> bool:
        """Part of a frame is here, and the rest is not."""
        return self._buffer is not None or bool(self._backlog)

    def _resume(self) -> None:
        if not self.is_reading and not self.is_closed and not self._owner.is_full:
            self._loop.add_reader(self._sock.fileno(), self._on_readable)
            self.is_reading = True

    def pause(self) -> None:
        """Read nothing until `resume`, or until the next answer leaves."""
        if self.is_reading:
            self._loop.remove_reader(self._sock.fileno())
            self.is_reading = False

    @property
    def _is_full(self) -> bool:
        limits, outgoing = self._limits, self._outgoing
        return (
            len(self._replies) >= limits.under_way_max
            or outgoing.size >= limits.waiting_bytes_max
            or len(outgoing) >= limits.waiting_parts_max
        )

    @property
    def _may_read_on(self) -> bool:
        """There is room again; enough of it, so as not to go on one request at a time at the edge."""
        limits, outgoing = self._limits, self._outgoing
        return (
            not (self.is_reading or self._feeding or self._is_refused or self._awaits_turn or self.is_closed)
            and self._held_back is None
            and not self._held
            and not self._owner.is_full
            and len(self._replies) <= limits.under_way_max // 2
            and outgoing.size <= limits.waiting_bytes_max // 2
            and len(outgoing) <= limits.waiting_parts_max // 2
        )

    def hold_back(self, ms: int) -> None:
        """Read nothing for so long, nor look at what was read already: the client used more than it may.

        Answers leave all the same. Of two such times the one that ends later counts.
        """
        if self.is_closed:
            return
        until = self._loop.time() + ms / 1000
        if self._held_back is not None:
            if self._held_back.when() >= until:
                return
            self._held_back.cancel()
        self._held_back = self._loop.call_at(until, self._let_go)
        self.pause()

    def _let_go(self) -> None:
        self._held_back = None
        self.resume()

    def hold(self, size: int) -> None:
        """A request keeps `size` bytes when its handler has returned: what comes behind it waits until `release`.

        So requests keep their order, and a connection holds one request at most.
        """
        self._held += 1
        self._owner.hold(size)
        self.pause()

    def release(self, size: int) -> None:
        self._held -= 1
        self._owner.release(size)
        self.resume()

    def resume(self) -> None:
        """Read on, if nothing else is in the way."""
        if self._may_read_on:
            self._read_on()

    def _on_readable(self) -> None:
        buffer = self._buffer
        try:
            if buffer is None:
                received = self._sock.recv_into(self._buffers.shared)
            else:
                received = self._sock.recv_into(memoryview(buffer)[self._filled : self._frame_size])
        except (BlockingIOError, InterruptedError):
            return
        except ConnectionError:
            received = 0
        except OSError as error:
            self.close(f"receive failed: {error}")
            return
        if received == 0:
            self.close("the client left in the middle of a frame" if self.has_begun else None)
            return
        self.last_active = self._loop.time()
        if buffer is None:
            data = self._buffers.shared[:received]
            self._feed(data if not self._backlog else memoryview(self._take_backlog() + data))
            return
        self._filled += received
        if self._filled == self._frame_size:
            self._end_frame(buffer)
        elif self._filled == len(buffer):
            self._buffer = self._buffers.grow(buffer, self._frame_size)

    def _take_backlog(self) -> bytearray:
        backlog, self._backlog = self._backlog, _NOTHING
        return backlog

    def _feed(self, data: memoryview) -> None:
        """Handle the frames in `data`; what is left of it is kept."""
        at, end, limits, outgoing = 0, len(data), self._limits, self._outgoing
        turn_end = time.perf_counter() + limits.turn_s
        self._feeding = True
        while end - at >= 4 and not self.is_closed:
            if self._is_refused or self._held_back or self._held or ((self._replies or outgoing) and self._is_full):
                self.pause()
                break
            (size,) = _SIZE.unpack_from(data, at)
            if not 0 <= size <= limits.frame_bytes_max:
                self._refuse_frame(size)
                break
            if end - at - 4 < size:
                self._begin_frame(size, data[at + 4 :])
                at = end
                break
            self._deliver(data[at + 4 : at + 4 + size])
            at += 4 + size
            if at < end and time.perf_counter() > turn_end:
                self.pause()
                self._end_turn()
                break
        self._feeding = False
        if at < end and not self.is_closed:
            self._backlog = bytearray(data[at:])
        if (outgoing or self._is_refused) and not self._writing and not self.is_closed:
            # To send wakes the client, which costs more than all else. If others are answered first, those who wake
            # find more to do, and send more at a time.
            self._owner.send_later(self)
        elif not self.is_reading and self._may_read_on:
            self._end_turn()

    def send_now(self) -> None:
        """What waits, as far as the client takes it."""
        if not self._writing and not self.is_closed:
            self._send()
        if not self.is_reading and self._may_read_on:
            self._end_turn()  # what filled it is sent: nothing else would wake it

    def _end_turn(self) -> None:
        """The others first."""
        self._awaits_turn = True
        self._loop.call_soon(self._next_turn)

    def _next_turn(self) -> None:
        self._awaits_turn = False
        if self._may_read_on:
            self._read_on()

    def _refuse_frame(self, size: int) -> None:
        reply = Reply(self)
        self._replies.append(reply)
        reply.refuse(f"a frame of {size} bytes; {self._limits.frame_bytes_max} are allowed")

    def _begin_frame(self, size: int, first: memoryview) -> None:
        self._buffer = self._buffers.take(size, len(first))
        self._frame_size = size
        self._filled = len(first)
        self._buffer[: len(first)] = first

    def _end_frame(self, buffer: bytearray) -> None:
        self._buffer = None
        self._deliver(memoryview(buffer)[: self._frame_size])
        self._buffers.give_back(buffer)
        if self._is_full:
            self.pause()

    def _deliver(self, frame: memoryview) -> None:
        reply = Reply(self)
        self._replies.append(reply)
        self._handler.request(self, frame, reply)

    # --- out

    def answered(self) -> None:
        """An answer was given: send it, and those behind it, as far as they are there.

        Small answers leave at the end of the turn, those to requests that came together with one call: a call to the
        system costs more than it takes to make one of them.
        """
        replies, outgoing = self._replies, self._outgoing
        while replies and replies[0].parts is not None and replies[0].refusal is None:
            outgoing.add(replies.pop(0).parts or ())
        if self._feeding and outgoing.size < _TOGETHER_BYTES_MAX and len(outgoing) < _TOGETHER_MAX:
            return
        if not self._writing:
            self._send()
        if self._may_read_on:
            self._read_on()

    def refused(self) -> None:
        """A request was refused: close when it is its turn."""
        self._is_refused = True
        self.pause()
        self.answered()

    def _read_on(self) -> None:
        self._resume()
        if self._backlog:
            self._feed(memoryview(self._take_backlog()))

    def _send(self) -> None:
        try:
            done = self._outgoing.send(self._sock)
        except ConnectionError:
            self.close()  # the client left
            return
        except OSError as error:
            self.close(f"send failed: {error}")
            return
        if done and self._writing:
            self._loop.remove_writer(self._sock.fileno())
        elif not done and not self._writing:
            self._loop.add_writer(self._sock.fileno(), self._on_writable)
        self._writing = not done
        if done and self._is_refused and self._replies and self._replies[0].refusal is not None:
            self.close(self._replies[0].refusal)

    def _on_writable(self) -> None:
        self.last_active = self._loop.time()
        self._send()
        if self._may_read_on:
            self._read_on()

    # --- the end

    def when_closed(self, call: Callable[[], object]) -> None:
        """Have `call` called when the connection closes, unless `no_longer_when_closed` comes before."""
        self._when_closed[call] = None

    def no_longer_when_closed(self, call: Callable[[], object]) -> None:
        self._when_closed.pop(call, None)

    def close(self, reason: str | None = None) -> None:
        """At once: what was not sent is lost. `reason` is None where nothing is wrong."""
        if self.is_closed:
            return
        self.pause()
        if self._held_back is not None:
            self._held_back.cancel()
            self._held_back = None
        if self._writing:
            self._loop.remove_writer(self._sock.fileno())
        self.is_closed = True
        self.close_reason = reason
        for reply in self._replies:
            release(reply.parts or ())
        self._replies.clear()
        self._outgoing.clear()
        self._backlog = _NOTHING
        self._buffer = None
        self._sock.close()
        self._owner.forget(self)
        for call in self._when_closed:
            call()
        self._when_closed.clear()
        self._handler.closed(self)
