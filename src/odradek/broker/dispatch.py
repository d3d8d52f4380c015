"""Requests to handlers, answers and errors back.

Whatever a handler raises, at once or later, ends in `Call.fail`.
"""

import logging
from collections.abc import Awaitable, Callable, Coroutine, Mapping
from typing import Any, NamedTuple

from odradek.broker.call import Call
from odradek.broker.client import Client
from odradek.broker.quotas.requests import RequestTimes, Timed
from odradek.model.errors import BadRequest, UnsupportedVersion
from odradek.net.connection import Connection
from odradek.net.framing import Reply
from odradek.process.tasks import Tasks
from odradek.wire.apis import API_VERSIONS, APIS
from odradek.wire.codec import decode
from odradek.wire.header import RequestHead, read_request_head
from odradek.wire.schema import Message

logger = logging.getLogger(__name__)

_UNREAD = -1
"""In place of the API of a request whose head cannot be read."""

_new = tuple.__new__
"""Of named tuples, in half the time."""

LATER = object()
"""Returned by a handler that answers by itself."""

NOT_MINE = object()
"""Returned by a handler of bodies that leaves a request to the handler of messages."""

Handled = Message | object | None | Awaitable[Message | None]
Handle = Callable[[Call, Any], Handled]


class Served(NamedTuple):
    """An API that this broker serves: the versions that it takes, and who handles it."""

    versions: tuple[int, int]
    handle: Handle
    bytes_max: int = 4 << 20
    """Of a request. One of the largest size that connections take, made of millions of empty names, would stop
    everybody else for many seconds; only what carries records has a use for that."""
    handle_body: Callable[[Call, memoryview], Handled] | None = None
    """Asked first, with the body as it came."""


class Dispatch:
    """The handler of all connections. `tasks` runs what must wait; it outlives the requests."""

    def __init__(self, served: Mapping[int, Served], tasks: Tasks, times: RequestTimes) -> None:
        """`times` counts the time of requests, as soon as anybody has a quota of it."""
        self._served = served
        self._tasks = tasks
        self._times = times
        self._requests: dict[int, type[Message]] = {}
        """The messages of APIs that were asked for: one is loaded when it is needed first."""

    def opened(self, connection: Connection) -> Client:
        return Client(connection)

    def closed(self, client: Client) -> None:
        if client.connection.close_reason is not None:
            fields = {"client": str(client.address), "reason": client.connection.close_reason}
            logger.warning("closed a connection", extra=fields)

    def request(self, client: Client, frame: memoryview, reply: Reply) -> None:
        call = None
        try:
            head = read_request_head(frame)
            served = self._served.get(head.api_key)
            if served is None:
                raise BadRequest(f"API {head.api_key} is not served")
            if len(frame) > served.bytes_max:
                raise BadRequest(f"{len(frame)} bytes of {APIS[head.api_key].name}; {served.bytes_max} are allowed")
            times = self._times if self._times.is_set else None
            version = head.version
            about = (client, reply, head.api_key, version, head.correlation_id, head.client_id, len(frame), times)
            call = _new(Call, about)
            if times is not None:
                times.begin(call)
            if not served.versions[0] <= version <= served.versions[1]:
                handled = self._handle_unknown(call, served, head)
            else:
                # Handlers of bodies encode their answers themselves, without the throttle time of `times`.
                handled = served.handle_body(call, head.body) if served.handle_body and times is None else NOT_MINE
                if handled is NOT_MINE:
                    kind = self._requests.get(head.api_key) or self._load(head.api_key)
                    handled = served.handle(call, decode(kind, version, head.body))
            if handled is not LATER:
                self._finish(call, handled)
            if times is not None:
                times.end(call)
        except Exception as error:  # noqa: BLE001 - a bug in one handler must not end the others
            (call or Call(client, reply, _UNREAD, 0, 0, None)).fail(error)

    def _handle_unknown(self, call: Call, served: Served, head: RequestHead) -> Handled:
        """A version that is not served."""
        if head.api_key != API_VERSIONS:
            raise UnsupportedVersion(f"{APIS[head.api_key].name} in version {head.version} is not served")
        # The one API that answers in version 0 whatever it was asked in: the client learns what we have.
        call = call._replace(version=0)
        with call.guard():
            self._finish(call, served.handle(call, None))
        return LATER

    def _load(self, api_key: int) -> type[Message]:
        kind = self._requests[api_key] = APIS[api_key].request
        return kind

    def _finish(self, call: Call, handled: Handled) -> None:
        if isinstance(handled, Message) or handled is None:
            call.respond(handled)
        elif isinstance(handled, Awaitable):
            name = f"request-{call.correlation_id}"
            task = self._tasks.create_task(self._respond(call, handled), name=name)
            if task is None:
                _discard(handled)
                call.reply.refuse("the node stops")
            else:
                task.add_done_callback(lambda _: _discard(handled))  # the node may stop before it has begun

    async def _respond(self, call: Call, handled: Awaitable[Message | None]) -> None:
        work = self._respond_when_done(call, handled)
        await (work if call.times is None else Timed(call.times, call, work))

    async def _respond_when_done(self, call: Call, handled: Awaitable[Message | None]) -> None:
        with call.guard():
            call.respond(await handled)


def _discard(handled: Awaitable[Message | None]) -> None:
    """Python complains of coroutines that nobody waits for."""
    if isinstance(handled, Coroutine):
        handled.close()
