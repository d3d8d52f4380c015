"""A network in virtual time: hosts, links between them, and byte streams as `odradek.process.network` describes them.

Bytes are delayed and keep their order, as those of TCP. A stream may break under a send: what was under way is lost, or
still comes to the other end some time later. A link can be cut: then bytes wait until it is healed. Who does not read
lets the other end wait, too: a stream has room for so many bytes and no more.
"""

from collections import deque
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from errno import EADDRINUSE, EBADF
from functools import partial
from itertools import count
from random import Random
from typing import TYPE_CHECKING, Protocol

from odradek.process.network import ListenOptions, SocketAddress, gather, parse_address
from support.sim.events import Events

if TYPE_CHECKING:
    from odradek.model.buffer import Buffer
    from odradek.process.network import Part

Enter = Callable[[Callable[[], None]], None]
"""Runs a call within a process: at once, later where it is paused, never where it is dead."""
Connected = Callable[["SimChannel | None"], None]
"""Gets the channel; None where there is none to be had."""

_ROOM_BYTES = 128 << 10
_DIAL_MS_MAX = 20_000
"""When the system gives up to connect."""
_AGAIN_MS = 1_000
"""When it tries again, where the backlog is full or the link is cut."""
_TURN_MS = 1
"""Between two calls of one callback, so that time passes for one who does nothing about it."""
_FIRST_FREE_PORT = 32_768


@dataclass(frozen=True, kw_only=True)
class Weather:
    delay_ms_max: int
    """One way. Most bytes are far quicker."""
    break_chance: float
    """For each send: that the stream breaks under it."""
    late_ms_max: int = 2_000
    """How late bytes may come to a host whose stream broke: after what the other end sent on its next one, perhaps.
    With 0 they come before anything else, if they come."""


CALM = Weather(delay_ms_max=5, break_chance=0.0)


class Tap(Protocol):
    """Sees what goes through the channels that a host has accepted, as its process reads and sends it."""

    def received(self, channel: "SimChannel", data: bytes) -> None: ...

    def sent(self, channel: "SimChannel", data: bytes) -> None: ...

    def closed(self, channel: "SimChannel") -> None:
        """By either end."""
        ...


class SimNetwork:
    def __init__(self, events: Events, rng: Random, weather: Weather = CALM) -> None:
        self.events = events
        self.rng = rng
        self.weather = weather
        self._hosts: dict[str, SimHost] = {}
        """By their names and their addresses."""
        self._cut: set[frozenset[str]] = set()
        self._numbers = count(1)

    def host(self, name: str, enter: Enter, weather: Callable[[], Weather] | None = None) -> "SimHost":
        """`weather` is that of the streams that it dials, where it has one of its own."""
        number = next(self._numbers)
        address = f"10.{number >> 16}.{number >> 8 & 255}.{number & 255}"
        made = SimHost(self, name, address, enter, weather or (lambda: self.weather))
        self._hosts[name] = self._hosts[address] = made
        return made

    def find(self, host: str) -> "SimHost | None":
        return self._hosts.get(host)

    def cut(self, one: str, other: str) -> None:
        """Nothing passes between two hosts until the link is healed."""
        self._cut.add(frozenset((one, other)))

    def heal(self, one: str, other: str) -> None:
        self._cut.discard(frozenset((one, other)))

    def is_cut(self, one: str, other: str) -> bool:
        return bool(self._cut) and frozenset((one, other)) in self._cut

    def delay_ms(self, weather: Weather) -> int:
        return int(weather.delay_ms_max * self.rng.random() ** 3) + 1


