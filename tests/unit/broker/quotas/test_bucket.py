"""Tokens: bursts are paid from them, and debts waited for."""

from odradek.broker.quotas.bucket import TokenBucket
from odradek.broker.quotas.rate import Windows

WINDOWS = Windows(samples=11, size_ms=1000)


def test_it_begins_with_what_comes_in_all_windows() -> None:
    bucket = TokenBucket(5, WINDOWS)
    bucket.take(55, now_ms=1_000_000)
    assert bucket.wait_ms(1_000_000) == 0
    bucket.take(1, now_ms=1_000_000)
    assert bucket.wait_ms(1_000_000) == 200


def test_debts_are_paid_with_time() -> None:
    bucket = TokenBucket(5, WINDOWS)
    bucket.take(115, now_ms=0)
    assert bucket.wait_ms(0) == 12_000
    assert bucket.wait_ms(11_999) == 1
    assert bucket.wait_ms(12_000) == 0


def test_it_holds_no_more_than_it_began_with() -> None:
    bucket = TokenBucket(5, WINDOWS)
    bucket.take(1, now_ms=0)
    assert not bucket.is_over(100)
    assert bucket.is_over(200)
    bucket.take(55, now_ms=3_600_000)
    assert bucket.wait_ms(3_600_000) == 0
    bucket.take(5, now_ms=3_600_000)
    assert bucket.wait_ms(3_600_000) == 1000


def test_another_bound_fills_and_holds_otherwise() -> None:
    bucket = TokenBucket(5, WINDOWS)
    bucket.take(65, now_ms=0)
    bucket.set_bound(10)
    assert bucket.wait_ms(0) == 1000
    bucket.set_bound(1)
    bucket.wait_ms(60_000)
    bucket.take(12, now_ms=60_000)
    assert bucket.wait_ms(60_000) == 1000
