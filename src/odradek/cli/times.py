"""Times as people give them on a command line."""

import argparse
import re
from datetime import UTC, datetime, timedelta

_AGO = re.compile(r"(\d+)\s*(s|m|h|d)")
_UNITS = {"s": "seconds", "m": "minutes", "h": "hours", "d": "days"}
_ISO = re.compile(r"P(?:(\d+)D)?(?:T(?=\d)(?:(\d+)H)?(?:(\d+)M)?(?:(\d+(?:\.\d+)?)S)?)?", re.IGNORECASE)
DURATION_HELP = "30s, 5m, 2h, 1d, or PnDTnHnMnS"
TIME_HELP = "2026-11-15T12:30:00Z, without a zone in local time; milliseconds since 1970; or 30s, 5m, 2h, 1d ago"


def parse_time(text: str, now: datetime | None = None) -> int:
    """Milliseconds since 1970. For argparse."""
    text = text.strip()
    ago = _AGO.fullmatch(text)
    try:
        if text.isascii() and text.isdecimal():
            return int(text)
        if ago:
            moment = (now or datetime.now(UTC)) - timedelta(**{_UNITS[ago[2]]: int(ago[1])})
        else:
            moment = datetime.fromisoformat(text).astimezone()
        return round(moment.timestamp() * 1000)
    except (ValueError, OverflowError):
        raise argparse.ArgumentTypeError(f"{text!r} must be {TIME_HELP}") from None


def parse_duration(text: str) -> timedelta:
    """For argparse."""
    text = text.strip()
    short, iso = _AGO.fullmatch(text), _ISO.fullmatch(text)
    try:
        if short:
            return timedelta(**{_UNITS[short[2]]: int(short[1])})
        if iso and any(iso.groups()):
            days, hours, minutes, seconds = (float(each or 0) for each in iso.groups())
            return timedelta(days=days, hours=hours, minutes=minutes, seconds=seconds)
    except OverflowError:
        pass
    raise argparse.ArgumentTypeError(f"{text!r} must be {DURATION_HELP}")
