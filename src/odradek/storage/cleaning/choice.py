"""Which log is to be cleaned next, and what of it. Decides only.

    log start .. clean .. first dirty offset .. dirty, may be cleaned .. first that may not be cleaned .. end

What may not be cleaned: the active segment; anything at or past the last stable offset, so that every transaction in
what is cleaned is decided; records younger than min.compaction.lag.ms; and, other than in Apache Kafka, what was not
synced yet. So recovery never has to read a cleaned segment to tell whether it is whole.
"""

from bisect import bisect_right
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import NamedTuple

from odradek.model.numbers import Offset, TimestampMs
from odradek.model.settings import LONG_MAX
from odradek.storage import offset_index, time_index
from odradek.storage.cleaning.job import Job, LastOf, Limits, Outcome, Source
from odradek.storage.log import Log
from odradek.storage.segment import Segment


@dataclass(frozen=True, slots=True)
class CleanerSetting:
    """Kafka's names for these begin with log.cleaner."""

    enable: bool = True
    backoff_ms: int = 15_000
    threads: int = 1
    dedupe_buffer_size: int = 128 << 20
    io_buffer_load_factor: float = 0.9
    io_max_bytes_per_second: float = float("inf")

    @property
    def dedupe_bytes(self) -> int:
        """What one of the threads may hold of keys."""
        return max(int(self.dedupe_buffer_size // max(self.threads, 1) * self.io_buffer_load_factor), 1)


class Plan(NamedTuple):
    """A cleaning that is worth its while, and what must still be so when it is done."""

    log: Log
    job: Job
    segments: Sequence[Segment]
    cuts: int

    def replaced_by(self, outcome: Outcome) -> Sequence[Segment] | None:
        """The segments that were cleaned; None if they are not all in the log any more, as they were."""
        old = self.segments[: sum(len(each.replaces) for each in outcome.made)]
        there = self.log.segments[:-1]
        if self.log.cuts != self.cuts or not old or old[0] not in there:
            return None
        first = there.index(old[0])
        return old if there[first : first + len(old)] == tuple(old) else None


class Candidate(NamedTuple):
    log: Log
    first_dirty: Offset
    segments: Sequence[Segment]
    """Those that may be cleaned, and the clean ones before them."""
    end: Offset
    ratio: float
    is_overdue: bool

    @property
    def is_worthwhile(self) -> bool:
        return self.is_overdue or self.ratio > self.log.config.min_cleanable_dirty_ratio


def dirtiest(candidates: Iterable[Candidate | None]) -> Candidate | None:
    """The log with the largest dirty part, of those that are dirty enough."""
    worthwhile = [each for each in candidates if each is not None and each.is_worthwhile]
    return max(worthwhile, key=lambda each: each.ratio, default=None)


def candidate_of(log: Log, now: TimestampMs) -> Candidate | None:
    """What could be cleaned of a log; None where there is nothing."""
    if not log.config.is_compacted:
        return None
    first_dirty = _first_dirty(log)
    closed, ends = log.segments[:-1], [each.base_offset for each in log.segments[1:]]
    clean_count = bisect_right(ends, first_dirty)
    dirty = closed[clean_count:]
    if not dirty:
        return None
    limit = min(log.last_stable_offset, log.recovery_point, _too_young(log, dirty, now))
    count = bisect_right(ends, limit)
    cleanable = sum(each.size for each in closed[clean_count:count])
    if cleanable == 0:
        return None
    total = sum(each.size for each in closed[:count])
    is_overdue = _is_overdue(log, dirty, now)
    return Candidate(log, first_dirty, closed[:count], ends[count - 1], cleanable / total, is_overdue)


def plan(candidate: Candidate, setting: CleanerSetting, now: TimestampMs) -> Plan:
    log, config = candidate.log, candidate.log.config
    sources = (
        Source(
            each.base_offset,
            each.size,
            len(each.index.entries) * offset_index.ENTRY_SIZE,
            len(each.time_index.entries) * time_index.ENTRY_SIZE,
        )
        for each in candidate.segments
    )
    last_of = {
        producer.id: LastOf(producer.batches[-1].last_offset if producer.batches else None, producer.epoch)
        for producer in log.producers
    }
    limits = Limits(
        config.segment_bytes,
        config.segment_index_bytes,
        config.index_interval_bytes,
        setting.dedupe_bytes,
        setting.io_max_bytes_per_second / max(setting.threads, 1),
    )
    job = Job(
        log.directory,
        tuple(sources),
        candidate.first_dirty,
        candidate.end,
        tuple(log.aborted_txns(candidate.segments[0].base_offset, candidate.end)),
        last_of,
        now,
        config.delete_retention_ms,
        limits,
    )
    return Plan(log, job, candidate.segments, log.cuts)


def _first_dirty(log: Log) -> Offset:
    """Where the clean part ends. A checkpoint that cannot be of this log says nothing: then all of it is dirty."""
    clean_to = log.start_offset if log.cleaned_to is None else log.cleaned_to
    return clean_to if log.start_offset <= clean_to <= log.end_offset else log.start_offset


def _too_young(log: Log, dirty: Sequence[Segment], now: TimestampMs) -> Offset:
    lag_ms = log.config.min_compaction_lag_ms
    if lag_ms > 0:
        for segment in dirty:
            if segment.largest_timestamp > now - lag_ms:
                return segment.base_offset
    return log.segments[-1].base_offset


def _is_overdue(log: Log, dirty: Sequence[Segment], now: TimestampMs) -> bool:
    lag_ms = log.config.max_compaction_lag_ms
    return lag_ms < LONG_MAX and any(0 < each.first_timestamp < now - lag_ms for each in dirty)
