"""An event loop of asyncio whose callbacks are events of a simulation, so that real objects wait in virtual time."""

import asyncio
from collections import deque
from collections.abc import Callable, Coroutine, Iterator
from concurrent.futures import Executor
from contextlib import contextmanager, suppress
from contextvars import Context
from functools import partial
from typing import Any, TypeVar

from support.sim.events import Events

T = TypeVar("T")
Enter = Callable[[Callable[[], None]], None]
"""Runs a call within the process that the loop belongs to."""

_WITHIN_MS = 1e-6
"""So that those who cut it to milliseconds get the right one, whatever is lost in a division."""
_THREADS = 4
_JOB_MS = 5


class SimPool(Executor):
    """Takes the place of a pool of threads; the loop does what they would do. `shutdown` has nothing to wait for."""

    def __init__(self, job_ms: Callable[[], int]) -> None:
        self.job_ms = job_ms


class _Handle:
    """Takes the place of asyncio.Handle and TimerHandle, as far as they are used."""

    __slots__ = ("_at_s", "_call")

    def __init__(self, call: Callable[[], object], at_s: float) -> None:
        self._call: Callable[[], object] | None = call
        self._at_s = at_s

    def cancel(self) -> None:
        self._call = None

    def cancelled(self) -> bool:
        return self._call is None

    def when(self) -> float:
        return self._at_s

    def run(self) -> None:
        if self._call is not None:
            self._call()


class SimLoop(asyncio.AbstractEventLoop):
    """There are no sockets and no threads. `end` is the end of the process: nothing that was begun goes on."""

    def __init__(self, events: Events, enter: Enter | None = None) -> None:
        self._events = events
        self._enter = enter or self.within
        self._is_over = False
        self._tasks: dict[asyncio.Task[Any], None] = {}
        self._ready: dict[_Handle, None] = {}
        """What is to be called at once."""
        self._jobs: deque[Callable[[], None]] = deque()
        """Work for threads, of which all are busy."""
        self._busy_threads = 0
        self._begun: dict[asyncio.Future[Any], None] = {}
        """What somebody waits for that threads are to do, or do."""

    @contextmanager
    def running(self) -> Iterator[None]:
        """It is the running loop."""
        before = asyncio._get_running_loop()
        asyncio._set_running_loop(self)
        try:
            yield
        finally:
            asyncio._set_running_loop(before)

    def within(self, call: Callable[[], None]) -> None:
        """For a process that is this loop and nothing else."""
        with self.running():
            call()

    def complete(self, work: Coroutine[Any, Any, T]) -> T:
        """What it comes to. Raises TimeoutError where nothing is left that could come."""
        with self.running():
            task: asyncio.Task[T] = self.create_task(work)
        while not task.done():
            if not self._events.run_next():
                raise TimeoutError("nothing is to happen any more")
        return task.result()

    def end(self) -> None:
        """What is under way is cancelled, so that nothing is left behind; it is for the caller to see that this has no
        effect."""
        self._is_over = True
        self._jobs.clear()
        for future in (*self._begun, *self._tasks):
            future.cancel()
        while self._ready:
            handle = next(iter(self._ready))
            del self._ready[handle]
            with suppress(BaseException):  # the process is dead: nobody hears of it
                handle.run()

    def time(self) -> float:
        return self._events.now_ms / 1000 + _WITHIN_MS

    def call_soon(  # type: ignore[override]
        self, callback: Callable[..., object], *args: Any, context: Context | None = None
    ) -> Any:
        return self._schedule(0, callback, args, context)

    call_soon_threadsafe = call_soon  # type: ignore[assignment]

    def call_later(  # type: ignore[override]
        self, delay: float, callback: Callable[..., object], *args: Any, context: Context | None = None
    ) -> Any:
        return self._schedule(round(delay * 1000), callback, args, context)

    def call_at(  # type: ignore[override]
        self, when: float, callback: Callable[..., object], *args: Any, context: Context | None = None
    ) -> Any:
        return self._schedule(round(when * 1000) - self._events.now_ms, callback, args, context)

    def create_future(self) -> "asyncio.Future[Any]":
        return asyncio.Future(loop=self)

    def create_task(self, coro: Any, *, name: str | None = None, **_: Any) -> "asyncio.Task[Any]":
        task: asyncio.Task[Any] = asyncio.Task(coro, loop=self, name=name)
        self._tasks[task] = None
        task.add_done_callback(self._done)
        return task

    def run_in_executor(  # type: ignore[override]
        self, executor: Any, func: Callable[..., Any], *args: Any
    ) -> Any:
        """A thread takes a while, and does all at its end."""
        done = self.create_future()
        job_ms = executor.job_ms if isinstance(executor, SimPool) else _just_so

        def work() -> None:
            del self._begun[done]
            self._busy_threads -= 1
            self._begin_jobs()
            if done.cancelled():
                return
            try:
                result = func(*args)
            except Exception as error:  # noqa: BLE001 - as a thread does: it belongs to the one who waits
                done.set_exception(error)
            else:
                done.set_result(result)

        self._begun[done] = None
        self._jobs.append(lambda: self.call_later(job_ms() / 1000, work))
        self._begin_jobs()
        return done

    def _begin_jobs(self) -> None:
        while self._jobs and self._busy_threads < _THREADS:
            self._busy_threads += 1
            self._jobs.popleft()()

    def _done(self, task: "asyncio.Task[Any]") -> None:
        self._tasks.pop(task, None)

    def _schedule(
        self, delay_ms: int, callback: Callable[..., object], args: tuple[Any, ...], context: Context | None
    ) -> _Handle:
        call = partial(context.run, callback, *args) if context is not None else partial(callback, *args)
        handle = _Handle(call, self.time() + delay_ms / 1000)
        if delay_ms <= 0:
            self._ready[handle] = None
        self._events.after(delay_ms, partial(self._run, handle))
        return handle

    def _run(self, handle: _Handle) -> None:
        self._ready.pop(handle, None)
        if not self._is_over and not handle.cancelled():
            self._enter(handle.run)

    def get_debug(self) -> bool:
        return False

    def is_running(self) -> bool:
        return True

    def is_closed(self) -> bool:
        return False

    def call_exception_handler(self, context: dict[str, Any]) -> None:
        """Told of tasks that were under way when it ended."""


def _just_so() -> int:
    return _JOB_MS
