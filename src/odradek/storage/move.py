"""A log on its way into another log directory, while it is written and read.

closed segments -> copied by threads, in order -> Log.adopt -> what came meanwhile -> Log.replicate, on the loop
  -> both end at the same offset, and what was copied is synced -> the owner exchanges the directories

The future log is at every moment a log with the first part of the other's records: a crash leaves both, and the move
goes on from there.
"""

import asyncio
from collections.abc import Awaitable, Callable
from concurrent.futures import Executor
from contextlib import suppress
from functools import partial
from itertools import pairwise
from typing import TypeVar

from odradek.model.numbers import NO_LEADER_EPOCH, Offset
from odradek.process.files import File, Files
from odradek.storage import names
from odradek.storage.flush import Flusher
from odradek.storage.log import CopiedSegment, Log
from odradek.storage.segment import Segment, Sizes
from odradek.storage.truncation import start_anew, truncate

T = TypeVar("T")

Spend = Callable[[int], Awaitable[None]]
"""Called with a number of bytes before they are copied; it may wait."""

_TURN_BYTES = 4 << 20
"""Copied by a thread at a time: in between the move can be throttled, or ended."""
_CHUNK_BYTES = 1 << 20
_TAIL_BYTES = 4 << 20
"""As much is left to the loop. Of more, a segment is made that threads can copy."""
_BREATH_BYTES = 128 << 10
"""As much the loop copies without serving others in between."""
_SYNCS_MAX = 3
"""Then so much is left as is written during a sync, however much that is."""


class Ended(Exception):
    """The move came to nothing: one of the two logs is gone."""


