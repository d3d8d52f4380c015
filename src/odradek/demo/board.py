"""Shows the figures: drawn in place at a terminal, else a line for each step and one now and then."""

import time
from collections.abc import Sequence
from typing import Any

from odradek.demo import figures as shown
from odradek.demo.figures import Figures, JobFigures, Rate
from odradek.demo.screen import Screen

_SUMMARY_S = 10.0


class Board:
    def __init__(self, figures: Figures, screen: Screen) -> None:
        self.figures = figures
        self._screen = screen
        self._began_s: dict[str, float] = {}
        self._rate = Rate()
        self._summary_s = 0.0

    def begin(self, stage: str, text: str) -> None:
        """Or tell how far it is."""
        if not self.figures.stages[stage].is_done:
            began_s = self._began_s.setdefault(stage, time.monotonic())
            self.figures.stages[stage].text = text
            self.figures.stages[stage].took_s = time.monotonic() - began_s

    def done(self, stage: str, text: str) -> None:
        """Once it is, it stays so."""
        if not self.figures.stages[stage].is_done:
            self.begin(stage, text)
            self.figures.stages[stage].is_done = True
            self._say_line(f"{stage}: {text} ({self.figures.stages[stage].took_s:.1f} s)")

    def note(self, text: str) -> None:
        self.figures.note = text
        self._say_line(text)

    def written(self, events: int, time_ms: int) -> None:
        """So many by now, and the time there."""
        self.figures.written, self.figures.time_ms = events, time_ms
        self.figures.per_second = self._rate.take(time.monotonic(), events)

    def progress(self, told: dict[str, Any]) -> None:
        """A record of the topic of progress; jobs that are not ours are left out."""
        name = str(told.get("job"))
        job = self.figures.jobs.get(name)
        if job is None:
            return
        if job.take(told):
            self._say_line(f"job {name} is started again: {job.reason}")

    def draw(self) -> None:
        for stage in self._began_s:
            self.begin(stage, self.figures.stages[stage].text)
        self._screen.draw(shown.frame(self.figures))
        now_s = time.monotonic()
        if self.figures.is_live and now_s >= self._summary_s:
            self._summary_s = now_s + _SUMMARY_S
            self._say_line(shown.summary(self.figures))

    def end(self, lines: Sequence[str]) -> None:
        """Below all the rest."""
        self.draw()
        self._screen.say("", *lines)

    def _say_line(self, line: str) -> None:
        if not self._screen.is_terminal:
            self._screen.say(line)


def new_figures(stages: Sequence[str], jobs: Sequence[str], about: str, page: str) -> Figures:
    return Figures(shown.stages(stages), {job: JobFigures() for job in jobs}, about, page)
