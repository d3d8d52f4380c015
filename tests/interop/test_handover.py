"""odradek and Apache Kafka hand a directory back and forth, stopped and killed, while the same clients go on.

They produce and consume across all of it on one port, and are told nothing. In the end every record that was
acknowledged is there: of the idempotent producer once and in order, of transactions once if they were committed and
never if they were aborted. Consumers saw all of it, in order, and no committed offset ever went back.

An application with Kafka's own clients passes on what the transactions wrote, in transactions of its own with its
offsets in them. It is killed several times, also where it is in the middle of one that then goes from broker to broker.
Each record comes out once and in order, and what is committed is what came out.

A table is kept in a compacted topic, which each broker cleans before the next takes over, by a client with a quota.
"""

import asyncio
from collections.abc import Iterator
from contextlib import contextmanager
from itertools import groupby, pairwise
from pathlib import Path

import pytest

from odradek.testing.topics import create
from odradek.wire.records.offsets import OffsetCommitKey, OffsetCommitValue
from odradek.wire.stored import CONSUMER_OFFSETS
from support.apache_kafka import ApacheKafka
from support.quotas import set_quotas
from support.raw_client import RawClient
from support.relay import Relay, Where, relay
from support.steady_application import SteadyApplication
from support.steady_clients import (
    GroupConsumer,
    IdempotentProducer,
    Place,
    SteadyClient,
    TransactionalProducer,
    read_all,
    read_messages,
)
from support.steady_table import (
    EAGER,
    TABLE,
    TABLE_WRITER,
    TableWriter,
    cleaned_to,
    read_table,
    wait_until_all_is_clean,
    wait_until_cleaned,
)
from support.stored_commits import stored_commits

ROUNDS = 5
PARTITIONS = 2
STREAM, LEDGER, PASSED_ON, KEYED = "stream", "ledger", "passed-on", "table"
CLASSIC, MODERN, APPLICATION = "classic-readers", "modern-readers", "application"
SETTINGS = {
    **EAGER,
    "offsets.topic.num.partitions": "1",
    "transaction.state.log.num.partitions": "1",
    "group.initial.rebalance.delay.ms": "0",
    "group.consumer.session.timeout.ms": "60000",
    # All of it in one segment, so that the offsets that were committed are all still there to be looked at.
    "offsets.topic.segment.bytes": "1073741824",
}
PROGRESS = {
    IdempotentProducer: 100,
    TransactionalProducer: 12,
    GroupConsumer: 60,
    SteadyApplication: 5,
    TableWriter: 60,
}
"""How much each client must get on with each broker before the next takes over."""


class Cast:
    """All clients."""

    def __init__(self, bootstrap: str, application: SteadyApplication, data: Path) -> None:
        self._data = data
        self.table = TableWriter(bootstrap, KEYED)
        self.idempotent = IdempotentProducer(bootstrap, STREAM, PARTITIONS)
        self.transactional = TransactionalProducer(bootstrap, "teller", LEDGER, PARTITIONS)
        self.classic = GroupConsumer(bootstrap, CLASSIC, STREAM, {"session.timeout.ms": "60000"})
        self.modern = GroupConsumer(bootstrap, MODERN, LEDGER, {"group.protocol": "consumer"})
        self.application = application
        self.all: list[SteadyClient] = [
            self.classic,
            self.modern,
            self.idempotent,
            self.transactional,
            self.application,
            self.table,
        ]

    def get_on(self) -> None:
        """Until each has done some work with the broker that there is now, and the table was cleaned by it."""
        cleaned = cleaned_to(self._data, KEYED)
        wanted = [(client, client.done + PROGRESS[type(client)]) for client in self.all]
        for client, count in wanted:
            client.wait_for(count)
        wait_until_cleaned(self._data, KEYED, cleaned)

    def end(self, expected: int, committed: dict[Place, list[tuple[int, bytes]]]) -> None:
        """Once the producers have stopped: the others stop when they have read all."""
        self.classic.wait_for(expected)
        self.modern.wait_for(sum(map(len, committed.values())))
        self.application.wait_until_at({partition: records[-1][0] + 1 for (_, partition), records in committed.items()})
        self.classic.stop()
        self.modern.stop()
        self.application.stop()


