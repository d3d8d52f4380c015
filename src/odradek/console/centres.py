"""Data centres: who is active in them, and how long they take, window by window."""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Generic, Protocol, TypeVar

from odradek.console.rows import Activity, CentreUsers, Mean, Trend

WINDOWS_MAX = 120
"""Of each series, the newest ones."""
CENTRES_MAX = 100
"""Further data centres are left out."""


class Windowed(Protocol):
    @property
    def start_ms(self) -> int: ...


W = TypeVar("W", bound=Windowed)


class Series(Generic[W]):
    """The newest windows, in order. A window that comes again replaces what it was."""

    def __init__(self) -> None:
        self._windows: dict[int, W] = {}

    def put(self, window: W) -> None:
        self._windows[window.start_ms] = window
        if len(self._windows) > WINDOWS_MAX:
            del self._windows[min(self._windows)]

    def windows(self) -> tuple[W, ...]:
        return tuple(self._windows[start] for start in sorted(self._windows))


@dataclass(frozen=True, slots=True)
class Centre:
    name: str
    users: int | None
    """Active now; None where nothing is known of it."""
    last: Trend | None
    """Of the last whole minute; None where nothing happened in it."""
    trends: tuple[Trend, ...]
    means: tuple[Mean, ...]

    @property
    def is_anomalous(self) -> bool:
        """In one of the last two windows: the last one may have just begun."""
        return any(mean.is_anomaly for mean in self.means[-2:])


class Centres:
    def __init__(self) -> None:
        self._activity: Series[Activity] = Series()
        self._users: dict[str, Series[CentreUsers]] = {}
        self._trends: dict[str, Series[Trend]] = {}
        self._means: dict[str, Series[Mean]] = {}

    def put_activity(self, row: Activity) -> None:
        self._activity.put(row)

    def put_users(self, row: CentreUsers) -> None:
        _put(self._users, row.centre, row)

    def put_trend(self, row: Trend) -> None:
        _put(self._trends, row.centre, row)

    def put_mean(self, row: Mean) -> None:
        _put(self._means, row.centre, row)

    def activity(self) -> tuple[Activity, ...]:
        """Up to the window that is now.

        Windows slide: the newest ones have only begun, and count a part of what is going on. Now is the one that ends
        soonest after the last event, which is in the newest window, in the part of it that no older one has.
        """
        windows = self._activity.windows()
        if not windows:
            return ()
        newest_ms = windows[-1].start_ms
        over = [each for each in windows if each.end_ms <= newest_ms]
        return (*over, *[each for each in windows if each.end_ms > newest_ms][:1])

    def centres(self) -> tuple[Centre, ...]:
        names = sorted({*self._users, *self._trends, *self._means})
        window = self.activity()
        users_at_ms = window[-1].start_ms if window else None
        trend_at_ms = self._last_whole_ms()
        found = []
        for name in names:
            trends, means = _windows(self._trends, name), _windows(self._means, name)
            last = next((each for each in trends if each.start_ms == trend_at_ms), None)
            found.append(Centre(name, self._users_now(name, users_at_ms), last, trends, means))
        return tuple(found)

    def _last_whole_ms(self) -> int | None:
        """Where it begins: the newest window is still being filled, so it is the one before, if there is one."""
        starts = {each.start_ms for series in self._trends.values() for each in series.windows()[-2:]}
        return max(starts - {max(starts)}, default=max(starts)) if starts else None

    def _users_now(self, name: str, start_ms: int | None) -> int | None:
        windows = _windows(self._users, name)
        return next((each.users for each in windows if each.start_ms == start_ms), 0 if windows else None)


def _windows(by_centre: Mapping[str, Series[W]], name: str) -> tuple[W, ...]:
    return by_centre[name].windows() if name in by_centre else ()


def _put(by_centre: dict[str, Series[W]], name: str, row: W) -> None:
    if name in by_centre or len(by_centre) < CENTRES_MAX:
        by_centre.setdefault(name, Series()).put(row)
