"""Ranges read from a running broker."""

import asyncio
import logging
import shutil
import subprocess
import sys
import tracemalloc
from collections.abc import Awaitable, Callable, Iterator
from pathlib import Path
from typing import Any, TypeVar

import pyarrow as pa
import pytest

from odradek.client.client import Client, parse_bootstrap
from odradek.client.topics import NewTopic, create_topics, delete_topics
from odradek.model.numbers import Offset, TimestampMs
from odradek.records.builder import BatchSpec, build_batch
from odradek.records.record import Record
from odradek.spark.reading import read_range
from odradek.spark.reading.columns import ALL_COLUMNS
from odradek.spark.reading.compiled import load_kernel
from odradek.spark.reading.errors import DataLoss, NoSuchPartition, TopicReplaced, Unread
from odradek.spark.reading.range import Range, ReadSetting
from odradek.testing.broker import RunningBroker, running_broker
from odradek.wire.messages.delete_records import (
    DeleteRecordsPartition,
    DeleteRecordsRequest,
    DeleteRecordsResponse,
    DeleteRecordsTopic,
)
from odradek.wire.messages.produce import PartitionProduceData, ProduceRequest, ProduceResponse, TopicProduceData

pytestmark = pytest.mark.slow

T = TypeVar("T")

NO_ID = bytes(16)
PER_BATCH = 100


def ask(broker: RunningBroker, call: Callable[[Client], Awaitable[T]]) -> T:
    async def main() -> T:
        async with await Client.connect(parse_bootstrap(broker.bootstrap)) as client:
            return await call(client)

    return asyncio.run(main())


def make_topic(broker: RunningBroker, name: str) -> bytes:
    """Its id."""

    async def call(client: Client) -> bytes:
        assert await create_topics(client, [NewTopic(name=name, partitions=1)]) == {name: None}
        return (await client.look_up([name])).topics[name].topic_id

    return ask(broker, call)


def fill(broker: RunningBroker, name: str, batches: int, value: bytes = b"value") -> None:
    """With batches of PER_BATCH records."""
    records = [Record(Offset(number), TimestampMs(1000 + number), b"k", value) for number in range(PER_BATCH)]
    batch = bytes(build_batch(records, BatchSpec()))

    async def call(client: Client) -> None:
        view = await client.look_up([name])
        leader = view.topics[name].partitions[0].leader
        for _ in range(batches):
            data = PartitionProduceData(index=0, records=bytearray(batch))
            topics = (TopicProduceData(name=name, partition_data=(data,)),)
            request = ProduceRequest(acks=-1, timeout_ms=10_000, topic_data=topics)
            response = await client.ask_node(leader, request, ProduceResponse, 9)
            assert response.responses[0].partition_responses[0].error_code == 0

    ask(broker, call)


def delete_before(broker: RunningBroker, name: str, offset: int) -> None:
    async def call(client: Client) -> None:
        topic = DeleteRecordsTopic(
            name=name, partitions=(DeleteRecordsPartition(partition_index=0, offset=Offset(offset)),)
        )
        response = await client.ask(DeleteRecordsRequest(topics=(topic,), timeout_ms=10_000), DeleteRecordsResponse)
        assert response.topics[0].partitions[0].low_watermark == offset

    ask(broker, call)


def small_fetches(broker: RunningBroker, **given: Any) -> ReadSetting:
    """A few batches at a time."""
    return ReadSetting(bootstrap=broker.bootstrap, columns=("offset",), fetch_bytes_max=4000, **given)


def offsets_of(batches: Iterator[pa.RecordBatch]) -> list[int]:
    return [offset for each in batches for offset in each.column("offset").to_pylist()]


@pytest.fixture(scope="module")
def golden_broker(golden_data: Path, tmp_path_factory: pytest.TempPathFactory) -> Iterator[RunningBroker]:
    work = tmp_path_factory.mktemp("golden-broker")
    shutil.copytree(golden_data / "clean", work / "data")
    first, second = (str(work / "data" / name) for name in ("d1", "d2"))
    with running_broker(directory=first, options=["--data", second, "--ignore-acls"]) as broker:
        yield broker


