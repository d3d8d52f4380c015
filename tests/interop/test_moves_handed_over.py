"""Partitions that moved, or were moving when their broker was killed: the other broker takes over and loses nothing."""

import asyncio
import contextlib
import os
import shutil
from collections.abc import Awaitable, Callable
from pathlib import Path

import pytest

from odradek.testing.broker import RunningBroker, free_ports, running_broker
from support.apache_kafka import ApacheKafka, format_new
from support.one_node import one_node
from support.places import Place, begin_move, limit_moves, places, until_in
from support.raw_client import RawClient
from support.reading import EARLIEST, offset_of, read_partition
from support.running_node import create_topic, produce

LIMIT_S = 120
COUNT = 400
VALUES = [f"{number}".ljust(5_000, ".") for number in range(COUNT)]
"""Two megabytes, in segments of one."""
SLOW = 500_000
"""Bytes a second: a move takes some seconds, so that it can be held up."""
STANDING = 1

Story = Callable[[RawClient], Awaitable[None]]


class House:
    """Two log directories that brokers take turns on."""

    def __init__(self, kafka: ApacheKafka, root: Path) -> None:
        self._kafka = kafka
        self._root = root
        self.a, self.b = root / "a", root / "b"
        format_new(self.a, self.b)

    def with_kafka(self, story: Story, *, kill: bool = False) -> None:
        port, controller = free_ports()[:2]
        properties = {
            **one_node(),
            "process.roles": "broker,controller",
            "controller.quorum.voters": f"1@127.0.0.1:{controller}",
            "listeners": f"PLAINTEXT://127.0.0.1:{port},CONTROLLER://127.0.0.1:{controller}",
            "controller.listener.names": "CONTROLLER",
            "log.dirs": f"{self.a},{self.b}",
        }
        config = self._root / "server.properties"
        config.write_text("".join(f"{name}={value}\n" for name, value in properties.items()), encoding="utf-8")
        running = self._kafka.launch(config, port, self._root / "kafka.log")
        try:
            running.wait_until_up()
            self._tell(story, port)
        finally:
            running.kill() if kill else running.stop()

    def with_odradek(self, story: Story, *, kill: bool = False) -> None:
        settings = {**one_node(), "log.dirs": f"{self.a},{self.b}"}
        with running_broker(settings, directory=self.a) as running:
            self._tell(story, running.port)
            _end(running, kill=kill)

    def _tell(self, story: Story, port: int) -> None:
        async def main() -> None:
            client = await RawClient.connect("127.0.0.1", port)
            try:
                async with asyncio.timeout(LIMIT_S):
                    await story(client)
            finally:
                await client.close()

        asyncio.run(main())

    def named(self, where: Path) -> list[str]:
        """Directories of the partition in a log directory, by what follows their ids."""
        return sorted(name.rpartition("-")[2] for name in os.listdir(where) if name.startswith("orders-0"))


def _end(running: RunningBroker, *, kill: bool) -> None:
    if kill:
        running.kill()
    else:
        running.stop()


@pytest.fixture
def house(kafka: ApacheKafka, tmp_path: Path) -> House:
    return House(kafka, tmp_path)


async def until_led(client: RawClient) -> None:
    """A broker of Kafka's answers before it leads its partitions, and leads them some time after it was told to."""
    while True:
        with contextlib.suppress(ValueError):
            await offset_of(client, "orders", 0, EARLIEST)
            return


async def fill(client: RawClient) -> None:
    assert await create_topic(client, "orders", segment_bytes="1048576") == 0
    await until_led(client)
    for at in range(0, COUNT, 20):
        assert (await produce(client, "orders", *VALUES[at : at + 20])).error_code == 0


def is_whole(target: Path, *more: str) -> Story:
    async def story(client: RawClient) -> None:
        await limit_moves(client, None)
        await until_in(client, "orders", str(target))
        await until_led(client)
        found = [(record.value or b"").decode() for record in (await read_partition(client, "orders")).records]
        assert found == [*VALUES, *more]
        added = await produce(client, "orders", "one more")
        assert (added.error_code, added.base_offset) == (0, COUNT + len(more))

    return story


def other_than(house: House, path: str) -> Path:
    return house.b if path == str(house.a) else house.a


async def where_it_is(client: RawClient) -> Place:
    """A broker of Kafka's may still be about to move it."""
    while len(found := await places(client, "orders")) != 1:
        pass
    return found[0]


async def move_half(client: RawClient, house: House) -> Path:
    """Begin a move, and have it stand still when some of it is copied. Returns where it goes."""
    await fill(client)
    while True:
        target = other_than(house, (await where_it_is(client)).path)
        await limit_moves(client, SLOW)
        assert await begin_move(client, "orders", str(target)) == 0
        while copies := [each for each in await places(client, "orders") if each.is_future]:
            if copies[0].size > 0:
                await limit_moves(client, STANDING)
                break
        if any(each.is_future for each in await places(client, "orders")):
            return target  # else it was there before it was held up: once more


def moved_by_odradek(house: House) -> Path:
    """The directory that it is in, after a clean stop."""
    found: list[Path] = []

    async def story(client: RawClient) -> None:
        await fill(client)
        found.append(other_than(house, (await where_it_is(client)).path))
        assert await begin_move(client, "orders", str(found[0])) == 0
        await until_in(client, "orders", str(found[0]))

    house.with_odradek(story)
    return found[0]


def test_kafka_finds_what_odradek_moved(house: House) -> None:
    target = moved_by_odradek(house)
    house.with_kafka(is_whole(target))
    house.with_odradek(is_whole(target, "one more"))


def test_kafka_goes_on_where_odradek_was_killed(house: House) -> None:
    found: list[Path] = []

    async def story(client: RawClient) -> None:
        found.append(await move_half(client, house))

    house.with_odradek(story, kill=True)
    assert house.named(found[0]) == ["future"]
    house.with_kafka(is_whole(found[0]))


def test_odradek_goes_on_where_kafka_was_killed(house: House) -> None:
    found: list[Path] = []

    async def story(client: RawClient) -> None:
        found.append(await move_half(client, house))

    house.with_kafka(story, kill=True)
    assert house.named(found[0]) == ["future"]
    house.with_odradek(is_whole(found[0]))
    house.with_kafka(is_whole(found[0], "one more"))


@pytest.mark.parametrize("old_is_there", [False, True])
def test_kafka_ends_what_odradek_had_almost_done(house: House, old_is_there: bool) -> None:
    """Killed when the metadata named the new directory, before or after the old one lost its name."""
    target = moved_by_odradek(house)
    (target / "orders-0").rename(target / f"orders-0.{'0' * 32}-future")
    source = house.a if target == house.b else house.b
    (old,) = (each for each in source.iterdir() if each.name.startswith("orders-0."))
    if old_is_there:
        old.rename(source / "orders-0")
    else:
        shutil.rmtree(old)
    for directory in (house.a, house.b):
        (directory / ".kafka_cleanshutdown").unlink()
    house.with_kafka(is_whole(target))
    house.with_odradek(is_whole(target, "one more"))
