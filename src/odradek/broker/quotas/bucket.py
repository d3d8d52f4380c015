"""A bucket of tokens: what bursts are paid from."""

from math import floor

from odradek.broker.quotas.rate import Windows
from odradek.model.settings import INT_MAX

_MS = 1000


class TokenBucket:
    """Fills at `bound` tokens a second, and holds as many as come in all windows. It begins full.

    It may go below zero: whoever finds some tokens may take more than there are, and all wait until they are back.
    """

    __slots__ = ("_at_ms", "_tokens", "_windows", "bound")

    def __init__(self, bound: float, windows: Windows) -> None:
        self.bound = bound
        self._windows = windows
        self._tokens = 0.0
        self._at_ms: int | None = None

    def set_bound(self, bound: float) -> None:
        self.bound = bound

    def take(self, tokens: float, now_ms: int) -> None:
        self._refill(now_ms)
        self._tokens -= tokens

    def wait_ms(self, now_ms: int) -> int:
        """Until there are no tokens owed: 0 where there are none."""
        self._refill(now_ms)
        if self._tokens >= 0:
            return 0
        return min(floor(-self._tokens / self.bound * _MS + 0.5), INT_MAX)

    def is_over(self, now_ms: int) -> bool:
        """Whether it is full: a new one would be the same."""
        self._refill(now_ms)
        return self._tokens >= self._most

    @property
    def _most(self) -> float:
        return self.bound * self._windows.span_ms / _MS

    def _refill(self, now_ms: int) -> None:
        if self._at_ms is None:
            self._tokens = self._most
        else:
            self._tokens = min(self._most, self._tokens + self.bound * (now_ms - self._at_ms) / _MS)
        self._at_ms = now_ms
