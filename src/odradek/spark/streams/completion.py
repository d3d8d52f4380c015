"""When a batch is done, where Spark takes its time to say so: it does when it asks for the next one."""

import logging
import threading
import time
from collections.abc import Callable

from odradek.spark.offsets import Position

log = logging.getLogger(__name__)

_APART_S = 1.0


class Completion:
    """Asks somebody else, in a thread of its own, once a second, from a second after a batch was planned. Where batches
    follow one another sooner, nobody is asked."""

    def __init__(
        self,
        is_done: Callable[[Position], bool],
        on_done: Callable[[Position], None],
        pause: Callable[[float], None] = time.sleep,
    ) -> None:
        """`is_done` may take its time. `on_done` may not, and is called while no other batch can be planned."""
        self._is_done = is_done
        self._on_done = on_done
        self._pause = pause
        self._lock = threading.Lock()
        self._begun = threading.Condition(self._lock)
        self._end: Position | None = None
        """Of the batch that is under way."""
        self._thread: threading.Thread | None = None
        self._is_waited_for = False

    def planned(self, end: Position) -> None:
        """The batch that ends there is under way now."""
        with self._lock:
            self._end = end
            if self._is_waited_for:
                self._begun.notify()
        if self._thread is None:
            self._thread = threading.Thread(target=self._watch, name="completion of batches", daemon=True)
            self._thread.start()

    def told(self) -> None:
        """Spark has said it."""
        with self._lock:
            self._end = None

    def _watch(self) -> None:
        while True:
            end = self._under_way()
            self._pause(_APART_S)
            if self._end is end and self._is_done(end):
                with self._lock:
                    if self._end is end:
                        self._end = None
                        self._on_done(end)

    def _under_way(self) -> Position:
        with self._lock:
            while self._end is None:
                self._is_waited_for = True
                self._begun.wait()
                self._is_waited_for = False
            return self._end
