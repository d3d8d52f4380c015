"""A Python process of Spark's that runs one task after the other."""

import gc
import sys
from collections.abc import Iterator
from typing import TypeVar

from odradek.spark.runtime.sockets import send_at_once

T = TypeVar("T")

_modules_kept = 0


def in_task(batches: Iterator[T]) -> Iterator[T]:
    """What a task gives to Spark, at once; behind its last batch, what it has loaded stays."""
    send_at_once()
    yield from batches
    stay_loaded()


def stay_loaded() -> None:
    """At the end of a task: all that the process has loaded is there to stay.

    Spark collects garbage after each task, and looks at every object for it: some 12 ms, as long as a small task
    itself takes. Objects that are frozen are not looked at any more. Once for tasks of one kind: those of another,
    which the same process may run next, have modules of their own.
    """
    global _modules_kept  # what belongs to a process has no other place
    if len(sys.modules) > _modules_kept:
        gc.collect()
        gc.freeze()
        _modules_kept = len(sys.modules)
