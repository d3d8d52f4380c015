"""A client's way to its coordinator: it connects, finds the coordinator, and does so again after each break."""

from collections.abc import Callable
from functools import partial
from typing import Any, NamedTuple

from odradek.wire.apis import APIS
from odradek.wire.codec import decode
from odradek.wire.frame import request_frame
from odradek.wire.header import read_response_head
from odradek.wire.messages.find_coordinator import FindCoordinatorRequest, FindCoordinatorResponse
from odradek.wire.schema import Message
from support.sim.network import Connection, Network, Server
from support.sim.process import Process

_FIND_VERSION = 4
_FIND_TIMEOUT_MS = 5_000
_BACKOFF_MS = 100
_BACKOFF_MS_MAX = 1_000

Then = Callable[[Any], None]
"""Gets the response."""
Lost = Callable[[], None]


class _Pending(NamedTuple):
    kind: type[Message]
    version: int
    then: Then
    lost: Lost


class Line:
    def __init__(self, network: Network, server: Server, process: Process, group_id: str) -> None:
        self._network = network
        self._server = server
        self._process = process
        self._group_id = group_id
        self._connection: Connection | None = None
        self._pending: dict[int, _Pending] = {}
        self._sent = 0
        self._failures = 0
        self.is_ready = False
        """Whether a request can be sent now."""
        self.is_cut = False
        """Whether no packet goes through."""
        self.client_id = ""

    def open(self) -> None:
        if self.is_cut or not self._server.is_up:
            self._again()
            return
        self._connection = Connection(self._network, self._server, self._process, self._received, self._closed)
        request = FindCoordinatorRequest(coordinator_keys=(self._group_id,))
        self._send(request, _FIND_VERSION, _FIND_TIMEOUT_MS, self._found, _nothing)

    def ask(self, request: Message, version: int, timeout_ms: int, then: Then, lost: Lost) -> None:
        """Either `then` or `lost` is called, once, unless the process dies. After the timeout the connection is given
        up, since nothing that follows could overtake the answer."""
        if not self.is_ready:
            self._process.later(_BACKOFF_MS, lost)
        else:
            self._send(request, version, timeout_ms, then, lost)

    def lose(self) -> None:
        """The connection breaks."""
        if self._connection is not None:
            self._connection.close()

    def cut(self) -> None:
        self.is_cut = True
        self.lose()

    def heal(self) -> None:
        self.is_cut = False

    def _send(self, request: Message, version: int, timeout_ms: int, then: Then, lost: Lost) -> None:
        assert self._connection is not None
        assert request.spec.key is not None
        self._sent += 1
        self._pending[self._sent] = _Pending(APIS[request.spec.key].response, version, then, lost)
        self._process.later(timeout_ms, partial(self._time_out, self._connection, self._sent))
        parts = request_frame(request, version, self._sent, self.client_id)
        self._connection.send(b"".join(parts))  # type: ignore[arg-type]

    def _found(self, response: FindCoordinatorResponse) -> None:
        if response.coordinators[0].error_code:
            self.lose()
        else:
            self._failures = 0
            self.is_ready = True

    def _time_out(self, connection: Connection, number: int) -> None:
        if number in self._pending:
            connection.close()

    def _received(self, frame: bytes) -> None:
        number = int.from_bytes(frame[4:8])
        pending = self._pending.pop(number, None)
        if pending is None:
            return  # the second copy
        _, body = read_response_head(memoryview(frame)[4:], pending.kind, pending.version)
        pending.then(decode(pending.kind, pending.version, body))

    def _closed(self) -> None:
        self.is_ready = False
        self._connection = None
        lost, self._pending = self._pending, {}
        self._again()
        for pending in lost.values():
            pending.lost()

    def _again(self) -> None:
        self._failures += 1
        self._process.later(min(_BACKOFF_MS * 2 ** min(self._failures, 8), _BACKOFF_MS_MAX), self.open)


def _nothing() -> None:
    return
