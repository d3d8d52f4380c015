"""Results that differ from the truth are found, wherever they do."""

import base64
from typing import Any

import pytest

from odradek.demo.comparing import Outcome, Results, compare, truth_of
from odradek.demo.reading import Row
from odradek.demo.scenario import Scenario
from odradek.pipelines import contract
from odradek.pipelines.contract import AnomalyRule, Windows
from odradek.pipelines.registry import JOBS
from odradek.pipelines.simulation.event import Event
from odradek.pipelines.truth.fleet import true_alerts, true_positions
from odradek.pipelines.truth.tenants import true_anomalies, true_centres, true_enriched, true_trends, true_users

SCENARIO = Scenario(20)
Rows = dict[str, list[Row]]


Truth = dict[str, Results]


@pytest.fixture(scope="module")
def events() -> list[Event]:
    return SCENARIO.first(4_000)


@pytest.fixture(scope="module")
def truth(events: list[Event]) -> Truth:
    return truth_of(events, SCENARIO.plans())


def place(number: int) -> dict[str, Any]:
    return {"topic": "operations_compute_g0", "partition": 0, "offset": number}


@pytest.fixture(scope="module")
def right(events: list[Event]) -> Rows:
    """What jobs would have written that make no mistake."""
    windows = Windows()
    enriched = true_enriched(events, SCENARIO.plans()).elements()
    letters = [event for event in events if event.reason is not None]
    return {
        contract.TRUCK_POSITIONS: list(true_positions(events).items()),
        contract.DRIVER_ALERTS: true_alerts(events),
        contract.ACTIVE_CENTRES: list(true_centres(events, windows).items()),
        contract.ACTIVE_USERS: list(true_users(events, windows).items()),
        contract.LATENCY_TRENDS: list(true_trends(events, windows).items()),
        contract.LATENCY_ANOMALIES: list(true_anomalies(events, AnomalyRule()).items()),
        contract.OPERATIONS_WITH_PLAN: [
            ("g0", {**dict(fields), **place(number)}) for number, fields in enumerate(enriched)
        ],
        contract.DEAD_LETTERS: [(event.key, letter(event)) for event in letters],
    }


@pytest.fixture
def rows(right: Rows) -> Rows:
    """The same, for a test to change."""
    return {topic: list(found) for topic, found in right.items()}


def letter(event: Event) -> dict[str, Any]:
    value = {} if event.value is None else {"value_base64": base64.b64encode(event.value).decode()}
    return {"reason": event.reason, "topic": event.topic, **value}


def outcome(rows: Rows, truth: Truth, job: str) -> Outcome:
    """Of this job; there is nothing wrong with the others."""
    outcomes = {each.job: each for each in compare(rows, truth)}
    assert list(outcomes) == list(JOBS)
    assert not any(each.differences for each in outcomes.values() if each.job != job)
    return outcomes[job]


def test_what_is_right_has_no_differences(rows: Rows, truth: Truth) -> None:
    for each in compare(rows, truth):
        assert each.expected == each.found > 0, each.job
        assert (each.differences, each.examples()) == (0, [])


def test_of_a_table_the_last_row_of_a_key_counts(rows: Rows, truth: Truth) -> None:
    key, fields = rows[contract.LATENCY_TRENDS][0]
    rows[contract.LATENCY_TRENDS].insert(0, (key, {**fields, "events": 0}))
    assert outcome(rows, truth, "latency-trends").differences == 0
    rows[contract.LATENCY_TRENDS].append((key, {**fields, "events": 0}))
    found = outcome(rows, truth, "latency-trends")
    assert (found.differences, found.expected) == (1, found.found)
    assert [example.split()[0] for example in found.examples()] == ["missing", "unexpected"]


@pytest.mark.parametrize("job", JOBS)
def test_a_row_that_is_not_there_is_found(rows: Rows, truth: Truth, job: str) -> None:
    rows[JOBS[job].result].pop()
    found = outcome(rows, truth, job)
    assert (found.differences, found.found) == (1, found.expected - 1)


@pytest.mark.parametrize("job", JOBS)
def test_a_row_too_many_is_found(rows: Rows, truth: Truth, job: str) -> None:
    rows[JOBS[job].result].append(("forged", {"unreadable": "not JSON"}))
    assert outcome(rows, truth, job).differences == 1


@pytest.mark.parametrize("job", ["driver-alerts", "dead-letters"])
def test_what_is_told_twice_is_found(rows: Rows, truth: Truth, job: str) -> None:
    rows[JOBS[job].result].append(rows[JOBS[job].result][0])
    assert outcome(rows, truth, job).differences == 1


def test_an_operation_may_come_twice_but_only_from_the_same_place(rows: Rows, truth: Truth) -> None:
    operations = rows[contract.OPERATIONS_WITH_PLAN]
    operations.append(operations[0])
    assert outcome(rows, truth, "operations-with-plan").differences == 0
    key, fields = operations[0]
    operations.append((key, {**fields, "offset": 999_999}))
    assert outcome(rows, truth, "operations-with-plan").differences == 1


def test_bytes_of_a_dead_letter_are_compared(rows: Rows, truth: Truth) -> None:
    key, fields = next(row for row in rows[contract.DEAD_LETTERS] if "value_base64" in row[1])
    rows[contract.DEAD_LETTERS].remove((key, fields))
    rows[contract.DEAD_LETTERS].append((key, {**fields, "value_base64": "no base64"}))
    assert outcome(rows, truth, "dead-letters").differences == 1
