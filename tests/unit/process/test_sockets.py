"""The network of the operating system: sockets that never block, ranges of files through maps."""

import asyncio
import socket
import threading
from collections.abc import AsyncIterator, Sequence
from contextlib import asynccontextmanager
from pathlib import Path
from random import Random

import pytest

from odradek.model.buffer import Buffer
from odradek.process.network import Channel, SocketAddress, parse_address
from odradek.process.resolver import Resolver, look_up
from odradek.process.sockets import SocketChannel, SystemNetwork
from support.channels import accepted, received
from support.file_ranges import RangeOfFile
from support.waiting import until

MB = 1 << 20


@asynccontextmanager
async def a_pair(host: str = "127.0.0.1", dialled: str = "127.0.0.1") -> AsyncIterator[tuple[Channel, Channel]]:
    network = SystemNetwork()
    acceptor = network.listen(host, 0)
    client = await network.dial(dialled, acceptor.address.port)
    server = await accepted(acceptor)
    try:
        yield client, server
    finally:
        for each in (client, server, acceptor):
            each.close()


def test_an_ipv4_client_of_an_ipv6_listener_has_an_ipv4_address() -> None:
    async def main() -> None:
        async with a_pair(host="::") as (client, server):
            assert (server.peer, server.local) == (client.local, client.peer)
            assert server.peer.host == "127.0.0.1"

    asyncio.run(main())


@pytest.mark.parametrize(
    ("host", "address"),
    [
        ("127.0.0.1", "127.0.0.1"),
        ("::ffff:10.0.0.7", "10.0.0.7"),
        ("0:0:0:0:0:0:0:1", "::1"),
        ("FE80::1%eth0", "fe80::1%eth0"),
        ("localhost", None),
        ("", None),
        ("10.0.0", None),
    ],
)
def test_addresses_are_written_in_one_way(host: str, address: str | None) -> None:
    assert parse_address(host) == address


def test_addresses_and_ports_are_shown_as_people_write_them() -> None:
    assert [str(SocketAddress(host, 1)) for host in ("10.0.0.7", "::1")] == ["10.0.0.7:1", "[::1]:1"]


# --- ranges of files


class Sink:
    """A socket that takes so many bytes, call by call, and then no more for now."""

    def __init__(self, takes: Sequence[int]) -> None:
        self.got = b""
        self.offered: list[int] = []
        self.takes = list(takes)

    def sendmsg(self, run: Sequence[Buffer], _ancillary: object = (), _flags: int = 0) -> int:
        data = b"".join(run)
        self.offered.append(len(data))
        if not self.takes:
            raise BlockingIOError
        taken = data[: self.takes.pop(0)]
        self.got += taken
        return len(taken)

    def __getattr__(self, name: str) -> object:
        """All that is asked of a socket while a channel is made of it."""
        return (lambda *_: ("127.0.0.1", 1)) if name == "getsockname" else lambda *_: None


async def channel_into(sink: Sink) -> SocketChannel:
    return SocketChannel(sink, ("127.0.0.1", 2))  # type: ignore[arg-type]


@pytest.fixture
def file(tmp_path: Path) -> Path:
    path = tmp_path / "segment"
    path.write_bytes(Random(1).randbytes(3 * MB))
    return path


def test_a_range_of_a_file_arrives_between_bytes(file: Path) -> None:
    content = file.read_bytes()

    async def main() -> None:
        async with a_pair() as (client, server):
            part = RangeOfFile(file, 1000, 50_000)
            size = server.send_parts([b"head", part, b"tail"], 2)
            assert size == 50_006
            assert await received(client, size) == b"ad" + content[1000:51_000] + b"tail"
            size = server.send_parts([part, b"tail"], 49_999)
            assert await received(client, size) == content[50_999:51_000] + b"tail"
            part.release()

    asyncio.run(main())


def test_an_answer_with_many_ranges_is_one_call(file: Path) -> None:
    sink = Sink([10 * MB])
    ranges = [RangeOfFile(file, 1000 * n, MB // 2) for n in range(6)]
    channel = asyncio.run(channel_into(sink))
    assert channel.send_parts([b"head", *ranges], 0) == 4 + 3 * MB
    for each in ranges:
        each.release()


def test_a_socket_that_is_full_is_not_offered_much_more_than_it_takes(file: Path) -> None:
    sink = Sink([MB])
    channel = asyncio.run(channel_into(sink))
    ranges = [RangeOfFile(file, 0, 2 * MB), RangeOfFile(file, 0, 3 * MB), RangeOfFile(file, 0, 3 * MB)]
    assert channel.send_parts(ranges, 0) == MB
    with pytest.raises(BlockingIOError):
        channel.send_parts(ranges, MB)
    sink.takes = [MB, MB]
    assert channel.send_parts(ranges, MB) == MB
    assert channel.send_parts(ranges[1:], 0) == MB
    assert sink.offered == [4 * MB, 4 * MB, MB, MB]
    for each in ranges:
        each.release()


def test_what_comes_before_a_file_that_was_cut_is_sent(file: Path) -> None:
    sink = Sink([MB])
    channel = asyncio.run(channel_into(sink))
    whole, cut = RangeOfFile(file, 0, 100), RangeOfFile(file, 3 * MB, 100)
    assert channel.send_parts([b"head", whole, b"next", cut], 0) == 108
    with pytest.raises(OSError, match="a file ended before its range did"):
        channel.send_parts([cut], 0)
    whole.release()
    cut.release()


# --- names


def test_a_host_has_the_addresses_that_its_connections_have() -> None:
    async def main() -> None:
        network = SystemNetwork()
        assert "127.0.0.1" in await network.resolve("localhost")
        assert await network.resolve("::ffff:10.0.0.7") == {"10.0.0.7"}

    asyncio.run(main())
    assert look_up("a name with\0 no sense") == frozenset()


def test_a_name_server_that_does_not_answer_holds_neither_the_loop_nor_its_end() -> None:
    answer = threading.Event()
    threads: set[threading.Thread] = set()

    def dead(host: str) -> frozenset[str]:
        threads.add(threading.current_thread())
        answer.wait()
        return frozenset((host,))

    async def main() -> Resolver:
        resolver = Resolver(dead)
        waiting = [asyncio.ensure_future(resolver.resolve(f"host-{number}")) for number in range(9)]
        await until(lambda: len(threads) == 4)
        assert await resolver.resolve("10.0.0.1") == {"10.0.0.1"}
        waiting[8].cancel()
        assert not any(each.done() for each in waiting[:8])
        return resolver  # the rest are cancelled with the loop

    resolver = asyncio.run(main())
    answer.set()
    for each in list(threads):
        each.join()
    assert resolver._threads == 0


def test_questions_are_answered_and_their_threads_go() -> None:
    async def main() -> None:
        resolver = Resolver(lambda host: frozenset((host.upper(),)))
        hosts = [f"host-{number}" for number in range(20)]
        found = await asyncio.gather(*map(resolver.resolve, hosts))
        assert found == [{host.upper()} for host in hosts]
        await until(lambda: resolver._threads == 0)

    asyncio.run(main())


def test_ipv6_alone() -> None:
    if not socket.has_ipv6:
        pytest.skip("no IPv6 here")

    async def main() -> None:
        try:
            pair = a_pair(host="::1", dialled="::1")
            client, server = await pair.__aenter__()
        except OSError as error:
            pytest.skip(f"no IPv6 here: {error}")
        assert server.peer.host == client.local.host == "::1"
        await pair.__aexit__(None, None, None)

    asyncio.run(main())
