"""A listener whose handler answers each frame with itself: for tests of connections."""

import asyncio
from collections.abc import Awaitable, Callable
from struct import pack

from odradek.net.connection import Connection, Limits, Reply
from odradek.net.listener import Admission, Listener
from support.waiting import until


class Echo:
    """Answers at once, or when told to."""

    def __init__(self, *, at_once: bool = True) -> None:
        self.at_once = at_once
        self.waiting: list[tuple[Reply, bytes]] = []
        self.frames: list[bytes] = []
        self.opened_count = 0
        self.closed_reasons: list[str | None] = []

    def opened(self, connection: Connection) -> None:
        self.opened_count += 1

    def request(self, connection: Connection, frame: memoryview, reply: Reply) -> None:
        content = bytes(frame)
        self.frames.append(content)
        if self.at_once:
            reply.send([framed(content)])
        else:
            self.waiting.append((reply, content))

    def closed(self, connection: Connection) -> None:
        self.closed_reasons.append(connection.close_reason)


def framed(content: bytes) -> bytes:
    return pack(">i", len(content)) + content


async def read_frame(reader: asyncio.StreamReader) -> bytes:
    size = int.from_bytes(await reader.readexactly(4), "big")
    return await reader.readexactly(size)


LIMITS, ADMISSION = Limits(), Admission()
Scenario = Callable[[Listener, Echo, asyncio.StreamReader, asyncio.StreamWriter], Awaitable[None]]


def run(
    scenario: Scenario, handler: Echo | None = None, limits: Limits = LIMITS, admission: Admission = ADMISSION
) -> Echo:
    """A listener on a free port, and one client."""
    echo = handler or Echo()

    async def main() -> None:
        listener = Listener(echo, admission, limits)
        host, port = listener.open("127.0.0.1", 0)
        reader, writer = await asyncio.open_connection(host, port)
        try:
            async with asyncio.timeout(60):
                await scenario(listener, echo, reader, writer)
        finally:
            writer.close()
            listener.close()

    asyncio.run(main())
    return echo


async def one_connection(listener: Listener) -> Connection:
    """The first one that was made, once it is there."""
    await until(lambda: listener.connections)
    return next(iter(listener.connections))
