"""A connection for somebody who waits: the thread that asks sends the question and receives the answer itself.

Without a loop and a second thread in between, a small answer is there some tenths of a millisecond sooner. A stream
waits for one before each of its batches; all else has `Connection`, where many questions are on their way at a time.
"""

import socket
import threading
from collections.abc import Coroutine
from time import monotonic
from typing import Any, TypeVar

from odradek.client.client import Client
from odradek.client.connection import reason_of
from odradek.client.errors import ClientError, ConnectionLost, NotKafka, Refused, Unreachable
from odradek.client.frames import ResponseFrames
from odradek.client.setting import ClientSetting
from odradek.client.versions import ASKED_FIRST, ASKED_IN, Served, agreed_version, read_answer, served_by
from odradek.model.address import Address
from odradek.model.error_code import ErrorCode
from odradek.model.errors import BadRequest
from odradek.wire.frame import request_frame
from odradek.wire.messages.api_versions import ApiVersionsResponse
from odradek.wire.schema import Message

M = TypeVar("M", bound=Message)
T = TypeVar("T")

_ID_MAX = (1 << 31) - 1
_MOMENT_S = 1e-6
"""As a limit, 0 would mean not to wait at all."""


class DirectConnection:
    """Not for two threads at a time."""

    def __init__(self, address: Address, setting: ClientSetting | None = None) -> None:
        """Connected, and the versions agreed on. Raises Unreachable, ConnectionLost, NotKafka or Refused."""
        self.address = address
        self._setting = setting or ClientSetting()
        self._frames = ResponseFrames(self._setting.frame_bytes_max)
        self._last_id = 0
        try:
            self._socket = socket.create_connection(address, self._setting.connect_timeout_s)
        except OSError as error:
            raise Unreachable(address, reason_of(error)) from None
        self.is_closed = False
        self._socket.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
        try:
            self._served = self._agree()
        except ClientError:
            self.close()
            raise

    def close(self) -> None:
        self.is_closed = True
        self._socket.close()

    def ask(self, request: Message, kind: type[M]) -> M:
        """In the highest version that both sides have; an answer has its records as views on memory that is its own.

        Raises NotServed, ConnectionLost and NotKafka; after the last two it is closed.
        """
        version = agreed_version(kind, self._served, self.address)
        return self._ask(request, kind, version, self._setting.request_timeout_s)

    def _agree(self) -> Served:
        for version in ASKED_IN:
            served = served_by(self._ask(ASKED_FIRST, ApiVersionsResponse, version, self._setting.connect_timeout_s))
            if served is not None:
                return served
        raise Refused(ErrorCode.UNSUPPORTED_VERSION)

    def _ask(self, request: Message, kind: type[M], version: int, timeout_s: float) -> M:
        number = self._last_id = self._last_id % _ID_MAX + 1
        parts = request_frame(request, version, number, self._setting.client_id)
        try:
            self._socket.settimeout(timeout_s)
            self._socket.sendall(b"".join(parts))  # type: ignore[arg-type]  # what is asked is in memory
            frame = self._receive(monotonic() + timeout_s)
            if (answered := int.from_bytes(frame[:4], "big")) != number:
                raise BadRequest(f"an answer to request {answered}, which was not sent")
            return read_answer(frame, kind, version)
        except TimeoutError:
            self.close()
            raise ConnectionLost(self.address, f"no answer within {timeout_s:g} s") from None
        except OSError as error:
            self.close()
            raise ConnectionLost(self.address, reason_of(error)) from None
        except BadRequest as error:
            self.close()
            raise NotKafka(self.address, str(error)) from None

    def _receive(self, until_s: float) -> memoryview:
        while True:
            count = self._socket.recv_into(self._frames.space())
            if not count:
                raise ConnectionResetError("the other side closed it")
            frames = self._frames.take(count)
            if len(frames) > 1:
                raise BadRequest("more answers than questions")
            if frames:
                return frames[0]
            self._socket.settimeout(max(until_s - monotonic(), _MOMENT_S))


class DirectLeaders:
    """Asks leaders as the client does that knows where they are, one after the other. For any thread."""

    def __init__(self, client: Client) -> None:
        self._client = client
        self._connection: DirectConnection | None = None
        self._one_at_a_time = threading.Lock()

    def close(self) -> None:
        if self._connection is not None:
            self._connection.close()

    async def ask_leader(self, node_id: int, request: Message, kind: type[M]) -> M:
        """Waits for the socket and for no loop. Raises what `DirectConnection` does, and Refused for nodes that are not
        known: nothing is looked up here."""
        address = self._client.known_address(node_id)
        if address is None:
            raise Refused(ErrorCode.LEADER_NOT_AVAILABLE)
        with self._one_at_a_time:
            connection = self._connection
            if connection is None or connection.is_closed or connection.address != address:
                self.close()
                connection = self._connection = DirectConnection(address, self._client.setting)
            return connection.ask(request, kind)


def run_through(work: Coroutine[Any, Any, T]) -> T:
    """What waits for nothing but sockets, from its beginning to its end."""
    try:
        work.send(None)
    except StopIteration as done:
        return done.value  # type: ignore[no-any-return]
    raise AssertionError("it waits for a loop")
