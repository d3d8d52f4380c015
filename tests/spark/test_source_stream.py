"""Streams from topics: from their first batch to a restart, and through what may happen meanwhile."""

import itertools
import json
import os
import signal
import subprocess
import threading
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from pathlib import Path

import pytest
from confluent_kafka import Producer, TopicPartition
from confluent_kafka.admin import AdminClient
from pyspark.errors import StreamingQueryException
from pyspark.sql import DataFrame, SparkSession
from pyspark.sql.streaming.query import StreamingQuery

from odradek.cli.main import main
from odradek.testing.broker import RunningBroker, running_broker
from support.small_spark import started

Finished = Callable[[Callable[[], StreamingQuery]], StreamingQuery]

_NUMBERS = itertools.count()


def produce(broker: RunningBroker, topic: str, values: range) -> None:
    producer = Producer({"bootstrap.servers": broker.bootstrap})
    for value in values:
        producer.produce(topic, str(value))
    producer.flush()


def stream(spark: SparkSession, broker: RunningBroker, topic: str, **options: str) -> DataFrame:
    told = {"kafka.bootstrap.servers": broker.bootstrap, "subscribe": topic, "startingOffsets": "earliest", **options}
    return spark.readStream.format("odradek").options(**told).load().selectExpr("int(string(value)) number", "offset")


def lines_of_group(capsys: pytest.CaptureFixture[str], broker: RunningBroker, group: str) -> list[str]:
    capsys.readouterr()
    assert main(["groups", "describe", group, "--bootstrap", broker.bootstrap]) == 0
    return capsys.readouterr().out.splitlines()


def group_of(query: StreamingQuery) -> str:
    offsets = json.loads(query.recentProgress[-1]["sources"][0]["endOffset"])
    return str(offsets["@group"])


class Sink:
    """Rows as files, which a test may read while the query runs. Each of its names is a directory of its own."""

    def __init__(self, spark: SparkSession, place: Path) -> None:
        self._spark = spark
        self._rows = place / "rows"
        self._checkpoint = place / "checkpoint"

    def start(self, rows: DataFrame, *, once: bool) -> StreamingQuery:
        writer = rows.writeStream.format("parquet").option("checkpointLocation", str(self._checkpoint))
        writer = writer.trigger(availableNow=True) if once else writer.trigger(processingTime="100 milliseconds")
        return writer.start(str(self._rows))

    def batches(self) -> list[str]:
        """Those that were planned, by their numbers."""
        return sorted(path.name for path in self._checkpoint.glob("offsets/[0-9]*"))

    def numbers(self) -> list[int]:
        if not (self._rows / "_spark_metadata").exists():
            return []
        return sorted(row.number for row in self._spark.read.parquet(str(self._rows)).collect())


@pytest.fixture
def sink(spark: SparkSession, tmp_path: Path) -> Sink:
    return Sink(spark, tmp_path)


@contextmanager
def running(start: Callable[[], StreamingQuery]) -> Iterator[StreamingQuery]:
    """Has read all that there is."""
    query = started(start, StreamingQuery.processAllAvailable)
    try:
        yield query
    finally:
        query.stop()


def test_a_small_batch_has_as_many_tasks_as_run_at_once_also_when_it_comes_again(
    spark: SparkSession, odradek_shared_broker: RunningBroker, finished: Finished, tmp_path: Path
) -> None:
    broker, topic = odradek_shared_broker, f"streamed-{next(_NUMBERS)}"
    broker.create_topic(topic, 5)
    producer = Producer({"bootstrap.servers": broker.bootstrap})
    for value in range(50):
        producer.produce(topic, str(value), partition=value % 5)
    producer.flush()
    seen: list[list[list[int]]] = []

    def take(rows: DataFrame, _: int) -> None:
        seen.append([sorted(row.number for row in task) for task in rows.rdd.glom().collect()])
        if len(seen) == 1:
            raise RuntimeError("so that it comes again")

    def start(**options: str) -> Callable[[], StreamingQuery]:
        writer = stream(spark, broker, topic, **options).writeStream.trigger(availableNow=True)
        return writer.option("checkpointLocation", str(tmp_path / "checkpoint")).foreachBatch(take).start

    with pytest.raises(StreamingQueryException, match="so that it comes again"):
        finished(start())
    finished(start(maxPartitions="1"))  # which is for the next batch
    assert len(seen[0]) == 2
    assert sorted(number for task in seen[0] for number in task) == list(range(50))
    assert seen[1] == seen[0]


