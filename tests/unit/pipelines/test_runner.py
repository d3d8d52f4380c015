"""When a job is started again, and when it is given up. No Spark runs here."""

from collections.abc import Callable
from dataclasses import replace
from threading import Event
from typing import TYPE_CHECKING, Any, cast

import pytest
from pyspark.errors import StreamingQueryException

from odradek.client.errors import ConnectionLost
from odradek.model.address import Address
from odradek.pipelines import runner
from odradek.pipelines.registry import JOBS
from odradek.pipelines.runner import JobFailed, Setting, run

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

JOB = JOBS["truck-positions"]
SETTING = Setting("127.0.0.1:1", "nowhere")
STARTS_MAX = 6
NO_SPARK = cast("SparkSession", None)


class Query:
    """Fails after so many batches, or ends."""

    def __init__(self, batches: int, error: str | None) -> None:
        self._left, self._error = batches, error
        self.lastProgress: dict[str, Any] | None = None
        self.is_stopped = False

    def awaitTermination(self, _seconds: int) -> bool:
        if self._left:
            self._left -= 1
            self.lastProgress = {"batchId": self._left, "stateOperators": [{"numRowsDroppedByWatermark": self._left}]}
            return False
        if self._error is not None:
            raise StreamingQueryException(self._error)
        return True

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
        monkeypatch.setattr(runner, "make_topics", lambda *_: None)

    return give


def test_a_job_is_started_again_until_it_ends(queries: Callable[[list[Query]], None]) -> None:
    queries([Query(0, "broker away"), Query(0, "broker away"), Query(2, None)])
    stop = Stop()
    run(NO_SPARK, JOB, SETTING, stop)
    assert stop.waited == [1.0, 2.0]


def test_a_job_that_does_nothing_but_fail_is_given_up(queries: Callable[[list[Query]], None]) -> None:
    queries([Query(0, "\n  broker away\nmore") for _ in range(STARTS_MAX)])
    stop = Stop()
    with pytest.raises(JobFailed, match=r"^job truck-positions failed 6 times .* between: broker away$"):
        run(NO_SPARK, JOB, SETTING, stop)
    assert stop.waited == [1.0, 2.0, 4.0, 8.0, 16.0]


def test_an_error_of_ours_is_told_without_what_spark_says_around_it(queries: Callable[[list[Query]], None]) -> None:
    told = "[STREAM_FAILED] Query [id = 1] ended:\nFailed: odradek.spark.cluster.NoSuchTopic: topic t does not exist"
    queries([Query(0, told) for _ in range(STARTS_MAX)])
    with pytest.raises(JobFailed, match=r"between: topic t does not exist$"):
        run(NO_SPARK, JOB, SETTING, Stop())


def test_pauses_have_a_bound(queries: Callable[[list[Query]], None]) -> None:
    queries([*(Query(0, "broker away") for _ in range(7)), Query(0, None)])
    stop = Stop()
    run(NO_SPARK, JOB, replace(SETTING, starts_max=8), stop)
    assert stop.waited == [1.0, 2.0, 4.0, 8.0, 16.0, 16.0, 16.0]


def test_a_broker_that_is_away_counts_like_a_query_that_fails(monkeypatch: pytest.MonkeyPatch) -> None:
    def refuse(*_: object) -> None:
        raise ConnectionLost(Address("127.0.0.1", 1), "reset")

    monkeypatch.setattr(runner, "make_topics", refuse)
    with pytest.raises(JobFailed, match="failed 6 times"):
        run(NO_SPARK, JOB, SETTING, Stop())


def test_a_batch_in_between_starts_the_count_anew(queries: Callable[[list[Query]], None]) -> None:
    failing = [Query(0, "away") for _ in range(STARTS_MAX - 1)]
    queries([*failing, Query(1, "away"), *failing, Query(0, None)])
    with pytest.raises(JobFailed):
        run(NO_SPARK, JOB, SETTING, Stop())
    queries([*failing, Query(1, "away"), *failing[1:], Query(0, None)])
    run(NO_SPARK, JOB, SETTING, Stop())


def test_a_job_that_is_stopped_ends(queries: Callable[[list[Query]], None]) -> None:
    stop = Event()

    class Stopping(Query):
        def awaitTermination(self, seconds: int) -> bool:
            stop.set()
            return super().awaitTermination(seconds)

    query = Stopping(1, None)
    queries([query])
    run(NO_SPARK, JOB, SETTING, stop)
    assert query.is_stopped


def test_rows_that_came_too_late_for_their_window_are_logged(
    queries: Callable[[list[Query]], None], caplog: pytest.LogCaptureFixture
) -> None:
    queries([Query(3, None)])
    run(NO_SPARK, JOB, SETTING, Event())
    assert [(record.batch, record.rows) for record in caplog.records] == [(2, 2), (1, 1)]  # type: ignore[attr-defined]
