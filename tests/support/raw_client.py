"""A client that speaks the protocol by hand: one request after the other, in any version."""

import asyncio
from typing import TypeVar

from odradek.wire.codec import decode
from odradek.wire.frame import request_frame
from odradek.wire.header import read_response_head
from odradek.wire.schema import Message

M = TypeVar("M", bound=Message)


class RawClient:
    def __init__(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        self._reader = reader
        self._writer = writer
        self._last_id = 0

    @classmethod
    async def connect(cls, host: str, port: int) -> "RawClient":
        return cls(*await asyncio.open_connection(host, port))

    @property
    def address(self) -> tuple[str, int]:
        """Of the node."""
        host, port = self._writer.get_extra_info("peername")[:2]
        return host, port

    async def another(self) -> "RawClient":
        """Connected to the same node."""
        return await RawClient.connect(*self.address)

    def send(self, request: Message, version: int) -> None:
        self._last_id += 1
        for part in request_frame(request, version, self._last_id, "raw-client"):
            if not isinstance(part, (bytes, bytearray, memoryview)):
                raise TypeError("requests are in memory")
            self._writer.write(part)

    def send_bytes(self, data: bytes) -> None:
        self._writer.write(data)

    async def receive(self, kind: type[M], version: int) -> M:
        size = int.from_bytes(await self._reader.readexactly(4), "big")
        frame = memoryview(await self._reader.readexactly(size))
        correlation_id, body = read_response_head(frame, kind, version)
        if correlation_id > self._last_id:
            raise ValueError(f"an answer to request {correlation_id}, of {self._last_id} that were sent")
        return decode(kind, version, body)

    async def ask(self, request: Message, kind: type[M], version: int) -> M:
        self.send(request, version)
        return await self.receive(kind, version)

    async def is_cut_off(self) -> bool:
        """Waits until the other side closes; False if it says something before."""
        return await self._reader.read() == b""

    async def close(self) -> None:
        self._writer.close()
        try:
            await self._writer.wait_closed()
        except ConnectionError:
            return  # the other side was quicker
