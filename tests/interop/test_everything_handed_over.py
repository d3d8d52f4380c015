"""A directory with everything in it goes from odradek to Apache Kafka and back, stopped and killed.

It begins with one that Kafka wrote: compacted logs, quotas, ACLs, SCRAM credentials, groups, transactions. odradek
adds groups of both protocols with members, transactions that are committed, aborted and open, deleted records, settings
and a compacted log, which each of them cleans in its turn. Then Kafka's own tools must say the same of it on either
broker, and clients go on.
"""

import asyncio
import re
import shutil
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from pathlib import Path
from typing import Any, NamedTuple

import pytest
from confluent_kafka import Producer, TopicPartition
from confluent_kafka.admin import AdminClient

from odradek.metadata.image import Image
from odradek.process.files import OsFiles
from odradek.quorum.reading import read_metadata
from odradek.storage import batches, names
from odradek.testing.topics import create
from odradek.wire.messages.list_transactions import ListTransactionsRequest, ListTransactionsResponse
from support.apache_kafka import ApacheKafka
from support.kafka_tools import KafkaTools
from support.raw_client import RawClient
from support.relay import Relay, Where, relay
from support.steady_clients import GroupConsumer, Place, read_all
from support.steady_table import EAGER, TABLE, wait_until_all_is_clean

SETTINGS = {
    "group.consumer.session.timeout.ms": "60000",
    "group.initial.rebalance.delay.ms": "0",
    "transaction.abort.timed.out.transaction.cleanup.interval.ms": "500",
    # Nothing goes away by itself between two looks at it. Kafka would look for old records half a minute after a start.
    "log.cleaner.min.cleanable.ratio": "1.0",
    **EAGER,
    "log.initial.task.delay.ms": "86400000",
    "log.retention.check.interval.ms": "86400000",
    "offsets.retention.check.interval.ms": "86400000",
}
KAFKAS_OWN = {
    "authorizer.class.name": "org.apache.kafka.metadata.authorizer.StandardAuthorizer",
    "super.users": "User:ANONYMOUS",
}
GROUPS = "org.apache.kafka.tools.consumer.group.ConsumerGroupCommand"
CONFIGS = "kafka.admin.ConfigCommand"
ACLS = "org.apache.kafka.tools.AclCommand"
QUOTAS = ("producer_byte_rate=1048576.0", "consumer_byte_rate=2097152.0")
"""That Kafka's directory begins with."""
OUR_QUOTAS = ("producer_byte_rate=3000000.0", "request_percentage=50.0")
"""That odradek adds, for a client id."""
METERED = "metered"
RECORDS = 400
TABLE_RECORDS, TABLE_KEYS, TABLE_VALUE_BYTES = 400, 20, 8000
DELETED = 150
LIMIT_S = 60
ENDED = {"Empty", "CompleteAbort", "CompleteCommit"}
PATIENCE_MS = 600_000
SHORT_MS = 2000

Records = dict[Place, list[tuple[int, bytes]]]


class Kept(NamedTuple):
    """What must be the same with either broker."""

    committed: Records
    all: Records
    groups: list[str]
    """As Kafka's tool tells of them, their offsets, members and states."""
    metadata: dict[str, Any]


class Stage:
    """Both brokers, and the clients that live through all of it."""

    def __init__(self, tools: KafkaTools, brokers: Relay, where: Where) -> None:
        self.brokers = brokers
        self.admin = AdminClient({"bootstrap.servers": brokers.bootstrap})
        self._tools = tools
        self._where = where

    def tool(self, name: str, *arguments: str) -> str:
        ended = self._tools.run(name, "--bootstrap-server", self.brokers.bootstrap, *arguments)
        assert ended.status == 0, ended.out + ended.err
        return ended.out

    def image(self) -> Image:
        return read_metadata(OsFiles(), str(self._where.directories[0] / f"{names.METADATA_TOPIC}-0")).image

    def producer(self, **settings: Any) -> Producer:
        given = {name.replace("_", "."): value for name, value in settings.items()}
        patient = {"message.timeout.ms": PATIENCE_MS, "reconnect.backoff.max.ms": 500, "linger.ms": 1}
        if "transaction.timeout.ms" in given:
            patient["message.timeout.ms"] = given["transaction.timeout.ms"]
        return Producer({"bootstrap.servers": self.brokers.bootstrap, **patient, **given})

    def begin(self, name: str, *values: str, timeout_ms: int = PATIENCE_MS) -> Producer:
        """A transaction that is open, with these records in it. What its client does then is in its log, which is shown
        where a test fails."""
        producer = self.producer(transactional_id=name, transaction_timeout_ms=timeout_ms, debug="eos,broker")
        producer.init_transactions(LIMIT_S)
        producer.begin_transaction()
        for value in values:
            producer.produce("ledger", value, partition=0)
        assert producer.flush(LIMIT_S) == 0
        return producer

    def send(self, topic: str, count: int, **settings: Any) -> None:
        producer = self.producer(enable_idempotence=True, **settings)
        for number in range(count):
            producer.produce(topic, f"{topic} {number}", str(number % 10), partition=0)
        assert producer.flush(LIMIT_S) == 0

    def rewrite(self, version: str) -> None:
        """Give the keys of the table new values, and delete one. Returns when the broker has cleaned it."""
        producer = self.producer(enable_idempotence=True)
        for number in range(TABLE_RECORDS):
            value = None if number % TABLE_KEYS == 0 else f"{version} {number} ".encode().ljust(TABLE_VALUE_BYTES, b".")
            producer.produce("table", value, str(number % TABLE_KEYS), partition=0)
        assert producer.flush(LIMIT_S) == 0
        wait_until_all_is_clean(next(path for path in self._where.directories if (path / "table-0").is_dir()), "table")

    def keep(self) -> Kept:
        image = self.image()
        places = [(topic.name, number) for topic in image.topics for number in topic.partitions]
        places = [place for place in sorted(places) if not place[0].startswith("__")]
        committed, everything = (
            read_all(self.brokers.bootstrap, places, level) for level in ("read_committed", "read_uncommitted")
        )
        return Kept(committed, everything, self.groups(), metadata_of(image))

    def groups(self) -> list[str]:
        """Its columns are as wide as what is in them at the moment."""
        told = [
            self.tool(GROUPS, "--describe", "--all-groups", "--timeout", str(LIMIT_S * 1000), *more)
            for more in ((), ("--members", "--verbose"), ("--state",))
        ]
        lines = [re.sub(r" +", " ", line).strip() for text in told for line in text.splitlines()]
        return sorted(line for line in lines if line)


