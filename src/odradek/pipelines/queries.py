"""A job as a query of Spark: its settings, its turn to start, and how its batches are written."""

import time
from collections.abc import Callable, Iterator
from concurrent.futures import Future
from contextlib import contextmanager
from dataclasses import dataclass
from threading import Event, Lock

from pyspark.sql import DataFrame, SparkSession
from pyspark.sql.streaming.query import StreamingQuery

import odradek.spark
from odradek.model.errors import OdradekError
from odradek.pipelines.checkpoints import checkpoint_of, group_prefix
from odradek.pipelines.registry import LARGE, Job
from odradek.pipelines.spark_settings import OF_SESSION
from odradek.spark.sink.batch_write import write_batch

_ID_S = 60.0
_WRITTEN_S = 5.0
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


class Stopped(OdradekError):
    """A batch comes too late to be written."""


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
    for name, value in OF_SESSION.items():
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
