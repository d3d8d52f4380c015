"""A broker that says what a test tells it to: the other side of the client's tests."""

import asyncio
from collections.abc import AsyncIterator, Callable, Mapping
from contextlib import asynccontextmanager
from random import Random
from typing import NamedTuple

from odradek.model.address import Address
from odradek.model.error_code import ErrorCode
from odradek.wire.apis import API_VERSIONS, APIS
from odradek.wire.codec import decode
from odradek.wire.frame import response_frame
from odradek.wire.header import read_request_head
from odradek.wire.messages.api_versions import ApiVersion, ApiVersionsResponse
from odradek.wire.schema import Message


class Asked(NamedTuple):
    """A request as it arrived. `reply` may be called at any time, or never."""

    request: Message
    version: int
    correlation_id: int
    writer: asyncio.StreamWriter

    def reply(self, response: Message, version: int | None = None) -> None:
        parts = response_frame(response, self.version if version is None else version, self.correlation_id)
        self.writer.writelines(part for part in parts if isinstance(part, (bytes, bytearray, memoryview)))


class Hurried(Random):
    """For the setting of a client: no pauses between its retries."""

    def uniform(self, a: float, b: float) -> float:
        return 0.0


class FakeBroker:
    """Answers ApiVersions by itself, with `versions`; everything else is for `answer`."""

    def __init__(self, answer: Callable[[Asked], object]) -> None:
        self.answer = answer
        self.versions = {api.key: api.versions for api in APIS.values()}
        self.api_versions: Callable[[Asked], object] = self._tell_versions
        self.asked: list[Asked] = []
        """All but ApiVersions."""
        self.connections = 0
        self.address = Address("", 0)

    @asynccontextmanager
    async def serving(self) -> AsyncIterator["FakeBroker"]:
        server = await asyncio.start_server(self._serve, "127.0.0.1", 0)
        self.address = Address(*server.sockets[0].getsockname()[:2])
        try:
            yield self
        finally:
            server.close()

    async def _serve(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        self.connections += 1
        try:
            while True:
                size = int.from_bytes(await reader.readexactly(4), "big")
                head = read_request_head(memoryview(await reader.readexactly(size)))
                version = min(head.version, APIS[head.api_key].request.spec.versions[1])
                request = decode(APIS[head.api_key].request, version, head.body)
                asked = Asked(request, head.version, head.correlation_id, writer)
                if head.api_key == API_VERSIONS:
                    self.api_versions(asked)
                else:
                    self.asked.append(asked)
                    self.answer(asked)
        except (asyncio.IncompleteReadError, ConnectionError):
            pass
        finally:
            writer.close()

    def be_old(self, versions: Mapping[int, tuple[int, int]]) -> list[int]:
        """Serve these, and know only the first way to be asked for them; gives the ways in which it is asked."""
        self.versions = dict(versions)
        ways: list[int] = []

        def tell(asked: Asked) -> None:
            ways.append(asked.version)
            code = ErrorCode.UNSUPPORTED_VERSION if asked.version else ErrorCode.NONE
            asked.reply(ApiVersionsResponse(error_code=code, api_keys=self._served().api_keys), version=0)

        self.api_versions = tell
        return ways

    def _tell_versions(self, asked: Asked) -> None:
        asked.reply(self._served())

    def _served(self) -> ApiVersionsResponse:
        keys = tuple(
            ApiVersion(api_key=key, min_version=least, max_version=most) for key, (least, most) in self.versions.items()
        )
        return ApiVersionsResponse(api_keys=keys)
