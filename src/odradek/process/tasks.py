"""The tasks of a node, which end with it."""

import asyncio
from collections.abc import Callable, Coroutine
from types import TracebackType
from typing import Any

from odradek.process.guard import report


def _do_nothing(_reason: str) -> None:
    return


class Tasks:
    """Owns tasks, and cancels those that still run when it is left. One that fails ends no other."""

    def __init__(self, fail_node: Callable[[str], object] = _do_nothing) -> None:
        """`fail_node` is called with the reason when a vital task fails."""
        self._fail_node = fail_node
        self._loop = asyncio.get_running_loop()
        self._running: dict[asyncio.Task[None], None] = {}
        """In the order in which they began, so that a simulation cancels them in the same order each time."""
        self._is_ending = False

    def create_task(
        self, work: Coroutine[Any, Any, None], *, name: str, is_vital: bool = False
    ) -> asyncio.Task[None] | None:
        """None, and nothing is run, where the others are being cancelled already.

        An exception is reported. The node cannot live without a vital task: it ends where that raises one.
        """
        if self._is_ending:
            work.close()
            return None
        task = self._loop.create_task(work, name=name)
        self._running[task] = None
        task.add_done_callback(self._vital_ended if is_vital else self._ended)
        return task

    def _ended(self, task: asyncio.Task[None]) -> None:
        self._running.pop(task, None)
        if not task.cancelled() and (error := task.exception()) is not None:
            report(error, "a task", task=task.get_name())

    def _vital_ended(self, task: asyncio.Task[None]) -> None:
        self._ended(task)
        if not task.cancelled() and (error := task.exception()) is not None:
            cause = _cause_of(error)
            self._fail_node(f"task {task.get_name()} failed: {type(cause).__name__}: {cause}")

    async def __aenter__(self) -> "Tasks":
        return self

    async def __aexit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self._is_ending = True
        for task in self._running:
            task.cancel()
        if self._running:
            await asyncio.wait(self._running)


def _cause_of(error: BaseException) -> BaseException:
    """The first of those that a task group put together."""
    while isinstance(error, BaseExceptionGroup):
        error = error.exceptions[0]
    return error
