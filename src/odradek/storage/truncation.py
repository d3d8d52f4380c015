"""Truncation, with no sync on the loop: logs end earlier at once, and threads make that safe for all of them together.

    Log.begin_truncation   on the loop: memory, and segments renamed to `.deleted`, the last one first
    make_safe              in a thread, for all logs: 1. sync the directory   2. cut the active segment's file, sync it
                           3. write the checkpoints of each log directory, once
    Log.end_truncation     on the loop: the indexes are cut, and the log takes appends again

Nothing is appended in between. So a crash at any point leaves the old log or the shorter one, or one that ends between
them, and never a record that was cut beside one that was appended later:

    before 1    power loss may undo renames, from the last one back: what is there has no gap, and no file was changed
    before 2    the segment that is to be cut is the last one: recovery reads it from its start
    before 3    a recovery point or log start above the end: recovery lowers it before anything is appended
"""

import asyncio
from collections import deque
from collections.abc import Mapping, Sequence
from concurrent.futures import Executor
from contextlib import suppress
from typing import TYPE_CHECKING, NamedTuple

from odradek.model.errors import StorageFailed
from odradek.model.numbers import Offset
from odradek.storage.log_dir import Checkpoints, LogDir
from odradek.storage.open_files import Handle

if TYPE_CHECKING:
    from odradek.storage.log import Log

_TURN = 50
"""Logs that are cut in memory before others are served: some milliseconds."""


class Truncation(NamedTuple):
    """What is left to do of a truncation, for a thread."""

    active: Handle
    """The file of the segment that is active now, pinned."""
    size: int
    """Its size from now on."""
    directory: str
    deleted: list[str]
    """Files of later segments, renamed already."""
    log_dir: LogDir

    def cut(self) -> None:
        """Blocks; may run in another thread. Raises OSError."""
        files = self.log_dir.files
        files.sync_dir(self.directory)
        for path in self.deleted:
            with suppress(FileNotFoundError):  # one of the same name was to be deleted already
                files.remove(path)
        file = self.active.file
        assert file is not None, "it is pinned"
        if file.size() > self.size:
            file.truncate(self.size)
            file.sync()


async def truncate(wanted: "Mapping[Log, Offset]", pool: Executor) -> None:
    """Truncate logs, each at its offset. Raises StorageFailed where one fails; the others are truncated all the same.

    A log that starts above its offset starts anew there.
    """
    begun: dict[Log, Truncation] = {}
    try:
        for number, (log, offset) in enumerate(wanted.items(), start=1):
            if number % _TURN == 0:
                await asyncio.sleep(0)
            job = log.begin_truncation(offset)
            if job is not None:
                begun[log] = job
    finally:
        await _finish(begun, pool)


async def start_anew(log: "Log", offset: Offset, pool: Executor) -> None:
    """Drop everything in a log, which goes on at `offset`. Raises StorageFailed."""
    await _finish({log: log.begin_start_anew(offset)}, pool)


async def _finish(begun: "Mapping[Log, Truncation]", pool: Executor) -> None:
    """To its end, even if the caller is cancelled."""
    if not begun:
        return
    log_dirs = dict.fromkeys(job.log_dir for job in begun.values())
    checkpoints = {log_dir: log_dir.changed_checkpoints() for log_dir in log_dirs}
    work = asyncio.get_running_loop().run_in_executor(pool, make_safe, list(begun.values()), checkpoints)
    try:
        await asyncio.shield(work)
    except asyncio.CancelledError:
        await asyncio.wait([work])
        _end(_Ending(begun, work.result()))
        raise
    ending = _Ending(begun, work.result())
    try:
        while ending.left:
            ending.end_some(_TURN)
            await asyncio.sleep(0)
    finally:
        _end(ending)


def truncate_now(log: "Log", job: Truncation | None) -> None:
    """The same for one log at once. Blocks."""
    if job is not None:
        _end(_Ending({log: job}, make_safe([job], {job.log_dir: job.log_dir.changed_checkpoints()})))


def make_safe(jobs: Sequence[Truncation], checkpoints: Mapping[LogDir, Checkpoints]) -> list[OSError | None]:
    """Blocks; may run in another thread. Returns what went wrong with each."""
    errors = [_error_of(job) for job in jobs]
    for log_dir, changed in checkpoints.items():
        log_dir.store_checkpoints(changed)
    return errors


def _error_of(job: Truncation) -> OSError | None:
    try:
        job.cut()
    except OSError as error:
        return error
    return None


class _Ending:
    """The last part of truncations, log by log."""

    def __init__(self, begun: "Mapping[Log, Truncation]", errors: Sequence[OSError | None]) -> None:
        self.left = deque((log, job, error) for (log, job), error in zip(begun.items(), errors, strict=True))
        self.failure: StorageFailed | None = None

    def end_some(self, count: int) -> None:
        for _ in range(min(count, len(self.left))):
            log, job, error = self.left.popleft()
            try:
                log.end_truncation(job, error)
            except StorageFailed as failure:
                self.failure = failure


def _end(ending: _Ending) -> None:
    """All that are left at once. Raises StorageFailed if one failed."""
    ending.end_some(len(ending.left))
    if ending.failure is not None:
        raise ending.failure
