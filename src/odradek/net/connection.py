"""One client's connection: moves bytes between its channel and its framing, and has its requests handled.

It reads nothing while its framing is full, nor while its client is muted for being over its quota. What is to be sent
leaves as far as the channel takes it; the rest leaves when the channel takes more.
"""

import asyncio
from collections.abc import Callable
from typing import Any, Protocol, TypeVar

from odradek.net.buffers import Buffers
from odradek.net.framing import Framing, Limits, Reply
from odradek.net.listener import Listener
from odradek.process.network import Channel, SocketAddress

S = TypeVar("S")


class Handler(Protocol[S]):
    """Of the connections of a node. `S` is what it makes of each: it is given that in place of the connection."""

    def opened(self, connection: "Connection") -> S: ...

    def request(self, client: S, frame: memoryview, reply: Reply) -> None:
        """A whole frame, without its size. The view can be written to, and is good only until this returns."""
        ...

    def closed(self, client: S) -> None: ...


class Server(Protocol):
    """What connections share."""

    handler: Handler[Any]
    buffers: Buffers
    limits: Limits
    watch: Callable[[], float]
    """Seconds, as exactly as can be."""

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
        "_channel",
        "_client",
        "_framing",
        "_handler",
        "_held",
        "_loop",
        "_muted",
        "_server",
        "_when_closed",
        "_writing",
        "close_reason",
        "is_closed",
        "is_reading",
        "last_active",
        "listener",
        "local",
        "peer",
    )

    def __init__(self, channel: Channel, listener: Listener, server: Server) -> None:
        self.listener = listener
        self.peer: SocketAddress = channel.peer
        self.local: SocketAddress = channel.local
        self._channel = channel
        self._server = server
        self._handler = server.handler
        self._loop = asyncio.get_running_loop()
        self._framing = Framing(server.buffers, server.limits, self)
        self._awaits_turn = False
        self._muted: asyncio.TimerHandle | None = None
        """Until this timer ends, what comes is not looked at."""
        self._held = 0
        """Requests that outlive their handlers: what comes behind them is not looked at."""
        self._writing = False
        self._when_closed: dict[Callable[[], object], None] = {}
        self.last_active = self._loop.time()
        self.is_closed = False
        self.is_reading = False
        self.close_reason: str | None = None
        self._client = self._handler.opened(self)
        self._start_reading()

    @property
    def advertised(self) -> SocketAddress:
        """Where the client reaches this node."""
        return self.listener.advertised or self.local

    # --- in

    @property
    def has_begun(self) -> bool:
        """Part of a frame is here, and the rest is not."""
        return self._framing.has_begun

    def mute(self, ms: int) -> None:
        """Read nothing for so long, nor look at what was read already: the client used more than it may.

        Answers leave all the same. Of two such times the one that ends later counts.
        """
        if self.is_closed:
            return
        until = self._loop.time() + ms / 1000
        if self._muted is not None:
            if self._muted.when() >= until:
                return
            self._muted.cancel()
        self._muted = self._loop.call_at(until, self._unmute)
        self.pause()

    def _unmute(self) -> None:
        self._muted = None
        self.resume()

    def hold(self, size: int) -> None:
        """A request keeps `size` bytes when its handler has returned: what comes behind it waits until `release`.

        So requests keep their order, and a connection holds one request at most.
        """
        self._held += 1
        self._server.hold(size)
        self.pause()

    def release(self, size: int) -> None:
        self._held -= 1
        self._server.release(size)
        self.resume()

    def _start_reading(self) -> None:
        if not self.is_reading and not self.is_closed and not self._server.is_full:
            self._channel.on_readable(self._on_readable)
            self.is_reading = True

    def pause(self) -> None:
        """Read nothing until `resume`, or until the next answer leaves."""
        if self.is_reading:
            self._channel.on_readable(None)
            self.is_reading = False

    @property
    def _may_read_on(self) -> bool:
        framing = self._framing
        return (
            not (self.is_reading or framing.is_in_turn or framing.is_refused or self._awaits_turn or self.is_closed)
            and self._muted is None
            and not self._held
            and not self._server.is_full
            and framing.has_room
        )

    def resume(self) -> None:
        """Read on, if nothing else is in the way."""
        if self._may_read_on:
            self._start_reading()
            if self._framing.has_begun:
                self._handle_frames()

    def _on_readable(self) -> None:
        framing = self._framing
        try:
            count = self._channel.receive_into(framing.space)
        except (BlockingIOError, InterruptedError):
            return
        except ConnectionError:
            count = 0
        except OSError as error:
            self.close(f"receive failed: {error}")
            return
        if count == 0:
            self.close("the client left in the middle of a frame" if framing.has_begun else None)
            return
        self.last_active = self._loop.time()
        framing.received(count)
        self._handle_frames()

    def _handle_frames(self) -> None:
        """All that are here, until the connection has had its turn."""
        framing, server = self._framing, self._server
        turn_end = server.watch() + server.limits.turn_s
        framing.is_in_turn = True
        while self._muted is None and not self._held and (frame := framing.next_frame()) is not None:
            self._handler.request(self._client, frame, Reply(framing))
            if framing.at == len(framing.data):
                break
            if server.watch() > turn_end:
                self.pause()
                self._end_turn()
                break
        framing.is_in_turn = False
        if self.is_closed:
            return
        if framing.keep() and framing.is_full:
            self.pause()
        if (framing.outgoing.parts or framing.is_refused) and not self._writing:
            # To send wakes the client, which costs more than all else. If others are answered first, those who wake
            # find more to do, and send more at a time.
            server.send_later(self)
        elif not self.is_reading and self._may_read_on:
            self._end_turn()

    def _end_turn(self) -> None:
        """The others first."""
        self._awaits_turn = True
        self._loop.call_soon(self._next_turn)

    def _next_turn(self) -> None:
        self._awaits_turn = False
        self.resume()

    # --- out

    def flush(self) -> None:
        """Send what waits, unless the channel is full, and read on if that makes room."""
        if self._framing.is_refused:
            self.pause()
        if not self._writing and not self.is_closed:
            self._send()
        self.resume()

    def send_now(self) -> None:
        """What waits, as far as the client takes it."""
        if not self._writing and not self.is_closed:
            self._send()
        if not self.is_reading and self._may_read_on:
            self._end_turn()  # what filled it is sent: nothing else would wake it

    def _send(self) -> None:
        framing = self._framing
        try:
            done = framing.outgoing.send(self._channel)
        except ConnectionError:
            self.close()  # the client left
            return
        except OSError as error:
            self.close(f"send failed: {error}")
            return
        if done is self._writing:
            self._channel.on_writable(None if done else self._on_writable)
            self._writing = not done
        if done and framing.is_refused and framing.refusal is not None:
            self.close(framing.refusal)

    def _on_writable(self) -> None:
        self.last_active = self._loop.time()
        self._send()
        self.resume()

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
        if self._muted is not None:
            self._muted.cancel()
            self._muted = None
        self.is_closed = True
        self.close_reason = reason
        self._framing.close()
        self._channel.close()
        self._server.forget(self)
        for call in self._when_closed:
            call()
        self._when_closed.clear()
        self._handler.closed(self._client)
