"""When a job is started again, and when it is given up. No Spark runs here."""

import json
from collections.abc import Callable
from dataclasses import replace
from threading import Event, Thread
from typing import TYPE_CHECKING, Any, cast

import pytest
from pyspark.errors import StreamingQueryException

from odradek.client.errors import ConnectionLost
from odradek.model.address import Address
from odradek.pipelines import runner
from odradek.pipelines.job_progress import JobProgress
from odradek.pipelines.queries import Setting, Turns
from odradek.pipelines.registry import JOBS
from odradek.pipelines.runner import JobFailed, run

if TYPE_CHECKING:
    from pyspark.sql import SparkSession
    from pyspark.sql.streaming.query import StreamingQuery

JOB = JOBS["truck-positions"]
SETTING = Setting("127.0.0.1:1", "nowhere")
STARTS_MAX = 6
NO_SPARK = cast("SparkSession", None)


def nobody(_: JobProgress) -> None:
    """Is told how a job is."""


class Query:
    """Fails after so many batches, or ends."""

    def __init__(self, batches: int, error: str | None) -> None:
        self._left, self._error = batches, error
        self.lastProgress: dict[str, Any] | None = None
        self.is_stopped = False
        self.isActive = True
        self.status = {"message": "Getting offsets"}

    def awaitTermination(self, _seconds: int) -> bool:
        if self._left:
            self._left -= 1
            self.lastProgress = {
                "batchId": self._left,
                "numInputRows": 10,
                "processedRowsPerSecond": 5.04,
                "batchDuration": 2000,
                "sources": [{"endOffset": '{"t":{"0":8,"id":"x"}}', "latestOffset": '{"@skipped":1,"t":{"0":11}}'}],
                "stateOperators": [{"numRowsDroppedByWatermark": self._left}],
            }
            return False
        if self._error is not None:
            raise StreamingQueryException(self._error)
        return True

    def exception(self) -> Exception | None:
        return None if self._error is None else StreamingQueryException(self._error)

    def stop(self) -> None:
        self.is_stopped = True


class Stop(Event):
    """Remembers for how long somebody would have waited."""

    def __init__(self) -> None:
        super().__init__()
        self.waited: list[float] = []

    def wait(self, timeout: float | None = None) -> bool:
        self.waited.append(timeout or 0.0)
        return self.is_set()


@pytest.fixture
def queries(monkeypatch: pytest.MonkeyPatch) -> Callable[[list[Query]], None]:
    """What the next starts give."""

    def give(made: list[Query]) -> None:
        left = iter(made)
        monkeypatch.setattr(runner, "start", lambda *_: next(left))
        for check in ("missing_inputs", "make_topics", "check_owner"):
            monkeypatch.setattr(runner, check, lambda *_: None)

    return give


def test_a_job_is_started_again_until_it_ends(queries: Callable[[list[Query]], None]) -> None:
    queries([Query(0, "broker away"), Query(0, "broker away"), Query(2, None)])
    stop = Stop()
    run(NO_SPARK, JOB, SETTING, stop, nobody)
    assert stop.waited == [1.0, 2.0]


def test_a_job_that_does_nothing_but_fail_is_given_up(queries: Callable[[list[Query]], None]) -> None:
    queries([Query(0, "\n  broker away\nmore") for _ in range(STARTS_MAX)])
    stop = Stop()
    with pytest.raises(JobFailed, match=r"^job truck-positions failed 6 times .* between: broker away$"):
        run(NO_SPARK, JOB, SETTING, stop, nobody)
    assert stop.waited == [1.0, 2.0, 4.0, 8.0, 16.0]


def test_a_job_that_stops_for_what_does_not_pass_is_not_started_again(queries: Callable[[list[Query]], None]) -> None:
    told: list[JobProgress] = []
    queries([Query(1, "Failed: odradek.spark.reading.errors.DataLoss: t-0 has lost the offsets 1 to 2")])
    stop = Stop()
    with pytest.raises(JobFailed, match=r"^job truck-positions stopped: t-0 has lost the offsets 1 to 2 \("):
        run(NO_SPARK, JOB, SETTING, stop, told.append)
    assert stop.waited == []
    assert (told[-1].state, told[-1].reason) == (
        "failed",
        "t-0 has lost the offsets 1 to 2 (pipeline run: --skip-lost)",
    )