def test_back_and_forth_under_the_same_clients(kafka: ApacheKafka, programs: Path, tmp_path: Path) -> None:
    with relay(kafka, Where(tmp_path, [tmp_path / "data"]), SETTINGS) as brokers:
        for topic in (STREAM, LEDGER, PASSED_ON):
            create(("127.0.0.1", brokers.port), topic, PARTITIONS, {"segment.bytes": "1048576"})
        create(("127.0.0.1", brokers.port), KEYED, 1, TABLE)
        asyncio.run(limit_table_writer(brokers.port))
        application = application_on(kafka, programs, brokers.bootstrap, tmp_path)
        cast = Cast(brokers.bootstrap, application, tmp_path / "data")
        try:
            for client in cast.all:
                client.start()
            for number in range(ROUNDS):
                cast.get_on()
                with application_away(cast.application, number):
                    brokers.to_kafka(kill=number % 2 == 1)
                cast.get_on()
                with application_away(cast.application, number + 1):
                    brokers.to_odradek(kill=number % 2 == 1)
            cast.get_on()
            cast.idempotent.stop()
            cast.transactional.stop()
            cast.table.stop()
            committed = committed_records(cast.transactional, brokers)
            cast.end(sum(map(len, cast.idempotent.sent.values())), committed)
        except BaseException:
            brokers.revive()
            raise
        finally:
            for client in cast.all:
                client.ask_to_stop()
            for client in cast.all:
                client.join()
        check_stream(cast, brokers)
        check_ledger(cast, committed)
        check_passed_on(brokers.bootstrap, committed)
        wait_until_all_is_clean(tmp_path / "data", KEYED)
        check_table(cast.table, brokers.bootstrap)
        assert cast.application.kills == 7
        check_commits(cast, asyncio.run(stored_commits(brokers.port)))
    brokers.verify()


async def limit_table_writer(port: int) -> None:
    """To somewhat less than it would send."""
    client = await RawClient.connect("127.0.0.1", port)
    await set_quotas(client, {"client-id": TABLE_WRITER}, producer_byte_rate=1_200_000)
    await client.close()


def application_on(kafka: ApacheKafka, programs: Path, bootstrap: str, work: Path) -> SteadyApplication:
    command = kafka.command("Transformer", bootstrap, LEDGER, PASSED_ON, APPLICATION, classes=[programs])
    return SteadyApplication(command, work / "application.log")


@contextmanager
def application_away(application: SteadyApplication, number: int) -> Iterator[None]:
    """By `number` it is there all the time, or is killed before: at any moment, or with a transaction open."""
    is_killed = number % 3 > 0
    if is_killed:
        application.kill(in_transaction=number % 3 == 1)
    yield
    if is_killed:
        application.restart()


def committed_records(producer: TransactionalProducer, brokers: Relay) -> dict[Place, list[tuple[int, bytes]]]:
    """The records of committed transactions, which must be those that the producer was told of."""
    found = read_all(brokers.bootstrap, [(LEDGER, number) for number in range(PARTITIONS)], "read_committed")
    assert producer.unknown == []
    for place, records in found.items():
        expected = [value for number in producer.committed for value in producer.values(number)[place]]
        assert [value for _, value in records] == expected
    assert producer.aborted
    return found


def check_stream(cast: Cast, brokers: Relay) -> None:
    found = read_all(brokers.bootstrap, list(cast.idempotent.sent), "read_uncommitted")
    for place, sent in cast.idempotent.sent.items():
        assert [value for _, value in found[place]] == sent
        check_read(cast.classic.read[place], list(enumerate(sent)))


def check_ledger(cast: Cast, committed: dict[Place, list[tuple[int, bytes]]]) -> None:
    for place, records in committed.items():
        check_read(cast.modern.read[place], records)


def check_passed_on(bootstrap: str, committed: dict[Place, list[tuple[int, bytes]]]) -> None:
    places = [(PASSED_ON, number) for number in range(PARTITIONS)]
    found: dict[int, list[tuple[int, bytes]]] = {number: [] for number in range(PARTITIONS)}
    for message in read_messages(bootstrap, places, "read_committed"):
        found[message.partition() or 0].append((int(message.key() or b"-1"), bytes(message.value() or b"")))
    offsets = offsets_committed(bootstrap)
    for (_, partition), records in committed.items():
        check_output(found[partition], [value for _, value in records], offsets[partition])


