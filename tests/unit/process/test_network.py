"""What any network does: that of the operating system, and the one of simulations."""

import asyncio
from collections.abc import AsyncIterator, Callable, Coroutine
from contextlib import asynccontextmanager, suppress
from functools import partial
from pathlib import Path
from random import Random
from typing import Any

import pytest

from odradek.process.network import Channel, ListenOptions, Network
from odradek.process.sockets import SystemNetwork
from support.channels import accepted, received
from support.file_ranges import RangeOfFile
from support.sim.events import Events
from support.sim.loop import SimLoop
from support.sim.streams import SimNetwork

HERE = "127.0.0.1"
Story = Callable[[Network, str], Coroutine[Any, Any, None]]
"""Gets a network, and the name of the host that it is played on."""
Play = Callable[[Story], None]


def on_sockets(story: Story) -> None:
    asyncio.run(story(SystemNetwork(), HERE))


def in_virtual_time(story: Story) -> None:
    events = Events()
    loop = SimLoop(events)  # type: ignore[abstract]  # what is left out nobody calls
    loop.complete(story(SimNetwork(events, Random(1)).host("here", loop.within), "here"))


@pytest.fixture(params=[on_sockets, in_virtual_time], ids=["of the system", "simulated"])
def play(request: pytest.FixtureRequest) -> Play:
    return request.param  # type: ignore[no-any-return]


async def until(condition: Callable[[], bool]) -> None:
    """Where time is virtual it has to pass."""
    while not condition():  # noqa: ASYNC110 - many different things are waited for
        await asyncio.sleep(0.001)


def has_failed(channel: Channel) -> bool:
    try:
        channel.send(b"x")
    except OSError:
        return True
    return False


@asynccontextmanager
async def a_pair(network: Network, here: str) -> AsyncIterator[tuple[Channel, Channel]]:
    acceptor = network.listen(here, 0)
    client = await network.dial(here, acceptor.address.port)
    server = await accepted(acceptor)
    try:
        yield client, server
    finally:
        for each in (client, server, acceptor):
            each.close()


def test_bytes_go_both_ways_until_one_end_closes(play: Play) -> None:
    async def story(network: Network, here: str) -> None:
        async with a_pair(network, here) as (client, server):
            assert (client.local, client.peer) == (server.peer, server.local)
            with pytest.raises(BlockingIOError):
                server.receive_into(bytearray(1))
            assert client.send(b"question") == 8
            assert await received(server, 8) == b"question"
            assert server.send_parts([b"an", bytearray(b"swer")], 1) == 5
            assert await received(client, 5) == b"nswer"
            client.close()
            client.close()
            assert await received(server, 1) == b""

    play(story)


def test_what_is_read_in_pieces_is_all_there(play: Play) -> None:
    async def story(network: Network, here: str) -> None:
        async with a_pair(network, here) as (client, server):
            client.send(b"abc")
            client.send(b"def")
            assert [await received(server, 1) for _ in "abcdef"] == [b"a", b"b", b"c", b"d", b"e", b"f"]

    play(story)


def test_a_callback_is_called_as_long_as_there_is_something(play: Play) -> None:
    async def story(network: Network, here: str) -> None:
        async with a_pair(network, here) as (client, server):
            calls: list[str] = []
            server.on_readable(partial(calls.append, "server"))
            client.on_readable(partial(calls.append, "client"))
            client.send(b"x")
            await until(lambda: len(calls) >= 3)
            server.on_readable(None)
            seen = len(calls)
            await asyncio.sleep(0.01)
            assert calls == ["server"] * seen
            assert await received(server, 1) == b"x"

    play(story)


def test_a_closed_end_is_of_no_use(play: Play) -> None:
    async def story(network: Network, here: str) -> None:
        async with a_pair(network, here) as (client, _server):
            calls: list[str] = []
            client.on_writable(partial(calls.append, "writable"))
            client.close()
            with pytest.raises(OSError, match=r"."):
                client.send(b"x")
            with pytest.raises(OSError, match=r"."):
                client.receive_into(bytearray(1))
            await asyncio.sleep(0.01)
            assert calls == []

    play(story)


def test_who_sends_to_one_who_has_gone_finds_out(play: Play) -> None:
    async def story(network: Network, here: str) -> None:
        async with a_pair(network, here) as (client, server):
            client.send(b"never read")
            assert await received(server, 5) == b"never"
            server.close()
            await until(lambda: has_failed(client))

    play(story)


def test_who_cannot_send_hears_when_he_can(play: Play) -> None:
    async def story(network: Network, here: str) -> None:
        async with a_pair(network, here) as (client, server):
            sent = 0
            with suppress(BlockingIOError):
                while True:
                    sent += server.send(bytes(100_000))
            writable = asyncio.Event()
            server.on_writable(writable.set)
            assert len(await received(client, sent)) == sent
            async with asyncio.timeout(30):
                await writable.wait()
            assert server.send(b"more") == 4

    play(story)


def test_a_range_of_a_file_arrives_between_bytes(play: Play, tmp_path: Path) -> None:
    file = tmp_path / "segment"
    content = Random(1).randbytes(60_000)
    file.write_bytes(content)

    async def story(network: Network, here: str) -> None:
        async with a_pair(network, here) as (client, server):
            part = RangeOfFile(file, 1000, 50_000)
            size = server.send_parts([b"head", part, b"tail"], 2)
            assert size == 50_006
            assert await received(client, size) == b"ad" + content[1000:51_000] + b"tail"
            size = server.send_parts([part, b"tail"], 49_999)
            assert await received(client, size) == content[50_999:51_000] + b"tail"
            part.release()

    play(story)


def test_a_port_that_is_taken_is_refused(play: Play) -> None:
    async def story(network: Network, here: str) -> None:
        acceptor = network.listen(here, 0, ListenOptions(5, 50_000, 60_000))
        port = acceptor.address.port
        with pytest.raises(OSError, match="in use"):
            network.listen(here, port)
        with pytest.raises(BlockingIOError):
            acceptor.accept()
        acceptor.close()
        with pytest.raises(ConnectionRefusedError):
            await network.dial(here, port)

    play(story)


def test_an_address_is_its_own(play: Play) -> None:
    async def story(network: Network, here: str) -> None:
        assert await network.resolve("::ffff:10.0.0.7") == {"10.0.0.7"}
        acceptor = network.listen(here, 0)
        assert await network.resolve(here) == {acceptor.address.host}
        acceptor.close()

    play(story)
