"""Runs jobs as streams: makes their topics, starts them from their checkpoints, and again when they stop."""

import logging
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from concurrent.futures import Future, ThreadPoolExecutor
from contextlib import contextmanager
from dataclasses import dataclass
from functools import partial
from itertools import count
from threading import Event, Lock
from typing import Any

from pyspark.errors import PySparkException
from pyspark.sql import DataFrame, SparkSession
from pyspark.sql.streaming.query import StreamingQuery

import odradek.spark
from odradek.client.errors import ClientError
from odradek.model.errors import OdradekError
from odradek.pipelines.checkpoints import check_owner, checkpoint_of, group_prefix
from odradek.pipelines.contract import time_text
from odradek.pipelines.failures import failure_of
from odradek.pipelines.job_progress import BatchDone, JobProgress, State, Tell, batch_done
from odradek.pipelines.progress_topic import ProgressTopic
from odradek.pipelines.registry import LARGE, Job
from odradek.pipelines.topics import NoInput, make_topics, missing_inputs
from odradek.spark.sink.batch_write import write_batch

log = logging.getLogger(__name__)

_PAUSE_S = 1.0
_PAUSE_S_MAX = 16.0
_LOOK_S = 1
_QUIET_MAX = 10
"""A job tells how it is at least once in so many looks, so that one that has died is known."""
_ID_S = 60.0
_WRITTEN_S = 5.0
_AWAY_PAUSE_S = 3.0
_AWAY_LOOKS_MAX = 200
_LOOKS_A_LINE = 10
_STARTING = "Initializing"
_STARTING_LOOK_S = 0.1
_TOO_LATE = "Python worker failed to connect back"
_LATE_PROCESS_S = 10.0
# A result topic is made by the runner, which knows how it must be. One that is gone is not waited for: it is made anew.
_WRITING = {
    "kafka.allow.auto.create.topics": "false",
    "kafka.max.block.ms": "5000",
    "kafka.max.request.size": LARGE["max.message.bytes"],
}
_SETTINGS = {
    "spark.sql.session.timeZone": "UTC",
    # The only store that takes a state with a schema of its own; it also keeps large states out of the heap.
    "spark.sql.streaming.stateStore.providerClass": (
        "org.apache.spark.sql.execution.streaming.state.RocksDBStateStoreProvider"
    ),
    "spark.sql.streaming.stateStore.rocksdb.changelogCheckpointing.enabled": "true",
    # Results are told when they change, so a batch without events would only drop old windows: that can wait.
    "spark.sql.streaming.noDataMicroBatches.enabled": "false",
}


class JobFailed(OdradekError):
    """A job has ended for a reason that does not pass, or that did not pass in time."""

    def __init__(self, job: Job, reason: str) -> None:
        super().__init__(f"job {job.name} {reason}")


class Stopped(OdradekError):
    """A batch comes too late to be written."""


class BrokersAway(OdradekError):
    """They were there before."""

    def __init__(self, reason: str) -> None:
        super().__init__(f"no broker has answered for {_AWAY_LOOKS_MAX * _AWAY_PAUSE_S / 60:g} minutes: {reason}")


@dataclass(frozen=True, slots=True)
class Setting:
    """`checkpoint` is a directory in which every job has one of its own. With `once`, a job ends at what is there.

    With `skip_lost`, events that have expired before they were read are passed over; else they end the job. A job is
    started `starts_max` times without a batch in between; then it ends with what it failed with. A batch begins
    `interval_s` after the one before it, or when that is done.
    """

    bootstrap: str
    checkpoint: str
    once: bool = False
    events_per_batch: int | None = None
    skip_lost: bool = False
    starts_max: int = 6
    interval_s: float = 1.0


def prepared(spark: SparkSession) -> SparkSession:
    """A session on the same Spark with the settings that jobs need; those of the given one stay as they are."""
    session = spark.newSession()
    for name, value in _SETTINGS.items():
        session.conf.set(name, value)
    odradek.spark.register(session)
    return session


