"""What clients used, by whom it is counted for, and when it is forgotten."""

from typing import NamedTuple

from odradek.broker.quotas.byte_rates import ByteRates
from odradek.broker.quotas.limits import ANY, Limits
from odradek.broker.quotas.rate import Rate, Windows
from odradek.broker.quotas.sensors import KNOWN_MAX, Sensors
from support.clock import ManualClock

WINDOWS = Windows(11, 1000)


class Client(NamedTuple):
    user: str
    client_id: str | None


def sensors_with(bounds: dict[tuple[str | None, str | None], float]) -> Sensors[Rate]:
    sensors = Sensors(lambda bound: Rate(bound, WINDOWS), WINDOWS.span_ms)
    sensors.change(Limits(bounds))
    return sensors


def test_clients_of_a_user_share_its_quota_and_client_ids_have_their_own() -> None:
    sensors = sensors_with({("alice", ""): 10, ("", ANY): 20})
    assert sensors.of(Client("alice", "a"), 0) is sensors.of(Client("alice", "b"), 0)
    assert sensors.of(Client("bob", "a"), 0) is not sensors.of(Client("bob", "b"), 0)
    assert sensors.of(Client("bob", "a"), 0) is sensors.of(Client("carol", "a"), 0)
    assert len(sensors) == 3


def test_those_without_a_quota_are_not_counted() -> None:
    sensors = sensors_with({("alice", ""): 10})
    assert sensors.of(Client("bob", "a"), 0) is None
    assert sensors.of(Client("bob", None), 0) is None
    assert len(sensors) == 0


def test_a_client_id_for_each_connection_takes_no_more_memory_than_those_of_a_few_seconds() -> None:
    sensors = sensors_with({("", ANY): 10})
    for number in range(1000):
        sensor = sensors.of(Client("alice", f"client-{number}"), number * 1000)
        assert sensor is not None
        sensor.charge(1, number * 1000)
        assert len(sensors) <= 2 * WINDOWS.samples + 1


def test_what_still_counts_is_not_forgotten() -> None:
    sensors = sensors_with({("", ANY): 10})
    owing = sensors.of(Client("alice", "owing"), 0)
    assert owing is not None
    owing.charge(500, 0)
    owing.charge(1, 20_000)
    sensors.of(Client("alice", "another"), 22_000)
    assert sensors.of(Client("alice", "owing"), 22_000) is owing


def test_many_clients_without_a_quota_are_not_all_remembered() -> None:
    sensors = sensors_with({("alice", ""): 10})
    for number in range(KNOWN_MAX + 10):
        assert sensors.of(Client("bob", str(number)), 1) is None
    assert len(sensors.known) <= KNOWN_MAX


def test_a_change_holds_at_once_for_what_came_before() -> None:
    clock = ManualClock()
    rates = ByteRates(WINDOWS, clock.now_ms)
    alice = Client("alice", "app")
    rates.change(Limits({("", "app"): 1000}))
    assert rates.is_set
    assert rates.charge(alice, 10_000) == 0
    rates.change(Limits({("", "app"): 500}))
    assert rates.charge(alice, 100) == 20_200
    rates.change(Limits({("alice", ""): 500}))
    assert rates.charge(alice, 5000) == 0, "what was counted for all of one client id is not counted for a user"
    rates.change(Limits({}))
    assert not rates.is_set


def test_few_bytes_count_as_many_do() -> None:
    clock = ManualClock()
    rates = ByteRates(WINDOWS, clock.now_ms)
    rates.change(Limits({("alice", ""): 1000}))
    alice = Client("alice", "app")
    assert rates.charge(alice, 10_000) == 0
    waits = [rates.charge(alice, 3) for _ in range(3)]
    assert waits == [10_003, 10_006, 10_009]


def test_what_is_taken_back_is_taken_back_at_once() -> None:
    rates = ByteRates(WINDOWS, ManualClock().now_ms)
    rates.change(Limits({("alice", ""): 1000}))
    alice = Client("alice", "app")
    rates.charge(alice, 9_000)
    for _ in range(5):
        assert rates.charge(alice, 2_000) == 11_000
        rates.take_back(alice, 2_000)
    assert rates.charge(alice, 1_000) == 0