def test_pauses_have_a_bound(queries: Callable[[list[Query]], None]) -> None:
    queries([*(Query(0, "broker away") for _ in range(7)), Query(0, None)])
    stop = Stop()
    run(NO_SPARK, JOB, replace(SETTING, starts_max=8), stop, nobody)
    assert stop.waited == [1.0, 2.0, 4.0, 8.0, 16.0, 16.0, 16.0]


def test_brokers_that_are_away_are_waited_for(
    queries: Callable[[list[Query]], None], monkeypatch: pytest.MonkeyPatch
) -> None:
    queries([Query(1, None)])
    away = iter([True] * 199 + [False])

    def make(*_: object) -> None:
        if next(away):
            raise ConnectionLost(Address("127.0.0.1", 1), "reset")

    monkeypatch.setattr(runner, "make_topics", make)
    stop = Stop()
    run(NO_SPARK, JOB, SETTING, stop, nobody)
    assert stop.waited == [3.0] * 199


def test_but_not_for_ever(queries: Callable[[list[Query]], None], monkeypatch: pytest.MonkeyPatch) -> None:
    queries([])

    def refuse(*_: object) -> None:
        raise ConnectionLost(Address("127.0.0.1", 1), "reset")

    monkeypatch.setattr(runner, "missing_inputs", refuse)
    with pytest.raises(JobFailed, match=r"stopped: no broker has answered for 10 minutes: lost the connection to 127"):
        run(NO_SPARK, JOB, SETTING, Stop(), nobody)


