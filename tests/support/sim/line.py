"""A client's way to the node: it connects, asks for its coordinator if it has one, and does so again after a break."""

from collections.abc import Callable
from functools import partial
from typing import Any, NamedTuple

from odradek.wire.apis import APIS
from odradek.wire.codec import decode
from odradek.wire.frame import request_frame
from odradek.wire.header import read_response_head
from odradek.wire.messages.find_coordinator import FindCoordinatorRequest, FindCoordinatorResponse
from odradek.wire.schema import Message
from support.sim.process import Process
from support.sim.streams import SimChannel, SimHost

NODE = "node"
PORT = 9092

_FIND_VERSION = 4
_FIND_TIMEOUT_MS = 5_000
_CONNECT_MS = 5_000
_BACKOFF_MS = 100
_BACKOFF_MS_MAX = 1_000
_BUFFER_BYTES = 64 << 10

Then = Callable[[Any], None]
"""Gets the response."""
Lost = Callable[[], None]


class Coordinated(NamedTuple):
    """What a client has a coordinator for."""

    kind: int
    """0 for a group, 1 for a transactional id."""
    key: str

    @classmethod
    def group(cls, group_id: str) -> "Coordinated":
        return cls(0, group_id)

    @classmethod
    def transactions(cls, transactional_id: str) -> "Coordinated":
        return cls(1, transactional_id)


class _Pending(NamedTuple):
    kind: type[Message]
    version: int
    then: Then
    lost: Lost


class Line:
    def __init__(self, host: SimHost, process: Process, coordinated: Coordinated | None = None) -> None:
        self._host = host
        self._process = process
        self._coordinated = coordinated
        self._channel: SimChannel | None = None
        self._received = bytearray()
        self._to_send = bytearray()
        self._pending: dict[int, _Pending] = {}
        self._sent = 0
        self._tries = 0
        self._failures = 0
        self.is_ready = False
        """Whether a request can be sent now."""
        self.is_cut = False
        """Whether no packet goes through."""
        self.client_id = ""

    def open(self) -> None:
        if self.is_cut:
            self._again()
            return
        self._tries += 1
        self._process.later(_CONNECT_MS, partial(self._give_up, self._tries))
        self._host.connect(NODE, PORT, partial(self._connected, self._tries))

    def ask(self, request: Message, version: int, timeout_ms: int, then: Then, lost: Lost) -> None:
        """Either `then` or `lost` is called, once, unless the process dies. After the timeout the connection is given
        up, since nothing that follows could overtake the answer."""
        if not self.is_ready:
            self._process.later(_BACKOFF_MS, lost)
        else:
            self._send(request, version, timeout_ms, then, lost)

    def send(self, request: Message, version: int) -> None:
        """One that is not answered, as a produce with acks=0."""
        if self.is_ready:
            self._sent += 1
            self._write(request, version)

    def lose(self) -> None:
        """The connection breaks."""
        if self._channel is not None:
            self._channel.abort()
            self._channel = None
            self.is_ready = False
            self._process.later(1, self._closed)

    def cut(self) -> None:
        self.is_cut = True
        self.lose()

    def heal(self) -> None:
        self.is_cut = False

    # --- connecting

    def _connected(self, number: int, channel: SimChannel | None) -> None:
        if number != self._tries or self.is_cut:
            if channel is not None:
                channel.abort()
            if number == self._tries:
                self._again()
            return
        self._tries += 1
        if channel is None:
            self._again()
            return
        self._channel = channel
        channel.on_readable(partial(self._read, channel))
        if self._coordinated is None:
            self._failures = 0
            self.is_ready = True
            return
        request = FindCoordinatorRequest(key_type=self._coordinated.kind, coordinator_keys=(self._coordinated.key,))
        self._send(request, _FIND_VERSION, _FIND_TIMEOUT_MS, self._found, _nothing)

    def _give_up(self, number: int) -> None:
        """Nothing came of this try to connect."""
        if number == self._tries:
            self._tries += 1
            self._again()

    def _found(self, response: FindCoordinatorResponse) -> None:
        if response.coordinators[0].error_code:
            self.lose()
        else:
            self._failures = 0
            self.is_ready = True

    # --- requests and answers

    def _send(self, request: Message, version: int, timeout_ms: int, then: Then, lost: Lost) -> None:
        assert self._channel is not None
        assert request.spec.key is not None
        self._sent += 1
        self._pending[self._sent] = _Pending(APIS[request.spec.key].response, version, then, lost)
        self._process.later(timeout_ms, partial(self._time_out, self._channel, self._sent))
        self._write(request, version)

    def _write(self, request: Message, version: int) -> None:
        parts = request_frame(request, version, self._sent, self.client_id)
        self._to_send += b"".join(parts)  # type: ignore[arg-type]
        self._flush()

    def _flush(self) -> None:
        channel = self._channel
        if channel is None:
            return
        try:
            while self._to_send:
                del self._to_send[: channel.send(self._to_send)]
        except BlockingIOError:
            channel.on_writable(self._flush)
        except OSError:
            channel.on_writable(None)  # to be found out when it reads
        else:
            channel.on_writable(None)

    def _time_out(self, channel: SimChannel, number: int) -> None:
        if number in self._pending and channel is self._channel:
            self.lose()

    def _read(self, channel: SimChannel) -> None:
        buffer = bytearray(_BUFFER_BYTES)
        try:
            count = channel.receive_into(buffer)
        except OSError:
            count = 0
        if count == 0:
            channel.close()
            self._channel = None
            self._closed()
            return
        self._received += memoryview(buffer)[:count]
        while channel is self._channel and len(self._received) >= 4:
            size = int.from_bytes(self._received[:4])
            if len(self._received) < 4 + size:
                break
            frame = bytes(self._received[4 : 4 + size])
            del self._received[: 4 + size]
            self._take(frame)

    def _take(self, frame: bytes) -> None:
        number = int.from_bytes(frame[:4])
        pending = self._pending.pop(number)
        _, body = read_response_head(memoryview(frame), pending.kind, pending.version)
        pending.then(decode(pending.kind, pending.version, body))

    def _closed(self) -> None:
        self.is_ready = False
        self._received.clear()
        self._to_send.clear()
        lost, self._pending = self._pending, {}
        self._again()
        for pending in lost.values():
            pending.lost()

    def _again(self) -> None:
        self._failures += 1
        self._process.later(min(_BACKOFF_MS * 2 ** min(self._failures, 8), _BACKOFF_MS_MAX), self.open)


def _nothing() -> None:
    return
