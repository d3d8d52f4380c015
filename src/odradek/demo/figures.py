"""What the demo shows of itself, and how that reads at a terminal of 80 columns."""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from datetime import UTC, datetime
from typing import Any

from odradek.demo.comparing import Outcome
from odradek.demo.scenario import SPEED

WIDTH = 79
"""What fits a terminal of 80 columns, whose last one stays free."""
_NAME = 10
_JOB = 22
_MINUTE_MS = 60_000
_REASON_MAX = 200
_RESTARTING = "restarting"


@dataclass(slots=True)
class Stage:
    """Of the set-up."""

    name: str
    text: str = ""
    """Empty before it has begun."""
    took_s: float | None = None
    """So far, or all in all."""
    is_done: bool = False


@dataclass(slots=True)
class JobFigures:
    """What a job told of itself last, and how often it was started again."""

    state: str = "starting"
    batch: int | None = None
    rows_per_second: float = 0.0
    lag: int | None = None
    batch_ms: int | None = None
    restarts: int = 0
    reason: str | None = None

    def take(self, told: Mapping[str, Any]) -> bool:
        """A record of the topic of progress. Whether it says that the job is to be started again, for the first time:
        while it waits, it says so again and again."""
        before, self.state = self.state, str(told.get("state", "?"))
        self.batch = told.get("batch", self.batch)
        self.rows_per_second = told.get("rows_per_second", self.rows_per_second)
        self.lag = told.get("lag", self.lag)
        self.batch_ms = told.get("batch_ms", self.batch_ms)
        self.reason = told.get("reason")
        is_new = self.state == _RESTARTING != before
        self.restarts += is_new
        return is_new


@dataclass(slots=True)
class Figures:
    stages: dict[str, Stage]
    jobs: dict[str, JobFigures]
    about: str
    """What is simulated."""
    page: str = ""
    """Its address, or why there is none."""
    written: int = 0
    per_second: float = 0.0
    time_ms: int = 0
    """Of the time there."""
    note: str = ""
    """What happens now, or what to do."""

    @property
    def ready(self) -> int:
        """Jobs that have given results."""
        return sum(job.batch is not None for job in self.jobs.values())

    @property
    def is_live(self) -> bool:
        return self.ready == len(self.jobs)


@dataclass(slots=True)
class Rate:
    """How fast a number grows, over the last few seconds."""

    span_s: float = 5.0
    _seen: list[tuple[float, int]] = field(default_factory=list)

    def take(self, now_s: float, number: int) -> float:
        self._seen = [*(each for each in self._seen if each[0] >= now_s - self.span_s), (now_s, number)]
        first_s, first = self._seen[0]
        return (number - first) / (now_s - first_s) if now_s > first_s else 0.0


def frame(figures: Figures) -> list[str]:
    """All of it, as it is now."""
    head = _ends("odradek demo", figures.page)
    body = _live(figures) if figures.is_live else _setting_up(figures)
    return [head, "", *body, "", figures.note]


def _setting_up(figures: Figures) -> list[str]:
    lines = []
    for stage in figures.stages.values():
        mark = "ok" if stage.is_done else (".." if stage.text else "")
        took = f"{stage.took_s:.1f} s" if stage.took_s is not None else ""
        lines.append(_ends(f"{mark:<4}{stage.name:<{_NAME}}{stage.text}", took))
    return [*lines, *_reasons(figures.jobs)]


def _live(figures: Figures) -> list[str]:
    moment = datetime.fromtimestamp(figures.time_ms / 1000, UTC)
    written = f"{figures.written:,} events written, {figures.per_second:,.0f} a second"
    there = f"{moment:%a %H:%M} there, {SPEED} times as fast"
    return [_ends(written, there), figures.about, "", *_job_lines(figures.jobs), *_reasons(figures.jobs)]


def _job_lines(jobs: Mapping[str, JobFigures]) -> list[str]:
    titles = f"{'job':<{_JOB}}{'state':<12}{'batch':>7}{'took':>9}{'rows/s':>10}{'lag':>10}{'starts':>8}"
    lines = [titles]
    for name, job in jobs.items():
        took = "-" if job.batch_ms is None else f"{job.batch_ms / 1000:.1f} s"
        batch, lag = ("-" if each is None else f"{each:,}" for each in (job.batch, job.lag))
        rate, starts = f"{job.rows_per_second:,.0f}", job.restarts + 1
        lines.append(f"{name:<{_JOB}}{job.state:<12}{batch:>7}{took:>9}{rate:>10}{lag:>10}{starts:>8}")
    return lines


def _reasons(jobs: Mapping[str, JobFigures]) -> list[str]:
    return [f"{name}: {job.reason}"[:_REASON_MAX] for name, job in jobs.items() if job.reason]


def summary(figures: Figures) -> str:
    """The live part in one line, for a log."""
    lags = [job.lag for job in figures.jobs.values() if job.lag is not None]
    restarts = sum(job.restarts for job in figures.jobs.values())
    again = f", started again {restarts} times" if restarts else ""
    written = f"{figures.written:,} events written, {figures.per_second:,.0f} a second"
    return f"{written}; the jobs are at most {max(lags, default=0):,} behind{again}"


def outcome_lines(outcomes: Sequence[Outcome]) -> list[str]:
    """A table, and an example of each difference."""
    lines = [f"{'job':<{_JOB}}{'expected':>10}{'found':>10}{'differences':>13}"]
    lines += [f"{each.job:<{_JOB}}{each.expected:>10,}{each.found:>10,}{each.differences:>13,}" for each in outcomes]
    for each in outcomes:
        lines += [f"{each.job}: {example}"[:_REASON_MAX] for example in each.examples()]
    return lines


def history_text(done_ms: int, total_ms: int, events: int) -> str:
    return f"{_hours(done_ms)} of {_hours(total_ms)}, {events:,} events"


def results_text(jobs: Mapping[str, JobFigures]) -> str:
    ready = sum(job.batch is not None for job in jobs.values())
    again = sum(job.restarts for job in jobs.values())
    return f"{ready} of {len(jobs)} jobs" + (f", started again {again} times" if again else "")


def _hours(ms: int) -> str:
    return f"{ms // _MINUTE_MS // 60} h {ms // _MINUTE_MS % 60:02} min"


def _ends(left: str, right: str, width: int = WIDTH) -> str:
    """Left and right on one line."""
    return f"{left}{right:>{max(width - len(left), len(right) + 2)}}" if right else left


def stages(names: Iterable[str]) -> dict[str, Stage]:
    return {name: Stage(name) for name in names}
