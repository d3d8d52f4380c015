"""One connection: versions agreed on, answers matched to requests, and every way it can end."""

import asyncio
import socket
from collections.abc import Callable, Coroutine
from functools import partial
from typing import Any

import pytest
import uvloop

from odradek.client.connection import Connection
from odradek.client.errors import ConnectionLost, NotKafka, NotServed, Unreachable
from odradek.client.setting import ClientSetting
from odradek.model.address import Address
from odradek.model.errors import UnsupportedVersion
from odradek.wire.messages.metadata import MetadataRequest, MetadataResponse
from support.fake_broker import Asked, FakeBroker
from support.waiting import until

METADATA = 3
Test = Callable[[FakeBroker, Connection], Coroutine[Any, Any, None]]
Run = Callable[..., None]


def say_cluster_id(asked: Asked) -> None:
    """The correlation id, so that a test can tell one answer from another."""
    asked.reply(MetadataResponse(cluster_id=str(asked.correlation_id)))


def be_silent(asked: Asked) -> None:
    pass


@pytest.fixture(params=[asyncio.run, uvloop.run], ids=["asyncio", "uvloop"])
def run(request: pytest.FixtureRequest) -> Run:
    """On both of the loops that there are."""
    return partial(run_on, request.param)


def run_on(
    start: Callable[[Coroutine[Any, Any, None]], object],
    test: Test,
    answer: Callable[[Asked], object] = say_cluster_id,
    **setting: Any,
) -> None:
    async def main() -> None:
        async with asyncio.timeout(60), FakeBroker(answer).serving() as broker:
            connection = await Connection.open(broker.address, ClientSetting(**setting))
            try:
                await test(broker, connection)
            finally:
                await connection.close()

    start(main())


async def ask(connection: Connection) -> str | None:
    return (await connection.ask(MetadataRequest(), MetadataResponse)).cluster_id


@pytest.mark.parametrize(("offered", "used"), [((0, 5), 5), ((7, 99), 13), ((13, 13), 13)])
def test_the_highest_version_that_both_have(offered: tuple[int, int], used: int) -> None:
    async def main() -> None:
        broker = FakeBroker(say_cluster_id)
        broker.versions[METADATA] = offered
        async with asyncio.timeout(60), broker.serving():
            connection = await Connection.open(broker.address)
            await ask(connection)
            assert connection.version_of(MetadataResponse) == used
            assert [each.version for each in broker.asked] == [used]
            await connection.close()

    asyncio.run(main())


@pytest.mark.parametrize("offered", [None, (14, 20)])
def test_an_api_that_the_broker_has_not_in_any_known_version(offered: tuple[int, int] | None) -> None:
    async def main() -> None:
        broker = FakeBroker(be_silent)
        del broker.versions[METADATA]
        if offered:
            broker.versions[METADATA] = offered
        async with asyncio.timeout(60), broker.serving():
            connection = await Connection.open(broker.address)
            with pytest.raises(NotServed, match="does not serve Metadata"):
                await ask(connection)
            await connection.close()

    asyncio.run(main())


def test_a_broker_that_does_not_know_the_newest_way_to_ask_for_versions() -> None:
    broker = FakeBroker(be_silent)
    ways = broker.be_old({METADATA: (0, 1)})

    async def main() -> None:
        async with asyncio.timeout(60), broker.serving():
            connection = await Connection.open(broker.address)
            assert connection.version_of(MetadataResponse) == 1
            await connection.close()

    asyncio.run(main())
    assert ways == [4, 0]


def test_answers_find_their_requests_in_any_order(run: Run) -> None:
    waiting: list[Asked] = []

    def last_first(asked: Asked) -> None:
        waiting.append(asked)
        if len(waiting) == 50:
            for each in reversed(waiting):
                say_cluster_id(each)

    async def test(broker: FakeBroker, connection: Connection) -> None:
        answers = await asyncio.gather(*(ask(connection) for _ in range(50)))
        assert answers == [str(each.correlation_id) for each in waiting]

    run(test, last_first)


def is_at(number: Callable[[], int], wanted: int) -> bool:
    return number() == wanted


def test_no_more_in_flight_than_allowed(run: Run) -> None:
    async def test(broker: FakeBroker, connection: Connection) -> None:
        async with asyncio.TaskGroup() as group:
            tasks = [group.create_task(ask(connection)) for _ in range(5)]
            for answered in range(5):
                await until(partial(is_at, lambda: len(broker.asked), min(answered + 2, 5)))
                say_cluster_id(broker.asked[answered])
                await until(partial(is_at, lambda: sum(task.done() for task in tasks), answered + 1))

    run(test, be_silent, in_flight_max=2)


