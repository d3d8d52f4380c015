"""Trucks on the map, and drivers who have driven too long."""

from itertools import pairwise

from odradek.console.fleet import ALERTS_MAX, POINTS_KEPT, TRAIL_MS, TRAIL_POINTS, TRUCKS_MAX, Fleet
from odradek.console.rows import Alert, Position

MINUTE_MS = 60_000


def position(minute: float, truck: str = "t", speed_kmh: float = 80.0) -> Position:
    return Position(truck, f"driver of {truck}", round(minute * MINUTE_MS), 50.0 + minute / 100, 9.0, speed_kmh)


def test_a_trail_leads_to_where_the_truck_is_and_not_beyond() -> None:
    fleet = Fleet()
    for minute in range(6):
        fleet.pass_by(position(minute))
    fleet.place(position(3))
    (truck,) = fleet.trucks()
    assert [point.time_ms // MINUTE_MS for point in truck.trail] == [0, 1, 2]
    assert truck.at.time_ms == 3 * MINUTE_MS


def test_a_trail_stays_while_events_are_ahead_of_the_job() -> None:
    fleet = Fleet()
    for minute in range(POINTS_KEPT):
        fleet.pass_by(position(minute))
    fleet.place(position(60))
    assert [point.time_ms // MINUTE_MS for point in fleet.trucks()[0].trail] == list(range(60 - TRAIL_POINTS, 60))


def test_a_trail_is_bounded_and_no_denser_than_it_can_be_seen() -> None:
    fleet = Fleet()
    for step in range(3 * 3 * TRAIL_POINTS):
        fleet.pass_by(position(step / 3))
    fleet.place(position(1000))
    (truck,) = fleet.trucks()
    times = [point.time_ms for point in truck.trail]
    assert len(times) == TRAIL_POINTS
    assert all(after - before >= TRAIL_MS for before, after in pairwise(times))


def test_trucks_are_shown_before_there_are_results_and_say_so() -> None:
    fleet = Fleet()
    for minute in (0, 0.3, 1, 1.6, 1.2):
        fleet.pass_by(position(minute, "heard"))
    fleet.place(position(2, "placed"))
    fleet.pass_by(position(9, "placed"))
    told = {truck.at.truck: (truck.at.time_ms, truck.is_result) for truck in fleet.trucks()}
    assert told == {"heard": (96_000, False), "placed": (120_000, True)}


def test_a_position_out_of_order_leaves_the_trail_alone() -> None:
    fleet = Fleet()
    for minute in (1, 2, 1.5, 3):
        fleet.pass_by(position(minute))
    fleet.place(position(4))
    assert [point.time_ms // MINUTE_MS for point in fleet.trucks()[0].trail] == [1, 2, 3]


def test_who_drove_too_long_is_marked_until_the_truck_stands() -> None:
    fleet = Fleet()
    fleet.place(position(269))
    fleet.warn(Alert("driver of t", "t", 0, 270 * MINUTE_MS))
    assert fleet.overtimes()[0].over_ms == 0
    fleet.place(position(280))
    assert fleet.trucks()[0].is_overtime
    assert (fleet.overtimes()[0].over_ms, fleet.overtimes()[0].goes_on) == (10 * MINUTE_MS, True)
    fleet.place(position(285, speed_kmh=0.0))
    fleet.place(position(300))
    assert not fleet.trucks()[0].is_overtime
    assert (fleet.overtimes()[0].over_ms, fleet.overtimes()[0].goes_on) == (15 * MINUTE_MS, False)


def test_an_alert_may_come_after_the_positions_that_end_it() -> None:
    fleet = Fleet()
    fleet.place(position(300, speed_kmh=0.0))
    fleet.warn(Alert("driver of t", "t", 0, 270 * MINUTE_MS))
    assert not fleet.overtimes()[0].goes_on


def test_alerts_are_told_once_and_the_newest_first() -> None:
    fleet = Fleet()
    alerts = [Alert(f"d{number}", f"t{number}", number, 270 * MINUTE_MS + number) for number in range(ALERTS_MAX + 9)]
    for alert in [*reversed(alerts), *alerts[-5:]]:
        fleet.warn(alert)
    assert [each.alert for each in fleet.overtimes()] == alerts[::-1][:ALERTS_MAX]


def test_trucks_that_were_not_heard_of_for_the_longest_time_are_forgotten() -> None:
    fleet = Fleet()
    for number in range(TRUCKS_MAX + 5):
        fleet.place(position(1, truck=f"{number:05}"))
        fleet.pass_by(position(0, truck=f"{number:05}"))
    trucks = fleet.trucks()
    assert len(trucks) == TRUCKS_MAX
    assert trucks[0].at.truck == "00005"
    assert all(truck.trail for truck in trucks)
