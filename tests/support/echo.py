"""A server whose handler answers each frame with itself: for tests of connections."""

import asyncio
from collections.abc import Awaitable, Callable
from struct import pack

from odradek.net.connection import Connection
from odradek.net.framing import Limits, Reply
from odradek.net.socket_server import Admission, SocketServer
from odradek.process.sockets import SystemNetwork
from support.waiting import until


class Echo:
    """Answers at once, or when told to."""

    def __init__(self, *, at_once: bool = True) -> None:
        self.at_once = at_once
        self.waiting: list[tuple[Reply, bytes]] = []
        self.frames: list[bytes] = []
        self.opened_count = 0
        self.closed_reasons: list[str | None] = []

    def opened(self, connection: Connection) -> Connection:
        self.opened_count += 1
        return connection

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
Scenario = Callable[[SocketServer, Echo, asyncio.StreamReader, asyncio.StreamWriter], Awaitable[None]]


def run(
    scenario: Scenario, handler: Echo | None = None, limits: Limits = LIMITS, admission: Admission = ADMISSION
) -> Echo:
    """A server on a free port, and one client."""
    echo = handler or Echo()

    async def main() -> None:
        server = SocketServer(SystemNetwork(), echo, limits)
        server.change_admission(admission)
        listener = server.listen("127.0.0.1", 0)
        reader, writer = await asyncio.open_connection(*listener.address)
        try:
            async with asyncio.timeout(60):
                await scenario(server, echo, reader, writer)
        finally:
            writer.close()
            server.close()

    asyncio.run(main())
    return echo


async def one_connection(server: SocketServer) -> Connection:
    """The first one that was made, once it is there."""
    await until(lambda: server.connections)
    return next(iter(server.connections))