class Gate:
    """Lets batches be written one at a time, and none once it is told to stop."""

    def __init__(self, stop: Event) -> None:
        self._stop = stop
        self._writing = Lock()

    @contextmanager
    def passing(self) -> Iterator[None]:
        """Raises Stopped: a batch that is not written must not be taken for done."""
        with self._writing:
            if self._stop.is_set():
                raise Stopped
            yield

    def wait(self) -> None:
        """For the batch that is being written, a few seconds at most: a query that is stopped in the middle of one
        leaves transactions open, and those who read committed records wait for these."""
        if self._writing.acquire(timeout=_WRITTEN_S):
            self._writing.release()


class Turns:
    """Lets queries start one after the other.

    Spark gives the Python process of each source ten seconds to start, and no setting changes that: on a busy machine
    all jobs at once would take longer, fail together, and try again together. A process that came too late goes on
    until it notices, and takes its time from the next one: so that waits.
    """

    def __init__(self) -> None:
        self._free = Lock()

    def begin(self, start: Callable[[], StreamingQuery], stop: Event) -> StreamingQuery | None:
        """What it gives, when that has its processes or has failed. None where it is told to stop before."""
        while not self._free.acquire(timeout=_STARTING_LOOK_S):
            if stop.is_set():
                return None
        try:
            query = None if stop.is_set() else start()
            while query is not None and _is_starting(query) and not stop.is_set():
                time.sleep(_STARTING_LOOK_S)
            if query is not None and not query.isActive and _TOO_LATE in str(query.exception()):
                stop.wait(_LATE_PROCESS_S)
            return query
        finally:
            self._free.release()


def _is_starting(query: StreamingQuery) -> bool:
    return query.isActive and query.status["message"].startswith(_STARTING)


def start(session: SparkSession, job: Job, setting: Setting, gate: Gate | None = None) -> StreamingQuery:
    """One query of a job, on a session from `prepared`."""
    options = {
        "kafka.bootstrap.servers": setting.bootstrap,
        "kafka.isolation.level": "read_committed",
        "startingOffsets": "earliest",
        "groupIdPrefix": group_prefix(job),
        "failOnDataLoss": "false" if setting.skip_lost else "true",
        # As many tasks read as keep state. One for each partition would cost more than what is in most of them.
        "maxPartitions": str(session.conf.get("spark.sql.shuffle.partitions")),
        **job.source,
    }
    if setting.events_per_batch is not None:
        options["maxOffsetsPerTrigger"] = str(setting.events_per_batch)
    records = session.readStream.format("odradek").options(**options).load()
    tables = [odradek.spark.table(session, job.table, setting.bootstrap)] if job.table is not None else []
    rows: DataFrame = job.load()(records, *tables)
    query_id: Future[str] = Future()
    writer = (
        rows.writeStream.queryName(job.name)
        .outputMode("update")
        .foreachBatch(_writer(job, setting.bootstrap, query_id, gate or Gate(Event())))
        .option("checkpointLocation", checkpoint_of(job, setting.checkpoint))
    )
    often = f"{setting.interval_s * 1000:.0f} milliseconds"
    query = (writer.trigger(availableNow=True) if setting.once else writer.trigger(processingTime=often)).start()
    query_id.set_result(str(query.id))
    return query


def _writer(job: Job, bootstrap: str, query_id: "Future[str]", gate: Gate) -> Callable[[DataFrame, int], None]:
    """Writes a batch. Results are updates of rows, and Spark has no update mode for Python sinks of streams: so each
    batch is written by itself, and is known by the id of the query, which its checkpoint keeps, and by its number."""

    def write(rows: DataFrame, number: int) -> None:
        options = {"kafka.bootstrap.servers": bootstrap, "topic": job.result, **_WRITING}
        if job.exactly_once:
            told = {"txnAppId": f"{job.name}-{query_id.result(_ID_S)}", "txnVersion": str(number)}
            options |= {"exactlyOnce": "true", **told}
        with gate.passing():
            write_batch(rows, options)

    return write


