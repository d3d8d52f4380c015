"""Runs jobs as streams: makes their topics, starts them from their checkpoints, and again when they stop."""

import logging
import time
from collections.abc import Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from functools import partial
from itertools import count
from threading import Event
from typing import Any

from pyspark.errors import PySparkException
from pyspark.sql import SparkSession
from pyspark.sql.streaming.query import StreamingQuery

from odradek.client.errors import ClientError
from odradek.model.errors import OdradekError
from odradek.pipelines.checkpoints import check_owner, checkpoint_of
from odradek.pipelines.contract import time_text
from odradek.pipelines.failures import failure_of
from odradek.pipelines.job_progress import BatchDone, JobProgress, State, Tell, batch_done
from odradek.pipelines.progress_topic import ProgressTopic
from odradek.pipelines.queries import Gate, Setting, Turns, prepared, start
from odradek.pipelines.registry import Job
from odradek.pipelines.topics import NoInput, make_topics, missing_inputs

log = logging.getLogger(__name__)

_PAUSE_S = 1.0
_PAUSE_S_MAX = 16.0
_LOOK_S = 1
_QUIET_MAX = 10
"""A job tells how it is at least once in so many looks, so that one that has died is known."""
_AWAY_PAUSE_S = 3.0
_AWAY_LOOKS_MAX = 200
_LOOKS_A_LINE = 10


class JobFailed(OdradekError):
    """A job has ended for a reason that does not pass, or that did not pass in time."""

    def __init__(self, job: Job, reason: str) -> None:
        super().__init__(f"job {job.name} {reason}")


class BrokersAway(OdradekError):
    """They were there before."""

    def __init__(self, reason: str) -> None:
        super().__init__(f"no broker has answered for {_AWAY_LOOKS_MAX * _AWAY_PAUSE_S / 60:g} minutes: {reason}")


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
