"""How much came a second, and how long its client waits."""

from hypothesis import given
from hypothesis import strategies as st

from odradek.broker.quotas.rate import Rate, Windows
from odradek.model.settings import INT_MAX


def test_what_may_come_in_all_windows_but_one_may_come_at_once() -> None:
    rate = Rate(100, Windows(samples=11, size_ms=1000))
    assert rate.charge(1000, now_ms=5) == 0
    assert rate.charge(1, now_ms=5) == 10_010


def test_the_wait_is_for_what_came_and_less_the_later_it_is_asked_for() -> None:
    rate = Rate(100, Windows(11, 1000))
    rate.charge(1200, now_ms=0)
    assert [rate.excess_ms(now) for now in (0, 500, 10_999)] == [12_000, 11_500, 1001]


def test_after_the_wait_as_much_may_come_as_was_waited_for() -> None:
    rate = Rate(100, Windows(11, 1000))
    now_ms = 0
    for size in (1000, 50, 50):
        now_ms += rate.charge(size, now_ms)
    assert now_ms == 11_000
    assert rate.excess_ms(now_ms) == 0


def test_what_came_before_all_windows_is_forgotten() -> None:
    rate = Rate(100, Windows(11, 1000))
    rate.charge(1200, now_ms=0)
    assert not rate.is_over(10_999)
    assert rate.is_over(11_000)
    assert rate.charge(1000, now_ms=11_000) == 0


def test_another_bound_holds_for_what_came_already() -> None:
    rate = Rate(100, Windows(11, 1000))
    rate.charge(1000, now_ms=0)
    rate.set_bound(50)
    assert rate.charge(0, now_ms=1) == 19_999
    rate.set_bound(200)
    assert rate.charge(1000, now_ms=1) == 0


def test_what_is_taken_back_does_not_count() -> None:
    rate = Rate(100, Windows(11, 1000))
    rate.charge(900, now_ms=0)
    assert rate.charge(200, now_ms=700) > 0
    rate.charge(-200, now_ms=700)
    assert rate.charge(100, now_ms=700) == 0


def test_with_one_window_nothing_comes_for_free() -> None:
    rate = Rate(100, Windows(samples=1, size_ms=1000))
    assert rate.charge(10, now_ms=7) == 100
    assert rate.charge(0, now_ms=107) == 0


def test_no_wait_is_longer_than_can_be_told() -> None:
    assert Rate(1, Windows()).charge(1e15, now_ms=0) == INT_MAX
    assert Rate(0, Windows()).charge(1, now_ms=0) == INT_MAX


class Twin:
    """The same, written down as it is said: all windows are looked at each time, and nothing is remembered."""

    def __init__(self, bound: float, windows: Windows) -> None:
        self.bound = bound
        self.windows = windows
        self.samples: list[list[float]] = []
        """When each began, when the last amount came, and the sum; the oldest first."""

    def charge(self, amount: float, now_ms: int) -> int:
        if not self.samples or now_ms - self.samples[-1][0] >= self.windows.size_ms:
            self.samples = [*self.samples, [now_ms, now_ms, 0.0]][-self.windows.samples - 1 :]
        self.samples[-1][1:] = [now_ms, self.samples[-1][2] + amount]
        current = [each for each in self.samples if now_ms - each[1] < self.windows.span_ms]
        total = sum(each[2] for each in current)
        elapsed_ms = now_ms - current[0][0]
        if total <= self.bound * max(elapsed_ms, self.windows.least_ms, 1) / 1000:
            return 0
        return -int(-(total / self.bound * 1000) // 1) - int(elapsed_ms)


@given(
    st.sampled_from([1, 50, 1000]),
    st.builds(Windows, st.integers(1, 12), st.sampled_from([1000, 3000])),
    st.lists(st.tuples(st.integers(0, 5000), st.integers(0, 4000)), max_size=60),
)
def test_it_is_what_it_is_said_to_be(bound: int, windows: Windows, events: list[tuple[int, int]]) -> None:
    rate, twin = Rate(bound, windows), Twin(bound, windows)
    now_ms = 0
    for amount, passed_ms in events:
        now_ms += passed_ms
        assert rate.charge(amount, now_ms) == twin.charge(amount, now_ms)
