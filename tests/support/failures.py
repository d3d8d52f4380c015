"""Failures that nobody expected, of work that a guard keeps from ending what is around it."""

import logging
from collections.abc import Iterator
from contextlib import contextmanager

from odradek.process import guard
from support.disk import Died


class _Raise(logging.Handler):
    def emit(self, record: logging.LogRecord) -> None:
        error = record.exc_info[1] if record.exc_info else None
        assert error is not None
        raise error


class _Collect(logging.Handler):
    def __init__(self) -> None:
        super().__init__()
        self.lines: list[str] = []

    def emit(self, record: logging.LogRecord) -> None:
        error = record.exc_info[1] if record.exc_info else None
        if isinstance(error, Died) or (isinstance(error, BaseExceptionGroup) and error.subgroup(Died)):
            return  # a disk in memory has the process die, in the middle of whatever it does
        self.lines.append(logging.Formatter().format(record))


@contextmanager
def raised() -> Iterator[None]:
    """They go on as if there were no guard."""
    with _heard_by(_Raise()):
        yield


@contextmanager
def collected() -> Iterator[list[str]]:
    """What is said of them, each with its traceback."""
    collect = _Collect()
    with _heard_by(collect):
        yield collect.lines


@contextmanager
def _heard_by(handler: logging.Handler) -> Iterator[None]:
    """By this one alone: one who raises them, or expects them, hears of them in place of all others."""
    before = guard.logger.handlers
    guard.logger.handlers = [handler]
    try:
        yield
    finally:
        guard.logger.handlers = before
