"""A broker is killed after it decided how transactions end and before it told all partitions: the next one does.

Both brokers get the same directory, and must leave the same behind.
"""

import asyncio
import shutil
import time
from pathlib import Path

import pytest
from confluent_kafka import Producer

from odradek.model.numbers import LeaderEpoch, Offset
from odradek.model.topic_config import TopicConfig
from odradek.model.topic_partition import TopicPartition
from odradek.process.clock import SystemClock
from odradek.process.files import OsFiles
from odradek.records.builder import BatchSpec, build_batch
from odradek.records.record import Record
from odradek.storage.log import Log, Origin
from odradek.storage.log_dirs import LogDirs, Setting
from odradek.storage.open_files import OpenFiles
from odradek.testing import running_broker
from odradek.wire.messages.describe_transactions import DescribeTransactionsRequest, DescribeTransactionsResponse
from odradek.wire.records.transaction import TransactionLogKey, TransactionLogValue
from odradek.wire.schema import replace
from odradek.wire.stored import TRANSACTION_STATE, write_coordinator_value
from support.apache_kafka import ApacheKafka
from support.logs import append_batch
from support.one_node import one_node
from support.raw_client import RawClient
from support.steady_clients import Place, read_all

SETTINGS = one_node()
PARTITIONS = [("ledger", 0), ("ledger", 1)]
PREPARE_COMMIT, PREPARE_ABORT = 2, 3
LIMIT_S = 300
VALUES = [(0, b"in doubt 0"), (1, b"in doubt 1")]


@pytest.fixture(scope="module")
def open_transaction(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A directory of a broker that was killed within a transaction over two partitions."""
    data = tmp_path_factory.mktemp("open") / "data"
    with running_broker(SETTINGS, directory=data) as broker:
        broker.create_topic("ledger", 2)
        producer = Producer({"bootstrap.servers": broker.bootstrap, "transactional.id": "teller"})
        producer.init_transactions(LIMIT_S)
        producer.begin_transaction()
        for _, value in VALUES:
            for topic, partition in PARTITIONS:
                producer.produce(topic, value, partition=partition)
        assert producer.flush(LIMIT_S) == 0
        broker.kill()
        shutil.copytree(data, data.with_name("copy"))
        broker.start()
    return data.with_name("copy")


def prepare(data: Path, status: int) -> None:
    """Writes what a coordinator writes before the markers."""
    setting = Setting(SystemClock(), lambda _topic: TopicConfig(), lambda: "0" * 32)
    dirs = LogDirs.open(OpenFiles(OsFiles()), [str(data)], setting)
    log = dirs.get(TopicPartition("__transaction_state", 0))
    assert log is not None
    key, value, version = last_state(log)
    assert len(value.transaction_partitions or ()) == 1
    changed = replace(value, transaction_status=status)
    record = Record(Offset(0), SystemClock().now_ms(), key, write_coordinator_value(changed, version))
    append_batch(
        log, memoryview(build_batch([record], BatchSpec())), LeaderEpoch(log.epochs.latest), Origin.COORDINATOR
    )
    dirs.close()


def last_state(log: Log) -> tuple[bytes, TransactionLogValue, int]:
    *_, (_, record) = log.records(log.start_offset)
    assert record.key is not None
    assert record.value is not None
    key = TRANSACTION_STATE.read_key(record.key)
    assert isinstance(key, TransactionLogKey)
    value, version = TRANSACTION_STATE.read_value(key, record.value)
    assert isinstance(value, TransactionLogValue)
    return record.key, value, version


async def ended_as(port: int) -> str:
    """The state of the transaction, once the broker has done with it."""
    client = await RawClient.connect("127.0.0.1", port)
    try:
        async with asyncio.timeout(LIMIT_S):
            while True:
                asked = DescribeTransactionsRequest(transactional_ids=("teller",))
                (told,) = (await client.ask(asked, DescribeTransactionsResponse, 0)).transaction_states
                if not told.error_code and told.transaction_state.startswith("Complete"):
                    return told.transaction_state
    finally:
        await client.close()


@pytest.mark.parametrize(
    ("status", "state", "seen"), [(PREPARE_COMMIT, "CompleteCommit", VALUES), (PREPARE_ABORT, "CompleteAbort", [])]
)
def test_the_next_broker_ends_them(
    kafka: ApacheKafka, open_transaction: Path, tmp_path: Path, status: int, state: str, seen: list[tuple[int, bytes]]
) -> None:
    ours, theirs = tmp_path / "ours", tmp_path / "theirs"
    for data in (ours, theirs):
        shutil.copytree(open_transaction, data)
        prepare(data, status)
    with running_broker(SETTINGS, directory=ours) as broker:
        assert asyncio.run(ended_as(broker.port)) == state
        assert read_all(broker.bootstrap, PARTITIONS, "read_committed") == dict.fromkeys(PARTITIONS, seen)
        assert before_it_goes_on(broker.bootstrap) == dict.fromkeys(PARTITIONS, seen)
    with kafka.broker(tmp_path, [theirs], SETTINGS) as other:
        assert asyncio.run(ended_as(other.port)) == state
        # What is read of it is not judged: Kafka was seen to call a transaction complete, as it started, that it had
        # written no markers for. Its producer's next commit then counts for those records too.
        before_it_goes_on(other.address)


def before_it_goes_on(bootstrap: str) -> dict[Place, list[tuple[int, bytes]]]:
    """The producer, started again, is let in and commits one record in each partition. Returns what is before them."""
    producer = Producer({"bootstrap.servers": bootstrap, "transactional.id": "teller"})
    producer.init_transactions(LIMIT_S)
    producer.begin_transaction()
    for topic, partition in PARTITIONS:
        producer.produce(topic, b"after", partition=partition)
    producer.commit_transaction(LIMIT_S)
    deadline = time.monotonic() + LIMIT_S
    while True:
        found = read_all(bootstrap, PARTITIONS, "read_committed")
        if all(records and records[-1][1] == b"after" for records in found.values()):
            return {place: records[:-1] for place, records in found.items()}
        assert time.monotonic() < deadline, found  # Kafka tells the producer before it has told the partitions