def run(session: SparkSession, job: Job, setting: Setting, stop: Event, tell: Tell, turns: Turns | None = None) -> None:
    """Until it is told to stop or, with `once`, has read what is there. Raises JobFailed.

    How it is, it tells whenever that changes, after batches, and now and then.
    """
    starts, watch, turns = 0, _Watch(job, tell), turns or Turns()
    while not stop.is_set():
        watch.last = None
        try:
            _await_cluster(job, setting, stop, watch)
            if stop.is_set():
                break
            check_owner(session, job, checkpoint_of(job, setting.checkpoint))
            gate = Gate(stop)
            query = turns.begin(partial(start, session, job, setting, gate), stop)
            if query is not None:
                _follow(query, watch, stop, gate)
            break
        except (PySparkException, OdradekError) as error:
            if stop.is_set():
                break
            failure = failure_of(error)
            starts = 1 if watch.last is not None else starts + 1
            if failure.is_lasting or starts >= setting.starts_max:
                watch.tell(State.FAILED, failure.reason)
                times = "stopped" if failure.is_lasting else f"failed {starts} times without a batch in between"
                raise JobFailed(job, f"{times}: {failure.reason}") from None
            log.warning("a job stopped and is started again", extra={"job": job.name, "reason": failure.reason})
            watch.tell(State.RESTARTING, failure.reason)
            stop.wait(min(_PAUSE_S * 2 ** (starts - 1), _PAUSE_S_MAX))
    watch.tell(State.ENDED)


def _await_cluster(job: Job, setting: Setting, stop: Event, watch: "_Watch") -> None:
    """Until brokers answer and have what the job reads; then its result topic is made, if it is not there.

    Topics may come whenever they do: they are waited for without an end, but with `once` not at all. Raises NoInput,
    BrokersAway, and what make_topics raises.
    """
    away = 0
    for look in count():
        try:
            missing = missing_inputs(job, setting.bootstrap)
            if not missing:
                make_topics([job], setting.bootstrap)  # one that was deleted is made again
                return
            away = 0
            waits_for = NoInput(missing)
            if setting.once:
                raise waits_for
            reason = str(waits_for)
        except ClientError as error:
            if failure_of(error).is_lasting:
                raise
            away += 1
            reason = str(error)
            if away >= _AWAY_LOOKS_MAX:
                raise BrokersAway(reason) from None
        if look % _LOOKS_A_LINE == 0:
            log.warning("a job waits", extra={"job": job.name, "reason": reason})
        watch.tell(State.RESTARTING, reason)
        if stop.wait(_AWAY_PAUSE_S):
            return


def _follow(query: StreamingQuery, watch: "_Watch", stop: Event, gate: Gate) -> None:
    """To its end. Raises what it ends with."""
    watch.tell(State.RUNNING)
    while not query.awaitTermination(_LOOK_S):
        watch.look(query.lastProgress)
        if stop.is_set():
            gate.wait()
            query.stop()
    watch.look(query.lastProgress)


def run_all(spark: SparkSession, jobs: Sequence[Job], setting: Setting, stop: Event) -> None:
    """Side by side. What one of them fails with is raised when the others have been stopped."""
    session = prepared(spark)
    topic, turns = ProgressTopic(setting.bootstrap), Turns()

    def run_one(job: Job) -> None:
        try:
            run(session, job, setting, stop, topic.tell, turns)
        except BaseException:
            stop.set()
            raise

    try:
        with ThreadPoolExecutor(len(jobs), thread_name_prefix="job") as pool:
            running = [pool.submit(run_one, job) for job in jobs]
            try:
                for each in running:
                    each.result()
            finally:
                stop.set()
    finally:
        topic.close()


class _Watch:
    """Looks at what a query has done, and tells it."""

    def __init__(self, job: Job, tell: Tell) -> None:
        self._job = job
        self._tell = tell
        self._quiet = 0
        """So many times nothing was new."""
        self.last: BatchDone | None = None

    def tell(self, state: State, reason: str | None = None) -> None:
        self._quiet = 0
        now = time_text(time.time_ns() // 1_000_000)
        self._tell(JobProgress(self._job.name, state, now, self.last, reason))

    def look(self, progress: Any) -> None:
        self._quiet += 1
        if progress is not None and (self.last is None or progress["batchId"] != self.last.batch):
            self.last = batch_done(progress)
            self._log_dropped(progress["stateOperators"])
            self.tell(State.RUNNING)
        elif self._quiet >= _QUIET_MAX:
            self.tell(State.RUNNING)

    def _log_dropped(self, operators: Sequence[Mapping[str, Any]]) -> None:
        dropped = sum(each["numRowsDroppedByWatermark"] for each in operators)
        if dropped and self.last is not None:
            fields = {"job": self._job.name, "batch": self.last.batch, "rows": dropped}
            log.error("rows came after their window was given up: partitions are too far apart", extra=fields)
