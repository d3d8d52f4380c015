"""A Python process of Spark's that runs one task after the other."""

import gc
from collections.abc import Iterator
from typing import TypeVar

T = TypeVar("T")

_frozen = False


def in_task(batches: Iterator[T]) -> Iterator[T]:
    """What a task gives to Spark; behind its last batch, all that the process has loaded is there to stay.

    Spark collects garbage after each task, and looks at every object for it: some 12 ms, as long as a small task
    itself takes. Objects that are frozen are not looked at any more.
    """
    yield from batches
    stay_loaded()


def stay_loaded() -> None:
    """Once in the life of a process, when its first task is done."""
    global _frozen
    if not _frozen:
        gc.collect()
        gc.freeze()
        _frozen = True
