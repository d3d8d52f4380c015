"""Events are taken when the time of the demo has come to them."""

from odradek.demo.pacing import Pace, Queue
from odradek.pipelines.simulation.event import Event


class Clock:
    def __init__(self) -> None:
        self.now_s = 1_000.0

    def __call__(self) -> float:
        return self.now_s


def event(sent_ms: int) -> Event:
    return Event("topic", "key", b"{}", sent_ms, sent_ms)


def sent(queue: Queue, until_ms: int) -> list[int]:
    return [each.sent_ms for each in queue.before(until_ms)]


def test_a_second_here_is_a_minute_there() -> None:
    clock = Clock()
    pace = Pace(5_000, 60, clock)
    assert pace.time_ms() == 5_000
    clock.now_s += 1.5
    assert pace.time_ms() == 5_000 + 90_000
    clock.now_s += 0.25
    assert pace.time_ms() == 5_000 + 105_000


def test_each_event_is_taken_once_and_in_order() -> None:
    queue = Queue(iter(map(event, [10, 20, 20, 30])))
    assert sent(queue, 10) == []
    assert sent(queue, 21) == [10, 20, 20]
    assert sent(queue, 21) == []
    assert sent(queue, 100) == [30]
    assert sent(queue, 1_000) == []


def test_what_was_not_looked_at_is_still_there() -> None:
    queue = Queue(iter(map(event, [10, 20, 30])))
    assert next(queue.before(100)).sent_ms == 10
    assert sent(queue, 100) == [20, 30]


def test_events_after_a_long_pause_all_come() -> None:
    clock = Clock()
    pace = Pace(0, 60, clock)
    queue = Queue(iter(map(event, range(0, 600_000, 1_000))))
    assert len(sent(queue, pace.time_ms())) == 0
    clock.now_s += 5
    assert len(sent(queue, pace.time_ms())) == 300
    clock.now_s += 3_600
    assert len(sent(queue, pace.time_ms())) == 300