def test_a_topic_to_read_is_waited_for_with_a_line_now_and_then(
    queries: Callable[[list[Query]], None], monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    queries([Query(1, None)])
    looks = iter([["topic trucks_gps"]] * 25 + [[]])
    monkeypatch.setattr(runner, "missing_inputs", lambda *_: next(looks))
    told: list[JobProgress] = []
    run(NO_SPARK, JOB, SETTING, Stop(), told.append)
    waits = "there is no topic trucks_gps; create it, or mend --bootstrap"
    assert [record.reason for record in caplog.records] == [waits] * 3  # type: ignore[attr-defined]
    assert (told[0].state, told[0].reason) == ("restarting", waits)


def test_a_topic_to_read_is_not_waited_for_where_a_job_is_run_once(
    queries: Callable[[list[Query]], None], monkeypatch: pytest.MonkeyPatch
) -> None:
    queries([])
    monkeypatch.setattr(runner, "missing_inputs", lambda *_: ["topic trucks_gps"])
    with pytest.raises(JobFailed, match=r"^job truck-positions stopped: there is no topic trucks_gps; create it"):
        run(NO_SPARK, JOB, replace(SETTING, once=True), Stop(), nobody)


def test_a_batch_in_between_starts_the_count_anew(queries: Callable[[list[Query]], None]) -> None:
    failing = [Query(0, "away") for _ in range(STARTS_MAX - 1)]
    queries([*failing, Query(1, "away"), *failing, Query(0, None)])
    with pytest.raises(JobFailed):
        run(NO_SPARK, JOB, SETTING, Stop(), nobody)
    queries([*failing, Query(1, "away"), *failing[1:], Query(0, None)])
    run(NO_SPARK, JOB, SETTING, Stop(), nobody)


def test_a_job_that_is_stopped_ends(queries: Callable[[list[Query]], None]) -> None:
    stop = Event()

    class Stopping(Query):
        def awaitTermination(self, seconds: int) -> bool:
            stop.set()
            return super().awaitTermination(seconds)

    query = Stopping(1, None)
    queries([query])
    run(NO_SPARK, JOB, SETTING, stop, nobody)
    assert query.is_stopped


def test_rows_that_came_too_late_for_their_window_are_logged(
    queries: Callable[[list[Query]], None], caplog: pytest.LogCaptureFixture
) -> None:
    queries([Query(3, None)])
    run(NO_SPARK, JOB, SETTING, Event(), nobody)
    assert [(record.batch, record.rows) for record in caplog.records] == [(2, 2), (1, 1)]  # type: ignore[attr-defined]


def test_a_job_tells_how_it_is_when_that_changes_and_after_batches(queries: Callable[[list[Query]], None]) -> None:
    queries([Query(0, "broker away"), Query(2, None)])
    told: list[JobProgress] = []
    run(NO_SPARK, JOB, SETTING, Stop(), told.append)
    fields = [json.loads(each.value()) for each in told]
    assert [each.pop("time") for each in fields] == [each.time for each in told]
    named, done = {"job": JOB.name}, {"rows": 10, "rows_per_second": 5.0, "batch_ms": 2000, "lag": 3}
    assert fields == [
        named | {"state": "running"},
        named | {"state": "restarting", "reason": "broker away"},
        named | {"state": "running"},
        named | {"state": "running", "batch": 1} | done,
        named | {"state": "running", "batch": 0} | done,
        named | {"state": "ended", "batch": 0} | done,
    ]


def test_a_job_that_is_given_up_tells_why(queries: Callable[[list[Query]], None]) -> None:
    queries([Query(0, "broker away") for _ in range(STARTS_MAX)])
    told: list[JobProgress] = []
    with pytest.raises(JobFailed):
        run(NO_SPARK, JOB, SETTING, Stop(), told.append)
    assert (told[-1].state, told[-1].reason) == ("failed", "broker away")


def test_a_job_with_nothing_to_do_says_now_and_then_that_it_lives(queries: Callable[[list[Query]], None]) -> None:
    class Idle(Query):
        def awaitTermination(self, seconds: int) -> bool:
            ended = super().awaitTermination(seconds)
            self.lastProgress = None
            return ended

    queries([Idle(35, None)])
    told: list[JobProgress] = []
    run(NO_SPARK, JOB, SETTING, Stop(), told.append)
    assert [each.state for each in told] == ["running", "running", "running", "running", "ended"]


class Starting:
    """A query whose source is not there at the first look."""

    isActive = True

    def __init__(self, name: str, seen: list[str]) -> None:
        self._messages = iter(["Initializing StreamExecution", "Initializing sources", "Processing new data"])
        self._name, self._seen = name, seen
        seen.append(f"{name} starts")

    @property
    def status(self) -> dict[str, str]:
        message = next(self._messages)
        if not message.startswith("Initializing"):
            self._seen.append(f"{self._name} runs")
        return {"message": message}


def begin(turns: Turns, name: str, seen: list[str], stop: Event) -> "StreamingQuery | None":
    return turns.begin(lambda: cast("StreamingQuery", Starting(name, seen)), stop)


def test_jobs_start_one_after_the_other() -> None:
    turns, seen = Turns(), list[str]()
    threads = [Thread(target=begin, args=(turns, name, seen, Event())) for name in "ab"]
    for each in threads:
        each.start()
    for each in threads:
        each.join()
    first, second = seen[0][0], seen[2][0]
    assert seen == [f"{first} starts", f"{first} runs", f"{second} starts", f"{second} runs"]


def test_a_job_that_is_stopped_before_its_turn_is_not_started() -> None:
    turns, seen, stop = Turns(), list[str](), Event()
    stop.set()
    assert begin(turns, "a", seen, stop) is None
    assert seen == []


def test_a_query_that_failed_at_its_start_leaves_time_for_its_process_to_end() -> None:
    turns, stop = Turns(), Stop()

    def fail(error: str) -> None:
        failed = Query(0, error)
        failed.isActive, failed.status = False, {"message": "Terminated with exception"}
        assert turns.begin(lambda: cast("StreamingQuery", failed), stop) is cast("Any", failed)

    fail("broker away")
    assert stop.waited == []
    fail("[STREAM_FAILED] Query [id = 1] terminated with exception: Python worker failed to connect back.")
    assert stop.waited == [10.0]
    assert begin(turns, "b", [], stop) is not None
    assert stop.waited == [10.0]