def test_an_answer_that_does_not_come_ends_the_connection(run: Run) -> None:
    async def test(broker: FakeBroker, connection: Connection) -> None:
        results = await asyncio.gather(ask(connection), ask(connection), return_exceptions=True)
        for result in results:
            assert isinstance(result, ConnectionLost)
            assert "no answer within 0.01 s" in str(result)
        assert connection.is_closed
        with pytest.raises(ConnectionLost, match="no answer within"):
            await ask(connection)

    run(test, be_silent, request_timeout_s=0.01)


def test_who_gives_up_hurts_nobody_else(run: Run) -> None:
    async def test(broker: FakeBroker, connection: Connection) -> None:
        async with asyncio.TaskGroup() as group:
            impatient = group.create_task(ask(connection))
            await until(lambda: len(broker.asked) == 1)
            impatient.cancel()
            patient = group.create_task(ask(connection))
            await until(lambda: len(broker.asked) == 2)
            for each in broker.asked:
                say_cluster_id(each)
        assert patient.result() == str(broker.asked[1].correlation_id)

    run(test, be_silent)


def test_a_broker_that_closes_the_connection(run: Run) -> None:
    async def test(broker: FakeBroker, connection: Connection) -> None:
        with pytest.raises(ConnectionLost, match=r"the other side closed it$"):
            await ask(connection)
        assert connection.is_closed

    run(test, lambda asked: asked.writer.close())


def test_somebody_who_closes_before_any_answer_may_want_tls() -> None:
    async def test() -> None:
        server = await asyncio.start_server(lambda _, writer: writer.close(), "127.0.0.1", 0)
        async with server:
            host, port = server.sockets[0].getsockname()
            with pytest.raises(ConnectionLost, match="before any answer, as a port for TLS does"):
                await Connection.open(Address(host, port))

    asyncio.run(test())


@pytest.mark.parametrize(
    ("said", "reason"),
    [
        (b"HTTP/1.1 400 Bad Request\r\n\r\n", "an answer of 1213486160 bytes"),
        (b"\0\0\0\x04\0\0\xff\xff", "an answer to request 65535, which was not sent"),
        (b"\0\0\0\x02\0\0", "an answer to request 0, which was not sent"),
        (b"\0\0\0\x06\0\0\0\x02\xff\xff", "does not speak Kafka's protocol"),
    ],
)
def test_somebody_who_does_not_speak_the_protocol(run: Run, said: bytes, reason: str) -> None:
    async def test(broker: FakeBroker, connection: Connection) -> None:
        with pytest.raises(NotKafka, match=reason):
            await ask(connection)
        assert connection.is_closed

    run(test, lambda asked: asked.writer.write(said))


def test_close_ends_what_is_in_flight(run: Run) -> None:
    async def test(broker: FakeBroker, connection: Connection) -> None:
        async with asyncio.TaskGroup() as group:
            waiting = group.create_task(_failure(ask(connection)))
            await until(lambda: broker.asked)
            await connection.close()
        assert isinstance(waiting.result(), ConnectionLost)

    run(test, be_silent)


def test_a_value_that_the_request_cannot_carry_leaves_the_connection_whole(run: Run) -> None:
    async def test(broker: FakeBroker, connection: Connection) -> None:
        with pytest.raises(UnsupportedVersion, match="include_cluster_authorized_operations"):
            await connection.ask(MetadataRequest(include_cluster_authorized_operations=True), MetadataResponse)
        assert await ask(connection) is not None

    run(test)


async def _failure(work: Coroutine[Any, Any, object]) -> BaseException | None:
    try:
        await work
    except Exception as error:  # noqa: BLE001 - the test looks at it
        return error
    return None


def test_nobody_there() -> None:
    with socket.socket() as taken:
        taken.bind(("127.0.0.1", 0))  # bound and not listening: nobody else can listen there
        address = Address(*taken.getsockname())
        with pytest.raises(Unreachable) as caught:
            asyncio.run(Connection.open(address))
    assert str(caught.value) == f"cannot reach {address}: connection refused"


def test_no_such_host() -> None:
    with pytest.raises(Unreachable, match=r"cannot reach nowhere\.invalid:9092: no such host"):
        asyncio.run(Connection.open(Address("nowhere.invalid", 9092)))


def test_somebody_who_never_says_which_versions_there_are() -> None:
    async def main() -> None:
        broker = FakeBroker(be_silent)
        broker.api_versions = be_silent
        async with asyncio.timeout(60), broker.serving():
            with pytest.raises(Unreachable, match=r"no answer within 0\.05 s"):
                await Connection.open(broker.address, ClientSetting(connect_timeout_s=0.05))

    asyncio.run(main())
