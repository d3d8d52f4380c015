"""How errors reach the user: Spark shows the traceback of a Python process, and the line that matters is its last."""

import os
from collections.abc import Iterator
from contextlib import contextmanager
from typing import TypeVar

from odradek.model.errors import OdradekError

T = TypeVar("T")

_HIDE = "SPARK_HIDE_TRACEBACK"


@contextmanager
def told_in_one_line() -> Iterator[None]:
    """An error of ours that leaves this block is shown by Spark without a traceback: its message says what to do.

    Spark's processes look at this variable when they report what they fail with, and end then.
    """
    try:
        yield
    except OdradekError:
        os.environ[_HIDE] = "1"
        raise


def told_while_reading(batches: Iterator[T]) -> Iterator[T]:
    """The same for what a task reads."""
    with told_in_one_line():
        yield from batches
