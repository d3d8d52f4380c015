"""Accepts connections at all listeners of a node, and holds them to the bounds that are set."""

import asyncio
import logging
from collections import Counter
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import Any, Protocol

from odradek.net.buffers import Buffers
from odradek.net.connection import Connection, Handler
from odradek.net.framing import Limits
from odradek.net.listener import Listener
from odradek.process.clock import SystemClock
from odradek.process.network import Channel, ListenOptions, Network, SocketAddress

logger = logging.getLogger(__name__)

_ACCEPTS_AT_ONCE = 64
_PAUSE_S = 0.2
_THROTTLED_MAX = 64
_INT_MAX = 2_147_483_647


@dataclass(frozen=True, slots=True)
class Admission:
    """Who may connect. Names of Kafka's settings are in the comments."""

    connections_max: int = _INT_MAX  # max.connections; the next ones wait until one of them leaves
    handles_max: int = _INT_MAX  # connections that file handles allow, whatever the settings say
    per_listener_max: Mapping[str, int] = field(default_factory=dict)  # listener.name.NAME.max.connections
    protected: str | None = None  # the listener of brokers, for which connections_max does not hold
    per_ip_max: int = _INT_MAX  # max.connections.per.ip; the next ones are closed
    idle_ms_max: int = 600_000  # connections.max.idle.ms; below 0 for ever


class ConnectionThrottle(Protocol):
    """How fast connections may come. Asked only where anything `is_set`."""

    is_set: bool

    def wait_ms(self, listener: str) -> int:
        """Count a connection: how long it waits until it is served, and those behind it until they are accepted."""
        ...

    def refuse_ms(self, listener: str, ip: str) -> int:
        """0 for one that may come. Any other is closed, after this time: one that is at once comes back at once."""
        ...


class _Unthrottled:
    is_set = False

    def wait_ms(self, _listener: str) -> int:
        return 0

    def refuse_ms(self, _listener: str, _ip: str) -> int:
        return 0


