"""The cleaner of a node: takes the dirtiest log, has it cleaned in another process, swaps in what came of it.

Deciding and swapping happen on the loop, where the logs live; the files of a log that is being cleaned do not change,
but for segments that retention deletes: what was made of those is thrown away.
"""

import asyncio
import logging
from collections.abc import Awaitable, Callable
from concurrent.futures import Executor
from contextlib import suppress
from typing import TYPE_CHECKING

from odradek.model.clock import Clock
from odradek.model.errors import CorruptBatch, StorageFailed
from odradek.model.numbers import TimestampMs
from odradek.process.files import Files
from odradek.storage import names
from odradek.storage.cleaning.choice import Candidate, CleanerSetting, Plan, candidate_of, dirtiest, plan
from odradek.storage.cleaning.clean import clean
from odradek.storage.cleaning.job import Job, Outcome
from odradek.storage.log import Log
from odradek.storage.log_dirs import LogDirs

if TYPE_CHECKING:
    from odradek.model.topic_partition import TopicPartition

logger = logging.getLogger(__name__)

Run = Callable[[Job], Awaitable[Outcome]]
"""Does a job, away from the loop. Raises CorruptBatch or OSError."""


def in_pool(files: Files, pool: Executor) -> Run:
    """For files that a child process would not see."""

    async def run(job: Job) -> Outcome:
        work = asyncio.get_running_loop().run_in_executor(pool, clean, files, job)
        try:
            return await asyncio.shield(work)
        except asyncio.CancelledError:
            await asyncio.wait([work])  # nobody else may be at these files
            raise

    return run