def test_a_first_batch_that_fails_is_read_again_from_where_it_started(
    spark: SparkSession, odradek_shared_broker: RunningBroker, finished: Finished, tmp_path: Path
) -> None:
    """Records come all the time, and the query starts at the latest: that is elsewhere when it starts again."""
    broker, topic = odradek_shared_broker, f"streamed-{next(_NUMBERS)}"
    broker.create_topic(topic)
    seen: list[list[int]] = []
    is_over = threading.Event()

    def produce_on() -> None:
        producer = Producer({"bootstrap.servers": broker.bootstrap, "linger.ms": 0})
        for value in itertools.count():
            if is_over.wait(0.001):
                break
            producer.produce(topic, str(value))
        producer.flush()

    def take(rows: DataFrame, _: int) -> None:
        numbers = sorted(row.number for row in rows.collect())
        if numbers:
            seen.append(numbers)
            if len(seen) == 1:
                raise RuntimeError("so that it comes again")

    def start() -> StreamingQuery:
        writer = stream(spark, broker, topic, startingOffsets="latest").writeStream
        return writer.option("checkpointLocation", str(tmp_path / "checkpoint")).foreachBatch(take).start()

    with ThreadPoolExecutor(1) as pool:
        producing = pool.submit(produce_on)
        try:
            with pytest.raises(StreamingQueryException, match="so that it comes again"):
                finished(start)
        finally:
            is_over.set()
        producing.result()
    with running(start):
        pass
    assert seen[1] == seen[0]
    assert list(itertools.chain(*seen[1:])) == list(range(seen[0][0], seen[-1][-1] + 1))


def test_what_is_there_now_in_limited_batches_and_the_rest_after_a_restart(
    spark: SparkSession,
    odradek_shared_broker: RunningBroker,
    sink: Sink,
    finished: Finished,
    capsys: pytest.CaptureFixture[str],
) -> None:
    broker, topic = odradek_shared_broker, f"streamed-{next(_NUMBERS)}"
    broker.create_topic(topic, 2)
    produce(broker, topic, range(100))
    rows = stream(spark, broker, topic, maxOffsetsPerTrigger="40")
    query = finished(lambda: sink.start(rows, once=True))
    assert sink.numbers() == list(range(100))
    batches = [each["numInputRows"] for each in query.recentProgress]
    assert sum(batches) == 100
    assert max(batches) <= 41
    source = query.recentProgress[-1]["sources"][0]
    assert json.loads(source["latestOffset"])[topic].keys() == {"0", "1", "id"}
    group = group_of(query)
    assert f"{group}: Empty, classic group, 0 members, lag 0" in lines_of_group(capsys, broker, group)[0]

    produce(broker, topic, range(100, 130))
    again = finished(lambda: sink.start(rows, once=True))
    assert sink.numbers() == list(range(130))
    assert group_of(again) == group
    assert "lag 0" in lines_of_group(capsys, broker, group)[0]


def test_an_idle_stream_has_no_batches_and_no_lag(
    spark: SparkSession, odradek_shared_broker: RunningBroker, sink: Sink, capsys: pytest.CaptureFixture[str]
) -> None:
    broker, topic = odradek_shared_broker, f"streamed-{next(_NUMBERS)}"
    broker.create_topic(topic)
    group = f"watchers-of-{topic}"
    rows = stream(spark, broker, topic, **{"kafka.group.id": group})
    with running(lambda: sink.start(rows, once=False)) as query:
        produce(broker, topic, range(10))
        query.processAllAvailable()
        assert sink.numbers() == list(range(10))
        assert "lag 0" in lines_of_group(capsys, broker, group)[0]
        batches = sink.batches()
        for _ in range(5):
            query.processAllAvailable()  # waits until Spark has asked again
        assert sink.batches() == batches
        produce(broker, topic, range(10, 20))
        query.processAllAvailable()
        assert sink.numbers() == list(range(20))
        assert "lag 0" in lines_of_group(capsys, broker, group)[0]


@pytest.mark.parametrize("kill", [False, True])
def test_a_broker_that_restarts_and_a_stream_that_goes_on(spark: SparkSession, sink: Sink, kill: bool) -> None:
    with running_broker({}) as broker:
        broker.create_topic("events", 2)
        produce(broker, "events", range(50))
        with running(lambda: sink.start(stream(spark, broker, "events"), once=False)) as query:
            assert len(sink.numbers()) == 50
            broker.kill() if kill else broker.stop()
            broker.start()
            produce(broker, "events", range(50, 100))
            query.processAllAvailable()
        assert sink.numbers() == list(range(100))


def own_workers() -> list[int]:
    """The Python processes that run tasks for this one: forks of those that Spark has started for that."""
    told = subprocess.run(["ps", "-eo", "pid=,ppid=,comm="], capture_output=True, text=True, check=True).stdout
    split = (line.split(None, 2) for line in told.splitlines())
    processes = {int(pid): (int(parent), name) for pid, parent, name in split}
    daemons = {pid for pid, (_, name) in processes.items() if name == "pyspark.daemon"}
    return [pid for pid in daemons if processes[pid][0] in daemons and is_below(os.getpid(), pid, processes)]


def is_below(ancestor: int, pid: int, processes: dict[int, tuple[int, str]]) -> bool:
    while pid in processes and pid != ancestor:
        pid, _ = processes[pid]
    return pid == ancestor


