"""How errors and lines of the log reach the user from a Python process of Spark's.

Of an error, Spark shows the traceback, and the line that matters is its last. Of the log, nobody there has said how it
looks, and Python's own way to show it has neither time nor level.
"""

import logging
import os
from collections.abc import Iterator
from contextlib import contextmanager
from functools import cache
from typing import TypeVar

from odradek.model.errors import OdradekError

T = TypeVar("T")

_HIDE = "SPARK_HIDE_TRACEBACK"
_LINE = "%(asctime)s %(levelname)s %(name)s: %(message)s"
"""Among Spark's own lines, the name says whose it is."""


@contextmanager
def told_in_one_line() -> Iterator[None]:
    """An error of ours that leaves this block is shown by Spark without a traceback: its message says what to do.

    Spark's processes look at this variable when they report what they fail with, and end then. What is logged has its
    time and level from now on.
    """
    show_log()
    try:
        yield
    except OdradekError:
        os.environ[_HIDE] = "1"
        raise


def told_while_reading(batches: Iterator[T]) -> Iterator[T]:
    """The same for what a task reads."""
    with told_in_one_line():
        yield from batches


@cache
def show_log() -> None:
    """On standard error, which Spark's processes share with it. Where somebody has said how, that is how."""
    ours = logging.getLogger("odradek")
    if not ours.hasHandlers():
        handler = logging.StreamHandler()
        handler.setFormatter(logging.Formatter(_LINE))
        ours.addHandler(handler)
