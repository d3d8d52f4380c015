"""What clients ask a node and what it answers, as its channels carry it: each request has one answer, in order."""

from collections import deque
from collections.abc import Callable, Collection
from typing import TYPE_CHECKING

from odradek.wire.apis import APIS
from odradek.wire.codec import decode
from odradek.wire.header import read_request_head, read_response_head
from support.sim.violations import Violation

if TYPE_CHECKING:
    from odradek.wire.schema import Message
    from support.sim.events import Events
    from support.sim.streams import SimChannel

_PRODUCE = 0


class Ticket:
    """A request that the node has read, and not answered."""

    __slots__ = ("api_key", "began", "client_id", "correlation_id", "mark", "request", "since_ms", "version")

    def __init__(self, frame: memoryview, since_ms: int, mark: int, wanted: Collection[int]) -> None:
        head = read_request_head(frame)
        self.api_key = head.api_key
        self.version = head.version
        self.correlation_id = head.correlation_id
        self.client_id = head.client_id or ""
        self.since_ms = since_ms
        self.mark = mark
        """How far a log had come then."""
        kind = APIS[head.api_key].request
        self.request: Message | None = decode(kind, head.version, head.body) if head.api_key in wanted else None
        """Of APIs that somebody wants to know about."""

    @property
    def name(self) -> str:
        return APIS[self.api_key].name


class _Channel:
    def __init__(self) -> None:
        self.asked = bytearray()
        self.answered = bytearray()
        self.waiting: deque[Ticket] = deque()


class Exchange:
    """A tap. The callbacks get what is `wanted` decoded, by the keys of APIs."""

    def __init__(self, events: "Events", wanted: Collection[int], mark: Callable[[], int] = int) -> None:
        self._events = events
        self._wanted = wanted
        self._mark = mark
        self._channels: dict[SimChannel, _Channel] = {}
        self.asked: Callable[[Ticket], None] = _nothing
        self.answered: Callable[[Ticket, Message | None], None] = _nothing_more

    def received(self, channel: "SimChannel", data: bytes) -> None:
        known = self._channels.setdefault(channel, _Channel())
        for frame in _frames(known.asked, data):
            ticket = Ticket(frame, self._events.now_ms, self._mark(), self._wanted)
            if not _is_unanswered(ticket, frame):
                known.waiting.append(ticket)
            self.asked(ticket)

    def sent(self, channel: "SimChannel", data: bytes) -> None:
        known = self._channels.setdefault(channel, _Channel())
        for frame in _frames(known.answered, data):
            if not known.waiting:
                raise Violation("there is an answer that nobody asked for")
            ticket = known.waiting.popleft()
            if ticket.correlation_id != int.from_bytes(frame[:4]):
                raise Violation(f"{ticket.name} {ticket.correlation_id} was passed over, or another answered twice")
            response = None
            if ticket.request is not None:
                kind = APIS[ticket.api_key].response
                _, body = read_response_head(frame, kind, ticket.version)
                response = decode(kind, ticket.version, body)
            self.answered(ticket, response)

    def closed(self, channel: "SimChannel") -> None:
        """What was asked on it is answered to nobody."""
        self._channels.pop(channel, None)

    def check_waits(self, ms_max: int) -> None:
        """Raises Violation where a request waits for longer."""
        for known in self._channels.values():
            for ticket in known.waiting:
                if self._events.now_ms - ticket.since_ms > ms_max:
                    raise Violation(f"{ticket.name} waits since {ticket.since_ms}: {ticket.request}")
                break  # they are in the order in which they came


def _frames(buffer: bytearray, data: bytes) -> list[memoryview]:
    """Whole frames, without their sizes; the rest stays in the buffer."""
    buffer += data
    frames, at = [], 0
    while len(buffer) - at >= 4:
        size = int.from_bytes(buffer[at : at + 4])
        if len(buffer) - at - 4 < size:
            break
        frames.append(memoryview(bytes(buffer[at + 4 : at + 4 + size])))
        at += 4 + size
    del buffer[:at]
    return frames


def _is_unanswered(ticket: Ticket, frame: memoryview) -> bool:
    """A produce with acks=0."""
    if ticket.api_key != _PRODUCE:
        return False
    body = read_request_head(frame).body
    transactional_id = 1 if ticket.version >= APIS[_PRODUCE].request.spec.flexible else 2
    return bytes(body[transactional_id : transactional_id + 2]) == b"\0\0"


def _nothing(_ticket: Ticket) -> None:
    return


def _nothing_more(_ticket: Ticket, _response: "Message | None") -> None:
    return