def metadata_of(image: Image) -> dict[str, Any]:
    """All but what changes with each start: brokers, leaders, epochs."""
    return {
        "topics": {topic.name: (topic.id, sorted(topic.partitions)) for topic in image.topics},
        "configs": {resource: dict(values) for resource, values in image.configs.resources.items() if values},
        "features": dict(image.features),
        "quotas": {key: record.value for key, record in image.quotas.items()},
        "acls": {id: repr(record) for id, record in image.acls.items()},
        "scram": {key: repr(record) for key, record in image.scram.items()},
        "tokens": {key: repr(record) for key, record in image.tokens.items()},
    }


@contextmanager
def stage(kafka: ApacheKafka, tools: KafkaTools, golden_data: Path, work: Path) -> Iterator[Stage]:
    directories = [work / name for name in ("d1", "d2")]
    for path in directories:
        shutil.copytree(golden_data / "clean" / path.name, path)
    where = Where(work, directories)
    with relay(kafka, where, SETTINGS, KAFKAS_OWN, ["--ignore-acls"]) as brokers:
        yield Stage(tools, brokers, where)


def done(futures: dict[Any, Any]) -> list[Any]:
    return [future.result(LIMIT_S) for future in futures.values()]


def fill(stage: Stage) -> None:
    """What odradek adds to a directory of Kafka's."""
    address = ("127.0.0.1", stage.brokers.port)
    create(address, "stream", 1, {"segment.bytes": "1048576"})
    create(address, "ledger", 1, {})
    create(address, "shrunk", 1, {"retention.ms": "-1"})
    create(address, "table", 1, TABLE)
    stage.rewrite("first")
    stage.send("stream", RECORDS, compression_type="zstd")
    stage.send("shrunk", RECORDS)
    done(stage.admin.delete_records([TopicPartition("shrunk", 0, DELETED)]))
    entity = ("--entity-type", "topics", "--entity-name", "stream")
    stage.tool(CONFIGS, "--alter", *entity, "--add-config", "max.message.bytes=12345")
    entity = ("--entity-type", "clients", "--entity-name", METERED)
    stage.tool(CONFIGS, "--alter", *entity, "--add-config", ",".join(OUR_QUOTAS))
    stage.begin("first", "committed 1", "committed 2").commit_transaction(LIMIT_S)
    stage.begin("second", "aborted").abort_transaction(LIMIT_S)


@contextmanager
def readers(stage: Stage) -> Iterator[list[GroupConsumer]]:
    """A member of a group of each protocol, which has read and committed all there is in `stream`."""
    consumers = []
    with ExitStack() as running:
        for group, settings in (
            ("classic", {"session.timeout.ms": "300000", "partition.assignment.strategy": "cooperative-sticky"}),
            ("modern", {"group.protocol": "consumer"}),
        ):
            consumer = GroupConsumer(stage.brokers.bootstrap, group, "stream", settings)
            consumer.start()
            running.callback(consumer.stop)
            consumer.wait_for(RECORDS)
            consumer.wait_for_commit(("stream", 0), RECORDS)
            consumers.append(consumer)
        yield consumers


def check_all_is_there(before: Kept, after: Kept) -> None:
    assert after.metadata == before.metadata
    assert after.groups == before.groups
    assert {name: len(found) for name, found in after.all.items()} == {
        name: len(found) for name, found in before.all.items()
    }
    assert after.all == before.all
    assert after.committed == before.committed


