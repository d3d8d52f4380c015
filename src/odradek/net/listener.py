"""Listening sockets, and the connections that came in on them."""

import asyncio
import logging
import socket
from collections import Counter
from dataclasses import dataclass, field

from odradek.net.buffers import Buffers
from odradek.net.connection import Connection, Handler, Limits

logger = logging.getLogger(__name__)

_ACCEPTS_AT_ONCE = 64
_PAUSE_S = 0.2


@dataclass(frozen=True, slots=True)
class Admission:
    """Who may connect. Names of Kafka's settings are in the comments."""

    connections_max: int = 2_147_483_647  # max.connections; the next ones wait until one of them leaves
    per_ip_max: int = 2_147_483_647  # max.connections.per.ip; the next ones are closed
    per_ip_overrides: dict[str, int] = field(default_factory=dict)  # max.connections.per.ip.overrides
    idle_ms_max: int = 600_000  # connections.max.idle.ms; below 0 for ever
    backlog: int = 50  # socket.listen.backlog.size
    send_buffer_bytes: int = -1  # socket.send.buffer.bytes; -1 leaves it to the system
    receive_buffer_bytes: int = -1  # socket.receive.buffer.bytes; the same


class Listener:
    def __init__(self, handler: Handler, admission: Admission = Admission(), limits: Limits = Limits()) -> None:  # noqa: B008
        self.handler = handler
        self.limits = limits
        self.buffers = Buffers()
        self._admission = admission
        self._socks: list[socket.socket] = []
        self._loop: asyncio.AbstractEventLoop | None = None
        self._per_ip: Counter[str] = Counter()
        self._is_accepting = False
        self._has_complained = False
        self.connections: set[Connection] = set()
        self._to_send: list[Connection] = []

    def open(self, host: str, port: int) -> tuple[str, int]:
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
        self._stop_accepting()
        self._socks.append(sock)
        self._accept_again()
        bound: tuple[str, int] = sock.getsockname()[:2]
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
        """For connections to come; those that are there stay. The backlog is that of the start."""
        self._admission = admission
        self._accept_again()

    # --- sending

    def send_later(self, connection: Connection) -> None:
        if not self._to_send and self._loop is not None:
            self._loop.call_soon(self._send_all)
        self._to_send.append(connection)

    def _send_all(self) -> None:
        waiting, self._to_send = self._to_send, []
        for connection in waiting:
            connection.send_now()

    # --- accepting

    def _on_acceptable(self, listening: socket.socket) -> None:
        for _ in range(_ACCEPTS_AT_ONCE):
            if listening not in self._socks or self._loop is None:
                return
            if len(self.connections) >= self._admission.connections_max:
                self._stop_accepting("as many as are allowed")  # until one leaves
                return
            try:
                sock, address = listening.accept()
            except (BlockingIOError, InterruptedError, ConnectionAbortedError):
                self._has_complained = False  # nobody waits any more
                return
            except OSError as error:
                # Out of handles, most likely: it would fail again at once, and again.
                self._stop_accepting(str(error))
                self._loop.call_later(_PAUSE_S, self._accept_again)
                return
            self._admit(sock, address[0])

    def _accept_again(self) -> None:
        if self._socks and self._loop is not None and not self._is_accepting:
            for sock in self._socks:
                self._loop.add_reader(sock.fileno(), self._on_acceptable, sock)
            self._is_accepting = True

    def _stop_accepting(self, reason: str | None = None) -> None:
        if self._loop is not None and self._is_accepting:
            for sock in self._socks:
                self._loop.remove_reader(sock.fileno())
            self._is_accepting = False
        if reason is not None and not self._has_complained:
            fields = {"reason": reason, "connections": len(self.connections)}
            logger.warning("no more connections are accepted for now", extra=fields)
            self._has_complained = True

    def _admit(self, sock: socket.socket, ip: str) -> None:
        if self._loop is None:
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
        self.connections.add(connection)

    # --- connections that end

    def forget(self, connection: Connection) -> None:
        if connection in self.connections:
            self.connections.remove(connection)
            ip = connection.peer[0]
            self._per_ip[ip] -= 1
            if not self._per_ip[ip]:
                del self._per_ip[ip]
            self._accept_again()

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
        self._stop_accepting()
        for sock in self._socks:
            sock.close()
        self._socks.clear()

    def close(self) -> None:
        """Answers that are there leave, as far as clients take them now."""
        self.stop_listening()
        self._send_all()
        for connection in list(self.connections):
            connection.close()
