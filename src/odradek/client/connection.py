"""One connection to one broker: requests out, answers matched to them by their correlation ids."""

import asyncio
import os
import socket
from collections.abc import Sequence
from typing import Any, NamedTuple, TypeVar, cast

from odradek.client.errors import ConnectionLost, NotKafka, Refused, Unreachable
from odradek.client.frames import ResponseFrames
from odradek.client.setting import ClientSetting
from odradek.client.versions import ASKED_FIRST, ASKED_IN, Served, agreed_version, read_answer, served_by
from odradek.model.address import Address
from odradek.model.error_code import ErrorCode
from odradek.model.errors import BadRequest, OdradekError
from odradek.wire.frame import request_frame
from odradek.wire.messages.api_versions import ApiVersionsResponse
from odradek.wire.schema import Message

M = TypeVar("M", bound=Message)

_ID_MAX = (1 << 31) - 1


class InFlightRequest(NamedTuple):
    """A request whose answer has not come yet."""

    kind: type[Message]
    version: int
    answer: "asyncio.Future[Any]"


class Connection(asyncio.BufferedProtocol):
    """Made by `open`. Requests may be sent while others wait for their answers."""

    def __init__(self, address: Address, setting: ClientSetting) -> None:
        self.address = address
        self._setting = setting
        self._loop = asyncio.get_running_loop()
        self._transport: asyncio.Transport | None = None
        self._frames = ResponseFrames(setting.frame_bytes_max)
        self._in_flight: dict[int, InFlightRequest] = {}
        self._last_id = 0
        self._slots = asyncio.Semaphore(setting.in_flight_max)
        self._may_write = asyncio.Event()
        self._may_write.set()
        self._ended: asyncio.Future[None] | None = None
        """Done when the socket is closed; None until there is one."""
        self._reason: OdradekError | None = None
        self._served: Served = {}
        self._versions: dict[type[Message], int] = {}

    @classmethod
    async def open(cls, address: Address, setting: ClientSetting | None = None) -> "Connection":
        """Connected, and the versions agreed on. Raises Unreachable, ConnectionLost or NotKafka."""
        setting = setting or ClientSetting()
        connection = cls(address, setting)
        try:
            async with asyncio.timeout(setting.connect_timeout_s):
                await connection._connect()
                await connection._agree()
        except BaseException as error:
            await connection.close()
            if isinstance(error, TimeoutError):
                raise Unreachable(address, f"no answer within {setting.connect_timeout_s:g} s") from None
            if isinstance(error, OSError):
                raise Unreachable(address, reason_of(error)) from None
            raise
        return connection

    @property
    def is_closed(self) -> bool:
        return self._transport is None

    async def close(self) -> None:
        """Requests that wait for their answers fail with ConnectionLost."""
        self._drop(ConnectionLost(self.address, "it was closed here"))
        if self._ended is not None:
            await self._ended

    def version_of(self, kind: type[Message]) -> int:
        """The highest version that both sides have of the API of this request or answer. Raises NotServed."""
        version = self._versions.get(kind)
        if version is None:
            version = self._versions[kind] = agreed_version(kind, self._served, self.address)
        return version

    async def ask(self, request: Message, kind: type[M], version_max: int | None = None) -> M:
        """The answer to a request, which has its records as views on memory that is its own.

        It goes out in the highest version that both sides have, or in `version_max` where that is lower.

        Raises NotServed, UnsupportedVersion where the agreed version has no place for a value, and ConnectionLost, also
        when the answer takes too long: then the connection is closed, since answers come in order and those behind it
        would wait as well. To cancel the call does no harm to others.
        """
        async with self._slots:
            await self._may_write.wait()
            version = self.version_of(kind)
            return await self._send(request, kind, version if version_max is None else min(version, version_max))

    async def _send(self, request: Message, kind: type[M], version: int) -> M:
        transport = self._transport
        if transport is None:
            raise self._reason or ConnectionLost(self.address, "it was never there")
        number = self._last_id = self._last_id % _ID_MAX + 1
        parts = request_frame(request, version, number, self._setting.client_id)
        answer: asyncio.Future[M] = self._loop.create_future()
        self._in_flight[number] = InFlightRequest(kind, version, answer)
        transport.writelines(parts)  # type: ignore[arg-type]  # records of a request are in memory
        timer = self._loop.call_later(self._setting.request_timeout_s, self._give_up)
        try:
            return await answer
        finally:
            timer.cancel()

    def _give_up(self) -> None:
        self._drop(ConnectionLost(self.address, f"no answer within {self._setting.request_timeout_s:g} s"))

    # --- the beginning

    async def _connect(self) -> None:
        failure: OSError | None = None
        for family, kind, protocol, _, where in await _resolve(self.address):
            sock = socket.socket(family, kind, protocol)
            try:
                sock.setblocking(False)
                sock.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
                await self._loop.sock_connect(sock, where)
                await self._loop.create_connection(lambda: self, sock=sock)
            except OSError as error:
                sock.close()
                failure = error
            except BaseException:
                sock.close()
                raise
            else:
                return
        if failure is not None:
            raise failure

    async def _agree(self) -> None:
        """Ask for the versions in the newest way, and where that is not known, in the oldest."""
        for version in ASKED_IN:
            served = served_by(await self._send(ASKED_FIRST, ApiVersionsResponse, version))
            if served is not None:
                self._served = served
                return
        raise Refused(ErrorCode.UNSUPPORTED_VERSION)

    # --- what the transport calls

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        self._transport = cast("asyncio.Transport", transport)  # in all but name, with uvloop
        self._ended = self._loop.create_future()

    def get_buffer(self, sizehint: int) -> memoryview:
        return self._frames.space()

    def buffer_updated(self, nbytes: int) -> None:
        try:
            for frame in self._frames.take(nbytes):
                self._deliver(frame)
        except BadRequest as error:
            self._drop(NotKafka(self.address, str(error)))

    def pause_writing(self) -> None:
        self._may_write.clear()

    def resume_writing(self) -> None:
        self._may_write.set()

    def eof_received(self) -> None:
        self._drop(self._lost("the other side closed it"))

    def connection_lost(self, exc: Exception | None) -> None:
        self._drop(self._lost("the other side closed it" if exc is None else reason_of(exc)))
        if self._ended is not None and not self._ended.done():
            self._ended.set_result(None)

    def _lost(self, reason: str) -> ConnectionLost:
        hint = "" if self._served else " before any answer, as a port for TLS does"
        return ConnectionLost(self.address, reason + hint)

    # ---

    def _deliver(self, frame: memoryview) -> None:
        number = int.from_bytes(frame[:4], "big")
        waiting = self._in_flight.get(number)
        if waiting is None:
            raise BadRequest(f"an answer to request {number}, which was not sent")
        # Where this fails, the request is among those who are told why.
        message = read_answer(frame, waiting.kind, waiting.version)
        del self._in_flight[number]
        if not waiting.answer.done():  # else whoever asked has gone
            waiting.answer.set_result(message)

    def _drop(self, reason: OdradekError) -> None:
        """Closes at once, if that has not happened yet. All that wait get the reason."""
        transport, self._transport = self._transport, None
        if transport is None:
            return
        self._reason = reason
        transport.abort()
        self._may_write.set()
        for waiting in self._in_flight.values():
            if not waiting.answer.done():
                waiting.answer.set_exception(reason)
        self._in_flight.clear()


async def _resolve(address: Address) -> Sequence[tuple[int, int, int, str, Any]]:
    """What to try, one after the other."""
    try:
        # Without a thread, where the host is a number.
        return socket.getaddrinfo(*address, type=socket.SOCK_STREAM, flags=socket.AI_NUMERICHOST)
    except socket.gaierror:
        return await asyncio.get_running_loop().getaddrinfo(*address, type=socket.SOCK_STREAM)


def reason_of(error: Exception) -> str:
    if isinstance(error, socket.gaierror):
        return "no such host"
    if isinstance(error, OSError) and error.errno:
        text = os.strerror(error.errno)
        return text[0].lower() + text[1:]
    return str(error) or type(error).__name__
