"""Finds what holds the event loop of a node that runs in a test's process, and with it everybody else.

Each callback of the loop is measured. What counts is the CPU time that the loop's own thread used, and the time that it
sat in a blocking call: so a machine that is slow, a process that is suspended, other threads that hold the interpreter,
and garbage collection make no stall. A thread looks at the stack meanwhile, to name the culprit.
"""

import asyncio
import gc
import sys
import threading
import time
import traceback
from collections import Counter
from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from functools import wraps
from itertools import count
from pathlib import Path
from types import FrameType
from typing import Any, NamedTuple

LIMIT_S = 0.1
_PERIOD_S = 0.01
_LATE_S = 0.03
"""A watcher that comes so late was held up, as the loop was: by the machine, or by one who held the interpreter."""
_STILL_CPU_S = 0.001
_STACK_DEPTH = 25


_run = asyncio.Handle._run

ALLOWED = {
    # At the start, before a node listens.
    "odradek.storage.log_dirs.LogDirs.load": "logs are opened, and recovered after a crash",
    "odradek.quorum.metadata_log.MetadataLog.open": "the metadata log is read",
    "odradek.broker.partitions.replicas.Replicas._begin_to_lead": "partitions are led whose end a crash left unsynced",
    # At the stop, when nobody is served any more.
    "odradek.server.node.Node._close": "Apache Kafka's tools miss logs that were not made yet",
    "odradek.quorum.metadata_log.MetadataLog.close": "the metadata log is synced",
    "odradek.storage.log_dirs.LogDirs.close": "every log is synced",
    "concurrent.futures.thread.ThreadPoolExecutor.shutdown": "a stop waits for what threads for the disk have begun",
    # Still to be mended.
    "odradek.server.coordinators.Coordinators._lead": "the logs of a coordinators' topic are made at once, 50 of them,"
    " when the first client looks for one: once in the life of a cluster",
}
"""Functions that may hold the loop, as `module.function`, with the reason."""


class _Sample(NamedTuple):
    """What a look at the loop's thread has seen."""

    callback: int
    wall_s: float
    cpu_s: float
    delay_s: float
    """That the thread could have run, and the machine had no core for it."""
    at: tuple[int, int]
    """The innermost frame, and where in it."""


class _Thread:
    """One that runs a loop with nodes."""

    def __init__(self) -> None:
        self.loop = asyncio.get_running_loop()
        self.ident = threading.get_ident()
        self._clock = time.pthread_getcpuclockid(self.ident)
        self._statistics = Path(f"/proc/self/task/{threading.get_native_id()}/schedstat")
        self.nodes = 0
        self.callback = 0
        """The number of the one that runs; 0 while the loop waits."""
        self.blocked_s = 0.0
        """That this callback sat in blocking calls."""
        self.stacks: Counter[str] = Counter()
        self.collecting_s = 0.0
        self._last: _Sample | None = None

    def begin(self, number: int) -> None:
        self.blocked_s = 0.0
        self.stacks.clear()
        self.callback = number

    def look(self) -> None:
        """By the watcher. The loop's thread stands still, since the watcher has the interpreter."""
        number = self.callback
        frame = sys._current_frames().get(self.ident) if number else None
        if frame is None:
            self._last = None
            return
        sample = _Sample(
            number,
            time.perf_counter(),
            time.clock_gettime(self._clock),
            self._delay_s(),
            (id(frame), frame.f_lasti),
        )
        last, self._last = self._last, sample
        if last is None or last.callback != number:
            return
        self.stacks[_stack(frame)] += 1
        wall_s, cpu_s = sample.wall_s - last.wall_s, sample.cpu_s - last.cpu_s
        if sample.at == last.at and cpu_s < _STILL_CPU_S and wall_s < _LATE_S:
            self.blocked_s += max(wall_s - cpu_s - (sample.delay_s - last.delay_s), 0)

    def _delay_s(self) -> float:
        try:
            return int(self._statistics.read_text().split()[1]) / 1e9
        except OSError:
            return 0.0  # not on every system


