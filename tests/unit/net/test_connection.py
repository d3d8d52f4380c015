"""Connections over real sockets: frames in any pieces, answers in order, bounds."""

import asyncio
import os
import socket
import tempfile
from itertools import pairwise
from pathlib import Path
from struct import pack

import pytest

from odradek.net.connection import Connection
from odradek.net.framing import Limits, Reply
from odradek.net.socket_server import Admission, SocketServer
from support.echo import Echo, framed, one_connection, read_frame, run
from support.file_ranges import RangeOfFile
from support.waiting import until


def test_frames_come_back_however_they_are_cut() -> None:
    contents = [b"", b"a", b"hello" * 100, os.urandom(300_000), b"last"]

    async def scenario(_: SocketServer, __: Echo, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        stream = b"".join(map(framed, contents))
        cuts = [0, 1, 2, 3, 5, 9, 10, 400, 1000, 100_000, len(stream) - 3, len(stream)]
        for start, end in pairwise(cuts):
            writer.write(stream[start:end])
            await writer.drain()
            await asyncio.sleep(0)
        for content in contents:
            assert await read_frame(reader) == content

    assert run(scenario).frames == contents


def test_frames_can_be_written_to_however_they_came() -> None:
    class Stamps(Echo):
        def request(self, connection: Connection, frame: memoryview, reply: Reply) -> None:
            frame[:1] = b"!"
            super().request(connection, frame, reply)

    async def scenario(
        server: SocketServer, echo: Echo, reader: asyncio.StreamReader, writer: asyncio.StreamWriter
    ) -> None:
        connection = await one_connection(server)
        writer.write(b"\x00")
        await until(lambda: connection.has_begun)
        writer.write(framed(b"cut in its size")[1:] + framed(b"paused") * 3 + framed(bytes(300_000)))
        while len(echo.frames) < 5 or echo.waiting:
            await until(lambda: echo.waiting)
            echo.waiting.pop(0)[0].send([])
        assert [frame[:1] for frame in echo.frames] == [b"!"] * 5

    run(scenario, Stamps(at_once=False), Limits(under_way_max=2))


def test_answers_keep_the_order_of_the_requests() -> None:
    async def scenario(_: SocketServer, echo: Echo, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        writer.write(framed(b"first") + framed(b"second") + framed(b"third"))
        await until(lambda: len(echo.waiting) == 3)
        for reply, content in reversed(echo.waiting):
            reply.send([framed(content)])
        assert [await read_frame(reader) for _ in range(3)] == [b"first", b"second", b"third"]

    run(scenario, Echo(at_once=False))


def test_an_empty_answer_lets_the_next_one_go() -> None:
    async def scenario(_: SocketServer, echo: Echo, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        writer.write(framed(b"quiet") + framed(b"loud"))
        await until(lambda: len(echo.waiting) == 2)
        echo.waiting[1][0].send([framed(b"loud")])
        echo.waiting[0][0].send([])
        assert await read_frame(reader) == b"loud"

    run(scenario, Echo(at_once=False))


def test_a_client_with_too_many_requests_under_way_is_not_read_from() -> None:
    async def scenario(
        server: SocketServer, echo: Echo, reader: asyncio.StreamReader, writer: asyncio.StreamWriter
    ) -> None:
        writer.write(b"".join(framed(b"%d" % number) for number in range(10)))
        connection = await one_connection(server)
        await until(lambda: not connection.is_reading)
        assert len(echo.waiting) == 3
        while len(echo.frames) < 10 or echo.waiting:
            reply, content = echo.waiting.pop(0)
            reply.send([framed(content)])
            await asyncio.sleep(0)
        assert [await read_frame(reader) for _ in range(10)] == [b"%d" % number for number in range(10)]

    run(scenario, Echo(at_once=False), Limits(under_way_max=3))


def test_a_client_that_does_not_read_is_bounded_in_memory() -> None:
    large = os.urandom(200_000)

    async def scenario(
        server: SocketServer, echo: Echo, reader: asyncio.StreamReader, writer: asyncio.StreamWriter
    ) -> None:
        connection = await one_connection(server)
        for _ in range(200):
            writer.write(framed(large))
        await until(lambda: not connection.is_reading)
        assert len(echo.frames) < 200
        for _ in range(200):
            assert await read_frame(reader) == large

    run(scenario, limits=Limits(waiting_bytes_max=1_000_000))


@pytest.mark.parametrize("size", [-1, 101, 2**31 - 1])
def test_frames_of_impossible_size_end_the_connection(size: int) -> None:
    async def scenario(_: SocketServer, __: Echo, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        writer.write(framed(b"good") + pack(">i", size) + b"garbage")
        assert await read_frame(reader) == b"good"
        assert await reader.read() == b""

    echo = run(scenario, limits=Limits(frame_bytes_max=100))
    assert echo.closed_reasons == [f"a frame of {size} bytes; 100 are allowed"]


def test_half_a_frame_and_gone() -> None:
    async def scenario(server: SocketServer, echo: Echo, _: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        writer.write(pack(">i", 1000) + b"only this")
        writer.write_eof()
        await until(lambda: echo.closed_reasons)
        assert not server.connections

    assert run(scenario).closed_reasons == ["the client left in the middle of a frame"]


def test_a_client_that_is_gone_between_frames_is_nothing_to_speak_of() -> None:
    async def scenario(
        server: SocketServer, echo: Echo, reader: asyncio.StreamReader, writer: asyncio.StreamWriter
    ) -> None:
        writer.write(framed(b"hello"))
        assert await read_frame(reader) == b"hello"
        sock = writer.get_extra_info("socket")
        sock.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, pack("ii", 1, 0))  # to be reset, as when a process dies
        writer.transport.abort()
        await until(lambda: echo.closed_reasons)
        assert not server.connections

    assert run(scenario).closed_reasons == [None]


def test_ranges_of_files_go_out_between_bytes() -> None:
    content = os.urandom(3_000_000)

    async def scenario(_: SocketServer, echo: Echo, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        with tempfile.TemporaryDirectory() as root:
            path = Path(root) / "segment"
            path.write_bytes(content)
            writer.write(framed(b"fetch"))
            await until(lambda: echo.waiting)
            part = RangeOfFile(path, 1000, 2_500_000)
            echo.waiting[0][0].send([b"head", memoryview(b"more"), part, b"tail"])
            assert await reader.readexactly(8) == b"headmore"
            assert await reader.readexactly(part.size) == content[1000:2_501_000]
            assert await reader.readexactly(4) == b"tail"
            assert part.released == 1

    run(scenario, Echo(at_once=False))


def test_an_unsent_file_is_released_when_the_client_leaves() -> None:
    async def scenario(server: SocketServer, echo: Echo, _: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        with tempfile.TemporaryDirectory() as root:
            path = Path(root) / "segment"
            path.write_bytes(bytes(50_000_000))
            writer.write(framed(b"one") + framed(b"two"))
            await until(lambda: len(echo.waiting) == 2)
            sending, behind = RangeOfFile(path, 0, 50_000_000), RangeOfFile(path, 0, 10)
            echo.waiting[0][0].send([sending])
            (connection,) = server.connections
            connection.close("enough")
            echo.waiting[1][0].send([behind])
            assert [sending.released, behind.released] == [1, 1]

    run(scenario, Echo(at_once=False))


def test_connections_beyond_the_limit_of_an_address_are_closed_at_once() -> None:
    async def scenario(
        server: SocketServer, echo: Echo, reader: asyncio.StreamReader, writer: asyncio.StreamWriter
    ) -> None:
        await one_connection(server)
        port = writer.get_extra_info("peername")[1]
        second, other = await asyncio.open_connection("127.0.0.1", port)
        assert await second.read() == b""
        other.close()
        writer.write(framed(b"still served"))
        assert await read_frame(reader) == b"still served"
        assert echo.opened_count == 1

    run(scenario, admission=Admission(per_ip_max=1))


def test_idle_connections_are_closed() -> None:
    async def scenario(
        server: SocketServer, echo: Echo, reader: asyncio.StreamReader, writer: asyncio.StreamWriter
    ) -> None:
        connection = await one_connection(server)
        assert server.close_idle() == 0
        connection.last_active -= 601
        assert server.close_idle() == 1
        assert await reader.read() == b""
        assert echo.closed_reasons == [None]

    run(scenario)


# --- muted


class Muting(Echo):
    """Mutes a connection for so many ms when it is asked to."""

    def request(self, connection: Connection, frame: memoryview, reply: Reply) -> None:
        if bytes(frame).startswith(b"mute "):
            connection.mute(int(bytes(frame)[5:]))
        super().request(connection, frame, reply)


def test_a_muted_client_is_answered_at_once_and_heard_after_its_time() -> None:
    async def scenario(_: SocketServer, __: Echo, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        loop = asyncio.get_running_loop()
        began = loop.time()
        writer.write(framed(b"mute 150") + framed(b"in the same piece"))
        assert await read_frame(reader) == b"mute 150"
        writer.write(framed(b"later"))
        assert await read_frame(reader) == b"in the same piece"
        assert loop.time() - began >= 0.149
        assert await read_frame(reader) == b"later"

    run(scenario, Muting())


def test_the_longer_of_two_times_counts() -> None:
    async def scenario(
        server: SocketServer, _: Echo, reader: asyncio.StreamReader, writer: asyncio.StreamWriter
    ) -> None:
        loop = asyncio.get_running_loop()
        connection = await one_connection(server)
        for times in ((100, 10), (10, 100)):
            began = loop.time()
            for ms in times:
                connection.mute(ms)
            assert not connection.is_reading
            writer.write(framed(b"heard"))
            assert await read_frame(reader) == b"heard"
            assert loop.time() - began >= 0.099

    run(scenario)


def test_a_muted_connection_can_be_closed() -> None:
    async def scenario(
        server: SocketServer, _: Echo, reader: asyncio.StreamReader, writer: asyncio.StreamWriter
    ) -> None:
        connection = await one_connection(server)
        connection.mute(60_000)
        connection.close()
        assert await reader.read() == b""
        connection.mute(60_000)
        assert not server.connections

    run(scenario)