class SimHost:
    """A host as its process sees it: an `odradek.process.network.Network`."""

    def __init__(
        self, network: SimNetwork, name: str, address: str, enter: Enter, weather: Callable[[], Weather]
    ) -> None:
        self.network = network
        self.name = name
        self.address = address
        self.enter = enter
        self.weather = weather
        self.tap: Tap | None = None
        self.is_dark = False
        """Whether it answers nothing, as a machine without power."""
        self._channels: dict[SimChannel, None] = {}
        self._acceptors: dict[int, SimAcceptor] = {}
        self._ports = count(_FIRST_FREE_PORT)

    def listen(self, host: str, port: int, options: ListenOptions = ListenOptions()) -> "SimAcceptor":  # noqa: B008
        port = port or next(self._ports)
        if port in self._acceptors:
            raise OSError(EADDRINUSE, f"{host}:{port} is in use")
        acceptor = self._acceptors[port] = SimAcceptor(self, port, options.backlog)
        return acceptor

    async def dial(self, host: str, port: int) -> "SimChannel":
        import asyncio

        found: asyncio.Future[SimChannel | None] = asyncio.get_running_loop().create_future()

        def connected(channel: SimChannel | None) -> None:
            if not found.done():
                found.set_result(channel)
            elif channel is not None:
                channel.close()  # it was cancelled meanwhile

        self.connect(host, port, connected)
        channel = await found
        if channel is None:
            raise ConnectionRefusedError(f"{host}:{port} cannot be reached")
        return channel

    async def resolve(self, host: str) -> frozenset[str]:
        address, found = parse_address(host), self.network.find(host)
        return frozenset((address,)) if address else frozenset((found.address,)) if found else frozenset()

    def connect(self, host: str, port: int, connected: Connected) -> None:
        """The same as `dial` for processes that are no loop of asyncio."""
        events = self.network.events
        self._knock(host, port, connected, events.now_ms + _DIAL_MS_MAX)

    def _knock(self, host: str, port: int, connected: Connected, until_ms: int) -> None:
        network = self.network
        there = network.delay_ms(self.weather())
        network.events.after(there, partial(self._reach, host, port, connected, until_ms))

    def _reach(self, host: str, port: int, connected: Connected, until_ms: int) -> None:
        network = self.network
        target = network.find(host)
        acceptor = target._acceptors.get(port) if target is not None else None
        is_silent = target is not None and (target.is_dark or network.is_cut(self.name, target.name))
        if is_silent or (acceptor is not None and acceptor.is_full):
            if network.events.now_ms < until_ms:
                network.events.after(_AGAIN_MS, partial(self._reach, host, port, connected, until_ms))
            else:
                self.enter(partial(connected, None))
            return
        back_ms = network.delay_ms(self.weather())
        if acceptor is None or target is None:
            network.events.after(back_ms, partial(self.enter, partial(connected, None)))
            return
        near, far = SimChannel.pair(self, target, SocketAddress(target.address, port), next(self._ports))
        acceptor.add(far)
        network.events.after(back_ms, partial(self.enter, partial(connected, near)))

    def reset(self) -> None:
        """Its process is gone: whoever is connected hears of it, unless the whole host is dark."""
        self._acceptors.clear()
        channels, self._channels = self._channels, {}
        for channel in channels:
            channel.abandon()

    def forget(self, channel: "SimChannel") -> None:
        self._channels.pop(channel, None)

    def add(self, channel: "SimChannel") -> None:
        self._channels[channel] = None

    def stop_listening(self, port: int) -> None:
        self._acceptors.pop(port, None)


class _Watch:
    """A callback of a process that is called again and again while something is so, as readiness events are."""

    __slots__ = ("_callback", "_enter", "_events", "_is_called", "_is_so")

    def __init__(self, host: SimHost, is_so: Callable[[], bool]) -> None:
        self._events = host.network.events
        self._enter = host.enter
        self._is_so = is_so
        self._callback: Callable[[], object] | None = None
        self._is_called = False

    def set(self, callback: Callable[[], object] | None) -> None:
        self._callback = callback
        self.look()

    def look(self, after_ms: int = 0) -> None:
        if self._callback is not None and not self._is_called and self._is_so():
            self._is_called = True
            self._events.after(after_ms, partial(self._enter, self._call))

    def _call(self) -> None:
        self._is_called = False
        if self._callback is not None and self._is_so():
            self._callback()
            self.look(_TURN_MS)


