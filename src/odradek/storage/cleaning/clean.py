"""Cleaning the closed segments of one log: files in, files out. Nothing that is there already is changed.

dirty segments -> LastPlaces: where the last record of each key lies
all segments, clean ones too -> BatchFilter -> new segments under `.cleaned` names, synced
"""

from collections.abc import Callable, Sequence

from odradek.model.numbers import Offset
from odradek.process.files import File, Files, write_file
from odradek.records.spans import inflate
from odradek.storage import batches, names, transaction_index
from odradek.storage.cleaning.batch_filter import BatchFilter
from odradek.storage.cleaning.decided_txns import DecidedTxns
from odradek.storage.cleaning.job import Job, Limits, Made, Outcome, Source
from odradek.storage.cleaning.last_places import LastPlaces
from odradek.storage.cleaning.spill import Spill
from odradek.storage.leader_epochs import LeaderEpochs
from odradek.storage.producer_state import ProducerState
from odradek.storage.rebuild import rebuild_by_heads
from odradek.storage.segment import RELATIVE_OFFSET_MAX, Sizes

Spend = Callable[[int], None]
"""Told of bytes that are read or written; it may wait."""

_WRITE_BYTES = 1 << 20
_KEYS = ".keys"
"""Of the file that keys are put aside in."""


def no_limit(_bytes: int) -> None:
    return


def clean(files: Files, job: Job, spend: Spend = no_limit) -> Outcome:
    """Write the cleaned segments. Raises CorruptBatch or OSError, and may leave `.cleaned` files then."""
    spill = Spill(files, _path(job, job.sources[0].base, _KEYS) + names.CLEANED, spend)
    try:
        last = _find_last(files, job, spill, spend)
        rewriting = _Rewriting(files, job, BatchFilter(job, last), last, spend)
        made = [rewriting.run(group) for group in group_sources(job.sources, job.limits, job.end)]
    finally:
        spill.close()
    files.sync_dir(job.directory)
    return Outcome(job.end, tuple(made), len(last), rewriting.bytes_read, rewriting.bytes_written)


def group_sources(sources: Sequence[Source], limits: Limits, end: Offset) -> list[list[Source]]:
    """Neighbours that fit into one segment together, even if everything in them stays."""
    groups: list[list[Source]] = []
    for number, source in enumerate(sources):
        ends = sources[number + 1].base if number + 1 < len(sources) else end
        if groups and _fits(groups[-1], source, ends, limits):
            groups[-1].append(source)
        else:
            groups.append([source])
    return groups


def _fits(group: list[Source], source: Source, ends: Offset, limits: Limits) -> bool:
    together = [*group, source]
    return (
        sum(each.size for each in together) <= limits.segment_bytes
        and sum(each.index_size for each in together) <= limits.segment_index_bytes
        and sum(each.time_index_size for each in together) <= limits.segment_index_bytes
        and (source.size == 0 or ends - 1 - group[0].base <= RELATIVE_OFFSET_MAX)
    )


def _find_last(files: Files, job: Job, spill: Spill, spend: Spend) -> LastPlaces:
    """Where the last record of each key lies in the dirty part; in all of the log, if that does not fit in memory."""
    last = LastPlaces(job.limits.dedupe_bytes, spill)
    ends = [*(source.base for source in job.sources[1:]), job.end]
    clean = sum(1 for end in ends if end <= job.first_dirty)
    _note_segments(files, job, range(clean, len(ends)), last, spend)
    if last.is_spilled and clean:
        last.begin_older()
        _note_segments(files, job, range(clean), last, spend)
    last.settle()
    return last


def _note_segments(files: Files, job: Job, numbers: range, last: LastPlaces, spend: Spend) -> None:
    first = job.sources[numbers.start].base if numbers else 0
    # Those that ended before would be taken for ones that go on: their markers are not met here.
    txns = DecidedTxns(txn for txn in job.aborted if txn.last_offset >= first)
    for number in numbers:
        source = job.sources[number]
        last.begin_segment(number)
        file = files.open_to_read(_path(job, source.base, names.LOG))
        try:
            for _, head, batch in batches.checked(file, source.size):
                spend(head.size)
                if head.is_control:
                    txns.meet_marker(batch, head)
                    last.skip()
                elif txns.meet_batch(head):
                    last.skip()
                else:
                    last.note(inflate(batch, head), head.count)
        finally:
            file.close()


class _Rewriting:
    """Writes segments anew, oldest first."""

    def __init__(self, files: Files, job: Job, batch_filter: BatchFilter, last: LastPlaces, spend: Spend) -> None:
        self._files = files
        self._job = job
        self._filter = batch_filter
        self._last = last
        self._numbers = {source.base: number for number, source in enumerate(job.sources)}
        self._spend = spend
        self.bytes_read = 0
        self.bytes_written = 0

    def run(self, group: Sequence[Source]) -> Made:
        """One segment from a group of neighbours."""
        base = group[0].base
        path = _path(self._job, base, names.LOG) + names.CLEANED
        file = self._files.open(path, create=True)
        try:
            file.truncate(0)  # left over from a cleaning that did not end
            size = modified_ms = 0
            for source in group:
                size, modified_ms = self._rewrite(source, file, size)
            interval = self._job.limits.index_interval_bytes
            found = rebuild_by_heads(file, size, base, interval, (ProducerState(base), LeaderEpochs()))
            if found.corruption is not None:
                raise found.corruption
            file.sync()
            file.set_modified_ms(modified_ms)  # retention goes by it where no record has a time
        finally:
            file.close()
        aborted = transaction_index.pack(self._filter.txns.take_kept())
        indexes = {names.INDEX: bytes(found.index), names.TIME_INDEX: bytes(found.time_index)}
        if aborted:
            indexes[names.TXN_INDEX] = aborted
        for suffix, content in indexes.items():
            write_file(self._files, _path(self._job, base, suffix) + names.CLEANED, content, sync=True)
        replaces = tuple(source.base for source in group)
        return Made(base, replaces, Sizes(size, len(found.index), len(found.time_index), len(aborted)))

    def _rewrite(self, source: Source, into: File, at: int) -> tuple[int, int]:
        """Append what is left of a segment at `at`; returns where that ends, and when the segment was written."""
        waiting = bytearray()
        first = self._last.first_of(self._numbers[source.base])
        file = self._files.open_to_read(_path(self._job, source.base, names.LOG))
        try:
            for number, (_, head, batch) in enumerate(batches.checked(file, source.size)):
                self._spend(head.size)
                left = self._filter.leave(batch, head, None if first is None else first + number)
                if left is not None:
                    waiting += left
                    if len(waiting) >= _WRITE_BYTES:
                        at = self._write(waiting, into, at)
            self.bytes_read += source.size
            return self._write(waiting, into, at), file.modified_ms()
        finally:
            file.close()

    def _write(self, waiting: bytearray, into: File, at: int) -> int:
        size = len(waiting)
        into.write(waiting, at)
        waiting.clear()
        self._spend(size)
        self.bytes_written += size
        return at + size


def _path(job: Job, base: Offset, suffix: str) -> str:
    return f"{job.directory}/{names.file_name(base, suffix)}"
