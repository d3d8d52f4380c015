"""Batches that are too long for the event loop, validated by the node's threads."""

import asyncio
from collections import deque
from collections.abc import Callable
from concurrent.futures import Executor
from functools import partial

from odradek.broker.partitions.partition import Validated

RUNNING_MAX = 2
"""Half of the node's threads: the others are for the disk. Each may inflate a batch to 128 MB."""

Done = Callable[[Validated | Exception], None]


class Validations:
    def __init__(self, pool: Executor) -> None:
        self._pool = pool
        self._waiting: deque[tuple[Callable[[], Validated], Done]] = deque()
        """Connections bound it: each waits for one request at most."""
        self._running = 0

    def run(self, validation: Callable[[], Validated], done: Done) -> None:
        """In a thread, in its turn. `done` is called on the loop, with what the validation returned or raised."""
        self._waiting.append((validation, done))
        self._start_next()

    def _start_next(self) -> None:
        while self._waiting and self._running < RUNNING_MAX:
            validation, done = self._waiting.popleft()
            running = asyncio.get_running_loop().run_in_executor(self._pool, _outcome_of, validation)
            self._running += 1
            running.add_done_callback(partial(self._ended, done))

    def _ended(self, done: Done, running: "asyncio.Future[Validated | Exception]") -> None:
        self._running -= 1
        if running.cancelled():
            return  # the node stops
        self._start_next()
        done(running.result())


def _outcome_of(validation: Callable[[], Validated]) -> Validated | Exception:
    try:
        return validation()
    except Exception as error:  # noqa: BLE001 - the one who waits for it has a request to end
        return error