@pytest.mark.parametrize("read_committed", [False, True])
def test_all_that_apache_kafka_wrote_is_read(
    golden_broker: RunningBroker, golden_expected: Any, read_committed: bool
) -> None:
    setting = ReadSetting(bootstrap=golden_broker.bootstrap, columns=ALL_COLUMNS, read_committed=read_committed)
    read = 0
    for name, expected in golden_expected["topics"].items():
        topic, _, partition = name.rpartition("-")
        end = expected["last_stable_offset" if read_committed else "high_watermark"]
        which = "read_committed" if read_committed else "read_uncommitted"
        records = expected.get("records", expected.get(which))
        batches = list(read_range(Range(topic, NO_ID, int(partition), expected["log_start"], end), setting))
        found = [
            [
                row["offset"],
                row["timestampType"] + 1,
                round(row["timestamp"].timestamp() * 1000),
                _text(row["key"]),
                _text(row["value"]),
                [[header["key"], _text(header["value"])] for header in row["headers"] or []],
            ]
            for batch in batches
            for row in batch.to_pylist()
        ]
        assert found == records
        read += len(found)
    assert read > 9000


def _text(data: bytes | None) -> str | None:
    return None if data is None else data.decode()


def test_a_broker_that_is_killed_and_comes_back_in_the_middle_costs_no_row(odradek_broker: RunningBroker) -> None:
    topic_id = make_topic(odradek_broker, "orders")
    fill(odradek_broker, "orders", 60)
    batches = read_range(Range("orders", topic_id, 0, 150, 5950), small_fetches(odradek_broker))
    read = offsets_of(iter([next(batches)]))
    odradek_broker.kill()
    odradek_broker.start()
    read += offsets_of(batches)
    assert read == list(range(150, 5950))


def test_a_range_within_batches_is_read_to_the_offset(odradek_shared_broker: RunningBroker) -> None:
    topic_id = make_topic(odradek_shared_broker, "within")
    fill(odradek_shared_broker, "within", 5)
    for start, end in [(0, 1), (99, 101), (130, 131), (0, 500), (499, 500), (200, 200)]:
        batches = read_range(Range("within", topic_id, 0, start, end), small_fetches(odradek_shared_broker))
        assert offsets_of(batches) == list(range(start, end))


def test_expired_offsets_are_an_error_that_names_them(odradek_shared_broker: RunningBroker) -> None:
    topic_id = make_topic(odradek_shared_broker, "expired")
    fill(odradek_shared_broker, "expired", 3)
    delete_before(odradek_shared_broker, "expired", 120)
    batches = read_range(Range("expired", topic_id, 0, 7, 300), small_fetches(odradek_shared_broker))
    with pytest.raises(DataLoss, match=r"expired-0 has lost the offsets 7 to 119: .*failOnDataLoss=false"):
        list(batches)


def test_expired_offsets_are_skipped_counted_and_logged_if_asked(
    odradek_shared_broker: RunningBroker, caplog: pytest.LogCaptureFixture
) -> None:
    topic_id = make_topic(odradek_shared_broker, "skipped")
    fill(odradek_shared_broker, "skipped", 3)
    delete_before(odradek_shared_broker, "skipped", 120)
    setting = small_fetches(odradek_shared_broker, fail_on_data_loss=False)
    with caplog.at_level(logging.WARNING, logger="odradek.spark"):
        assert offsets_of(read_range(Range("skipped", topic_id, 0, 7, 300), setting)) == list(range(120, 300))
        assert offsets_of(read_range(Range("skipped", topic_id, 0, 7, 100), setting)) == []
    assert caplog.messages == [
        "skipped 113 offsets of skipped-0 that are lost, 7 to 119",
        "skipped 93 offsets of skipped-0 that are lost, 7 to 99",
    ]


