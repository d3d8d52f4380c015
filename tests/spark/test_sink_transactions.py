"""Exactly once, step by step: tasks that prepare and a driver that commits, each stopped wherever it may stop.

No Spark is needed here: a task is a call, and one that dies is one that is not carried on with.
"""

import asyncio
from collections.abc import Iterator, Sequence
from dataclasses import replace

import pyarrow as pa
import pytest
from pyspark.sql.types import BinaryType, StructField, StructType

from odradek.client.client import Client
from odradek.client.transactions import TransactionView, describe_transactions
from odradek.model.topic_partition import TopicPartition
from odradek.spark.sink import committing
from odradek.spark.sink.committing import abort_ids
from odradek.spark.sink.errors import BadReplay, BadRow, CannotCommit, Fenced, SinkError
from odradek.spark.sink.layout import Layout
from odradek.spark.sink.link import Link
from odradek.spark.sink.marker import Marker
from odradek.spark.sink.prepared import Job, Prepared
from odradek.spark.sink.task import Task, real_surroundings
from odradek.spark.sink.transaction import Transaction, end, leave_marker, read_marker, take_id
from odradek.spark.sink.writers import BatchSink, StreamSink
from odradek.testing.broker import RunningBroker, running_broker
from support.committed_values import committed_values
from support.sink_stage import Driver, format_at_level, without_transaction

FIRST = [b"a", b"b", b"c"]
SECOND = [b"d", b"e"]
THIRD = [b"f"]
SETTINGS = {
    "offsets.topic.num.partitions": "3",
    "transaction.state.log.num.partitions": "3",
    "auto.create.topics.enable": "false",
}


