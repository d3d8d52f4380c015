"""A bug in one piece of work must not end another one: what catches exceptions that nobody expected."""

import logging
from collections.abc import Callable
from types import TracebackType

logger = logging.getLogger(__name__)


class Guard:
    """`with guard:` gives an exception of the work to `failed`, and goes on behind the block.

    What cancels a task, or ends the process, passes. A guard keeps nothing of one block for the next.
    """

    __slots__ = ("_failed",)

    def __init__(self, failed: Callable[[Exception], object]) -> None:
        """`failed` has to report the exception."""
        self._failed = failed

    def __enter__(self) -> None:
        return

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> bool:
        if not isinstance(error, Exception):
            return False
        self._failed(error)
        return True


def report(error: BaseException, work: str, **fields: object) -> None:
    """Log an exception that nobody expected, with where it comes from."""
    logger.error("%s failed in a way that nobody expected", work, exc_info=error, extra=fields)
