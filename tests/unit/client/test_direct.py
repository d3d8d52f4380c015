"""A connection without a loop: what it is told, and every way it can end."""

import asyncio
import socket
from collections.abc import Callable
from typing import Any

import pytest

from odradek.client.client import Client
from odradek.client.direct import DirectConnection, DirectLeaders, run_through
from odradek.client.errors import ClientError, ConnectionLost, NotKafka, NotServed, Refused, Unreachable
from odradek.client.setting import ClientSetting
from odradek.model.address import Address
from odradek.model.error_code import ErrorCode
from odradek.model.errors import UnsupportedVersion
from odradek.wire.messages.api_versions import ApiVersionsResponse
from odradek.wire.messages.fetch import FetchRequest, FetchResponse
from odradek.wire.messages.metadata import MetadataRequest, MetadataResponse, MetadataResponseBroker
from support.fake_broker import Asked, FakeBroker

METADATA = 3
Answer = Callable[[Asked], object]
LARGE = "x" * 30_000


def say_cluster_id(asked: Asked) -> None:
    """The correlation id, so that a test can tell one answer from another."""
    asked.reply(MetadataResponse(cluster_id=str(asked.correlation_id)))


def ask(connection: DirectConnection) -> str | None:
    return connection.ask(MetadataRequest(), MetadataResponse).cluster_id


def with_connection(
    broker: FakeBroker, test: Callable[[DirectConnection], object], setting: ClientSetting | None = None
) -> None:
    """In a thread of its own, beside the broker."""

    def use() -> None:
        connection = DirectConnection(broker.address, setting)
        try:
            test(connection)
        finally:
            connection.close()

    async def main() -> None:
        async with asyncio.timeout(60), broker.serving():
            await asyncio.to_thread(use)

    asyncio.run(main())


def lost(answer: Answer, kind: type[ClientError], reason: str, **setting: Any) -> None:
    """A broker that answers like this is heard no more."""

    def test(connection: DirectConnection) -> None:
        with pytest.raises(kind, match=reason):
            ask(connection)
        assert connection.is_closed

    with_connection(FakeBroker(answer), test, ClientSetting(**setting))


def test_one_question_after_the_other() -> None:
    broker = FakeBroker(say_cluster_id)
    got: list[str | None] = []
    with_connection(broker, lambda connection: got.extend(ask(connection) for _ in range(3)))
    assert got == ["2", "3", "4"]
    assert [each.version for each in broker.asked] == [13, 13, 13]


@pytest.mark.parametrize("count", [1, 7])
def test_an_answer_that_is_larger_than_what_is_received_at_a_time(count: int) -> None:
    nodes = tuple(MetadataResponseBroker(node_id=number, host=LARGE, port=1) for number in range(count))
    got: list[MetadataResponse] = []
    broker = FakeBroker(lambda asked: asked.reply(MetadataResponse(brokers=nodes)))
    with_connection(
        broker, lambda connection: got.extend(connection.ask(MetadataRequest(), MetadataResponse) for _ in range(2))
    )
    assert [each.brokers for each in got] == [nodes, nodes]


def test_an_older_broker_is_asked_in_its_version() -> None:
    broker = FakeBroker(say_cluster_id)
    broker.versions[METADATA] = (0, 5)
    with_connection(broker, ask)
    assert [each.version for each in broker.asked] == [5]


def test_a_broker_that_does_not_know_the_newest_way_to_ask_for_versions() -> None:
    broker = FakeBroker(say_cluster_id)
    ways = broker.be_old({METADATA: (0, 2)})
    with_connection(broker, ask)
    assert ways == [4, 0]
    assert [each.version for each in broker.asked] == [2]


@pytest.mark.parametrize(
    ("code", "version"), [(ErrorCode.UNSUPPORTED_VERSION, 0), (ErrorCode.UNKNOWN_SERVER_ERROR, None)]
)
def test_a_broker_that_does_not_tell_its_versions(code: ErrorCode, version: int | None) -> None:
    broker = FakeBroker(say_cluster_id)
    broker.api_versions = lambda asked: asked.reply(ApiVersionsResponse(error_code=code, api_keys=()), version)
    with pytest.raises(Refused, match=code.name):
        with_connection(broker, ask)


