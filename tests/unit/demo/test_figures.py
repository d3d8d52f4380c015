"""What the demo says of itself fits 80 columns, and says what there is."""

import re
from collections import Counter
from collections.abc import Sequence

from odradek.demo import figures as shown
from odradek.demo.board import Board, new_figures
from odradek.demo.comparing import Outcome
from odradek.demo.figures import Figures, JobFigures, Rate
from odradek.demo.scenario import LIVE_MS
from odradek.pipelines.registry import JOBS

PAGE = "http://127.0.0.1:54321/"
ABOUT = "100 trucks, 40 tenants in 8 data centres"


class Kept:
    def __init__(self, *, is_terminal: bool) -> None:
        self.is_terminal = is_terminal
        self.frames: list[list[str]] = []
        self.lines: list[str] = []

    def draw(self, lines: Sequence[str]) -> None:
        self.frames.append(list(lines))

    def say(self, *lines: str) -> None:
        self.lines += lines


def told(job: str, **fields: object) -> dict[str, object]:
    return {"job": job, "state": "running", "time": "2026-03-02T08:00:00.000Z", **fields}


def batch(job: str, number: int) -> dict[str, object]:
    return told(job, batch=number, rows=61_234, rows_per_second=12_345.6, batch_ms=123_456, lag=1_234_567)


def figures() -> Figures:
    return new_figures(["broker", "topics", "results"], list(JOBS), ABOUT, PAGE)


def test_set_up_tells_what_is_done_and_what_is_not() -> None:
    screen = Kept(is_terminal=True)
    board = Board(figures(), screen)
    board.begin("broker", "starting")
    board.done("broker", "127.0.0.1:9092")
    board.begin("topics", "being made")
    board.note("Ctrl-C stops all of it.")
    board.draw()
    head, empty, broker, topics, results, *rest = screen.frames[0]
    assert head.split() == ["odradek", "demo", PAGE]
    assert re.fullmatch(r"ok  broker    127\.0\.0\.1:9092 +\d+\.\d s", broker)
    assert re.fullmatch(r"\.\.  topics    being made +\d+\.\d s", topics)
    assert len(broker) == len(topics) == shown.WIDTH
    assert results.strip() == "results"
    assert [empty, *rest] == ["", "", "Ctrl-C stops all of it."]
    assert screen.lines == []


def test_live_figures_have_a_line_for_each_job_and_fit_80_columns() -> None:
    screen = Kept(is_terminal=True)
    board = Board(figures(), screen)
    for job in JOBS:
        board.progress(batch(job, 12_345))
    board.written(123_456_789, LIVE_MS)
    board.draw()
    lines = screen.frames[-1]
    assert max(map(len, lines)) <= shown.WIDTH
    assert "123,456,789 events written" in lines[2]
    assert "Mon 08:00 there, 60 times as fast" in lines[2]
    assert lines[3] == ABOUT
    assert lines[5].split() == ["job", "state", "batch", "took", "rows/s", "lag", "starts"]
    expected = ["running", "12,345", "123.5", "s", "12,346", "1,234,567", "1"]
    assert [line.split() for line in lines[6:14]] == [[job, *expected] for job in JOBS]


def test_figures_are_live_when_every_job_has_given_results() -> None:
    made = figures()
    board = Board(made, Kept(is_terminal=True))
    first, *others = JOBS
    for job in others:
        board.progress(told(job))
        board.progress(batch(job, 0))
    board.progress(told(first))
    assert (made.ready, made.is_live) == (7, False)
    board.progress(batch(first, 0))
    assert made.is_live


def test_a_job_that_is_started_again_is_counted_and_its_reason_told() -> None:
    screen = Kept(is_terminal=False)
    board = Board(figures(), screen)
    for _ in range(3):  # while it waits
        board.progress(told("driver-alerts", state="restarting", reason="no broker answers"))
    job = board.figures.jobs["driver-alerts"]
    assert (job.restarts, job.reason) == (1, "no broker answers")
    assert screen.lines == ["job driver-alerts is started again: no broker answers"]
    assert "driver-alerts: no broker answers" in shown.frame(board.figures)
    board.progress(batch("driver-alerts", 3))
    assert (job.restarts, job.reason, job.batch) == (1, None, 3)


def test_progress_of_other_jobs_is_left_out() -> None:
    board = Board(figures(), Kept(is_terminal=True))
    board.progress(told("somebody-elses"))
    board.progress({"unreadable": "?"})
    assert board.figures.jobs == {job: JobFigures() for job in JOBS}


def test_without_a_terminal_each_step_is_a_line() -> None:
    screen = Kept(is_terminal=False)
    board = Board(figures(), screen)
    board.note("Ctrl-C stops all of it.")
    board.begin("broker", "starting")
    board.done("broker", "127.0.0.1:9092")
    board.done("broker", "127.0.0.1:9092")
    for job in JOBS:
        board.progress(batch(job, 1))
    board.written(10, LIVE_MS)
    board.draw()
    note, broker, summary = screen.lines
    assert note == "Ctrl-C stops all of it."
    assert re.fullmatch(r"broker: 127\.0\.0\.1:9092 \(\d+\.\d s\)", broker)
    assert summary == "10 events written, 0 a second; the jobs are at most 1,234,567 behind"


def test_a_rate_is_that_of_the_last_seconds() -> None:
    rate = Rate(span_s=5.0)
    assert rate.take(0.0, 0) == 0.0
    assert rate.take(2.0, 100) == 50.0
    assert rate.take(7.0, 1_100) == 200.0
    assert rate.take(20.0, 1_100) == 0.0


def test_outcomes_are_a_table_with_examples_of_differences() -> None:
    same = Outcome("truck-positions", 1_060, 1_060, Counter(), Counter())
    other = Outcome("driver-alerts", 8, 9, Counter(["a"]), Counter({"b": 2}))
    assert shown.outcome_lines([same, other]) == [
        "job                     expected     found  differences",
        "truck-positions            1,060     1,060            0",
        "driver-alerts                  8         9            2",
        "driver-alerts: missing a",
        "driver-alerts: unexpected b",
    ]
