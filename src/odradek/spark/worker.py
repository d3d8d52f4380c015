"""A Python process of Spark's that runs one task after the other."""

from __future__ import annotations

import gc
import sys
from typing import TYPE_CHECKING

from odradek.spark.sockets import send_at_once

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

    import pyarrow as pa
    from pyspark.sql.datasource import InputPartition

    Rows = Iterator[pa.RecordBatch]
    Read = Callable[[InputPartition], Rows]

# What belongs to a process has no other place.
_modules_kept = 0
_read: Read | None = None


def in_task(rows: Rows, read: Read) -> Rows:
    """What a task gives to Spark, at once; behind its last batch, what it has loaded stays.

    `read` is what other partitions can be read by in the same way, in tasks that come later.
    """
    global _read
    send_at_once()
    _read = read
    yield from rows
    stay_loaded()


def take_read() -> Read | None:
    """What the last task has read by. None if it has not read a topic, and when this is called again."""
    global _read
    taken, _read = _read, None
    return taken


def stay_loaded() -> None:
    """At the end of a task: all that the process has loaded is there to stay.

    Spark collects garbage after each task, and looks at every object for it: some 12 ms, as long as a small task
    itself takes. Objects that are frozen are not looked at any more. Once for tasks of one kind: those of another,
    which the same process may run next, have modules of their own.
    """
    global _modules_kept
    if len(sys.modules) > _modules_kept:
        gc.collect()
        gc.freeze()
        _modules_kept = len(sys.modules)
