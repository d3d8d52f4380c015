"""Whatever tells the demo to stop: Ctrl-C, SIGTERM, or a terminal that was closed."""

import signal
from collections.abc import Iterator
from contextlib import contextmanager
from types import FrameType

_NUMBERS = (signal.SIGINT, signal.SIGTERM, signal.SIGHUP)


class Stopped(Exception):
    def __init__(self, number: int) -> None:
        super().__init__(signal.Signals(number).name)
        self.number = number


class Stop:
    """Notes the first signal; further ones change nothing."""

    def __init__(self) -> None:
        self.number: int | None = None

    def note(self, number: int, _: FrameType | None = None) -> None:
        # No more than this: a handler runs between any two steps of what it interrupts.
        if self.number is None:
            self.number = number

    def check(self) -> None:
        """Raises Stopped."""
        if self.number is not None:
            raise Stopped(self.number)


@contextmanager
def noted_signals() -> Iterator[Stop]:
    stop = Stop()
    before = {number: signal.signal(number, stop.note) for number in _NUMBERS}
    try:
        yield stop
    finally:
        for number, handler in before.items():
            signal.signal(number, handler)
