"""The heap of deadlines does what a plain table of deadlines does."""

from hypothesis import given
from hypothesis import strategies as st

from odradek.coordinators.timers import Timers
from support.clock import ManualClock

KEYS = st.sampled_from("abcd")
STEPS = st.lists(
    st.one_of(
        st.tuples(st.just("set"), KEYS, st.integers(0, 20)),
        st.tuples(st.just("cancel"), KEYS, st.just(0)),
        st.tuples(st.just("pass"), st.just(""), st.integers(1, 15)),
    ),
    max_size=60,
)


class NaiveTimers:
    def __init__(self, clock: ManualClock) -> None:
        self.clock = clock
        self.deadlines: dict[str, int] = {}

    def due(self) -> dict[str, int]:
        now = self.clock.now_ms()
        found = {key: at for key, at in self.deadlines.items() if at <= now}
        self.deadlines = {key: at for key, at in self.deadlines.items() if at > now}
        return found


@given(STEPS)
def test_what_is_due_is_what_a_table_says(steps: list[tuple[str, str, int]]) -> None:
    clock = ManualClock()
    timers, naive = Timers(clock.now_ms), NaiveTimers(clock)
    for step, key, number in steps:
        if step == "set":
            timers.set(key, number)
            naive.deadlines[key] = clock.now_ms() + number
        elif step == "cancel":
            timers.cancel(key)
            naive.deadlines.pop(key, None)
        else:
            clock.advance(number)
            expected = naive.due()
            found = [str(key) for key in timers.due()]
            assert sorted(found) == sorted(expected)
            ats = [expected[key] for key in found]
            assert len(set(found)) == len(found), "each once"
            assert ats == sorted(ats), "first things first"
        assert len(timers) == len(naive.deadlines)
        assert all((key in timers) == (key in naive.deadlines) for key in "abcd")
        soonest = min(naive.deadlines.values(), default=None)
        if soonest is not None:
            assert timers.next_ms is not None
            assert timers.next_ms <= soonest, "nobody would look in time"


@given(STEPS)
def test_who_looks_when_told_to_misses_nothing(steps: list[tuple[str, str, int]]) -> None:
    """As a loop does it: an alarm at `next_ms`, set anew when that has become sooner and after each look."""
    clock = ManualClock()
    timers, naive = Timers(clock.now_ms), NaiveTimers(clock)
    alarms: list[int] = []

    def set_alarm() -> None:
        at = timers.next_ms
        if at is not None and (not alarms or at < alarms[0]):
            alarms[:] = [at]

    timers.sooner = set_alarm
    for step, key, number in steps:
        if step == "set":
            timers.set(key, number)
            naive.deadlines[key] = clock.now_ms() + number
        elif step == "cancel":
            timers.cancel(key)
            naive.deadlines.pop(key, None)
        else:
            for _ in range(number):
                clock.advance(1)
                found = []
                while alarms and alarms[0] <= clock.now_ms():
                    alarms.clear()
                    found += [str(key) for key in timers.due()]
                    set_alarm()
                assert sorted(found) == sorted(naive.due())