class Stalls:
    """`found` has the stalls that are not allowed, each as text with the stack that was seen most."""

    def __init__(self, allowed: frozenset[str]) -> None:
        """`allowed` are functions, as `module.function`, that may hold the loop."""
        self.found: list[str] = []
        self._allowed = allowed
        self._threads: dict[int, _Thread] = {}
        self._numbers = count(1)
        self._is_over = False
        self._has_nodes = threading.Event()
        self._collecting_since = 0.0

    def enter(self) -> None:
        """A node begins in the loop of this thread."""
        thread = self._threads.get(threading.get_ident())
        if thread is None or thread.loop is not asyncio.get_running_loop():  # else nobody stopped the node of a test
            thread = self._threads[threading.get_ident()] = _Thread()
        thread.nodes += 1
        if not self._has_nodes.is_set():
            asyncio.Handle._run = lambda handle: self._measure(handle)  # type: ignore[method-assign, assignment]
        self._has_nodes.set()

    def leave(self) -> None:
        thread = self._threads.get(threading.get_ident())
        if thread is not None:
            thread.nodes -= 1
            if not thread.nodes:
                del self._threads[thread.ident]
        if not self._threads:
            asyncio.Handle._run = _run  # type: ignore[method-assign]
            self._has_nodes.clear()

    def _measure(self, handle: asyncio.Handle) -> None:
        thread = self._threads.get(threading.get_ident())
        if thread is None or thread.loop is not handle._loop:  # type: ignore[attr-defined]
            _run(handle)
            return
        thread.begin(next(self._numbers))
        collected_s = thread.collecting_s
        wall_s, cpu_s = time.perf_counter(), time.thread_time()
        try:
            _run(handle)
        finally:
            thread.callback = 0
            wall_s = time.perf_counter() - wall_s
            if wall_s > LIMIT_S:
                cpu_s = time.thread_time() - cpu_s - (thread.collecting_s - collected_s)
                self._judge(thread, cpu_s)

    def _judge(self, thread: _Thread, cpu_s: float) -> None:
        samples = sum(thread.stacks.values())
        allowed = sum(seen for stack, seen in thread.stacks.items() if self._is_allowed(stack))
        held_s = (cpu_s + thread.blocked_s) * (1 - allowed / max(samples, 1))
        if held_s > LIMIT_S:
            stacks = [stack for stack, _ in thread.stacks.most_common() if not self._is_allowed(stack)]
            shown = stacks[0] if stacks else "  nobody saw it"
            kinds = f"{cpu_s * 1000:.0f} ms of CPU, {thread.blocked_s * 1000:.0f} ms in blocking calls"
            self.found.append(f"the loop was held for {held_s * 1000:.0f} ms ({kinds}):\n{shown}")

    def _is_allowed(self, stack: str) -> bool:
        return any(f"in {name}\n" in stack for name in self._allowed)

    def watch(self) -> None:
        while not self._is_over:
            self._has_nodes.wait()
            time.sleep(_PERIOD_S)
            for thread in list(self._threads.values()):
                thread.look()

    def end(self) -> None:
        self._is_over = True
        self._has_nodes.set()

    def collecting(self, phase: str, _info: dict[str, int]) -> None:
        thread = self._threads.get(threading.get_ident())
        if phase == "start":
            self._collecting_since = time.thread_time()
        elif thread is not None:
            thread.collecting_s += time.thread_time() - self._collecting_since


def _stack(frame: FrameType) -> str:
    """Its functions, the outermost first, each with its module."""
    lines = []
    for each, number in list(traceback.walk_stack(frame))[:_STACK_DEPTH]:
        name = f"{each.f_globals.get('__name__', '?')}.{each.f_code.co_qualname}"
        lines.append(f"  {each.f_code.co_filename}:{number} in {name}\n")
    return "".join(reversed(lines))


@contextmanager
def watched(node: Any, allowed: Iterable[str] = ALLOWED) -> Iterator[list[str]]:
    """Gives the list of stalls, from the first time that the start of a `node` awaits something to the end of its stop.

    `node` is the class of nodes.
    """
    stalls = Stalls(frozenset(allowed))
    before = {name: vars(node)[name] for name in ("start", "stop", "abandon")}
    start, stop, abandon = before.values()
    node.start = classmethod(_begun(start.__func__, stalls))
    node.stop, node.abandon = _ended(stop, stalls), _ended(abandon, stalls)
    gc.callbacks.append(stalls.collecting)
    watcher = threading.Thread(target=stalls.watch, name="stalls", daemon=True)
    watcher.start()
    try:
        yield stalls.found
    finally:
        stalls.end()
        watcher.join()
        gc.callbacks.remove(stalls.collecting)
        for name, method in before.items():
            setattr(node, name, method)


def _begun(start: Any, stalls: Stalls) -> Any:
    @wraps(start)
    async def start_watched(*arguments: Any, **named: Any) -> Any:
        stalls.enter()
        try:
            return await start(*arguments, **named)
        except BaseException:
            stalls.leave()
            raise

    return start_watched


def _ended(end: Any, stalls: Stalls) -> Any:
    @wraps(end)
    async def end_watched(*arguments: Any, **named: Any) -> Any:
        try:
            return await end(*arguments, **named)
        finally:
            stalls.leave()

    return end_watched
