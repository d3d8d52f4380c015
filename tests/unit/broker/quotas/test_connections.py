"""Connections against the rates of the broker, its listeners, and addresses."""

import pytest

from odradek.broker.quotas.connections import ConnectionRates, CreationRates
from odradek.broker.quotas.rate import Windows
from odradek.model.settings import INT_MAX
from support.clock import ManualClock

WINDOWS = Windows(2, 1000)
"""One second of connections may come at once."""


@pytest.fixture
def clock() -> ManualClock:
    return ManualClock()


@pytest.fixture
def rates(clock: ManualClock) -> ConnectionRates:
    return ConnectionRates(WINDOWS, clock.now_ms)


def test_nobody_waits_where_nothing_is_set(rates: ConnectionRates) -> None:
    rates.change_settings(CreationRates(INT_MAX, {"PLAINTEXT": INT_MAX}))
    rates.change_addresses({}, None)
    assert not rates.is_set
    assert [rates.wait_ms("PLAINTEXT"), rates.refuse_ms("PLAINTEXT", "10.0.0.1")] == [0, 0]


def test_connections_beyond_the_rate_of_the_broker_wait_at_all_its_listeners(
    rates: ConnectionRates, clock: ManualClock
) -> None:
    rates.change_settings(CreationRates(4, {"A": INT_MAX, "B": INT_MAX}))
    assert rates.is_set
    assert [rates.wait_ms(name) for name in "ABAB"] == [0, 0, 0, 0]
    assert rates.wait_ms("A") == 1000, "not longer than a window"
    clock.advance(1250)
    assert rates.wait_ms("B") == 250


def test_listeners_have_rates_of_their_own(rates: ConnectionRates) -> None:
    rates.change_settings(CreationRates(100, {"A": 1, "B": 2}))
    assert [rates.wait_ms(name) for name in "ABB"] == [0, 0, 0]
    assert rates.wait_ms("A") > 0
    assert rates.wait_ms("B") > 0


def test_the_listener_of_brokers_is_not_held_to_the_rate_of_the_broker(rates: ConnectionRates) -> None:
    rates.change_settings(CreationRates(1, {"CLIENTS": INT_MAX, "BROKERS": INT_MAX}, protected="BROKERS"))
    assert [rates.wait_ms("BROKERS") for _ in range(50)] == [0] * 50
    assert rates.wait_ms("CLIENTS") == 0
    assert rates.wait_ms("CLIENTS") > 0


def test_an_address_that_comes_too_fast_is_refused_and_counts_for_nothing(
    rates: ConnectionRates, clock: ManualClock
) -> None:
    rates.change_settings(CreationRates(3, {}))
    rates.change_addresses({"10.0.0.1": 1}, None)
    assert [rates.wait_ms("A"), rates.refuse_ms("A", "10.0.0.1")] == [0, 0]
    for _ in range(20):
        assert rates.wait_ms("A") == 0
        assert rates.refuse_ms("A", "10.0.0.1") == 1000
    assert [rates.wait_ms("A"), rates.refuse_ms("A", "10.0.0.9")] == [0, 0]
    clock.advance(2000)
    assert [rates.wait_ms("A"), rates.refuse_ms("A", "10.0.0.1")] == [0, 0]


def test_the_default_is_for_each_address_that_has_none_of_its_own(rates: ConnectionRates) -> None:
    rates.change_addresses({"10.0.0.1": 2, "10.0.0.2": 2}, 1)
    assert [rates.refuse_ms("A", ip) for ip in ("10.0.0.1", "10.0.0.1", "10.0.0.2", "10.0.0.3")] == [0, 0, 0, 0]
    assert rates.refuse_ms("A", "10.0.0.3") > 0
    assert rates.refuse_ms("A", "10.0.0.1") > 0
    assert rates.refuse_ms("A", "10.0.0.2") == 0


def test_changes_hold_at_once(rates: ConnectionRates) -> None:
    rates.change_addresses({}, 1)
    rates.refuse_ms("A", "10.0.0.1")
    rates.change_addresses({}, 100)
    assert rates.refuse_ms("A", "10.0.0.1") == 0
    rates.change_addresses({"10.0.0.1": 1}, None)
    assert rates.refuse_ms("A", "10.0.0.1") > 0
    rates.change_addresses({}, None)
    assert rates.refuse_ms("A", "10.0.0.1") == 0
    rates.change_settings(CreationRates(1, {}))
    rates.wait_ms("A")
    rates.change_settings(CreationRates(2, {}))
    assert rates.wait_ms("A") == 0
    rates.change_settings(CreationRates())
    assert not rates.is_set


def test_addresses_that_are_silent_are_forgotten(rates: ConnectionRates, clock: ManualClock) -> None:
    rates.change_addresses({}, 1)
    for number in range(200):
        rates.refuse_ms("A", f"10.0.1.{number}")
        clock.advance(500)
        assert len(rates._addresses) <= 2 * WINDOWS.span_ms // 500 + 1