def test_a_topic_that_was_made_anew_is_not_taken_for_the_old_one(odradek_shared_broker: RunningBroker) -> None:
    old = make_topic(odradek_shared_broker, "anew")
    assert ask(odradek_shared_broker, lambda client: delete_topics(client, ["anew"])) == {"anew": None}
    make_topic(odradek_shared_broker, "anew")
    fill(odradek_shared_broker, "anew", 1)
    with pytest.raises(TopicReplaced, match="topic anew was deleted and created again"):
        list(read_range(Range("anew", old, 0, 0, 100), small_fetches(odradek_shared_broker)))


def test_a_partition_that_is_not_there_is_told(
    odradek_shared_broker: RunningBroker, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("odradek.spark.reading.fetching._MISSING_S", 0.0)
    make_topic(odradek_shared_broker, "narrow")
    for topic, partition in [("narrow", 1), ("nowhere", 0)]:
        with pytest.raises(NoSuchPartition, match=f"{topic}-{partition} does not exist"):
            list(read_range(Range(topic, NO_ID, partition, 0, 1), small_fetches(odradek_shared_broker)))


def test_a_range_that_ends_behind_the_log_is_told(odradek_shared_broker: RunningBroker) -> None:
    topic_id = make_topic(odradek_shared_broker, "short")
    fill(odradek_shared_broker, "short", 1)
    setting = small_fetches(odradek_shared_broker, timeout_s=0.2, fetch_wait_ms=10)
    batches = read_range(Range("short", topic_id, 0, 0, 101), setting)
    assert next(batches).num_rows == 100
    with pytest.raises(Unread, match=r"short-0 could not be read from offset 100 on, up to 101.*it ends at 100"):
        next(batches)


def test_a_reader_that_is_left_in_the_middle_disturbs_no_other(odradek_shared_broker: RunningBroker) -> None:
    topic_id = make_topic(odradek_shared_broker, "left")
    fill(odradek_shared_broker, "left", 20)
    whole = Range("left", topic_id, 0, 0, 2000)
    for _ in range(3):
        batches = read_range(whole, small_fetches(odradek_shared_broker))
        next(batches)
        batches.close()  # type: ignore[attr-defined]
    assert offsets_of(read_range(whole, small_fetches(odradek_shared_broker))) == list(range(2000))


@pytest.mark.parametrize("batches", [40, 160])
def test_memory_is_bounded_by_the_fetch_size_whatever_the_range(
    odradek_shared_broker: RunningBroker, batches: int
) -> None:
    """Of Python and numpy, which is where answers and columns are."""
    name, fetch_bytes = f"large{batches}", 512 << 10
    topic_id = make_topic(odradek_shared_broker, name)
    fill(odradek_shared_broker, name, batches, bytes(1000))  # 100 KB each
    end = batches * PER_BATCH
    setting = ReadSetting(bootstrap=odradek_shared_broker.bootstrap, fetch_bytes_max=fetch_bytes)
    list(read_range(Range(name, topic_id, 0, 0, 1), setting))  # loads what is loaded once
    tracemalloc.start()
    try:
        rows = sum(each.num_rows for each in read_range(Range(name, topic_id, 0, 0, end), setting))
        peak = tracemalloc.get_traced_memory()[1]
    finally:
        tracemalloc.stop()
    assert rows == end
    # Two answers, and the keys and values of one, for which as much is claimed as the answer has.
    assert peak < 6 * fetch_bytes


READING = """
import sys
from odradek.spark.source import OdradekSource
source = OdradekSource({"kafka.bootstrap.servers": sys.argv[1], "subscribe": sys.argv[2]})
reader = source.reader(source.schema())
rows = sum(batch.num_rows for partition in reader.partitions() for batch in reader.read(partition))
print(rows, *sorted({"numba", "pandas"} & set(sys.modules)))
"""


def test_a_worker_that_reads_imports_nothing_that_takes_longer_than_to_read(
    odradek_shared_broker: RunningBroker,
) -> None:
    make_topic(odradek_shared_broker, "imports")
    fill(odradek_shared_broker, "imports", 2)
    load_kernel()  # where it was never compiled, that is what needs numba
    command = [sys.executable, "-c", READING, odradek_shared_broker.bootstrap, "imports"]
    assert subprocess.run(command, capture_output=True, text=True, check=True).stdout == f"{2 * PER_BATCH}\n"
