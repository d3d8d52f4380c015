"""An event loop of asyncio whose callbacks are events of a simulation, so that real objects wait in virtual time."""

import asyncio
from collections.abc import Callable
from contextlib import suppress
from contextvars import Context, copy_context
from functools import partial
from typing import Any

from support.disk import Died
from support.sim.events import Events

Enter = Callable[[Callable[[], None]], None]
"""Runs a call within the process that the loop belongs to."""

_WITHIN_MS = 1e-6
"""So that those who cut it to milliseconds get the right one, whatever is lost in a division."""

_THREAD_S = 0.005


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

    def __init__(self, events: Events, enter: Enter) -> None:
        self._events = events
        self._enter = enter
        self._is_over = False
        self._tasks: dict[asyncio.Task[Any], None] = {}
        self._ready: dict[_Handle, None] = {}
        """What is to be called at once."""

    def end(self) -> None:
        """What is under way is cancelled, so that nothing is left behind; it is for the caller to see that this has no
        effect."""
        self._is_over = True
        for task in list(self._tasks):
            task.cancel()
        while self._ready:
            handle = next(iter(self._ready))
            del self._ready[handle]
            with suppress(Died):
                handle.run()

    def time(self) -> float:
        return self._events.now_ms / 1000 + _WITHIN_MS

    def call_soon(  # type: ignore[override]
        self, callback: Callable[..., object], *args: Any, context: Context | None = None
    ) -> Any:
        return self._schedule(0, callback, args, context)

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

        def work() -> None:
            try:
                result = func(*args)
            except OSError as error:
                done.set_exception(error)
            else:
                done.set_result(result)

        self.call_later(_THREAD_S, work)
        return done

    def _done(self, task: "asyncio.Task[Any]") -> None:
        self._tasks.pop(task, None)
        if self._is_over or task.cancelled():
            return
        if (error := task.exception()) is not None and not isinstance(error, Died):
            raise error

    def _schedule(
        self, delay_ms: int, callback: Callable[..., object], args: tuple[Any, ...], context: Context | None
    ) -> _Handle:
        call = partial((context or copy_context()).run, callback, *args)
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