def test_what_cannot_be_asked_leaves_the_connection_whole() -> None:
    broker = FakeBroker(say_cluster_id)
    del broker.versions[1]

    def test(connection: DirectConnection) -> None:
        with pytest.raises(NotServed, match="does not serve Fetch"):
            connection.ask(FetchRequest(max_wait_ms=0, min_bytes=0, topics=()), FetchResponse)
        with pytest.raises(UnsupportedVersion, match="include_cluster_authorized_operations"):
            connection.ask(MetadataRequest(include_cluster_authorized_operations=True), MetadataResponse)
        assert ask(connection) is not None

    with_connection(broker, test)


def test_an_answer_that_does_not_come() -> None:
    lost(lambda _: None, ConnectionLost, r"no answer within 0\.01 s", request_timeout_s=0.01)


def test_an_answer_of_which_only_the_beginning_comes() -> None:
    lost(
        lambda asked: asked.writer.write(b"\0\0\1\0begin"),
        ConnectionLost,
        r"no answer within 0\.05 s",
        request_timeout_s=0.05,
    )


def test_a_broker_that_closes_the_connection() -> None:
    lost(lambda asked: asked.writer.close(), ConnectionLost, "the other side closed it")


@pytest.mark.parametrize(
    ("said", "reason"),
    [
        (b"HTTP/1.1 400 Bad Request\r\n\r\n", "an answer of 1213486160 bytes"),
        (b"\0\0\0\x04\0\0\xff\xff", "an answer to request 65535, which was not sent"),
        (b"\0\0\0\x06\0\0\0\x02\xff\xff", "does not speak Kafka's protocol"),
        (b"\0\0\0\x04\0\0\0\x02" * 2, "more answers than questions"),
    ],
)
def test_somebody_who_does_not_speak_the_protocol(said: bytes, reason: str) -> None:
    lost(lambda asked: asked.writer.write(said), NotKafka, reason)


def test_somebody_who_never_says_which_versions_there_are() -> None:
    broker = FakeBroker(say_cluster_id)
    broker.api_versions = lambda _: None
    with pytest.raises(ConnectionLost, match=r"no answer within 0\.05 s"):
        with_connection(broker, ask, ClientSetting(connect_timeout_s=0.05))


def test_nobody_there() -> None:
    with socket.socket() as taken:
        taken.bind(("127.0.0.1", 0))  # bound and not listening: nobody else can listen there
        address = Address(*taken.getsockname())
        with pytest.raises(Unreachable, match="connection refused"):
            DirectConnection(address)


def test_no_such_host() -> None:
    with pytest.raises(Unreachable, match="no such host"):
        DirectConnection(Address("nowhere.invalid", 9092))


def test_leaders_are_asked_where_the_client_last_saw_them() -> None:
    first, second = FakeBroker(say_cluster_id), FakeBroker(lambda asked: asked.reply(MetadataResponse(cluster_id="b")))
    seen: list[str | None] = []

    async def main() -> None:
        async with asyncio.timeout(60), first.serving(), second.serving():
            client = Client([first.address])
            direct = DirectLeaders(client)

            async def look_up(broker: FakeBroker) -> None:
                node = MetadataResponseBroker(node_id=7, host=broker.address.host, port=broker.address.port)
                first.answer = lambda asked: asked.reply(MetadataResponse(brokers=(node,)))
                await client.look_up(())
                first.answer = say_cluster_id

            def ask_it() -> str | None:
                return run_through(direct.ask_leader(7, MetadataRequest(), MetadataResponse)).cluster_id

            with pytest.raises(Refused, match="LEADER_NOT_AVAILABLE"):
                await asyncio.to_thread(ask_it)
            await look_up(first)
            seen.extend([await asyncio.to_thread(ask_it), await asyncio.to_thread(ask_it)])
            await look_up(second)
            seen.append(await asyncio.to_thread(ask_it))
            second.answer = lambda asked: asked.writer.close()
            with pytest.raises(ConnectionLost):
                await asyncio.to_thread(ask_it)
            second.answer = say_cluster_id
            seen.append(await asyncio.to_thread(ask_it))
            await client.close()
            direct.close()

    asyncio.run(main())
    assert seen == ["2", "3", "b", "2"]
