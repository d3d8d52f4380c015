"""The tasks of a node, which end with it."""

import asyncio
from collections.abc import Coroutine
from types import TracebackType
from typing import Any


class Tasks:
    """A task group whose tasks are cancelled when it is left, instead of waited for."""

    def __init__(self) -> None:
        self._group = asyncio.TaskGroup()
        self._running: set[asyncio.Task[None]] = set()

    def create_task(self, work: Coroutine[Any, Any, None], *, name: str) -> asyncio.Task[None] | None:
        """None where the others are being cancelled already."""
        try:
            task = self._group.create_task(work, name=name)
        except RuntimeError:
            work.close()
            return None
        self._running.add(task)
        task.add_done_callback(self._running.discard)
        return task

    async def __aenter__(self) -> "Tasks":
        await self._group.__aenter__()
        return self

    async def __aexit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        for task in list(self._running):
            task.cancel()
        await self._group.__aexit__(kind, error, trace)
