"""Pools without threads: the work is done when a test says so, or at once."""

from collections import deque
from collections.abc import Callable
from concurrent.futures import Executor, Future
from typing import Any, ParamSpec, TypeVar

P = ParamSpec("P")
T = TypeVar("T")


class ManualPool(Executor):
    """Takes jobs like a pool of threads, and does them in the thread of the one who calls `run_next`."""

    def __init__(self) -> None:
        self._waiting: deque[tuple[Future[Any], Callable[[], Any]]] = deque()

    def __len__(self) -> int:
        return len(self._waiting)

    def submit(self, fn: Callable[P, T], /, *args: P.args, **kwargs: P.kwargs) -> "Future[T]":
        future: Future[T] = Future()
        self._waiting.append((future, lambda: fn(*args, **kwargs)))
        return future

    def run_next(self) -> None:
        future, job = self._waiting.popleft()
        if not future.set_running_or_notify_cancel():
            return
        try:
            future.set_result(job())
        except Exception as error:  # noqa: BLE001 - as a thread does: it belongs to the one who waits
            future.set_exception(error)


class AtOncePool(Executor):
    """Does each job before it answers, so that nobody waits for another thread: for loops in virtual time."""

    def submit(self, fn: Callable[P, T], /, *args: P.args, **kwargs: P.kwargs) -> "Future[T]":
        pool = ManualPool()
        future = pool.submit(fn, *args, **kwargs)
        pool.run_next()
        return future
