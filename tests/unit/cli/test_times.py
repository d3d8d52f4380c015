"""Times on the command line."""

import argparse
from datetime import UTC, datetime, timedelta

import pytest

from odradek.cli.times import parse_duration, parse_time

NOON = datetime(2026, 11, 15, 12, tzinfo=UTC)
NOON_MS = 1_794_744_000_000


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("2026-11-15T12:00:00Z", NOON_MS),
        ("2026-11-15T14:00:00+02:00", NOON_MS),
        ("2026-11-15T12:00:00.250Z", NOON_MS + 250),
        (str(NOON_MS), NOON_MS),
        ("30s", NOON_MS - 30_000),
        ("5m", NOON_MS - 300_000),
        ("2h", NOON_MS - 7_200_000),
        ("1d", NOON_MS - 86_400_000),
    ],
)
def test_times(text: str, expected: int) -> None:
    assert parse_time(text, NOON) == expected


def test_a_time_without_a_zone_is_local() -> None:
    local = datetime(2026, 11, 15, 12).astimezone()
    assert parse_time("2026-11-15T12:00:00") == round(local.timestamp() * 1000)


@pytest.mark.parametrize("text", ["", "noon", "12:00", "5 parsecs", "-5", "99999999999d", "2026-13-01"])
def test_what_is_no_time(text: str) -> None:
    with pytest.raises(argparse.ArgumentTypeError, match="must be"):
        parse_time(text, NOON)


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("90s", timedelta(seconds=90)),
        ("1d", timedelta(days=1)),
        ("PT0S", timedelta(0)),
        ("P1DT2H3M4.5S", timedelta(days=1, hours=2, minutes=3, seconds=4.5)),
        ("p2d", timedelta(days=2)),
    ],
)
def test_durations(text: str, expected: timedelta) -> None:
    assert parse_duration(text) == expected


@pytest.mark.parametrize("text", ["", "P", "PT", "P1", "1", "1w", "-5s", "P1H", f"{10**30}d"])
def test_what_is_no_duration(text: str) -> None:
    with pytest.raises(argparse.ArgumentTypeError, match="must be 30s"):
        parse_duration(text)
