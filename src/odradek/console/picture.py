"""All that the page shows: gathered row by row, and handed out as a picture that does not change any more."""

from collections import Counter
from dataclasses import dataclass

from odradek.console.centres import Centre, Centres
from odradek.console.fleet import Fleet, Overtime, Truck
from odradek.console.rows import (
    TRUCKS_GPS,
    Activity,
    Alert,
    CentreUsers,
    Letter,
    Mean,
    Position,
    Progress,
    Row,
    Trend,
)

JOBS_MAX = 100
REASONS_MAX = 30
OTHER_REASONS = "other"


@dataclass(frozen=True, slots=True)
class Link:
    """How it stands with the cluster."""

    bootstrap: str
    away_since_ms: int | None = None
    """By this machine's clock; None while a broker answers."""
    missing: tuple[str, ...] = ()
    """Topics that are not there yet."""
    loaded: bool = False
    """Whether all that was there at the start has been read."""


@dataclass(frozen=True, slots=True)
class Picture:
    link: Link
    event_ms: int | None = None
    """The newest time that an event or a window has told."""
    trucks: tuple[Truck, ...] = ()
    overtimes: tuple[Overtime, ...] = ()
    activity: tuple[Activity, ...] = ()
    centres: tuple[Centre, ...] = ()
    jobs: tuple[Progress, ...] = ()
    letters: tuple[tuple[str, int], ...] = ()
    """How many for each reason, the most frequent first."""
    bad_rows: int = 0


class Gathering:
    def __init__(self) -> None:
        self._fleet = Fleet()
        self._centres = Centres()
        self._jobs: dict[str, Progress] = {}
        self._letters: Counter[str] = Counter()
        self._event_ms: int | None = None
        self.bad_rows = 0

    def take(self, topic: str, row: Row) -> None:  # noqa: C901 - one branch for each kind of row
        match row:
            case Position():
                self._see(row.time_ms)
                if topic == TRUCKS_GPS:
                    self._fleet.pass_by(row)
                else:
                    self._fleet.place(row)
            case Alert():
                self._fleet.warn(row)
            case Activity():
                self._see(row.start_ms)
                self._centres.put_activity(row)
            case CentreUsers():
                self._centres.put_users(row)
            case Trend():
                self._centres.put_trend(row)
            case Mean():
                self._centres.put_mean(row)
            case Progress():
                if row.job in self._jobs or len(self._jobs) < JOBS_MAX:
                    self._jobs[row.job] = row
            case Letter():
                known = row.reason in self._letters or len(self._letters) < REASONS_MAX
                self._letters[row.reason if known else OTHER_REASONS] += 1

    def picture(self, link: Link) -> Picture:
        return Picture(
            link=link,
            event_ms=self._event_ms,
            trucks=self._fleet.trucks(),
            overtimes=self._fleet.overtimes(),
            activity=self._centres.activity(),
            centres=self._centres.centres(),
            jobs=tuple(self._jobs[name] for name in sorted(self._jobs)),
            letters=tuple(self._letters.most_common()),
            bad_rows=self.bad_rows,
        )

    def _see(self, time_ms: int) -> None:
        self._event_ms = time_ms if self._event_ms is None else max(self._event_ms, time_ms)
