"""Listening sockets, and the connections that came in on them."""

import asyncio
import logging
import socket
from collections import Counter
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Protocol

from odradek.net.buffers import Buffers
from odradek.net.connection import Connection, Handler, Limits

logger = logging.getLogger(__name__)

_ACCEPTS_AT_ONCE = 64
_PAUSE_S = 0.2
_REFUSED_MAX = 64
_INT_MAX = 2_147_483_647


@dataclass(frozen=True, slots=True)
class Admission:
    """Who may connect. Names of Kafka's settings are in the comments."""

    connections_max: int = _INT_MAX  # max.connections; the next ones wait until one of them leaves
    handles_max: int = _INT_MAX  # connections that file handles allow, whatever the settings say
    per_listener_max: Mapping[str, int] = field(default_factory=dict)  # listener.name.NAME.max.connections
    protected: str | None = None  # the listener of brokers, for which connections_max does not hold
    per_ip_max: int = _INT_MAX  # max.connections.per.ip; the next ones are closed
    per_ip_overrides: dict[str, int] = field(default_factory=dict)  # max.connections.per.ip.overrides
    idle_ms_max: int = 600_000  # connections.max.idle.ms; below 0 for ever
    backlog: int = 50  # socket.listen.backlog.size
    send_buffer_bytes: int = -1  # socket.send.buffer.bytes; -1 leaves it to the system
    receive_buffer_bytes: int = -1  # socket.receive.buffer.bytes; the same


class Pace(Protocol):
    """How fast connections may come. Asked only where anything `is_set`."""

    is_set: bool

    def wait_ms(self, listener: str) -> int:
        """Count a connection: how long it waits until it is served, and those behind it until they are accepted."""
        ...

    def refuse_ms(self, listener: str, ip: str) -> int:
        """0 for one that may come. Any other is closed, after this time: one that is at once comes back at once."""
        ...


class _Unpaced:
    is_set = False

    def wait_ms(self, _listener: str) -> int:
        return 0

    def refuse_ms(self, _listener: str, _ip: str) -> int:
        return 0


class _Door:
    """An address that is listened at."""

    __slots__ = ("accepted", "count", "is_accepting", "name", "sock", "waits")

    def __init__(self, name: str, sock: socket.socket) -> None:
        self.name = name
        self.sock = sock
        self.count = 0
        """Connections that came in here and are open."""
        self.accepted: tuple[socket.socket, str] | None = None
        """A connection that waits to be served, with its address: no other is accepted before it."""
        self.waits = False
        """For the time until it may be."""
        self.is_accepting = False


