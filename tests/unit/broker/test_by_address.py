"""What is set for hosts counts for their addresses, however long a name server takes."""

import asyncio
from collections import defaultdict
from collections.abc import Awaitable, Callable

from odradek.broker.by_address import ByAddress
from odradek.process.sockets import SystemNetwork
from odradek.process.tasks import Tasks
from support.waiting import until


class Names(SystemNetwork):
    """Answers when it is told to."""

    def __init__(self) -> None:
        super().__init__()
        self.asked: defaultdict[str, list[asyncio.Future[frozenset[str]]]] = defaultdict(list)

    async def resolve(self, host: str) -> frozenset[str]:
        question: asyncio.Future[frozenset[str]] = asyncio.get_running_loop().create_future()
        self.asked[host].append(question)
        return await question

    def answer(self, host: str, *addresses: str) -> None:
        self.asked[host].pop(0).set_result(frozenset(addresses))


class Stage:
    def __init__(self, tasks: Tasks) -> None:
        self.names = Names()
        self.applied: list[dict[str, int]] = []
        self.by_address = ByAddress[int](self.names, tasks, self.applied.append)

    async def asked(self, *hosts: str) -> None:
        await until(lambda: {host for host, questions in self.names.asked.items() if questions} == set(hosts))

    async def applies(self, expected: dict[str, int]) -> None:
        await until(lambda: self.applied[-1] == expected)


def run(story: Callable[[Stage], Awaitable[None]]) -> None:
    async def main() -> None:
        async with asyncio.timeout(30), Tasks() as tasks:
            await story(Stage(tasks))

    asyncio.run(main())


def test_addresses_count_at_once_and_names_as_soon_as_they_are_known() -> None:
    async def story(stage: Stage) -> None:
        stage.by_address.change({"10.0.0.1": 1, "::ffff:10.0.0.2": 2, "two": 3, "dead": 4})
        assert stage.applied == [{"10.0.0.1": 1, "10.0.0.2": 2}]
        await stage.asked("two", "dead")
        stage.names.answer("two", "10.0.1.1", "10.0.1.2")
        await stage.applies({"10.0.0.1": 1, "10.0.0.2": 2, "10.0.1.1": 3, "10.0.1.2": 3})
        stage.names.answer("dead")
        assert len(stage.applied) == 2

    run(story)


def test_the_newest_settings_win_whoever_is_answered_first() -> None:
    async def story(stage: Stage) -> None:
        stage.by_address.change({"a": 1, "b": 1})
        await stage.asked("a", "b")
        stage.by_address.change({"b": 2, "c": 2})
        await stage.asked("a", "b", "c")
        assert len(stage.names.asked["b"]) == 1, "it is being asked for"
        stage.names.answer("c", "10.0.0.3")
        stage.names.answer("b", "10.0.0.2")
        stage.names.answer("a", "10.0.0.1")
        await stage.applies({"10.0.0.2": 2, "10.0.0.3": 2})
        stage.by_address.change({})
        assert stage.applied[-1] == {}

    run(story)


def test_what_was_known_of_a_name_counts_until_it_is_known_anew() -> None:
    async def story(stage: Stage) -> None:
        stage.by_address.change({"a": 1})
        await stage.asked("a")
        stage.names.answer("a", "10.0.0.1")
        await stage.applies({"10.0.0.1": 1})
        stage.by_address.change({"a": 2})
        assert stage.applied[-1] == {"10.0.0.1": 2}
        await stage.asked("a")
        stage.names.answer("a", "10.0.0.9")
        await stage.applies({"10.0.0.9": 2})

    run(story)


def test_what_is_said_of_an_address_comes_before_what_is_said_of_its_name() -> None:
    async def story(stage: Stage) -> None:
        stage.by_address.change({"10.0.0.1": 1, "a": 2})
        await stage.asked("a")
        stage.names.answer("a", "10.0.0.1", "10.0.0.2")
        await stage.applies({"10.0.0.1": 1, "10.0.0.2": 2})

    run(story)