def test_workers_that_die(spark: SparkSession, odradek_shared_broker: RunningBroker, sink: Sink) -> None:
    broker, topic = odradek_shared_broker, f"streamed-{next(_NUMBERS)}"
    broker.create_topic(topic, 2)
    produce(broker, topic, range(100))
    with running(lambda: sink.start(stream(spark, broker, topic, minPartitions="4"), once=False)) as query:
        for part in range(1, 4):
            killed = own_workers()
            for pid in killed:
                os.kill(pid, signal.SIGKILL)
            assert killed
            produce(broker, topic, range(part * 100, part * 100 + 100))
            query.processAllAvailable()
    assert sink.numbers() == list(range(400))


@pytest.mark.parametrize(("name", "value"), [("endingOffsets", "latest"), ("resolveOffsets", "read")])
def test_what_a_stream_cannot_have_is_told_in_one_line(
    spark: SparkSession, odradek_shared_broker: RunningBroker, sink: Sink, finished: Finished, name: str, value: str
) -> None:
    rows = stream(spark, odradek_shared_broker, "any", **{name: value})
    with pytest.raises(StreamingQueryException, match=f"InvalidOption: option {name}: a stream .*; leave it out"):
        finished(lambda: sink.start(rows, once=True))


def test_a_topic_made_again_ends_the_query_with_one_line(
    spark: SparkSession, odradek_broker: RunningBroker, sink: Sink, finished: Finished
) -> None:
    odradek_broker.create_topic("events")
    produce(odradek_broker, "events", range(10))
    rows = stream(spark, odradek_broker, "events")
    finished(lambda: sink.start(rows, once=True))
    assert main(["topics", "delete", "events", "--yes", "--bootstrap", odradek_broker.bootstrap]) == 0
    odradek_broker.create_topic("events")
    produce(odradek_broker, "events", range(10, 30))
    with pytest.raises(StreamingQueryException) as failed:
        finished(lambda: sink.start(rows, once=True))
    assert "topic events was deleted and created again" in str(failed.value)
    assert "Traceback" not in str(failed.value)
    lenient = stream(spark, odradek_broker, "events", failOnDataLoss="false")
    finished(lambda: sink.start(lenient, once=True))
    assert sink.numbers() == list(range(30))


def test_expired_offsets_end_the_query_or_are_counted(
    spark: SparkSession, odradek_shared_broker: RunningBroker, sink: Sink, finished: Finished
) -> None:
    broker, topic = odradek_shared_broker, f"streamed-{next(_NUMBERS)}"
    broker.create_topic(topic)
    produce(broker, topic, range(10))
    rows = stream(spark, broker, topic)
    finished(lambda: sink.start(rows, once=True))
    produce(broker, topic, range(10, 20))
    admin = AdminClient({"bootstrap.servers": broker.bootstrap})
    for done in admin.delete_records([TopicPartition(topic, 0, 15)]).values():
        done.result()
    with pytest.raises(
        StreamingQueryException, match=rf"{topic}-0 has lost the offsets 10 to 14.*failOnDataLoss=false"
    ):
        finished(lambda: sink.start(rows, once=True))
    lenient = stream(spark, broker, topic, failOnDataLoss="false")
    query = finished(lambda: sink.start(lenient, once=True))
    assert sink.numbers() == [*range(10), *range(15, 20)]
    assert json.loads(query.recentProgress[-1]["sources"][0]["latestOffset"])["@skipped"] == 5


@pytest.mark.parametrize("named", [False, True])
def test_progress_is_committed_as_soon_as_a_batch_is_done_though_the_next_one_is_an_hour_away(
    spark: SparkSession,
    odradek_shared_broker: RunningBroker,
    tmp_path: Path,
    capsys: pytest.CaptureFixture[str],
    named: bool,
) -> None:
    broker, topic = odradek_shared_broker, f"streamed-{next(_NUMBERS)}"
    broker.create_topic(topic)
    produce(broker, topic, range(10))
    group = f"watchers-of-{topic}"
    rows = stream(spark, broker, topic, **({"kafka.group.id": group} if named else {}))
    seldom = (
        rows.writeStream.format("noop").option("checkpointLocation", str(tmp_path)).trigger(processingTime="1 hour")
    )

    def has_no_lag(query: StreamingQuery) -> bool:
        if not query.recentProgress:
            return False
        return "lag 0" in lines_of_group(capsys, broker, group if named else group_of(query))[0]

    def come_so_far(query: StreamingQuery) -> None:
        for _ in range(300):
            if has_no_lag(query):
                return
            query.awaitTermination(1)
        raise AssertionError(lines_of_group(capsys, broker, group if named else group_of(query)))

    query = started(seldom.start, come_so_far)
    try:
        assert query.recentProgress[-1]["batchId"] == 0
    finally:
        query.stop()
