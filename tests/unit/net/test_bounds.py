"""What a client can take from others: memory, file handles, time."""

import asyncio
import logging
import os
import socket
import tempfile
import tracemalloc
from pathlib import Path
from struct import pack

import pytest

from odradek.net.connection import Connection
from odradek.net.framing import Limits, Reply
from odradek.net.socket_server import Admission, SocketServer
from odradek.process.sockets import SystemNetwork
from support.echo import Echo, framed, one_connection, read_frame, run
from support.file_ranges import RangeOfFile
from support.waiting import until


def test_memory_follows_what_was_sent_and_not_what_was_announced() -> None:
    async def scenario(
        server: SocketServer, echo: Echo, _reader: asyncio.StreamReader, writer: asyncio.StreamWriter
    ) -> None:
        address = writer.get_extra_info("peername")
        others = [socket.create_connection(address) for _ in range(50)]
        await until(lambda: len(server.connections) == 51)
        tracemalloc.start()
        for each in others:
            each.sendall(pack(">i", 100 << 20) + b"x" * 1000)
        await until(lambda: all(each.has_begun for each in server.connections if each.peer != _own(writer)))
        taken, _ = tracemalloc.get_traced_memory()
        tracemalloc.stop()
        for each in others:
            each.close()
        await until(lambda: len(echo.closed_reasons) == 50)
        assert taken < 50 * (100 << 10)

    run(scenario)


def _own(writer: asyncio.StreamWriter) -> tuple[str, int]:
    name: tuple[str, int] = writer.get_extra_info("sockname")
    return name


@pytest.mark.parametrize("size", [65_536, 65_537, 300_000, 1_048_577, 9_000_001])
def test_a_large_frame_is_whole_however_its_buffer_grew(size: int) -> None:
    content = os.urandom(size)

    async def scenario(
        server: SocketServer, _: Echo, reader: asyncio.StreamReader, writer: asyncio.StreamWriter
    ) -> None:
        connection = await one_connection(server)
        for first in (1, 5, 40_000):
            stream = framed(content) + framed(b"next")
            writer.write(stream[:first])
            await until(lambda: connection.has_begun)
            writer.write(stream[first:])
            assert await read_frame(reader) == content
            assert await read_frame(reader) == b"next"

    run(scenario)


