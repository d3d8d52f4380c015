"""Rates as Kafka measures them: sums over windows of time, the oldest of which are forgotten."""

from collections.abc import Callable
from math import ceil
from typing import NamedTuple, TypeAlias

from odradek.model.settings import INT_MAX

NowMs: TypeAlias = Callable[[], int]
"""Milliseconds of a clock that never goes back, since whenever."""

_MS = 1000
_FAR = 0.9
"""Of what may come, as much is far from being too much."""
_LITTLE_PARTS = 10_000
"""Of what may come in one window: one of them makes no difference, nor do those of some hundred clients."""


class Windows(NamedTuple):
    """`quota.window.num` and `quota.window.size.seconds`, or those of the controller."""

    samples: int = 11
    size_ms: int = 1000

    @property
    def span_ms(self) -> int:
        """What happened longer ago does not count any more."""
        return self.samples * self.size_ms

    @property
    def least_ms(self) -> int:
        """Over which a rate is measured at least, however little of it has passed."""
        return (self.samples - 1) * self.size_ms


class _Sample:
    """What came within one window."""

    __slots__ = ("amount", "last_ms", "start_ms")

    def __init__(self, now_ms: int) -> None:
        self.reset(now_ms)

    def reset(self, now_ms: int) -> None:
        self.amount = 0.0
        self.start_ms = self.last_ms = now_ms


class Rate:
    """How much came a second, and how long to wait for that to be within `bound` again.

    A window begins with the first amount after the last one ended. The rate is the sum of what is in all windows,
    divided by the time since the oldest began, which counts as all windows but one if it is less: a client that was
    silent may send at once what it may send in that time, and waits after that until the time has really passed.

    That is Kafka's measure where the windows are full. Before, Kafka's grows with each window and falls back at its
    end, and its clients wait less than they would have to: a fast one is 12 % above its quota in the first ten
    seconds, ten that share one 23 %.
    """

    __slots__ = (
        "_enough",
        "_number",
        "_sample",
        "_sample_end_ms",
        "_samples",
        "_total",
        "_windows",
        "bound",
    )

    def __init__(self, bound: float, windows: Windows) -> None:
        self._windows = windows
        self._samples: list[_Sample] = []
        self._number = -1
        """Of the current one among them."""
        self._sample = _Sample(0)
        self._sample_end_ms = -1
        self._total = 0.0
        self.set_bound(bound)

    def set_bound(self, bound: float) -> None:
        self.bound = bound
        self._enough = bound * self._windows.least_ms / _MS
        """As long as the sum is not more than this, so is no rate."""

    @property
    def little(self) -> float:
        """As much may go uncounted of a client, for now: none where others may have to wait for it."""
        is_far = self._total < _FAR * self._enough
        return self.bound * self._windows.size_ms / _MS / _LITTLE_PARTS if is_far else 0.0

    def charge(self, amount: float, now_ms: int) -> int:
        """Count an amount; returns for how many milliseconds the client is to wait, 0 where it is within its bound."""
        sample = self._sample if now_ms < self._sample_end_ms else self._advance(now_ms)
        sample.amount += amount
        sample.last_ms = now_ms
        total = self._total = self._total + amount
        return 0 if total <= self._enough else self.excess_ms(now_ms)

    def excess_ms(self, now_ms: int) -> int:
        """How long nothing may come for the rate to be within its bound: 0 where it is."""
        self._forget(now_ms)
        elapsed_ms = now_ms - min((sample.start_ms for sample in self._samples), default=now_ms)
        if self._total * _MS <= self.bound * max(elapsed_ms, self._windows.least_ms, 1):
            return 0
        if self.bound == 0:
            return INT_MAX
        return min(ceil(self._total / self.bound * _MS) - elapsed_ms, INT_MAX)

    def is_over(self, now_ms: int) -> bool:
        """Whether nothing of it counts any more: a new one would say the same."""
        return all(now_ms - sample.last_ms >= self._windows.span_ms for sample in self._samples)

    def _advance(self, now_ms: int) -> _Sample:
        # One more than the windows that count: the oldest may lie half within what is looked at.
        self._number = (self._number + 1) % (self._windows.samples + 1)
        if self._number == len(self._samples):
            self._samples.append(_Sample(now_ms))
        else:
            self._samples[self._number].reset(now_ms)
            self._sum()
        self._sample = self._samples[self._number]
        self._sample_end_ms = now_ms + self._windows.size_ms
        return self._sample

    def _forget(self, now_ms: int) -> None:
        span_ms = self._windows.span_ms
        old = [sample for sample in self._samples if now_ms - sample.last_ms >= span_ms]
        for sample in old:
            sample.reset(now_ms)
        if old:
            self._sum()

    def _sum(self) -> None:
        self._total = sum(sample.amount for sample in self._samples)
