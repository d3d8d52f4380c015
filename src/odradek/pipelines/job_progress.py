"""What a job tells of itself: the record of it in the topic of progress. It imports no Spark."""

import json
from collections.abc import Callable, Mapping
from dataclasses import asdict, dataclass
from enum import StrEnum
from typing import Any

from odradek.pipelines.contract import json_text


class State(StrEnum):
    RUNNING = "running"
    RESTARTING = "restarting"
    ENDED = "ended"
    FAILED = "failed"


@dataclass(frozen=True, slots=True)
class BatchDone:
    batch: int
    rows: int
    rows_per_second: float
    batch_ms: int
    lag: int | None
    """Records that were there when the batch was planned, behind its end. None where Spark does not say."""


@dataclass(frozen=True, slots=True)
class JobProgress:
    job: str
    state: State
    time: str
    """When it was told."""
    last: BatchDone | None = None
    """The last batch of this run, if there is one."""
    reason: str | None = None

    def value(self) -> str:
        """A field that has no value is left out."""
        done = asdict(self.last) if self.last is not None else {}
        told = {"job": self.job, "state": str(self.state), **done, "time": self.time, "reason": self.reason}
        return json_text(told)


Tell = Callable[[JobProgress], None]


def batch_done(progress: Mapping[str, Any]) -> BatchDone:
    """From the progress of a query, as Spark gives it."""
    lags = [_lag(source) for source in progress["sources"]]
    return BatchDone(
        batch=progress["batchId"],
        rows=progress["numInputRows"] or 0,
        rows_per_second=round(progress["processedRowsPerSecond"] or 0.0, 1),
        batch_ms=progress["batchDuration"],
        lag=None if None in lags else sum(each or 0 for each in lags),
    )


def _lag(source: Mapping[str, Any]) -> int | None:
    latest, end = _offsets(source["latestOffset"]), _offsets(source["endOffset"])
    if latest is None or end is None:
        return None
    return sum(max(0, offset - end.get(partition, 0)) for partition, offset in latest.items())


def _offsets(text: str | None) -> dict[tuple[str, str], int] | None:
    """By topic and partition. Beside topics there are notes of the source, and beside partitions the topic's id."""
    told = json.loads(text) if text else None
    if not isinstance(told, dict):
        return None
    topics = {topic: inner for topic, inner in told.items() if isinstance(inner, dict)}
    return {
        (topic, name): offset for topic, inner in topics.items() for name, offset in inner.items() if name.isdecimal()
    }