async def wait_until_ended(port: int, *but: str) -> None:
    """Until no transaction is open or on its way out, but those of these ids."""
    client = await RawClient.connect("127.0.0.1", port)
    request = ListTransactionsRequest(state_filters=(), producer_id_filters=())
    async with asyncio.timeout(LIMIT_S):
        while True:
            listed = await client.ask(request, ListTransactionsResponse, 0)
            states = {each.transactional_id: each.transaction_state for each in listed.transaction_states}
            if not listed.error_code and {states[id] for id in states.keys() - set(but)} <= ENDED:
                break
    await client.close()


def values(stage: Stage, isolation: str) -> list[str]:
    (found,) = read_all(stage.brokers.bootstrap, [("ledger", 0)], isolation).values()
    return [value.decode() for _, value in found]


@pytest.mark.parametrize("kill", [False, True], ids=["stopped", "killed"])
def test_everything_goes_to_kafka_and_back(
    kafka: ApacheKafka, tools: KafkaTools, golden_data: Path, tmp_path: Path, kill: bool
) -> None:
    with stage(kafka, tools, golden_data, tmp_path) as play:
        fill(play)
        with readers(play) as consumers:
            patient = play.begin("patient", "patient 1", "patient 2")
            asyncio.run(wait_until_ended(play.brokers.port, "patient"))  # one of Kafka's was left open
            before = play.keep()
            check_is_worth_it(before)
            play.brokers.to_kafka(kill=kill)
            check_all_is_there(before, play.keep())
            check_users_and_clients(play)
            check_acls(play)
            go_on(play, patient, consumers, kill=kill)
        check_producer_ids(tmp_path)


def go_on(stage: Stage, patient: Producer, consumers: list[GroupConsumer], *, kill: bool) -> None:
    """Open transactions end as they should, by their producers and by their time; then the same on the way back."""
    committed = ["committed 1", "committed 2", "patient 1", "patient 2"]
    patient.commit_transaction(LIMIT_S)
    stage.begin("hasty", "never", timeout_ms=SHORT_MS)
    asyncio.run(wait_until_ended(stage.brokers.port))
    assert values(stage, "read_committed") == committed
    stage.send("stream", 50)
    stage.rewrite("second")
    left = stage.begin("left to odradek", "left 1")
    late = stage.begin("late", "late 1", timeout_ms=PATIENCE_MS // 2)
    for consumer in consumers:
        consumer.wait_for_commit(("stream", 0), RECORDS + 50)
    before = stage.keep()
    stage.brokers.to_odradek(kill=kill)
    check_all_is_there(before, stage.keep())
    check_users_and_clients(stage)
    late.abort_transaction(LIMIT_S)
    left.commit_transaction(LIMIT_S)
    stage.begin("hasty again", "never again", timeout_ms=SHORT_MS)
    asyncio.run(wait_until_ended(stage.brokers.port))
    assert values(stage, "read_committed") == [*committed, "left 1"]
    stage.send("stream", 50)
    stage.rewrite("third")
    latest = {value[:5] for _, value in stage.keep().all["table", 0]}
    assert latest == {b"third", b""}


def check_is_worth_it(kept: Kept) -> None:
    assert len(kept.all["shrunk", 0]) == RECORDS - DELETED
    assert len(kept.all["compacted", 0]) > 0
    assert TABLE_KEYS <= len(kept.all["table", 0]) < TABLE_RECORDS * 3 / 4
    assert [len(kept.metadata[what]) for what in ("quotas", "acls", "scram")] == [
        len(QUOTAS + OUR_QUOTAS),
        3,
        2,
    ]
    assert sum("stream" in line for line in kept.groups) >= 4
    assert [value for _, value in kept.committed["ledger", 0]] == [b"committed 1", b"committed 2"]


def check_users_and_clients(stage: Stage) -> None:
    """As Kafka's tool tells of them with either broker."""
    told = stage.tool(CONFIGS, "--describe", "--entity-type", "users")
    told += stage.tool(CONFIGS, "--describe", "--entity-type", "clients")
    for what in QUOTAS:
        assert what in told
    assert "SCRAM credential configs for user-principal" in told
    (line,) = (each for each in told.splitlines() if METERED in each)
    for what in OUR_QUOTAS:
        assert what in line


def check_acls(stage: Stage) -> None:
    """What odradek does not serve, and keeps all the same."""
    assert len(re.findall(r"\(principal=User:(?:alice|bob), ", stage.tool(ACLS, "--list"))) == 3


def check_producer_ids(work: Path) -> None:
    """No producer id was given twice: each producer sent its records in one go."""
    path = next(work.glob("d?/stream-0/00000000000000000000.log"))
    file = OsFiles().open_to_read(str(path))
    try:
        ids = [head.producer_id for _, head in batches.heads(file, file.size())]
    finally:
        file.close()
    runs = [id for at, id in enumerate(ids) if at == 0 or ids[at - 1] != id]
    assert len(runs) == len(set(runs)) == 3