def test_what_is_refused_waits_for_the_answers_before_it() -> None:
    async def scenario(_: SocketServer, echo: Echo, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        writer.write(framed(b"slow") + framed(b"bad") + framed(b"never looked at"))
        await until(lambda: len(echo.waiting) == 3)
        echo.waiting[1][0].refuse("it is bad")
        echo.waiting[2][0].send([framed(b"behind it")])
        assert echo.closed_reasons == []
        echo.waiting[0][0].send([framed(b"slow")])
        assert await read_frame(reader) == b"slow"
        assert await reader.read() == b""

    assert run(scenario, Echo(at_once=False)).closed_reasons == ["it is bad"]


def test_nothing_is_handled_behind_what_is_refused() -> None:
    class RefusesBad(Echo):
        def request(self, connection: Connection, frame: memoryview, reply: Reply) -> None:
            if bytes(frame) == b"bad":
                reply.refuse("it is bad")
            else:
                super().request(connection, frame, reply)

    async def scenario(_: SocketServer, echo: Echo, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        writer.write(framed(b"slow") + framed(b"bad") + framed(b"behind") + pack(">i", -1))
        await until(lambda: echo.waiting)
        echo.waiting[0][0].send([framed(b"slow")])
        assert await read_frame(reader) == b"slow"
        assert await reader.read() == b""

    echo = run(scenario, RefusesBad(at_once=False))
    assert echo.frames == [b"slow"]
    assert echo.closed_reasons == ["it is bad"]


def test_a_client_that_sends_without_end_leaves_the_others_their_turn() -> None:
    class Interrupted(Echo):
        """When the first frame of the flood is handled, another client sends one."""

        other: socket.socket | None = None

        def request(self, connection: Connection, frame: memoryview, reply: Reply) -> None:
            if self.other is not None:
                self.other.sendall(framed(b"other"))
                self.other = None
            super().request(connection, frame, reply)

    handler = Interrupted()

    async def scenario(
        server: SocketServer, echo: Echo, reader: asyncio.StreamReader, writer: asyncio.StreamWriter
    ) -> None:
        other = socket.create_connection(writer.get_extra_info("peername"))
        await until(lambda: len(server.connections) == 2)
        handler.other = other
        writer.write(framed(b"flood") * 4_000)
        for _ in range(4_000):
            assert await read_frame(reader) == b"flood"
        other.close()
        assert echo.frames.count(b"flood") == 4_000
        assert echo.frames.index(b"other") < 100

    run(scenario, handler, Limits(turn_s=0.0))


@pytest.mark.parametrize("limits", [Limits(waiting_parts_max=4), Limits(waiting_bytes_max=20), Limits(under_way_max=1)])
def test_a_tight_limit_only_slows_down(limits: Limits) -> None:
    async def scenario(_: SocketServer, __: Echo, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        writer.write(b"".join(framed(b"%d" % number) for number in range(500)))
        for number in range(500):
            assert await read_frame(reader) == b"%d" % number

    run(scenario, limits=limits)


def test_a_client_that_does_not_read_holds_few_files() -> None:
    class Files(Echo):
        def __init__(self, path: Path) -> None:
            super().__init__()
            self.path = path

        def request(self, connection: Connection, frame: memoryview, reply: Reply) -> None:
            self.frames.append(bytes(frame))
            reply.send([b"head", RangeOfFile(self.path, 0, 100_000)])

    with tempfile.TemporaryDirectory() as root:
        path = Path(root) / "segment"
        path.write_bytes(bytes(100_000))

        async def scenario(
            server: SocketServer, echo: Echo, reader: asyncio.StreamReader, writer: asyncio.StreamWriter
        ) -> None:
            connection = await one_connection(server)
            writer.write(framed(b"fetch") * 500)
            await until(lambda: not connection.is_reading)
            assert RangeOfFile.held <= 64 + 1
            for _ in range(500):
                await reader.readexactly(100_004)
            assert RangeOfFile.held == 0
            assert len(echo.frames) == 500

        run(scenario, Files(path))


def test_beyond_the_limit_on_connections_clients_wait_until_one_leaves(caplog: pytest.LogCaptureFixture) -> None:
    async def scenario(
        server: SocketServer, echo: Echo, reader: asyncio.StreamReader, writer: asyncio.StreamWriter
    ) -> None:
        address = writer.get_extra_info("peername")
        waiting = [await asyncio.open_connection(*address) for _ in range(3)]
        for _, each in waiting:
            each.write(framed(b"waiting"))
        writer.write(framed(b"inside"))
        assert await read_frame(reader) == b"inside"
        await until(lambda: caplog.records)
        assert echo.opened_count == 1
        writer.close()
        for each_reader, each in waiting:
            assert await read_frame(each_reader) == b"waiting"
            each.close()

    with caplog.at_level(logging.WARNING):
        run(scenario, admission=Admission(connections_max=1))
    assert [record.message for record in caplog.records] == ["no more connections are accepted for now"]


def test_a_raised_limit_lets_those_in_who_wait() -> None:
    async def scenario(
        server: SocketServer, _echo: Echo, _reader: asyncio.StreamReader, writer: asyncio.StreamWriter
    ) -> None:
        await one_connection(server)
        reader, other = await asyncio.open_connection(*writer.get_extra_info("peername"))
        other.write(framed(b"let me in"))
        server.change_admission(Admission(connections_max=2))
        assert await read_frame(reader) == b"let me in"
        other.close()

    run(scenario, admission=Admission(connections_max=1))


# --- how fast connections come


class Throttle:
    """Some connections wait and some are refused, by number."""

    def __init__(self, *, waits: dict[int, int] | None = None, refuses: dict[int, int] | None = None) -> None:
        self.is_set = True
        self.asked: list[str] = []
        self._waits = waits or {}
        self._refuses = refuses or {}

    def wait_ms(self, listener: str) -> int:
        self.asked.append(listener)
        return self._waits.get(len(self.asked), 0)

    def refuse_ms(self, _listener: str, _ip: str) -> int:
        return self._refuses.get(len(self.asked), 0)


def test_a_connection_that_comes_too_fast_waits_and_those_behind_it_with_it() -> None:
    async def main() -> None:
        loop = asyncio.get_running_loop()
        throttle = Throttle(waits={2: 150})
        server = SocketServer(SystemNetwork(), Echo(), throttle=throttle)
        address = server.listen("127.0.0.1", 0, "CLIENTS").address
        try:
            first_reader, first = await asyncio.open_connection(*address)
            first.write(framed(b"first"))
            assert await read_frame(first_reader) == b"first"
            began = loop.time()
            others = [await asyncio.open_connection(*address) for _ in range(2)]
            for reader, writer in others:
                writer.write(framed(b"late"))
                assert await read_frame(reader) == b"late"
            assert loop.time() - began >= 0.149
            assert throttle.asked == ["CLIENTS"] * 3
            for _, writer in (*others, (first_reader, first)):
                writer.close()
        finally:
            server.close()

    asyncio.run(main())


def test_a_connection_that_is_refused_is_closed_after_its_time_and_counts_for_nothing() -> None:
    async def main() -> None:
        loop = asyncio.get_running_loop()
        echo = Echo()
        server = SocketServer(SystemNetwork(), echo, throttle=Throttle(refuses={1: 100}))
        server.change_admission(Admission(per_ip_max=1))
        address = server.listen("127.0.0.1", 0).address
        try:
            began = loop.time()
            reader, refused = await asyncio.open_connection(*address)
            assert await reader.read() == b""
            assert loop.time() - began >= 0.099
            assert echo.opened_count == 0
            refused.close()
            reader, welcome = await asyncio.open_connection(*address)
            welcome.write(framed(b"hello"))
            assert await read_frame(reader) == b"hello"
            welcome.close()
        finally:
            server.close()

    asyncio.run(main())


def test_those_who_wait_for_their_turn_or_their_end_are_closed_with_the_listener() -> None:
    async def main() -> None:
        throttle = Throttle(waits={2: 60_000}, refuses={1: 60_000})
        server = SocketServer(SystemNetwork(), Echo(), throttle=throttle)
        address = server.listen("127.0.0.1", 0).address
        both = [await asyncio.open_connection(*address) for _ in range(2)]
        await until(lambda: len(throttle.asked) == 2)
        server.close()
        for reader, writer in both:
            assert await reader.read() == b""
            writer.close()

    asyncio.run(main())


def test_each_listener_has_its_own_bound_and_that_of_brokers_goes_first() -> None:
    async def main() -> None:
        echo = Echo()
        server = SocketServer(SystemNetwork(), echo)
        server.change_admission(Admission(connections_max=2, per_listener_max={"A": 1}, protected="BROKERS"))
        addresses = {name: server.listen("127.0.0.1", 0, name).address for name in ("A", "B", "BROKERS")}
        writers: list[asyncio.StreamWriter] = []

        async def connect(name: str) -> asyncio.StreamReader:
            reader, writer = await asyncio.open_connection(*addresses[name])
            writers.append(writer)
            writer.write(framed(name.encode()))
            return reader

        try:
            oldest = await connect("A")
            assert await read_frame(oldest) == b"A"
            await connect("A")  # waits: its listener is full
            assert await read_frame(await connect("B")) == b"B"
            assert echo.opened_count == 2
            assert await read_frame(await connect("BROKERS")) == b"BROKERS"
            assert await oldest.read() == b"", "the client that was silent longest made room"
            assert len(server.connections) == 2
        finally:
            for writer in writers:
                writer.close()
            server.close()

    asyncio.run(main())


def test_a_lowered_limit_closes_those_that_were_silent_longest() -> None:
    async def scenario(
        server: SocketServer, _echo: Echo, reader: asyncio.StreamReader, writer: asyncio.StreamWriter
    ) -> None:
        await one_connection(server)
        other_reader, other = await asyncio.open_connection(*writer.get_extra_info("peername"))
        await until(lambda: len(server.connections) == 2)
        writer.write(framed(b"not silent"))
        assert await read_frame(reader) == b"not silent"
        server.change_admission(Admission(connections_max=1))
        assert await other_reader.read() == b""
        other.close()
        writer.write(framed(b"still there"))
        assert await read_frame(reader) == b"still there"

    run(scenario)


class Keeping(Echo):
    """Holds its connection with each frame that says so, and answers it later."""

    def __init__(self) -> None:
        super().__init__()
        self.kept: list[tuple[Connection, Reply]] = []

    def request(self, connection: Connection, frame: memoryview, reply: Reply) -> None:
        if bytes(frame) == b"keep":
            connection.hold(100)
            self.kept.append((connection, reply))
        else:
            super().request(connection, frame, reply)

    def finish(self) -> None:
        connection, reply = self.kept.pop(0)
        reply.send([framed(b"kept")])
        connection.release(100)


def test_nothing_is_handled_behind_a_request_that_outlives_its_handler() -> None:
    async def scenario(_: SocketServer, echo: Echo, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        assert isinstance(echo, Keeping)
        writer.write(framed(b"before") + framed(b"keep") + framed(b"behind"))
        assert await read_frame(reader) == b"before"
        writer.write(framed(b"last"))
        await until(lambda: echo.kept)
        assert not echo.kept[0][0].is_reading
        assert echo.frames == [b"before"]
        echo.finish()
        assert [await read_frame(reader) for _ in range(3)] == [b"kept", b"behind", b"last"]

    run(scenario, Keeping())


def test_with_too_much_held_nobody_is_read_from() -> None:
    async def scenario(
        server: SocketServer, echo: Echo, reader: asyncio.StreamReader, writer: asyncio.StreamWriter
    ) -> None:
        assert isinstance(echo, Keeping)
        address = writer.get_extra_info("peername")
        others = [await asyncio.open_connection(*address) for _ in range(2)]
        for _, other in others:
            other.write(framed(b"keep"))
        await until(lambda: len(echo.kept) == 2)
        assert server.is_full
        late_reader, late = await asyncio.open_connection(*address)
        await until(lambda: len(server.connections) == 4)
        assert not any(each.is_reading for each in server.connections)
        for each in (writer, late):
            each.write(framed(b"waits"))
        others[0][1].close()  # what it sent is held all the same
        echo.finish()
        assert await read_frame(reader) == b"waits"
        assert await read_frame(late_reader) == b"waits"
        echo.finish()
        assert await read_frame(others[1][0]) == b"kept"
        others[1][1].close()
        late.close()

    run(scenario, Keeping(), Limits(held_bytes_max=200))