def check_output(output: list[tuple[int, bytes]], expected: list[bytes], offsets: list[int]) -> None:
    """Each record once and in order; and each transaction committed the offset that its records have as their key.

    A transaction may have an offset twice: a broker had written it and was gone before it could say so.
    """
    assert [value for _, value in output] == expected
    assert [key for key, _ in groupby(key for key, _ in output)] == [offset for offset, _ in groupby(offsets)]


def check_table(writer: TableWriter, bootstrap: str) -> None:
    table, count = read_table(bootstrap, KEYED)
    assert table == writer.table
    assert count < writer.done / 4


def offsets_committed(bootstrap: str) -> dict[int, list[int]]:
    """By the transactions of the application that were committed, in each partition."""
    offsets: dict[int, list[int]] = {number: [] for number in range(PARTITIONS)}
    for message in read_messages(bootstrap, [("__consumer_offsets", 0)], "read_committed"):
        key = CONSUMER_OFFSETS.read_key(bytes(message.key() or b""))
        if isinstance(key, OffsetCommitKey) and key.group == APPLICATION:
            value, _ = CONSUMER_OFFSETS.read_value(key, bytes(message.value() or b""))
            assert isinstance(value, OffsetCommitValue)
            offsets[key.partition].append(value.offset)
    return offsets


def check_read(read: list[tuple[int, bytes]], expected: list[tuple[int, bytes]]) -> None:
    """All of it, in order; where a consumer went back, it came again from there on with nothing left out."""
    assert sorted(set(read)) == expected
    assert read[:1] == expected[:1]
    follows = dict(pairwise(expected))
    for earlier, later in pairwise(read):
        assert later <= earlier or later == follows[earlier], f"{later} after {earlier}"


def check_commits(cast: Cast, on_disk: dict[tuple[str, str, int], list[int]]) -> None:
    for group, consumer in ((CLASSIC, cast.classic), (MODERN, cast.modern)):
        assert consumer.committed
        for place, told in consumer.committed.items():
            offsets = on_disk[group, *place]
            assert all(earlier <= later for earlier, later in pairwise(offsets)), f"{group} {place}: {offsets}"
            assert set(told) <= set(offsets)
            assert all(earlier <= later for earlier, later in pairwise(told))


@pytest.mark.parametrize(
    "read", [[0, 1, 3], [0, 2, 1, 2, 3], [0, 1, 2, 3, 1, 3], [0, 1, 2], [1, 2, 3, 0], [0, 1, 2, 3, 4]]
)
def test_what_is_lost_or_out_of_order_is_found(read: list[int]) -> None:
    expected = [(offset, b"") for offset in range(4)]
    check_read([*expected, *expected[1:]], expected)
    with pytest.raises((AssertionError, KeyError)):
        check_read([(offset, b"") for offset in read], expected)


GOOD_OUTPUT = [(2, b"a"), (2, b"b"), (3, b"c"), (4, b"d")]


@pytest.mark.parametrize(
    ("output", "offsets"),
    [
        (GOOD_OUTPUT[1:], [2, 3, 4]),
        ([*GOOD_OUTPUT, GOOD_OUTPUT[-1]], [2, 3, 4]),
        ([*GOOD_OUTPUT[1::-1], *GOOD_OUTPUT[2:]], [2, 3, 4]),
        (GOOD_OUTPUT, [2, 4]),
        (GOOD_OUTPUT, [2, 3]),
        (GOOD_OUTPUT, [2, 3, 4, 5]),
        (GOOD_OUTPUT, [2, 3, 2, 4]),
    ],
    ids=["lost", "twice", "out of order", "offset left out", "no last offset", "output left out", "offset goes back"],
)
def test_output_that_does_not_agree_is_found(output: list[tuple[int, bytes]], offsets: list[int]) -> None:
    expected = [value for _, value in GOOD_OUTPUT]
    check_output(GOOD_OUTPUT, expected, [2, 3, 3, 4])
    with pytest.raises(AssertionError):
        check_output(output, expected, offsets)