class SocketServer:
    """Starts with no listener. Connections of all of them are counted together, and each listener's by itself."""

    def __init__(
        self,
        network: Network,
        handler: Handler[Any],
        limits: Limits = Limits(),  # noqa: B008
        throttle: ConnectionThrottle = _Unthrottled(),  # noqa: B008
        watch: Callable[[], float] = SystemClock.monotonic_s,
    ) -> None:
        """`watch` is for the turns of connections."""
        self._network = network
        self._throttle = throttle
        self._admission = Admission()
        self._per_ip_overrides: Mapping[str, int] = {}
        self._listeners: list[Listener] = []
        self._per_ip: Counter[str] = Counter()
        self._refused: dict[Channel, None] = {}
        """Those that came too fast, until they are closed."""
        self._has_complained = False
        self._to_send: list[Connection] = []
        self._held_bytes = 0
        self.is_full = False
        self.handler = handler
        self.limits = limits
        self.watch = watch
        self.buffers = Buffers()
        self.connections: dict[Connection, None] = {}
        """In the order in which they came, so that a simulation closes them in the same order each time."""

    def listen(
        self,
        host: str,
        port: int,
        name: str = "PLAINTEXT",
        advertised: tuple[str, int] | None = None,
        options: ListenOptions = ListenOptions(),  # noqa: B008
    ) -> Listener:
        """At one more address; its port is one that is free where `port` is 0. Raises OSError."""
        acceptor = self._network.listen(host, port, options)
        listener = Listener(name, acceptor, SocketAddress(*advertised) if advertised is not None else None)
        self._listeners.append(listener)
        self._accept_again(listener)
        return listener

    @property
    def idle_ms_max(self) -> int:
        return self._admission.idle_ms_max

    def change_admission(self, admission: Admission) -> None:
        """For connections to come, and for those that are one too many now."""
        self._admission = admission
        self._close_excess()
        for listener in self._listeners:
            self._accept_again(listener)

    def change_per_ip_overrides(self, overrides: Mapping[str, int]) -> None:
        """max.connections.per.ip.overrides, by address. For connections to come."""
        self._per_ip_overrides = overrides

    # --- sending

    def send_later(self, connection: Connection) -> None:
        if not self._to_send:
            asyncio.get_running_loop().call_soon(self._send_all)
        self._to_send.append(connection)

    def _send_all(self) -> None:
        waiting, self._to_send = self._to_send, []
        for connection in waiting:
            connection.send_now()

    # --- bytes of requests that outlive their handlers

    def hold(self, size: int) -> None:
        self._held_bytes += size
        if self._held_bytes >= self.limits.held_bytes_max and not self.is_full:
            self.is_full = True
            for connection in self.connections:
                connection.pause()

    def release(self, size: int) -> None:
        """Half of it has to be free, so as not to go on one request at a time at the edge."""
        self._held_bytes -= size
        if self.is_full and self._held_bytes <= self.limits.held_bytes_max // 2:
            self.is_full = False
            for connection in list(self.connections):
                connection.resume()

    # --- accepting

    def _on_acceptable(self, listener: Listener) -> None:
        for _ in range(_ACCEPTS_AT_ONCE):
            if not listener.is_accepting:
                return
            if not self._has_room(listener):
                self._stop_accepting(listener, "as many as are allowed")  # until one leaves
                return
            try:
                channel = listener.acceptor.accept()
            except (BlockingIOError, InterruptedError, ConnectionAbortedError):
                self._has_complained = False  # nobody waits any more
                return
            except OSError as error:
                # Out of handles, most likely: it would fail again at once, and again.
                self._stop_accepting(listener, str(error))
                asyncio.get_running_loop().call_later(_PAUSE_S, self._accept_again, listener)
                return
            wait_ms = self._throttle.wait_ms(listener.name) if self._throttle.is_set else 0
            if wait_ms:
                self._throttle_listener(listener, channel, wait_ms)
                return
            self._admit(listener, channel)

    def _has_room(self, listener: Listener) -> bool:
        admission, count = self._admission, len(self.connections)
        most = admission.per_listener_max.get(listener.name, _INT_MAX)
        if listener.connections >= most or count >= admission.handles_max:
            return False
        return listener.name == admission.protected or count < admission.connections_max

    def _throttle_listener(self, listener: Listener, accepted: Channel, wait_ms: int) -> None:
        self._stop_accepting(listener)
        listener.throttled, listener.is_throttled = accepted, True
        asyncio.get_running_loop().call_later(wait_ms / 1000, self._end_throttle, listener)

    def _end_throttle(self, listener: Listener) -> None:
        listener.is_throttled = False
        self._accept_again(listener)

    def _accept_again(self, listener: Listener) -> None:
        if listener.is_accepting or listener.is_throttled or listener not in self._listeners:
            return
        if listener.throttled is not None:
            if not self._has_room(listener):
                return  # others came in by other listeners
            channel, listener.throttled = listener.throttled, None
            self._admit(listener, channel)
        listener.acceptor.on_acceptable(lambda: self._on_acceptable(listener))
        listener.is_accepting = True

    def _stop_accepting(self, listener: Listener, reason: str | None = None) -> None:
        if listener.is_accepting:
            listener.acceptor.on_acceptable(None)
            listener.is_accepting = False
        if reason is not None and not self._has_complained:
            fields = {"reason": reason, "connections": len(self.connections)}
            logger.warning("no more connections are accepted for now", extra=fields)
            self._has_complained = True

    def _admit(self, listener: Listener, channel: Channel) -> None:
        ip = channel.peer.host
        refuse_ms = self._throttle.refuse_ms(listener.name, ip) if self._throttle.is_set else 0
        if refuse_ms:
            self._refuse(channel, refuse_ms)
            return
        if self._per_ip[ip] >= self._per_ip_overrides.get(ip, self._admission.per_ip_max):
            logger.warning("refused a connection", extra={"ip": ip, "connections": self._per_ip[ip]})
            channel.close()
            return
        try:
            connection = Connection(channel, listener, self)
        except OSError:
            channel.close()  # it left already, or the system watches no more channels
            return
        self._per_ip[ip] += 1
        listener.connections += 1
        self.connections[connection] = None
        self._close_excess()

    def _refuse(self, channel: Channel, after_ms: int) -> None:
        """Those who come too fast wait for it, as long as that does not take too many handles."""
        if len(self._refused) >= _THROTTLED_MAX:
            channel.close()
            return
        self._refused[channel] = None
        asyncio.get_running_loop().call_later(after_ms / 1000, self._close_refused, channel)

    def _close_refused(self, channel: Channel) -> None:
        self._refused.pop(channel, None)
        channel.close()

    # --- connections that end

    def forget(self, connection: Connection) -> None:
        if connection not in self.connections:
            return
        del self.connections[connection]
        ip = connection.peer.host
        self._per_ip[ip] -= 1
        if not self._per_ip[ip]:
            del self._per_ip[ip]
        connection.listener.connections -= 1
        for listener in self._listeners:
            self._accept_again(listener)

    def _close_excess(self) -> None:
        """Those that were silent longest, where there are more than may be: brokers came, or the bound is another."""
        excess = len(self.connections) - self._admission.connections_max
        if excess <= 0:
            return
        clients = [each for each in self.connections if each.listener.name != self._admission.protected]
        for connection in sorted(clients, key=lambda each: each.last_active)[:excess]:
            connection.close("more connections than are allowed")

    def close_idle(self) -> int:
        """Close connections on which nothing happened for too long; returns how many."""
        if self._admission.idle_ms_max < 0:
            return 0
        oldest = asyncio.get_running_loop().time() - self._admission.idle_ms_max / 1000
        idle = [connection for connection in self.connections if connection.last_active < oldest]
        for connection in idle:
            connection.close()
        return len(idle)

    # --- the end

    def stop_listening(self) -> None:
        for listener in self._listeners:
            self._stop_accepting(listener)
            listener.acceptor.close()
            if listener.throttled is not None:
                listener.throttled.close()
        self._listeners.clear()
        for channel in self._refused:
            channel.close()
        self._refused.clear()

    def close(self) -> None:
        """Answers that are there leave, as far as clients take them now."""
        self.stop_listening()
        self._send_all()
        for connection in list(self.connections):
            connection.close()
