"""Changes of topics against a quota: strict for clients that know the refusal, by waiting for the others."""

from typing import NamedTuple

import pytest

from odradek.broker.quotas.limits import Limits
from odradek.broker.quotas.mutations import MutationRates
from odradek.broker.quotas.rate import Windows
from odradek.model.errors import ThrottlingQuotaExceeded
from support.clock import ManualClock


class Client(NamedTuple):
    user: str
    client_id: str


ALICE, BOB = Client("alice", "app"), Client("bob", "app")


@pytest.fixture
def clock() -> ManualClock:
    return ManualClock()


@pytest.fixture
def rates(clock: ManualClock) -> MutationRates:
    made = MutationRates(Windows(2, 1000), clock.now_ms)
    made.change(Limits({("alice", ""): 5}))
    return made


def test_a_strict_account_refuses_as_soon_as_nothing_is_left(rates: MutationRates, clock: ManualClock) -> None:
    account = rates.account(ALICE, is_strict=True)
    account.charge(10)
    account.charge(3)
    assert account.wait_ms() == 0, "none was refused yet"
    with pytest.raises(ThrottlingQuotaExceeded):
        account.charge(1)
    assert account.wait_ms() == 600
    clock.advance(400)
    assert account.wait_ms() == 200
    with pytest.raises(ThrottlingQuotaExceeded):
        rates.account(ALICE, is_strict=True).charge(1)
    clock.advance(200)
    rates.account(ALICE, is_strict=True).charge(100)


def test_one_that_is_not_strict_serves_and_waits(rates: MutationRates) -> None:
    account = rates.account(ALICE, is_strict=False)
    account.charge(10)
    assert account.wait_ms() == 0
    account.charge(10)
    assert account.wait_ms() == 2000
    account.charge(10)
    assert account.wait_ms() == 4000


def test_all_requests_of_a_client_draw_on_the_same_quota(rates: MutationRates) -> None:
    rates.account(ALICE, is_strict=True).charge(11)
    with pytest.raises(ThrottlingQuotaExceeded):
        rates.account(Client("alice", "another"), is_strict=True).charge(1)


def test_those_without_a_quota_change_what_they_like(rates: MutationRates) -> None:
    account = rates.account(BOB, is_strict=True)
    for _ in range(100):
        account.charge(10_000)
    assert account.wait_ms() == 0
    rates.change(Limits({}))
    rates.account(ALICE, is_strict=True).charge(10_000)
    rates.account(ALICE, is_strict=True).charge(1)