class Cleaner:
    def __init__(
        self, logs: LogDirs, pool: Executor, clock: Clock, setting: Callable[[], CleanerSetting], run: Run
    ) -> None:
        self._logs = logs
        self._pool = pool
        self._clock = clock
        self._setting = setting
        self._run = run
        self._busy: set[TopicPartition] = set()
        self._failed: set[TopicPartition] = set()
        """To be tried again after the next pause."""
        self._damaged: dict[TopicPartition, Log] = {}
        """Not to be tried again."""
        self._changed = asyncio.Event()
        self._at_work: set[asyncio.Task[None] | None] = set()
        """Those whose job is being done: nothing of it is in the log yet."""

    async def run(self) -> None:
        """Until cancelled."""
        async with asyncio.TaskGroup() as tasks:
            running: set[asyncio.Task[None]] = set()
            while True:
                setting = self._setting()
                while len(running) < setting.threads and (chosen := self._choose(setting)) is not None:
                    running.add(tasks.create_task(self._clean(chosen), name=f"clean {chosen.log.partition}"))
                if running:
                    running = await self._wait(tasks, running, setting)
                elif not await self._pause(setting.backoff_ms):
                    self._failed.clear()

    def settings_changed(self) -> None:
        """What is set counts from now on: a pause ends, and what is being cleaned is begun anew."""
        self._changed.set()

    async def _pause(self, ms: int) -> bool:
        """True where it ended before its time."""
        self._changed.clear()
        with suppress(TimeoutError):
            async with asyncio.timeout(max(ms, 1) / 1000):
                await self._changed.wait()
        return self._changed.is_set()

    async def _wait(
        self, tasks: asyncio.TaskGroup, running: set[asyncio.Task[None]], setting: CleanerSetting
    ) -> set[asyncio.Task[None]]:
        """Until a log is cleaned, or other settings count; those that are still being cleaned."""
        self._changed.clear()
        change = tasks.create_task(self._changed.wait(), name="settings of the cleaner")
        await asyncio.wait({*running, change}, return_when=asyncio.FIRST_COMPLETED)
        change.cancel()
        begun_anew = running & self._at_work if self._changed.is_set() and self._setting() != setting else set()
        for task in begun_anew:
            task.cancel()
        if begun_anew:
            await asyncio.wait(begun_anew)
        return {task for task in running if not task.done()}

    async def clean_once(self) -> bool:
        """Clean the dirtiest log; False if none is dirty enough."""
        chosen = self._choose(self._setting())
        if chosen is None:
            return False
        await self._clean(chosen)
        return True

    def _choose(self, setting: CleanerSetting) -> Plan | None:
        if not setting.enable:
            return None
        now = self._clock.now_ms()
        candidate = dirtiest(self._look_at(log, now) for log in self._logs if self._may_be_cleaned(log))
        if candidate is None:
            return None
        try:
            chosen = plan(candidate, setting, now)
        except StorageFailed:
            return None  # its directory failed and said so
        self._busy.add(chosen.log.partition)
        return chosen

    def _look_at(self, log: Log, now: TimestampMs) -> Candidate | None:
        """Times of segments are read from their files: what is wrong with one log must not keep others from it."""
        try:
            return candidate_of(log, now)
        except StorageFailed:
            return None  # its directory failed and said so
        except CorruptBatch as error:
            self._set_aside(log, error)
        except OSError as error:
            self._failed.add(log.partition)
            logger.warning("a log was not looked at", extra={"partition": str(log.partition), "reason": str(error)})
        return None

    def _set_aside(self, log: Log, error: CorruptBatch) -> None:
        self._damaged[log.partition] = log
        fields = {"partition": str(log.partition), "reason": str(error)}
        logger.warning("a log cannot be compacted: it is damaged", extra=fields)

    def _may_be_cleaned(self, log: Log) -> bool:
        where = log.partition
        is_free = where not in self._busy and where not in self._failed and self._logs.future_of(where) is None
        return is_free and self._damaged.get(where) is not log and log.log_dir.offline_reason is None

    async def _clean(self, chosen: Plan) -> None:
        log = chosen.log
        fields: dict[str, str | int] = {"partition": str(log.partition), "from": chosen.job.first_dirty}
        try:
            outcome = await self._outcome_of(chosen.job)
            if self._swap(chosen, outcome):
                await self._make_safe(log)
                log.cleaned_to = outcome.clean_to
                fields |= {"to": outcome.clean_to, "keys": outcome.keys}
                fields |= {"bytes_before": outcome.bytes_read, "bytes_after": outcome.bytes_written}
                logger.info("compacted a log", extra=fields)
        except StorageFailed:
            return  # its directory failed and said so
        except CorruptBatch as error:
            self._set_aside(log, error)
        except OSError as error:
            self._failed.add(log.partition)
            if self._is_served(log):
                logger.warning("a log was not compacted", extra={**fields, "reason": str(error)})
        finally:
            self._busy.discard(log.partition)
            if (
                log.log_dir.offline_reason is None
            ):  # else a swap may have failed half way: only recovery can tell what counts
                discard(log.log_dir.files, chosen.job.directory)

    async def _outcome_of(self, job: Job) -> Outcome:
        task = asyncio.current_task()
        self._at_work.add(task)
        try:
            return await self._run(job)
        finally:
            self._at_work.discard(task)

    def _is_served(self, log: Log) -> bool:
        return self._logs.get(log.partition) is log

    def _swap(self, chosen: Plan, outcome: Outcome) -> bool:
        """False where the log changed meanwhile: the next time it is cleaned as it is then."""
        old = chosen.replaced_by(outcome)
        if old is None or not self._is_served(chosen.log) or chosen.log.directory != chosen.job.directory:
            return False
        if self._logs.future_of(chosen.log.partition) is not None:
            return False  # it is copied as it is
        chosen.log.replace_segments(old, outcome.made)
        return True

    async def _make_safe(self, log: Log) -> None:
        """Only then may a checkpoint say that the log is clean."""
        files = log.log_dir.files
        try:
            await asyncio.get_running_loop().run_in_executor(self._pool, files.sync_dir, log.directory)
        except OSError as error:
            raise log.log_dir.take_offline(error) from error


def discard(files: Files, directory: str) -> None:
    """Remove what a cleaning that came to nothing left behind."""
    try:
        for entry in files.list(directory):
            if entry.name.endswith(names.CLEANED):
                files.remove(f"{directory}/{entry.name}")
    except OSError:
        return  # the directory is gone, or its disk is: recovery removes what is left