class _Stream:
    """One direction: from the one who sends to the one who receives."""

    __slots__ = ("arrived", "coming", "is_over", "is_reset", "last_ms", "size")

    def __init__(self) -> None:
        self.arrived = bytearray()
        self.coming: deque[bytes] = deque()
        self.size = 0
        """Bytes that are under way, or not read."""
        self.last_ms = 0
        self.is_over = False
        """What has arrived is all there will ever be."""
        self.is_reset = False
        """It is over because it broke."""


class SimChannel:
    """One end. `abandon` is what becomes of it when its process dies."""

    def __init__(self, host: SimHost, incoming: _Stream, outgoing: _Stream, weather: Callable[[], Weather]) -> None:
        self._host = host
        self._network = host.network
        self._weather = weather
        self._incoming = incoming
        self._outgoing = outgoing
        self._other: SimChannel = self
        self._is_closed = False
        self._is_told = False
        """The other end has been told that it is over, or will be."""
        self._readable = _Watch(host, self._may_receive)
        self._writable = _Watch(host, self._may_send)
        self.local = self.peer = SocketAddress("", 0)
        self.tap: Tap | None = None

    @staticmethod
    def pair(host: SimHost, target: SimHost, address: SocketAddress, port: int) -> "tuple[SimChannel, SimChannel]":
        """The dialling end, and the other."""
        there, back = _Stream(), _Stream()
        near = SimChannel(host, back, there, host.weather)
        far = SimChannel(target, there, back, host.weather)
        near._other, far._other = far, near
        near.local = far.peer = SocketAddress(host.address, port)
        near.peer = far.local = address
        far.tap = target.tap
        host.add(near)
        target.add(far)
        return near, far

    @property
    def peer_host(self) -> str:
        return self._other._host.name

    # --- Channel

    def receive_into(self, buffer: "Buffer", /) -> int:
        if self._is_closed:
            raise OSError(EBADF, "the channel is closed")
        incoming = self._incoming
        if not incoming.arrived:
            if incoming.is_reset:
                raise ConnectionResetError("the stream broke")
            if incoming.is_over:
                return 0
            raise BlockingIOError
        view = memoryview(buffer)
        size = min(len(view), len(incoming.arrived))
        data = bytes(incoming.arrived[:size])
        view[:size] = data
        del incoming.arrived[:size]
        incoming.size -= size
        self._other._writable.look()
        if self.tap is not None:
            self.tap.received(self, data)
        return size

    def send(self, data: "Buffer", /) -> int:
        return self.send_parts((data,), 0)

    def send_parts(self, parts: "Sequence[Part]", sent_of_first: int) -> int:
        if self._is_closed:
            raise OSError(EBADF, "the channel is closed")
        if self._incoming.is_reset:
            raise BrokenPipeError("the stream broke")
        room = _ROOM_BYTES - self._outgoing.size
        if room <= 0:
            raise BlockingIOError
        data = gather(parts, sent_of_first, room)
        if self.tap is not None:
            self.tap.sent(self, data)
        if self._is_told:
            return len(data)  # it broke, and this end has not heard of it yet
        self._outgoing.size += len(data)
        self._outgoing.coming.append(data)
        self._deliver(self._other._arrive)
        weather = self._weather()
        if weather.break_chance and self._network.rng.random() < weather.break_chance:
            self._break()
        return len(data)

    def on_readable(self, callback: Callable[[], object] | None) -> None:
        if not self._is_closed or callback is None:
            self._readable.set(callback)

    def on_writable(self, callback: Callable[[], object] | None) -> None:
        if not self._is_closed or callback is None:
            self._writable.set(callback)

    def close(self) -> None:
        if self._is_closed:
            return
        is_reset = bool(self._incoming.arrived)  # as TCP does, where there is something that nobody will read
        self._end()
        self._tell(is_reset=is_reset)

    # --- what happens to it

    def abort(self) -> None:
        """Its process lets go of it in the middle: what is under way is lost, or comes late."""
        if not self._is_closed:
            self._end()
            self._break()

    def abandon(self) -> None:
        """Its process is gone. What it has sent still arrives."""
        self._end()
        if not self._host.is_dark:
            self._tell(is_reset=True)

    def _end(self) -> None:
        self._is_closed = True
        self.on_readable(None)
        self.on_writable(None)
        self._host.forget(self)
        if self.tap is not None:
            self.tap.closed(self)

    def _may_receive(self) -> bool:
        incoming = self._incoming
        return bool(incoming.arrived) or incoming.is_over

    def _may_send(self) -> bool:
        return self._outgoing.size < _ROOM_BYTES or self._incoming.is_reset

    def _tell(self, *, is_reset: bool) -> None:
        """The other end, behind all that is under way to it."""
        if not self._is_told:
            self._is_told = True
            self._deliver(partial(self._other._hear, is_reset=is_reset))

    def _break(self) -> None:
        """Both ends hear of it; each direction drops what is under way, or is late with it."""
        for end in (self, self._other):
            if end._other._is_told:
                continue
            stream, rng = end._incoming, self._network.rng
            late = b"".join(stream.coming) if rng.random() < 0.5 else b""
            stream.coming.clear()
            if late:
                late_ms = self._network.events.now_ms + rng.randrange(self._weather().late_ms_max + 1)
                stream.last_ms = max(stream.last_ms, late_ms)
            end._other._is_told = True
            end._other._deliver(partial(end._hear, is_reset=True, late=late))

    def _deliver(self, call: Callable[[], None]) -> None:
        """Have `call` called at the other end, behind all that went there before."""
        events, stream = self._network.events, self._outgoing
        stream.last_ms = max(stream.last_ms, events.now_ms + self._network.delay_ms(self._weather()))
        self._at(stream.last_ms, call)

    def _at(self, at_ms: int, call: Callable[[], None]) -> None:
        events = self._network.events
        events.after(at_ms - events.now_ms, partial(self._pass, call))

    def _pass(self, call: Callable[[], None]) -> None:
        if self._network.is_cut(self._host.name, self._other._host.name):
            self._network.events.after(_AGAIN_MS, partial(self._pass, call))
        else:
            call()

    def _arrive(self) -> None:
        incoming = self._incoming
        if incoming.coming and not incoming.is_over:
            incoming.arrived += incoming.coming.popleft()
            if not self._is_closed:
                self._readable.look()
            elif not self._host.is_dark:
                self._tell(is_reset=True)  # nobody knows of this stream any more

    def _hear(self, *, is_reset: bool, late: bytes = b"") -> None:
        """The stream to here is over."""
        incoming = self._incoming
        incoming.arrived += late
        incoming.is_over = True
        incoming.is_reset = incoming.is_reset or is_reset
        if not self._is_closed:
            self._readable.look()
            self._writable.look()


class SimAcceptor:
    def __init__(self, host: SimHost, port: int, backlog: int) -> None:
        self._host = host
        self._backlog = backlog
        self._waiting: deque[SimChannel] = deque()
        self._acceptable = _Watch(host, lambda: bool(self._waiting))
        self.address = SocketAddress(host.address, port)

    @property
    def is_full(self) -> bool:
        return len(self._waiting) >= self._backlog

    def add(self, channel: SimChannel) -> None:
        self._waiting.append(channel)
        self._acceptable.look()

    def accept(self) -> SimChannel:
        if not self._waiting:
            raise BlockingIOError
        return self._waiting.popleft()

    def on_acceptable(self, callback: Callable[[], object] | None) -> None:
        self._acceptable.set(callback)

    def close(self) -> None:
        self._host.stop_listening(self.address.port)
        self._acceptable.set(None)
        while self._waiting:
            self._waiting.popleft().close()
