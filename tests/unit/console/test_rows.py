"""Rows are read as the jobs write them, and what is no row is told as such."""

import json
from random import Random
from typing import Any

import pytest

from odradek.console import rows
from odradek.console.rows import BadRow, read_row
from odradek.pipelines import contract
from odradek.pipelines.contract import AnomalyRule, Windows, json_text, time_text
from odradek.pipelines.simulation.faults import Faults
from odradek.pipelines.simulation.tenants import Estate
from odradek.pipelines.simulation.trucks import Fleet
from odradek.pipelines.truth.tenants import true_anomalies, true_centres, true_trends, true_users

START_MS = 1_772_352_000_000


def test_the_topics_are_those_of_the_jobs() -> None:
    ours = {name: value for name, value in vars(rows).items() if name.isupper() and isinstance(value, str)}
    assert set(ours.values()) == set(rows.TOPICS)
    assert {name: getattr(contract, name) for name in ours} == ours


def test_positions_are_read_unless_they_count_for_nothing() -> None:
    events = [next(each) for each in [Fleet(1, 1, START_MS).events()] * 400]
    for event in Faults(delayed=0.2, late=0.2, broken=0.3).on(events, Random(3)):
        if event.reason is None:
            row = read_row(rows.TRUCKS_GPS, event.value, event.sent_ms)
            assert isinstance(row, rows.Position)
            assert row.time_ms == event.time_ms
        else:
            with pytest.raises(BadRow):
                read_row(rows.TRUCKS_GPS, event.value, event.sent_ms)


def test_results_are_read_as_the_truth_has_them() -> None:
    estate = Estate(2, START_MS, events_per_second=1)
    events = [next(each) for each in [estate.events()] * 900]
    tables: list[tuple[str, Any, type[rows.Row]]] = [
        (rows.ACTIVE_CENTRES, true_centres(events, Windows()), rows.Activity),
        (rows.ACTIVE_USERS, true_users(events, Windows()), rows.CentreUsers),
        (rows.LATENCY_TRENDS, true_trends(events, Windows()), rows.Trend),
        (rows.LATENCY_ANOMALIES, true_anomalies(events, AnomalyRule()), rows.Mean),
    ]
    for topic, table, kind in tables:
        assert table
        for fields in table.values():
            row = read_row(topic, json_text(fields).encode(), START_MS)
            assert isinstance(row, kind)
            for name in ("centre", "users", "events", "p99_us", "mean_us"):
                assert getattr(row, name, None) == (fields.get(name) if hasattr(row, name) else None)
            if isinstance(row, rows.Mean):
                assert row.band_us == ((fields["low_us"], fields["high_us"]) if "low_us" in fields else None)


def test_a_job_that_has_done_nothing_yet_has_no_figures() -> None:
    told = {"job": "dead-letters", "state": "restarting", "time": time_text(START_MS), "reason": "the broker is away"}
    row = read_row(rows.PIPELINE_PROGRESS, json.dumps(told).encode(), 0)
    assert row == rows.Progress(
        "dead-letters", "restarting", START_MS, None, None, None, None, None, "the broker is away"
    )


@pytest.mark.parametrize("topic", rows.TOPICS)
@pytest.mark.parametrize("value", [None, b"", b"[]", b"{}", b"\xff", b'"text"', b'{"truck":1}', b"3"])
def test_what_is_no_row_is_refused(topic: str, value: bytes | None) -> None:
    with pytest.raises(BadRow, match=topic):
        read_row(topic, value, START_MS)
