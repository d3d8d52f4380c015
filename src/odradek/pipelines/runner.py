"""Runs jobs as streams: makes their topics, starts them from their checkpoints, and again when they stop."""

import asyncio
import logging
import re
import time
from collections.abc import Callable, Mapping, Sequence
from concurrent.futures import Future, ThreadPoolExecutor
from dataclasses import dataclass
from threading import Event
from typing import Any

from pyspark.errors import PySparkException
from pyspark.sql import DataFrame, SparkSession
from pyspark.sql.streaming.query import StreamingQuery

import odradek.spark
from odradek.client.client import Client, parse_bootstrap
from odradek.client.errors import ClientError
from odradek.client.setting import ClientSetting
from odradek.client.topics import NewTopic, create_topics
from odradek.model.error_code import ErrorCode
from odradek.model.errors import OdradekError
from odradek.pipelines.contract import time_text
from odradek.pipelines.job_progress import BatchDone, JobProgress, State, Tell, batch_done
from odradek.pipelines.progress_topic import ProgressTopic
from odradek.pipelines.registry import Job

log = logging.getLogger(__name__)

_PAUSE_S = 1.0
_PAUSE_S_MAX = 16.0
_LOOK_S = 1
_QUIET_MAX = 10
"""A job tells how it is at least once in so many looks, so that one that has died is known."""
_ID_S = 60.0
_OURS = re.compile(r"\bodradek(?:\.\w+)+: (.+)")
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
    """A job ended and was started again as often as it may be."""

    def __init__(self, job: Job, starts: int, reason: str) -> None:
        super().__init__(f"job {job.name} failed {starts} times without a batch in between: {reason}")


class CannotMakeTopic(OdradekError):
    """The cluster refused a result topic."""


@dataclass(frozen=True, slots=True)
class Setting:
    """`checkpoint` is a directory in which every job has one of its own. With `once`, a job ends at what is there.

    A job is started `starts_max` times without a batch in between; then it ends with what it failed with.
    """

    bootstrap: str
    checkpoint: str
    once: bool = False
    events_per_batch: int | None = None
    starts_max: int = 6


def prepared(spark: SparkSession) -> SparkSession:
    """A session on the same Spark with the settings that jobs need; those of the given one stay as they are."""
    session = spark.newSession()
    for name, value in _SETTINGS.items():
        session.conf.set(name, value)
    odradek.spark.register(session)
    return session


def make_topics(jobs: Sequence[Job], bootstrap: str) -> None:
    """Those of the results that are not there. Raises CannotMakeTopic."""
    topics = [NewTopic(name=job.result, partitions=job.partitions, configs=job.configs) for job in jobs]

    async def make() -> None:
        setting = ClientSetting(client_id="odradek-pipelines")
        async with await Client.connect(parse_bootstrap(bootstrap), setting) as client:
            for name, refused in (await create_topics(client, topics)).items():
                if refused is not None and refused.code != ErrorCode.TOPIC_ALREADY_EXISTS:
                    raise CannotMakeTopic(f"topic {name} cannot be made: {refused}")

    asyncio.run(make())


def start(session: SparkSession, job: Job, setting: Setting) -> StreamingQuery:
    """One query of a job, on a session from `prepared`."""
    options = {
        "kafka.bootstrap.servers": setting.bootstrap,
        "kafka.isolation.level": "read_committed",
        "startingOffsets": "earliest",
        "groupIdPrefix": f"pipeline-{job.name}",
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
        .foreachBatch(_writer(job, setting.bootstrap, query_id))
        .option("checkpointLocation", f"{setting.checkpoint.rstrip('/')}/{job.name}")
    )
    query = (writer.trigger(availableNow=True) if setting.once else writer).start()
    query_id.set_result(str(query.id))
    return query


def _writer(job: Job, bootstrap: str, query_id: "Future[str]") -> Callable[[DataFrame, int], None]:
    """Writes a batch. Results are updates of rows, and Spark has no update mode for Python sinks of streams: so each
    batch is written by itself, and is known by the id of the query, which its checkpoint keeps, and by its number."""

    def write(rows: DataFrame, number: int) -> None:
        options = {"kafka.bootstrap.servers": bootstrap, "topic": job.result}
        if job.exactly_once:
            told = {"txnAppId": f"{job.name}-{query_id.result(_ID_S)}", "txnVersion": str(number)}
            options |= {"exactlyOnce": "true", **told}
        rows.write.format("odradek").options(**options).mode("append").save()

    return write


def run(session: SparkSession, job: Job, setting: Setting, stop: Event, tell: Tell) -> None:
    """Until it is told to stop or, with `once`, has read what is there. Raises JobFailed, CannotMakeTopic.

    How it is, it tells whenever that changes, after batches, and now and then.
    """
    starts = 0
    while not stop.is_set():
        watch = _Watch(job, tell)
        try:
            make_topics([job], setting.bootstrap)  # a result topic that was deleted is made again
            _follow(start(session, job, setting), watch, stop)
            watch.tell(State.ENDED)
            return
        except (PySparkException, ClientError) as error:
            starts = 1 if watch.last is not None else starts + 1
            reason = _reason(error)
            if starts >= setting.starts_max:
                watch.tell(State.FAILED, reason)
                raise JobFailed(job, starts, reason) from None
            log.warning("a job stopped and is started again", extra={"job": job.name, "reason": reason})
            watch.tell(State.RESTARTING, reason)
            stop.wait(min(_PAUSE_S * 2 ** (starts - 1), _PAUSE_S_MAX))
        except OdradekError as error:
            watch.tell(State.FAILED, str(error))
            raise


def _follow(query: StreamingQuery, watch: "_Watch", stop: Event) -> None:
    """To its end. Raises what it ends with."""
    watch.tell(State.RUNNING)
    while not query.awaitTermination(_LOOK_S):
        watch.look(query.lastProgress)
        if stop.is_set():
            query.stop()
    watch.look(query.lastProgress)


def run_all(spark: SparkSession, jobs: Sequence[Job], setting: Setting, stop: Event) -> None:
    """Side by side. What one of them fails with is raised when the others have been stopped."""
    session = prepared(spark)
    topic = ProgressTopic(setting.bootstrap)

    def run_one(job: Job) -> None:
        try:
            run(session, job, setting, stop, topic.tell)
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


def _reason(error: Exception) -> str:
    """One line. Where an error of ours is within what Spark says, that is what tells what to do."""
    lines = [line.strip() for line in str(error).splitlines() if line.strip()]
    ours = next((found for line in lines if (found := _OURS.search(line))), None)
    if ours is not None:
        return ours[1]
    return lines[0] if lines else type(error).__name__
