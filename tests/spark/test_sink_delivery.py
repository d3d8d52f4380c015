"""At least once: a task goes on through the death of a broker, and repeats nothing within itself."""

from collections.abc import Iterator

import pyarrow as pa
import pytest

from odradek.spark.sink.layout import Layout
from odradek.spark.sink.link import Link
from odradek.spark.sink.options import sink_options
from odradek.spark.sink.task import Task, real_surroundings
from odradek.testing.broker import RunningBroker, running_broker
from support.committed_values import committed_values

ROWS = 9000
CHUNKS = 4


def value_of(chunk: int, row: int) -> bytes:
    return f"{chunk}-{row}-".encode() + bytes(1000)


def rows(broker: RunningBroker) -> Iterator[pa.RecordBatch]:
    """Chunks, and the broker dies while each of them is on its way."""
    for chunk in range(CHUNKS):
        yield pa.record_batch([[value_of(chunk, row) for row in range(ROWS)]], names=["value"])
        broker.kill()
        broker.start()


@pytest.fixture
def broker() -> Iterator[RunningBroker]:
    with running_broker() as running:
        running.create_topic("orders", 5)
        yield running


@pytest.fixture
def task(broker: RunningBroker) -> Iterator[Task]:
    link = Link(broker.bootstrap, "tests", 30)
    options = {"kafka.bootstrap.servers": broker.bootstrap, "topic": "orders", "kafka.batch.size": "100000"}
    layout = Layout(value=0, topic_name="orders")
    yield Task(sink_options(options, streaming=False), layout, real_surroundings(link))
    link.close()


def test_a_broker_that_dies_again_and_again_has_every_row_once(broker: RunningBroker, task: Task) -> None:
    assert task.write(rows(broker), task.new_producer()) == CHUNKS * ROWS
    expected = sorted(value_of(chunk, row) for chunk in range(CHUNKS) for row in range(ROWS))
    assert sorted(committed_values(broker.bootstrap, "orders")) == expected


def test_a_producer_goes_on_with_the_next_task(broker: RunningBroker, task: Task) -> None:
    producer = task.new_producer()
    for number in range(3):
        table = pa.record_batch([[f"{number}-{row}".encode() for row in range(10)]], names=["value"])
        assert task.write([table], producer) == 10
    expected = sorted(f"{number}-{row}".encode() for number in range(3) for row in range(10))
    assert sorted(committed_values(broker.bootstrap, "orders")) == expected


def test_a_topic_with_a_small_limit_gets_small_batches(broker: RunningBroker, task: Task) -> None:
    broker.create_topic("narrow", configs={"max.message.bytes": "2000"})
    values = [f"{row}".encode() for row in range(2000)]
    narrow = Task(task._options, Layout(value=0, topic_name="narrow"), task._around)
    assert narrow.write([pa.record_batch([values], names=["value"])], narrow.new_producer()) == 2000
    assert committed_values(broker.bootstrap, "narrow") == values


def test_a_task_without_rows_has_nothing_to_do(task: Task) -> None:
    assert task.write([], task.new_producer()) == 0
    assert task.write([pa.record_batch([pa.array([], pa.binary())], names=["value"])], task.new_producer()) == 0
