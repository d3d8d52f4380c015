"""Processes of the demo: what they say, how they end, and that none is left."""

import os
import signal
import sys
import time
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from odradek.demo.children import Child, ChildEnded

pytestmark = pytest.mark.slow

ECHO = "import sys\nfor line in sys.stdin: print(line.strip().upper(), flush=True)"
DEAF = "import sys, threading\nprint('up', flush=True)\nthreading.Event().wait()"
WITH_CHILD = """
import subprocess, sys, threading
left = subprocess.Popen([sys.executable, '-c', 'import threading; threading.Event().wait()'])
print(left.pid, flush=True)
sys.stdin.read()
"""
COMPLAINS = "import sys\nprint('odradek: no room', file=sys.stderr)\nprint('Traceback', file=sys.stderr)\nsys.exit(3)"


Start = Callable[[str], Child]


@pytest.fixture
def start(tmp_path: Path) -> Iterator[Start]:
    """Children that are gone when the test has ended."""
    started: list[Child] = []

    def make(code: str) -> Child:
        started.append(Child("the child", [sys.executable, "-c", code], tmp_path / "child.log", os.environ))
        return started[-1]

    yield make
    for each in started:
        each.stop(0.0)


def soon() -> float:
    return time.monotonic() + 60


def wait_for(of: Child) -> str:
    while of.first_word is None:
        os.sched_yield()
    return of.first_word


def wait_for_end(of: Child) -> ChildEnded:
    while True:
        try:
            of.check()
        except ChildEnded as ended:
            return ended
        os.sched_yield()


def test_messages_go_both_ways_and_the_end_of_input_is_the_end(start: Start) -> None:
    echo = start(ECHO)
    echo.tell("one")
    assert wait_for(echo) == "ONE"
    echo.check()
    assert echo.said() == ["ONE"]
    assert echo.said() == []
    assert echo.stop(soon())
    with pytest.raises(ChildEnded, match="the child ended with status 0"):
        echo.check()
    echo.tell("two")  # nobody hears it


def test_one_that_does_not_listen_is_killed_at_the_deadline(start: Start) -> None:
    deaf = start(DEAF)
    wait_for(deaf)
    assert not deaf.stop(time.monotonic())
    with pytest.raises(ChildEnded, match="was killed by SIGKILL"):
        deaf.check()


def test_what_a_child_has_started_ends_with_it(start: Start) -> None:
    parent = start(WITH_CHILD)
    left = int(wait_for(parent))
    os.kill(left, 0)
    assert parent.stop(soon())
    while is_there(left):
        os.sched_yield()


def is_there(pid: int) -> bool:
    """And not only waits for init to notice that it has ended."""
    try:
        return Path(f"/proc/{pid}/stat").read_text(encoding="utf-8").split()[2] != "Z"
    except OSError:
        return False


def test_an_end_is_told_with_the_line_for_people_and_the_log(start: Start, tmp_path: Path) -> None:
    ended = wait_for_end(start(COMPLAINS))
    log = tmp_path / "child.log"
    assert str(ended) == f"the child ended with status 3: no room (its log is {log})"


def test_a_kill_is_told_by_its_name(start: Start) -> None:
    deaf = start(DEAF)
    wait_for(deaf)
    os.kill(deaf.pid, signal.SIGTERM)
    assert "was killed by SIGTERM" in str(wait_for_end(deaf))


def test_a_signal_to_the_terminal_does_not_reach_it(start: Start) -> None:
    echo = start(ECHO)
    assert os.getsid(echo.pid) == echo.pid != os.getsid(0)
