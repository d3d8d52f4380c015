"""Numbers and times as the page writes them. Times are those of events, in UTC."""

from datetime import UTC, datetime

_MINUTE_MS = 60_000
_THOUSANDS = ((1_000_000_000, "G"), (1_000_000, "M"), (10_000, "k"))


def clock_text(time_ms: int) -> str:
    return f"{_moment(time_ms):%H:%M:%S}"


def minute_text(time_ms: int) -> str:
    return f"{_moment(time_ms):%H:%M}"


def moment_text(time_ms: int) -> str:
    return f"{_moment(time_ms):%Y-%m-%d %H:%M:%S}"


def span_text(span_ms: int) -> str:
    """Hours and minutes: 4:05."""
    minutes = span_ms // _MINUTE_MS
    return f"{minutes // 60}:{minutes % 60:02}"


def count_text(count: float) -> str:
    """Whole up to ten thousand, then shortened: 9,999, 12.3k, 4.5M."""
    for unit, letter in _THOUSANDS:
        if count >= unit:
            value = count / (1_000 if letter == "k" else unit)
            return f"{value:.1f}{letter}" if value < 100 else f"{value:.0f}{letter}"
    return f"{count:,.0f}"


def rate_text(per_second: float) -> str:
    return f"{per_second:.1f}" if per_second < 100 else count_text(per_second)


def latency_text(us: int) -> str:
    """In milliseconds below a second: 8.4 ms, 312 ms, 1.25 s."""
    if us < 10_000:
        return f"{us / 1000:.1f} ms"
    return f"{us / 1000:.0f} ms" if us < 1_000_000 else f"{us / 1_000_000:.2f} s"


def _moment(time_ms: int) -> datetime:
    return datetime.fromtimestamp(time_ms / 1000, UTC)
