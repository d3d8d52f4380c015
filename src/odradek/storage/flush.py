"""Syncs off the loop: one sync serves all who wait for it.

A sync makes safe what was appended before it began. Who asks while one is running, and more was appended since, waits
for the next, and so do all the others who ask meanwhile: however many wait, at most two syncs of a log stand between an
append and its answer.

A few logs are synced at a time, since a sync keeps files open from its begin to its end; the others wait their turn.
"""

import asyncio
from collections import deque
from concurrent.futures import Executor
from functools import partial

from odradek.model.errors import StorageFailed
from odradek.process.guard import Guard, report
from odradek.storage.local_log import SyncJob
from odradek.storage.log import Log

RUNNING_MAX = 4
"""A node has no more threads for the disk."""


class _Syncing:
    """A log that is being synced: who waits for this sync, and who for the next."""

    __slots__ = ("current", "following", "job")

    def __init__(self, current: "asyncio.Future[None]") -> None:
        self.current = current
        self.following: asyncio.Future[None] | None = None
        self.job: SyncJob | None = None
        """None before it has begun."""


class Flusher:
    def __init__(self, pool: Executor) -> None:
        self._pool = pool
        self._syncing: dict[Log, _Syncing] = {}
        self._waiting: deque[Log] = deque()
        self._held: set[Log] = set()
        self._running = 0

    def request(self, log: Log) -> "asyncio.Future[None]":
        """Done when everything that is in the log now is synced; fails with StorageFailed.

        All who ask share it: shield it before you await it, or your cancellation is that of all.
        """
        loop = asyncio.get_running_loop()
        syncing = self._syncing.get(log)
        if syncing is None:
            current = loop.create_future()
            self._syncing[log] = _Syncing(current)
            self._waiting.append(log)
            self._start_next()
            return current
        if syncing.job is None or log.is_reached_by(syncing.job):
            return syncing.current
        if syncing.following is None:
            syncing.following = loop.create_future()
        return syncing.following

    def hold(self, log: Log) -> None:
        """From now on, nothing that is appended to the log is acknowledged before `release`.

        Whoever appends to it waits for a sync, and no sync of it begins.
        """
        self._held.add(log)
        log.hold()

    def release(self, log: Log) -> None:
        self._held.discard(log)
        log.release()
        self._start_next()

    async def drain(self) -> None:
        """Wait until no sync is under way."""
        while self._syncing:
            await asyncio.wait([each.current for each in self._syncing.values()])

    def _start_next(self) -> None:
        while self._running < RUNNING_MAX:
            log = next((each for each in self._waiting if each not in self._held), None)
            if log is None:
                return
            self._waiting.remove(log)
            self._start(log, self._syncing[log])

    def _start(self, log: Log, syncing: _Syncing) -> None:
        with Guard(partial(self._fail, log, syncing)):
            job = syncing.job = log.begin_sync()
            running = asyncio.get_running_loop().run_in_executor(self._pool, log.run_sync, job)
            running.add_done_callback(partial(self._ended, log, job))
            self._running += 1

    def _ended(self, log: Log, job: SyncJob, running: "asyncio.Future[None]") -> None:
        self._running -= 1
        try:
            self._conclude(log, job, running)
        finally:
            self._start_next()

    def _conclude(self, log: Log, job: SyncJob, running: "asyncio.Future[None]") -> None:
        syncing = self._syncing[log]
        with Guard(partial(self._fail, log, syncing)):
            error = running.exception()
            if isinstance(error, Exception) and not isinstance(error, OSError):
                report(error, "a sync", partition=str(log.partition))
                error = _unexpected(error)
            elif error is not None and not isinstance(error, OSError):
                raise error
            log.end_sync(job, error)
            _finish(syncing.current, None)
            if syncing.following is None:
                del self._syncing[log]
            else:
                syncing.current, syncing.following = syncing.following, None
                syncing.job = None
                self._waiting.append(log)

    def _fail(self, log: Log, syncing: _Syncing, error: Exception) -> None:
        """All who wait hear of it. What nobody expected fails the log directory: what of it is safe, nobody knows."""
        if not isinstance(error, StorageFailed):
            report(error, "a sync", partition=str(log.partition))
            error = log.log_dir.take_offline(_unexpected(error))
        del self._syncing[log]
        for future in (syncing.current, syncing.following):
            if future is not None:
                _finish(future, error)


def _unexpected(error: Exception) -> OSError:
    return OSError(f"{type(error).__name__}: {error}")


def _finish(future: "asyncio.Future[None]", error: StorageFailed | None) -> None:
    if future.done():
        return  # the one who waited was cancelled
    if error is None:
        future.set_result(None)
    else:
        future.set_exception(error)
        future.exception()  # seen: nobody may be waiting