@pytest.fixture(scope="module", params=[2, 1])
def broker(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> Iterator[RunningBroker]:
    """With transactions as of KIP-890, and as before."""
    directory = tmp_path_factory.mktemp("broker") / "data"
    format_at_level(directory, request.param)
    with running_broker(SETTINGS, directory=directory) as running:
        yield running


@pytest.fixture
def link(broker: RunningBroker) -> Iterator[Link]:
    made = Link(broker.bootstrap, "tests", 30)
    yield made
    made.close()


@pytest.fixture
def topic(broker: RunningBroker, request: pytest.FixtureRequest) -> str:
    name = "".join(each if each.isalnum() else "-" for each in request.node.name)
    broker.create_topic(name, 2)
    return name


@pytest.fixture
def driver(link: Link, broker: RunningBroker, topic: str) -> Driver:
    return Driver(link, broker.bootstrap, topic)


def found(broker: RunningBroker, topic: str) -> list[bytes]:
    return sorted(committed_values(broker.bootstrap, topic))


def test_rows_are_there_once_the_driver_has_committed(broker: RunningBroker, driver: Driver, topic: str) -> None:
    prepared = driver.prepare(0, FIRST, SECOND)
    assert found(broker, topic) == []
    driver.commit(prepared)
    assert found(broker, topic) == [*FIRST, *SECOND]
    driver.commit(driver.prepare(1, THIRD, []))
    assert found(broker, topic) == [*FIRST, *SECOND, *THIRD]


def test_rows_of_a_batch_that_failed_are_never_there(broker: RunningBroker, driver: Driver, topic: str) -> None:
    driver.abort(driver.prepare(0, FIRST, SECOND))
    driver.commit(driver.prepare(0, FIRST, SECOND))
    assert found(broker, topic) == [*FIRST, *SECOND]


def test_a_task_that_fails_leaves_nothing_open(broker: RunningBroker, driver: Driver, topic: str) -> None:
    """Readers would wait for what is open."""
    task = Task(driver.options, Layout(value=0, topic=1), real_surroundings(driver.link))
    good = pa.record_batch([[bytes(1000)] * 9000, [topic] * 9000], names=["value", "topic"])
    bad = pa.record_batch([[b"y"], pa.array([None], pa.string())], names=["value", "topic"])
    with pytest.raises(BadRow, match="row 18000 "):
        task.prepare([good, good, bad], driver.once, Job(driver.query, 0), 0)
    name = f"odradek-spark-sink-{driver.query}-0"
    view = driver.link.call(describe_transactions(driver.link.client, [name]))[name]
    assert isinstance(view, TransactionView)
    assert view.state == "CompleteAbort"
    with pytest.raises(BadRow) as told:
        task.prepare([bad], driver.once, Job(driver.query, 0), 0)
    assert not hasattr(told.value, "__notes__"), "nothing was begun"
    driver.commit(driver.prepare(0, FIRST))
    assert found(broker, topic) == FIRST


@pytest.mark.parametrize("committed", [0, 1, 2, 3])
def test_a_driver_that_dies_in_its_commits(
    broker: RunningBroker, link: Link, driver: Driver, topic: str, committed: int
) -> None:
    prepared = driver.prepare(0, FIRST, SECOND, THIRD)
    if committed:
        driver.commit_some(prepared, committed)
    again = Driver(link, broker.bootstrap, topic)
    replayed = again.prepare(0, FIRST, SECOND, THIRD)
    assert [each.transaction is None for each in replayed] == [number < committed for number in range(3)]
    again.commit(replayed)
    assert found(broker, topic) == [*FIRST, *SECOND, *THIRD]
    again.commit(again.prepare(1, [b"g"]))
    assert found(broker, topic) == [*FIRST, *SECOND, *THIRD, b"g"]


def test_a_zombie_attempt_is_fenced(broker: RunningBroker, driver: Driver, topic: str) -> None:
    zombie = driver.prepare_one(0, 0, FIRST)
    prepared = driver.prepare_one(0, 0, FIRST)
    with pytest.raises(Fenced, match="a later attempt has taken its place"):
        driver.commit([zombie])
    driver.commit([prepared])
    assert found(broker, topic) == FIRST


def test_a_zombie_attempt_that_still_writes_is_fenced(broker: RunningBroker, driver: Driver, topic: str) -> None:
    many = pa.record_batch([[bytes(1000)] * 9000], names=["value"])
    later: list[Prepared] = []

    def rows() -> Iterator[pa.RecordBatch]:
        yield many
        later.append(driver.prepare_one(0, 0, FIRST))
        yield many
        yield many

    zombie = Task(driver.options, Layout(value=0, topic_name=topic), real_surroundings(driver.link))
    with pytest.raises(Fenced):
        zombie.prepare(rows(), driver.once, Job(driver.query, 0), 0)
    driver.commit(later)
    assert found(broker, topic) == FIRST


def test_an_attempt_that_starts_late_writes_nothing(broker: RunningBroker, driver: Driver, topic: str) -> None:
    driver.commit(driver.prepare(0, FIRST))
    late = driver.prepare_one(0, 0, FIRST)
    assert late.transaction is None
    assert found(broker, topic) == FIRST


def test_a_query_whose_checkpoint_went_back_is_refused(broker: RunningBroker, driver: Driver, topic: str) -> None:
    """Its batch has the number of one that is long over, and may have other rows: nothing is known of those of then."""
    driver.commit(driver.prepare(0, FIRST))
    driver.commit(driver.prepare(1, SECOND))
    with pytest.raises(BadReplay, match=f"query query-{topic}, batch 0, task 0: batch 1 was committed"):
        driver.prepare_one(0, 0, [*FIRST, *THIRD])
    with pytest.raises(BadReplay, match="Start with a new checkpointLocation"):
        driver.prepare(0, FIRST[:1], FIRST[1:])
    driver.commit(driver.prepare(2, THIRD))
    assert found(broker, topic) == [*FIRST, *SECOND, *THIRD]


class Write:
    """A batch write as Spark runs it, with a name of its own."""

    def __init__(self, driver: Driver, topic: str) -> None:
        self.sink = BatchSink(exactly_once(driver, topic), VALUES, overwrite=False)
        assert self.sink.job is not None
        self._job = self.sink.job
        self._driver = driver
        self._task = Task(self.sink.options, Layout(value=0, topic_name=topic), real_surroundings(driver.link))

    def prepare(self, number: int) -> Prepared:
        table = pa.record_batch([pa.array(FIRST, pa.binary())], names=["value"])
        return self._task.prepare([table], self._driver.once, self._job, number)

    def id_of(self, number: int) -> str:
        return self._job.transactional_id(self._driver.once.prefix, number)


VALUES = StructType([StructField("value", BinaryType())])


def exactly_once(driver: Driver, topic: str) -> dict[str, str]:
    return {"kafka.bootstrap.servers": driver.options.bootstrap, "topic": topic, "exactlyOnce": "true"}


def are_over(link: Link, transactional_ids: Sequence[str]) -> bool:
    views = link.call(describe_transactions(link.client, transactional_ids)).values()
    states = [view.state for view in views if isinstance(view, TransactionView)]
    return len(states) == len(transactional_ids) and set(states) <= {"CompleteAbort", "Empty"}


@pytest.fixture
def soon_killed(monkeypatch: pytest.MonkeyPatch) -> None:
    """Nobody is left to wait for."""
    monkeypatch.setattr(committing, "_KILLED_WITHIN_S", 0.0)


@pytest.mark.usefixtures("soon_killed")
def test_transactions_of_tasks_that_were_killed_are_aborted(
    broker: RunningBroker, driver: Driver, topic: str, caplog: pytest.LogCaptureFixture
) -> None:
    """Those of a batch write: no other attempt has their ids, and readers would wait for them."""
    write = Write(driver, topic)
    done = write.prepare(0)
    write.prepare(2)  # nobody has heard of it
    write.sink.abort([done, None, None])
    assert are_over(driver.link, [write.id_of(0), write.id_of(2)])
    assert not caplog.records, "of task 1, which never began, there is nothing to tell"
    assert found(broker, topic) == []


def test_a_task_that_begins_behind_the_abort_is_fenced_when_none_can_begin_any_more(driver: Driver, topic: str) -> None:
    """Spark lets tasks of a job that has failed go on for seconds, and some take their id as late as that."""
    write = Write(driver, topic)

    async def until_killed() -> None:
        await asyncio.to_thread(write.prepare, 1)

    driver.link.call(abort_ids(driver.link.client, [write.id_of(1)], until_killed))
    assert are_over(driver.link, [write.id_of(1)])


def test_a_later_attempt_that_nobody_has_heard_of_is_aborted_too(driver: Driver, topic: str) -> None:
    write = Write(driver, topic)
    told = write.prepare(0)
    write.prepare(0)
    write.sink.abort([told])
    assert are_over(driver.link, [write.id_of(0)])


def test_a_query_that_is_stopped_leaves_nothing_open_of_tasks_that_told_nothing(driver: Driver, topic: str) -> None:
    """It may not start again for long."""
    sink = StreamSink(exactly_once(driver, topic), VALUES, overwrite=False)
    told, silent = driver.prepare(0, FIRST, SECOND)
    sink.abort([told, None], 0)
    assert silent.transaction is not None
    assert are_over(driver.link, [silent.transaction.transactional_id])


@pytest.mark.usefixtures("soon_killed")
def test_one_that_is_about_to_begin_is_fenced_as_well(driver: Driver, topic: str) -> None:
    """Spark lets a task whose job has failed go on for seconds."""
    write = Write(driver, topic)
    client, transactional_id = driver.link.client, write.id_of(0)
    late: Transaction = driver.link.call(take_id(client, transactional_id, 60_000))
    write.sink.abort([None])
    with pytest.raises(Fenced):
        driver.link.call(leave_marker(client, late, TopicPartition(topic, 0), Marker(0, 1, 1)))


def test_a_batch_write_with_a_transaction_that_is_over_commits_nothing(
    broker: RunningBroker, driver: Driver, topic: str
) -> None:
    driver.of_query = False
    prepared = driver.prepare(0, FIRST, SECOND, THIRD)
    over = prepared[1].transaction
    assert over is not None
    driver.link.call(end(driver.link.client, over, commit=False))  # as the broker does when its time is over
    with pytest.raises(CannotCommit, match=r"-1 is not open any more, so nothing was committed.*transaction\.timeout"):
        driver.commit(prepared)
    driver.abort(prepared)
    assert found(broker, topic) == []
    driver.commit(driver.prepare(0, FIRST, SECOND, THIRD))
    assert found(broker, topic) == [*FIRST, *SECOND, *THIRD]


def test_a_batch_write_without_rows_in_its_first_task(broker: RunningBroker, driver: Driver, topic: str) -> None:
    driver.of_query = False
    driver.commit(driver.prepare(0, [], FIRST))
    assert found(broker, topic) == FIRST
    driver.commit(driver.prepare(0, [], FIRST))
    assert found(broker, topic) == FIRST


@pytest.mark.parametrize("app_id", [None, "nightly"])
def test_a_batch_write_that_is_committed_in_part_says_what_is_there_and_what_to_do(
    broker: RunningBroker, driver: Driver, topic: str, monkeypatch: pytest.MonkeyPatch, app_id: str | None
) -> None:
    driver.of_query = False
    driver.once = replace(driver.once, app_id=app_id)
    prepared = driver.prepare(0, FIRST, SECOND, THIRD)
    unreachable = prepared[1].transaction

    async def cut(client: Client, transaction: Transaction, *, commit: bool, timeout_s: float | None = None) -> None:
        assert timeout_s == pytest.approx(driver.once.timeout_ms / 1000, abs=100)
        if transaction == unreachable:
            raise CannotCommit("lost the connection")
        await end(client, transaction, commit=commit)

    with monkeypatch.context() as cutting:
        cutting.setattr(committing, "end", cut)
        with pytest.raises(CannotCommit, match="lost the connection; rows of 2 tasks are committed") as told:
            driver.commit(prepared)
    assert ("run it again with the same txnAppId" in str(told.value)) == (app_id is not None)
    driver.abort(prepared)  # as Spark does then
    assert found(broker, topic) == [*FIRST, *THIRD]
    driver.commit(driver.prepare(0, FIRST, SECOND, THIRD))
    assert found(broker, topic) == [*FIRST, *SECOND, *THIRD]


def test_a_topic_for_markers_that_is_not_there_is_told_before_any_row_is_read(driver: Driver) -> None:
    once = replace(driver.once, marker_topic="nowhere")
    options = replace(driver.options, metadata_timeout_s=0.2)
    task = Task(options, Layout(value=0, topic_name=options.topic), real_surroundings(driver.link))

    asked = []

    def rows() -> Iterator[pa.RecordBatch]:
        asked.append("for a row")
        yield from ()

    with pytest.raises(SinkError, match="cannot write to topic nowhere: it does not exist"):
        task.prepare(rows(), once, Job("query", 0), 0)
    assert asked == []


def test_a_version_before_the_last_is_refused(broker: RunningBroker, driver: Driver, topic: str) -> None:
    """It may have failed, so its rows are not to be passed over; or not, so they are not to be written."""
    driver.of_query = False
    driver.abort(driver.prepare(1, FIRST, SECOND))
    driver.commit(driver.prepare(2, THIRD))
    with pytest.raises(BadReplay, match=f"txnVersion 1 of query-{topic} comes behind 2, which was committed"):
        driver.prepare(1, FIRST, SECOND)
    driver.commit(driver.prepare(2, THIRD))
    driver.commit(driver.prepare(3, SECOND))
    assert found(broker, topic) == [*SECOND, *THIRD]


def test_other_rows_in_a_batch_that_comes_again_are_an_error(broker: RunningBroker, driver: Driver, topic: str) -> None:
    driver.commit_some(driver.prepare(0, FIRST, SECOND), 1)
    for rows in ([b"a", b"b"], [b"a", b"b", b"x"], [b"a", b"b", b"c", b"c"], []):
        with pytest.raises(BadReplay, match=f"query query-{topic}, batch 0, task 0: 3 rows were committed"):
            driver.prepare(0, rows, SECOND)
    assert driver.prepare_one(0, 0, [b"c", b"a", b"b"]).transaction is None, "in any order"


def test_more_splits_on_replay(broker: RunningBroker, driver: Driver, topic: str) -> None:
    driver.commit_some(driver.prepare(0, FIRST, SECOND), 1)
    with pytest.raises(BadReplay, match="task 0: 3 rows were committed, and now there are 2"):
        driver.prepare(0, FIRST[:2], [FIRST[2], *SECOND], [])
    driver.commit(driver.prepare(0, FIRST, SECOND[:1], SECOND[1:]))
    assert found(broker, topic) == [*FIRST, *SECOND]


def test_fewer_splits_on_replay(broker: RunningBroker, driver: Driver, topic: str) -> None:
    """Task 2 is no more, and its rows are those of task 1 now: they are not to be there twice."""
    prepared = driver.prepare(0, FIRST, SECOND, THIRD)
    first = prepared[0].transaction
    third = prepared[2].transaction
    assert first is not None
    assert third is not None
    driver.commit_some([prepared[0], without_transaction(prepared[1]), prepared[2]], 3)
    replayed = driver.prepare(0, FIRST, [*SECOND, *THIRD])
    with pytest.raises(BadReplay, match="task 2: 1 rows were committed, and now there are only 2 tasks"):
        driver.commit(replayed)
    driver.abort(replayed)
    assert found(broker, topic) == [*FIRST, *THIRD]
    driver.commit(driver.prepare(0, FIRST, SECOND, THIRD))
    assert found(broker, topic) == [*FIRST, *SECOND, *THIRD]


def test_more_splits_on_replay_and_then_fewer(broker: RunningBroker, driver: Driver, topic: str) -> None:
    """The second attempt has committed task 2, which the first one did not have, and the third has not."""
    driver.commit_some(driver.prepare(0, FIRST, [*SECOND, *THIRD]), 1)
    prepared = driver.prepare(0, FIRST, SECOND, THIRD)
    driver.commit_some([prepared[0], without_transaction(prepared[1]), prepared[2]], 3)
    replayed = driver.prepare(0, FIRST, [*SECOND, *THIRD])
    with pytest.raises(BadReplay, match="task 2: 1 rows were committed, and now there are only 2 tasks"):
        driver.commit(replayed)
    driver.abort(replayed)
    driver.commit(driver.prepare(0, FIRST, SECOND, THIRD))
    assert found(broker, topic) == [*FIRST, *SECOND, *THIRD]


def test_fewer_splits_on_replay_of_what_was_not_committed(broker: RunningBroker, driver: Driver, topic: str) -> None:
    prepared = driver.prepare(0, FIRST, SECOND, THIRD)
    driver.commit_some(prepared, 1)
    third = prepared[2].transaction
    driver.commit(driver.prepare(0, FIRST, [*SECOND, *THIRD]))
    assert third is not None
    with pytest.raises(SinkError):  # whoever comes late finds it fenced
        driver.link.call(end(driver.link.client, third, commit=True))
    assert found(broker, topic) == [*FIRST, *SECOND, *THIRD]


def test_of_two_drivers_on_one_checkpoint_the_second_fences_the_first(
    broker: RunningBroker, link: Link, driver: Driver, topic: str
) -> None:
    second = Driver(link, broker.bootstrap, topic)
    mine = driver.prepare(0, FIRST, SECOND)
    yours = second.prepare(0, FIRST, SECOND)
    with pytest.raises(Fenced):
        driver.commit(mine)
    driver.abort(mine)
    second.commit(yours)
    assert found(broker, topic) == [*FIRST, *SECOND]


def test_a_driver_with_more_tasks_commits_none_when_task_0_was_fenced(
    broker: RunningBroker, link: Link, driver: Driver, topic: str
) -> None:
    """Its last task has no rival that would fence it."""
    second = Driver(link, broker.bootstrap, topic)
    mine = driver.prepare(0, FIRST, SECOND, THIRD)
    yours = second.prepare(0, FIRST, [*SECOND, *THIRD])
    with pytest.raises(Fenced):
        driver.commit(mine)
    driver.abort(mine)
    second.commit(yours)
    assert found(broker, topic) == [*FIRST, *SECOND, *THIRD]


def test_a_driver_that_was_superseded_commits_none_though_task_0_was_committed_before(
    broker: RunningBroker, link: Link, driver: Driver, topic: str
) -> None:
    """It has a task more than the one that took its place, which fences no task of that number."""
    driver.commit_some(driver.prepare(0, FIRST, [*SECOND, *THIRD]), 1)
    mine = driver.prepare(0, FIRST, SECOND, THIRD)
    second = Driver(link, broker.bootstrap, topic)
    second.commit(second.prepare(0, FIRST, [*SECOND, *THIRD]))
    with pytest.raises(Fenced):
        driver.commit(mine)
    driver.abort(mine)
    assert found(broker, topic) == [*FIRST, *SECOND, *THIRD]


def test_an_empty_batch_is_known_again(broker: RunningBroker, driver: Driver, topic: str) -> None:
    driver.commit(driver.prepare(0, [], []))
    assert [each.transaction for each in driver.prepare(0, [], [])] == [None, None]
    with pytest.raises(BadReplay, match="task 0: 0 rows were committed, and now there are 3"):
        driver.prepare(0, FIRST, [])
    assert found(broker, topic) == []


def test_nobody_but_the_driver_leaves_the_marker_of_the_first_task(driver: Driver, topic: str) -> None:
    """One of the task's might come to the broker behind it, and would hide how many tasks there are."""
    (prepared,) = driver.prepare(0, FIRST)
    assert prepared.transaction is not None
    driver.link.call(end(driver.link.client, prepared.transaction, commit=True))
    name = prepared.transaction.transactional_id
    assert driver.link.call(read_marker(driver.link.client, name, TopicPartition(topic, 0))) is None


def test_the_marker_has_the_number_of_tasks(driver: Driver, topic: str) -> None:
    driver.commit(driver.prepare(7, FIRST, SECOND))
    client = driver.link.client
    place = TopicPartition(topic, 0)
    name = f"odradek-spark-sink-query-{topic}"
    first = driver.link.call(read_marker(client, f"{name}-0", place))
    second = driver.link.call(read_marker(client, f"{name}-1", place))
    assert first is not None
    assert second is not None
    assert (first.batch, first.rows, first.tasks) == (7, 3, 2)
    assert (second.batch, second.rows, second.tasks) == (7, 2, None)
    assert driver.link.call(read_marker(client, f"{name}-2", place)) is None


def test_the_protocol_is_that_of_the_cluster(
    broker: RunningBroker, driver: Driver, request: pytest.FixtureRequest
) -> None:
    taken: Transaction = driver.link.call(take_id(driver.link.client, "probe", 60_000))
    assert taken.is_old == (request.node.callspec.params["broker"] == 1)


def test_a_timeout_that_the_broker_does_not_allow_names_the_option(driver: Driver) -> None:
    with pytest.raises(SinkError, match=r"lower kafka\.transaction\.timeout\.ms"):
        driver.link.call(take_id(driver.link.client, "too-long", 1_000_000_000))