class Move:
    """Brings `future` to where `log` is."""

    def __init__(self, log: Log, future: Log, pool: Executor, is_on: Callable[[], bool]) -> None:
        """`is_on` is asked whenever something else may have happened meanwhile."""
        self.log = log
        self.future = future
        self._pool = pool
        self._is_on = is_on

    @property
    def _files(self) -> Files:
        return self.future.log_dir.files

    async def run(self, flusher: Flusher, spend: Spend) -> None:
        """Until next to nothing is left. Raises Ended, StorageFailed, or OSError where something cannot be copied."""
        await self._line_up()
        await self._copy_closed(spend)
        while self._bytes_behind() > _TAIL_BYTES:  # for ever, if the log is written faster than it is copied
            active = self.log.segments[-1].base_offset
            if self.future.end_offset > active:
                await self._truncate(active)  # about to be closed, and closed segments are copied whole
            self.log.roll()
            await self._copy_closed(spend)
        for _ in range(_SYNCS_MAX):
            await self._copy_tail(spend)
            await asyncio.shield(flusher.request(self.future))
            self.check()
            if self._bytes_behind() <= _BREATH_BYTES:
                break

    async def _line_up(self) -> None:
        """Cut what the other log has not, or not any more: it is of another time, before a crash."""
        log, future = self.log, self.future
        end = _agreed_end(log, future)
        for segment, following in pairwise(log.segments):
            if segment.base_offset < end < following.base_offset:
                end = segment.base_offset  # closed segments are copied whole
        await self._truncate(end)
        await self._skip_what_is_gone()

    async def _truncate(self, end: Offset) -> None:
        await truncate({self.future: end}, self._pool)
        self.check()

    async def catch_up(self) -> None:
        """Copy the rest. When this returns, both logs hold the same, until something is appended."""
        await self._skip_what_is_gone()
        while self._copy_some(_TURN_BYTES):
            pass
        if self.future.end_offset < self.log.end_offset:
            self.future.go_on_at(self.log.end_offset)
        self.future.follow(self.log)

    # --- closed segments, by threads

    async def _copy_closed(self, spend: Spend) -> None:
        while (segment := await self._next_closed()) is not None:
            copied = await self._copy_segment(segment, spend)
            self.check()
            self.future.adopt(copied, self.log.epochs)
        active = self.log.segments[-1].base_offset
        if self.future.end_offset <= active:
            has_snapshot = await self._copy_snapshot(active)
            self.check()
            self.future.load_producers(active, has_snapshot=has_snapshot)
            if self.future.end_offset < active:
                self.future.go_on_at(active)

    async def _next_closed(self) -> Segment | None:
        await self._skip_what_is_gone()
        end = self.future.end_offset
        # Compaction may leave a segment that is empty: there is nothing of it to copy, and it would stay the next one.
        return next((each for each in self.log.segments[:-1] if each.base_offset >= end and each.size), None)

    async def _skip_what_is_gone(self) -> None:
        """Retention may be faster than we are."""
        while self.future.end_offset < (first := self.log.segments[0].base_offset):
            await start_anew(self.future, first, self._pool)
            self.check()

    async def _copy_segment(self, segment: Segment, spend: Spend) -> CopiedSegment:
        self.future.arriving_bytes = 0
        sizes = dict.fromkeys(names.SEGMENT_SUFFIXES, 0)
        sources: dict[str, File] = {}
        try:
            for suffix in names.SEGMENT_SUFFIXES:  # opened at once, as retention may rename and remove them
                if self._files.exists(segment.path(suffix)):
                    sources[suffix] = self._files.open_to_read(segment.path(suffix))
                    sizes[suffix] = segment.size if suffix == names.LOG else sources[suffix].size()
            for suffix, source in sources.items():
                path = f"{self.future.directory}/{names.file_name(segment.base_offset, suffix)}{names.CLEANED}"
                await self._copy_file(source, path, sizes[suffix], spend)
        finally:
            for source in sources.values():
                source.close()
        has_snapshot = await self._copy_snapshot(segment.base_offset)
        return CopiedSegment(segment.base_offset, Sizes(*sizes.values()), has_snapshot)

    async def _copy_file(self, source: File, path: str, size: int, spend: Spend) -> None:
        target = self._files.open(path, create=True)
        try:
            target.truncate(0)
            for at in range(0, size, _TURN_BYTES):
                turn = min(_TURN_BYTES, size - at)
                await spend(turn)
                self.check()
                await self._in_thread(partial(_copy, source, target, at, turn))
                self.future.arriving_bytes += turn
            await self._in_thread(target.sync)
            target.set_modified_ms(source.modified_ms())
        finally:
            target.close()

    async def _copy_snapshot(self, offset: Offset) -> bool:
        """That of the producers at this offset; False where there is none, or it is gone meanwhile."""
        name = names.file_name(offset, names.SNAPSHOT)
        source, target = f"{self.log.directory}/{name}", f"{self.future.directory}/{name}"
        with suppress(FileNotFoundError):
            await self._in_thread(partial(_copy_small, self._files, source, target))
            return True
        return False

    async def _in_thread(self, work: Callable[[], T]) -> T:
        """To its end, even if nobody waits for it any more: files must be quiet before they are closed."""
        job = asyncio.get_running_loop().run_in_executor(self._pool, work)
        try:
            return await asyncio.shield(job)
        except asyncio.CancelledError:
            await asyncio.wait([job])
            raise

    # --- the rest, on the loop

    async def _copy_tail(self, spend: Spend) -> None:
        while (behind := self._bytes_behind()) > 0:
            await spend(min(behind, _BREATH_BYTES))
            self.check()
            await self._skip_what_is_gone()
            if not self._copy_some(_BREATH_BYTES):
                return
            await asyncio.sleep(0)

    def _copy_some(self, bytes_max: int) -> bool:
        """False if nothing is left to copy."""
        found = self.log.read_stored(self.future.end_offset, bytes_max)
        if found is None:
            return False
        self.future.replicate(memoryview(found.read()))
        return True

    def _bytes_behind(self) -> int:
        """How much is still to be copied."""
        end, behind = self.future.end_offset, 0
        if end >= self.log.end_offset:
            return 0
        for segment in reversed(self.log.segments):
            if segment.base_offset < end:
                place = segment.find(end)
                return behind + (0 if place is None else segment.size - place.position)
            behind += segment.size
        return behind

    def check(self) -> None:
        """Raises Ended where the move is to end."""
        if not self._is_on():
            raise Ended


def _agreed_end(log: Log, future: Log) -> Offset:
    """How far the two hold the same: by the epochs that their records were written in, as followers find it out."""
    end = min(log.end_offset, future.end_offset)
    for entry in reversed(future.epochs.entries):
        if entry.start >= end:
            continue
        epoch, until = log.epochs.end_offset(entry.epoch, log.end_offset)
        if epoch == entry.epoch:
            return min(end, until)
        end = entry.start
    return end if future.epochs.latest == NO_LEADER_EPOCH else min(end, future.start_offset)


def _copy(source: File, target: File, start: int, size: int) -> None:
    for at in range(start, start + size, _CHUNK_BYTES):
        target.write(source.read(min(_CHUNK_BYTES, start + size - at), at), at)


def _copy_small(files: Files, source: str, target: str) -> None:
    data = files.read_whole(source)
    file = files.open(target, create=True)
    try:
        file.write(data, 0)
        file.truncate(len(data))
        file.sync()
    finally:
        file.close()
