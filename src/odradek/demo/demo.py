"""The way of a demo: it is set up, runs, is checked where it ends by itself, and is stopped, whatever happens."""

import contextlib
import time
from collections.abc import Callable
from signal import SIGHUP
from threading import Thread
from typing import TypeVar

from odradek.demo import figures as shown
from odradek.demo.board import Board, new_figures
from odradek.demo.comparing import Outcome, compare, truth_of
from odradek.demo.jobs_setting import DRAIN, DRAINED, UP
from odradek.demo.parts import DemoSetting, Parts
from odradek.demo.reading import committed_rows
from odradek.demo.scenario import LIVE_MS
from odradek.demo.screen import Gone, Screen
from odradek.demo.signals import Stop, Stopped
from odradek.demo.workplace import Workplace
from odradek.pipelines.registry import JOBS

T = TypeVar("T")

BROKER, TOPICS, HISTORY, SPARK, PAGE, RESULTS = "broker", "topics", "history", "Spark", "page", "results"
_TICK_S = 0.2
_PAGE_SAYS = "console: "
_SIGNALLED = 128
_STOPS = "Ctrl-C stops all of it and leaves nothing behind."
_NO_PAGE = "no page: pip install 'odradek[console]'"
_KEEPS = "Ctrl-C stops all of it; data, checkpoints and logs stay in {}."


class Demo:
    """One run of it. `stop` is looked at several times a second."""

    def __init__(self, setting: DemoSetting, place: Workplace, screen: Screen, stop: Stop) -> None:
        self._setting, self._screen, self._stop = setting, screen, stop
        self._parts = Parts(setting, place)
        self._is_drained = False
        stages = [BROKER, TOPICS, HISTORY, SPARK, *([PAGE] if setting.has_page else []), RESULTS]
        fleet, estate = self._parts.scenario.fleet(), self._parts.scenario.estate()
        about = f"{fleet.trucks} trucks, {estate.tenants} tenants in {estate.centres} data centres"
        page = "" if setting.has_page else _NO_PAGE
        self._board = Board(new_figures(stages, list(JOBS), about, page), screen)

    def run(self) -> int:
        """The exit status. Raises ChildEnded and other errors of ours."""
        try:
            return self._run()
        except Stopped as stopped:
            return self._status(stopped.number)
        except Gone:
            return self._status(SIGHUP)
        finally:
            self._end()

    def _status(self, number: int) -> int:
        """Of a demo that was told to stop. Whoever asked for a check must not take what was not checked for good."""
        return 0 if self._setting.seconds is None else _SIGNALLED + number

    def _run(self) -> int:
        self._board.note(_STOPS if self._setting.keep is None else _KEEPS.format(self._setting.keep))
        bootstrap = self._reach_broker()
        self._board.begin(TOPICS, "being made")
        made = self._beside(lambda: self._parts.make_topics(bootstrap))
        self._board.done(TOPICS, f"{made} made")
        self._board.begin(SPARK, "Java and Spark are starting")
        if self._setting.has_page:
            self._board.begin(PAGE, "starting")
        self._parts.start_rest(bootstrap)
        writer = self._parts.writer
        assert writer is not None
        self._until(lambda: writer.is_live and self._board.figures.ready)
        writer.live.set()
        live_s = time.monotonic()
        seconds = self._setting.seconds
        self._until(lambda: seconds is not None and time.monotonic() - live_s >= seconds)
        return self._check(bootstrap)

    def _reach_broker(self) -> str:
        if self._setting.bootstrap is not None:
            self._board.done(BROKER, f"{self._setting.bootstrap}, which was there")
            return self._setting.bootstrap
        self._board.begin(BROKER, "starting")
        broker = self._parts.start_broker()
        self._until(lambda: broker.first_word is not None)
        address = str(broker.first_word)
        self._board.done(BROKER, address)
        return address

    def _check(self, bootstrap: str) -> int:
        writer, jobs = self._parts.writer, self._parts.jobs
        assert writer is not None
        assert jobs is not None
        self._board.note("No more events are written; the jobs read what is left.")
        writer.stop.set()
        self._until(lambda: writer.is_done)
        jobs.tell(DRAIN)
        self._until(lambda: self._is_drained)
        self._board.note("The results are compared with the truth.")
        outcomes = self._beside(lambda: self._outcomes(bootstrap, writer.written))
        self._board.end(shown.outcome_lines(outcomes))
        return 1 if any(each.differences for each in outcomes) else 0

    def _outcomes(self, bootstrap: str, written: int) -> list[Outcome]:
        scenario = self._parts.scenario
        rows = {job.result: committed_rows(bootstrap, job.result) for job in JOBS.values()}
        return compare(rows, truth_of(scenario.first(written), scenario.plans()))

    def _end(self) -> None:
        """A terminal that is gone is no reason to leave anything running."""
        with contextlib.suppress(Gone):
            self._board.note("Stopping.")
            self._board.draw()
        told = self._parts.stop()
        with contextlib.suppress(Gone):
            self._screen.say(*(f"odradek: {each}" for each in told), "Stopped.")

    # --- while it runs

    def _until(self, condition: Callable[[], object]) -> None:
        """Raises Stopped, ChildEnded, Gone, and what the writer failed with."""
        while not condition():
            self._stop.check()
            self._parts.check()
            self._observe()
            self._board.draw()
            time.sleep(_TICK_S)

    def _beside(self, call: Callable[[], T]) -> T:
        """What it returns or raises. It may take long, and is left alone where the demo is to stop."""
        outcomes: list[T] = []
        failures: list[Exception] = []

        def work() -> None:
            try:
                outcomes.append(call())
            except Exception as error:  # noqa: BLE001 - raised by whoever waits for it
                failures.append(error)

        thread = Thread(target=work, name="beside", daemon=True)
        thread.start()
        self._until(lambda: not thread.is_alive())
        if failures:
            raise failures[0]
        return outcomes[0]

    def _observe(self) -> None:
        """Bring the board up to date."""
        parts, board = self._parts, self._board
        if parts.writer is not None:
            board.written(parts.writer.written, parts.writer.time_ms)
            total_ms = LIVE_MS - parts.scenario.start_ms
            tell = board.done if parts.writer.is_live else board.begin
            tell(HISTORY, shown.history_text(parts.writer.history_ms, total_ms, parts.writer.written))
        for message in parts.jobs.said() if parts.jobs is not None else ():
            if message == UP:
                board.done(SPARK, f"on {self._setting.master}")
                board.begin(RESULTS, shown.results_text(board.figures.jobs))
            self._is_drained |= message == DRAINED
        for message in parts.page.said() if parts.page is not None else ():
            if message.startswith(_PAGE_SAYS):
                board.figures.page = message.removeprefix(_PAGE_SAYS)
                board.done(PAGE, board.figures.page)
        for told in parts.reader.news() if parts.reader is not None else ():
            board.progress(told)
            tell = board.done if board.figures.is_live else board.begin
            tell(RESULTS, shown.results_text(board.figures.jobs))
