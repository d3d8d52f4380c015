"""The loop's watch can fail: stalls are planted, and so is what must not be taken for one."""

import asyncio
import gc
import os
import subprocess
import sys
import threading
import time
from collections.abc import Callable
from pathlib import Path

from support.stalls import watched


class Node:
    """What is watched of one: that it starts, and stops."""

    @classmethod
    async def start(cls) -> "Node":
        return cls()

    async def stop(self) -> None:
        return

    async def abandon(self) -> None:
        return


def sleep() -> None:
    time.sleep(0.3)


def wait_for_a_lock() -> None:
    lock = threading.Lock()
    lock.acquire()
    lock.acquire(timeout=0.3)


def compute() -> None:
    until = time.thread_time() + 0.3
    while time.thread_time() < until:
        pass


def hold_in_one_call() -> None:
    """Of a function in C, which does not let the interpreter go."""
    until = time.thread_time() + 0.3
    while time.thread_time() < until:
        sum(range(3_000_000))


def stalls_of(work: Callable[[], object], allowed: tuple[str, ...] = ()) -> list[str]:
    async def main() -> None:
        node = await Node.start()
        await asyncio.sleep(0)
        asyncio.get_running_loop().call_soon(work)
        await asyncio.sleep(0.01)
        await node.stop()

    with watched(Node, allowed) as found:
        asyncio.run(main())
    return found


def test_a_call_that_blocks() -> None:
    for work in (sleep, wait_for_a_lock):
        (stall,) = stalls_of(work)
        assert f"in {__name__}.{work.__name__}\n" in stall


def test_a_computation() -> None:
    for work in (compute, hold_in_one_call):
        (stall,) = stalls_of(work)
        assert f"in {__name__}.{work.__name__}\n" in stall


def test_one_that_is_allowed() -> None:
    assert stalls_of(compute, (f"{__name__}.compute",)) == []


def test_without_a_node_nobody_looks() -> None:
    async def main() -> None:
        compute()

    with watched(Node, ()) as found:
        asyncio.run(main())
    assert found == []


def test_one_that_waits_is_no_stall() -> None:
    async def main() -> None:
        node = await Node.start()
        await asyncio.sleep(0.3)
        await node.stop()

    with watched(Node, ()) as found:
        asyncio.run(main())
    assert found == []


def test_garbage_collection_is_no_stall() -> None:
    kept = [[number] for number in range(1_500_000)]

    def collect() -> None:
        until = time.thread_time() + 0.3
        while time.thread_time() < until:
            gc.collect()

    assert stalls_of(collect) == []
    assert kept


_SUSPENDED = """
import os, signal, subprocess, sys
from unit.support.test_stalls import stalls_of

def suspend():
    os.kill(os.getpid(), signal.SIGSTOP)

wake = f"import os, signal, time; time.sleep(0.4); os.kill({os.getpid()}, signal.SIGCONT)"
with subprocess.Popen([sys.executable, "-c", wake]):
    print(stalls_of(suspend))
"""


def test_a_process_that_is_suspended_is_no_stall() -> None:
    tests = str(Path(__file__).parents[2])
    environment = {**os.environ, "PYTHONPATH": os.pathsep.join([tests, *sys.path])}
    ended = subprocess.run(
        [sys.executable, "-c", _SUSPENDED], env=environment, capture_output=True, text=True, timeout=60
    )
    assert (ended.stdout, ended.stderr) == ("[]\n", "")


def test_others_that_have_the_interpreter_make_no_stall() -> None:
    over = threading.Event()

    def busy() -> None:
        while not over.is_set():
            sum(range(1000))

    def some_work() -> None:
        until = time.thread_time() + 0.04
        while time.thread_time() < until:
            pass

    threads = [threading.Thread(target=busy) for _ in range(8)]
    for thread in threads:
        thread.start()
    try:
        assert stalls_of(some_work) == []
    finally:
        over.set()
        for thread in threads:
            thread.join()
