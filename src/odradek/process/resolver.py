"""Addresses of hosts, asked of the operating system in threads: its call blocks, for half a minute at times."""

import asyncio
import socket
from collections import deque
from collections.abc import Callable
from contextlib import suppress
from threading import Lock, Thread

from odradek.process.network import parse_address

_THREADS_MAX = 4


def look_up(host: str) -> frozenset[str]:
    """Blocks. None where the host has no address, or nobody can tell."""
    try:
        found = socket.getaddrinfo(host, None, type=socket.SOCK_STREAM)
    except (OSError, ValueError):
        return frozenset()
    return frozenset(filter(None, (parse_address(str(address[0])) for *_, address in found)))


class _Question:
    __slots__ = ("answer", "host", "loop")

    def __init__(self, host: str) -> None:
        self.host = host
        self.loop = asyncio.get_running_loop()
        self.answer: asyncio.Future[frozenset[str]] = self.loop.create_future()

    def settle(self, found: frozenset[str]) -> None:
        with suppress(RuntimeError):  # the loop is closed: nobody waits any more
            self.loop.call_soon_threadsafe(self._set, found)

    def _set(self, found: frozenset[str]) -> None:
        if not self.answer.done():
            self.answer.set_result(found)


class Resolver:
    """Threads come with questions and go when there are none.

    They are daemons and not of a pool: the end of a pool, and of the process, would wait for a name server that does
    not answer.
    """

    def __init__(self, look_up: Callable[[str], frozenset[str]] = look_up) -> None:
        self._look_up = look_up
        self._lock = Lock()
        self._questions: deque[_Question] = deque()
        self._threads = 0

    async def resolve(self, host: str) -> frozenset[str]:
        """None where the host has no address. May be cancelled; a thread that asks goes on until it is answered."""
        address = parse_address(host)
        if address is not None:
            return frozenset((address,))
        question = _Question(host)
        with self._lock:
            self._questions.append(question)
            is_short = self._threads < _THREADS_MAX
            self._threads += is_short
        if is_short:
            self._start_thread(question)
        return await question.answer

    def _start_thread(self, question: _Question) -> None:
        try:
            Thread(target=self._work, name="resolver", daemon=True).start()
        except RuntimeError:  # the process may have no more threads: another may answer, or nobody can tell
            with self._lock:
                self._threads -= 1
                if not self._threads and question in self._questions:
                    self._questions.remove(question)
                    question.settle(frozenset())

    def _work(self) -> None:
        while True:
            with self._lock:
                if not self._questions:
                    self._threads -= 1
                    return
                question = self._questions.popleft()
            found = frozenset[str]()
            try:
                if not question.answer.cancelled():
                    found = self._look_up(question.host)
            except BaseException:
                with self._lock:
                    self._threads -= 1
                raise
            finally:
                question.settle(found)