class Listener:
    def __init__(
        self,
        handler: Handler,
        admission: Admission = Admission(),  # noqa: B008
        limits: Limits = Limits(),  # noqa: B008
        pace: Pace = _Unpaced(),  # noqa: B008
    ) -> None:
        self.handler = handler
        self.limits = limits
        self.buffers = Buffers()
        self._admission = admission
        self._pace = pace
        self._doors: dict[tuple[int, bool], _Door] = {}
        self._loop: asyncio.AbstractEventLoop | None = None
        self._per_ip: Counter[str] = Counter()
        self._refused: set[socket.socket] = set()
        """Those that came too fast, until they are closed."""
        self._has_complained = False
        self.connections: set[Connection] = set()
        self._to_send: list[Connection] = []
        self.is_full = False
        self._held_bytes = 0

    def open(self, host: str, port: int, name: str = "PLAINTEXT") -> tuple[str, int]:
        """Listen, at one more address; returns it, with the port that was given where `port` is 0."""
        self._loop = asyncio.get_running_loop()
        family = socket.AF_INET6 if ":" in host else socket.AF_INET
        sock = socket.socket(family, socket.SOCK_STREAM)
        try:
            sock.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
            self._set_buffers(sock)
            sock.bind((host, port))
            sock.listen(self._admission.backlog)
            sock.setblocking(False)
        except OSError:
            sock.close()
            raise
        bound: tuple[str, int] = sock.getsockname()[:2]
        door = self._doors[_place(bound)] = _Door(name, sock)
        self._accept_again(door)
        return bound

    def _set_buffers(self, sock: socket.socket) -> None:
        """Those who connect inherit them."""
        buffers = {
            socket.SO_SNDBUF: self._admission.send_buffer_bytes,
            socket.SO_RCVBUF: self._admission.receive_buffer_bytes,
        }
        for option, size in buffers.items():
            if size >= 0:
                sock.setsockopt(socket.SOL_SOCKET, option, size)

    @property
    def idle_ms_max(self) -> int:
        return self._admission.idle_ms_max

    def change_admission(self, admission: Admission) -> None:
        """For connections to come, and for those that are one too many now. The backlog is that of the start."""
        self._admission = admission
        self._close_excess()
        for door in self._doors.values():
            self._accept_again(door)

    # --- sending

    def send_later(self, connection: Connection) -> None:
        if not self._to_send and self._loop is not None:
            self._loop.call_soon(self._send_all)
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

    def _on_acceptable(self, door: _Door) -> None:
        for _ in range(_ACCEPTS_AT_ONCE):
            if not door.is_accepting or self._loop is None:
                return
            if not self._has_room(door):
                self._stop_accepting(door, "as many as are allowed")  # until one leaves
                return
            try:
                sock, address = door.sock.accept()
            except (BlockingIOError, InterruptedError, ConnectionAbortedError):
                self._has_complained = False  # nobody waits any more
                return
            except OSError as error:
                # Out of handles, most likely: it would fail again at once, and again.
                self._stop_accepting(door, str(error))
                self._loop.call_later(_PAUSE_S, self._accept_again, door)
                return
            wait_ms = self._pace.wait_ms(door.name) if self._pace.is_set else 0
            if wait_ms:
                self._wait(door, (sock, address[0]), wait_ms)
                return
            self._admit(door, sock, address[0])

    def _has_room(self, door: _Door) -> bool:
        admission, count = self._admission, len(self.connections)
        if door.count >= admission.per_listener_max.get(door.name, _INT_MAX) or count >= admission.handles_max:
            return False
        return door.name == admission.protected or count < admission.connections_max

    def _wait(self, door: _Door, accepted: tuple[socket.socket, str], wait_ms: int) -> None:
        if self._loop is not None:
            self._stop_accepting(door)
            door.accepted, door.waits = accepted, True
            self._loop.call_later(wait_ms / 1000, self._end_wait, door)

    def _end_wait(self, door: _Door) -> None:
        door.waits = False
        self._accept_again(door)

    def _accept_again(self, door: _Door) -> None:
        if self._loop is None or door.is_accepting or door.waits or door not in self._doors.values():
            return
        if door.accepted is not None:
            if not self._has_room(door):
                return  # others came in by other doors
            (sock, ip), door.accepted = door.accepted, None
            self._admit(door, sock, ip)
        self._loop.add_reader(door.sock.fileno(), self._on_acceptable, door)
        door.is_accepting = True

    def _stop_accepting(self, door: _Door, reason: str | None = None) -> None:
        if self._loop is not None and door.is_accepting:
            self._loop.remove_reader(door.sock.fileno())
            door.is_accepting = False
        if reason is not None and not self._has_complained:
            fields = {"reason": reason, "connections": len(self.connections)}
            logger.warning("no more connections are accepted for now", extra=fields)
            self._has_complained = True

    def _admit(self, door: _Door, sock: socket.socket, ip: str) -> None:
        if self._loop is None:
            return
        refuse_ms = self._pace.refuse_ms(door.name, ip) if self._pace.is_set else 0
        if refuse_ms:
            self._refuse(sock, refuse_ms)
            return
        allowed = self._admission.per_ip_overrides.get(ip, self._admission.per_ip_max)
        if self._per_ip[ip] >= allowed:
            logger.warning("refused a connection", extra={"ip": ip, "connections": self._per_ip[ip]})
            sock.close()
            return
        sock.setblocking(False)
        sock.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
        try:
            connection = Connection(self._loop, sock, self)
        except OSError:
            sock.close()  # it left before we looked
            return
        self._per_ip[ip] += 1
        door.count += 1
        self.connections.add(connection)
        self._close_excess()

    def _refuse(self, sock: socket.socket, after_ms: int) -> None:
        """Those who come too fast wait for it, as long as that does not take too many handles."""
        if self._loop is None or len(self._refused) >= _REFUSED_MAX:
            sock.close()
            return
        self._refused.add(sock)
        self._loop.call_later(after_ms / 1000, self._close_refused, sock)

    def _close_refused(self, sock: socket.socket) -> None:
        self._refused.discard(sock)
        sock.close()

    # --- connections that end

    def forget(self, connection: Connection) -> None:
        if connection not in self.connections:
            return
        self.connections.remove(connection)
        ip = connection.peer[0]
        self._per_ip[ip] -= 1
        if not self._per_ip[ip]:
            del self._per_ip[ip]
        came_in_by = self._doors.get(_place(connection.local))
        if came_in_by is not None:
            came_in_by.count -= 1
        for door in self._doors.values():
            self._accept_again(door)

    def _close_excess(self) -> None:
        """Those that were silent longest, where there are more than may be: brokers came, or the bound is another."""
        excess = len(self.connections) - self._admission.connections_max
        if excess <= 0:
            return
        clients = [each for each in self.connections if self._name_of(each) != self._admission.protected]
        for connection in sorted(clients, key=lambda each: each.last_active)[:excess]:
            connection.close("more connections than are allowed")

    def _name_of(self, connection: Connection) -> str | None:
        door = self._doors.get(_place(connection.local))
        return door.name if door is not None else None

    def close_idle(self) -> int:
        """Close connections on which nothing happened for too long; returns how many."""
        if self._loop is None or self._admission.idle_ms_max < 0:
            return 0
        oldest = self._loop.time() - self._admission.idle_ms_max / 1000
        idle = [connection for connection in self.connections if connection.last_active < oldest]
        for connection in idle:
            connection.close()
        return len(idle)

    # --- the end

    def stop_listening(self) -> None:
        for door in self._doors.values():
            self._stop_accepting(door)
            door.sock.close()
            if door.accepted is not None:
                door.accepted[0].close()
        self._doors.clear()
        for sock in self._refused:
            sock.close()
        self._refused.clear()

    def close(self) -> None:
        """Answers that are there leave, as far as clients take them now."""
        self.stop_listening()
        self._send_all()
        for connection in list(self.connections):
            connection.close()


def _place(local: tuple[str, int]) -> tuple[int, bool]:
    """By which door a connection came in, whatever interface it came from: a port, and whether it is one of IPv6."""
    host, port = local
    return port, ":" in host
