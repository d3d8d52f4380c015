"""What a cleaning leaves of one batch.

A batch keeps its base offset, its last offset and its sequence, whichever of its records go. One without records is
removed, unless the log would lose something by it: where a producer's sequence stands, or where the cleaned part ends.
"""

from dataclasses import replace
from itertools import filterfalse
from operator import itemgetter

from odradek.model.numbers import TimestampMs
from odradek.records.batch import (
    HEAD_SIZE,
    LOG_OVERHEAD,
    BatchHead,
    TimestampType,
    with_delete_horizon,
    write_head,
)
from odradek.records.builder import BatchSpec, build_batch, build_emptied
from odradek.records.compression import compress
from odradek.records.record import read_records
from odradek.records.spans import Span, inflate, read_spans
from odradek.records.varint import unzigzag, write_signed
from odradek.storage.cleaning.decided_txns import DecidedTxns
from odradek.storage.cleaning.job import Job
from odradek.storage.cleaning.last_places import LastPlaces

_is_tombstone = itemgetter(4)
"""Of a span."""


class BatchFilter:
    def __init__(self, job: Job, last: LastPlaces) -> None:
        self._last = last
        self._end = job.end
        self._now = job.now
        self._horizon = TimestampMs(job.now + job.delete_retention_ms)
        self._last_of = job.last_of
        self.txns = DecidedTxns(job.aborted)

    def leave(self, batch: memoryview, head: BatchHead, number: int | None) -> memoryview | bytearray | None:
        """What takes the place of `batch`, maybe itself; None if nothing does.

        It was noted in the last places under `number`, if at all.
        """
        if head.is_control:
            return self._leave_marker(batch, head)
        if self.txns.meet_batch(head):
            return self._leave_nothing(head)
        if number is not None:
            starts = self._last.starts_in(number)
            data = inflate(batch, head) if starts else b""
        else:
            data = inflate(batch, head)
            starts = self._last.unreplaced(data, head.count)
        spans = read_spans(data, starts)
        horizon = head.delete_horizon_ms
        if horizon is not None and horizon <= self._now:
            spans = list(filterfalse(_is_tombstone, spans))
        if not spans:
            return self._leave_nothing(head)
        if horizon is None and any(map(_is_tombstone, spans)):
            return _with_horizon(head, data, spans, self._horizon)
        return batch if len(spans) == head.count else _with_spans(head, data, spans)

    def _leave_marker(self, batch: memoryview, head: BatchHead) -> memoryview | bytearray | None:
        """A marker that decides nothing any more stays as long as a tombstone does."""
        is_void = self.txns.meet_marker(batch, head)
        horizon = head.delete_horizon_ms
        if head.count == 0 or (is_void and horizon is not None and horizon <= self._now):
            return self._leave_nothing(head)
        if is_void and horizon is None:
            return build_batch(
                read_records(batch, head), replace(BatchSpec.like(head), delete_horizon_ms=self._horizon)
            )
        return batch

    def _leave_nothing(self, head: BatchHead) -> bytearray | None:
        must_stay = head.next_offset == self._end or (head.producer_id >= 0 and self._is_last_of_producer(head))
        return build_emptied(head) if must_stay else None

    def _is_last_of_producer(self, head: BatchHead) -> bool:
        last = self._last_of.get(head.producer_id)
        if last is None:
            return False
        if last.data_offset is not None:
            return head.last_offset == last.data_offset
        return head.is_control and head.producer_epoch == last.epoch


def _with_spans(head: BatchHead, data: bytes, kept: list[Span]) -> bytearray:
    """The batch with these of its records, byte for byte as they were: offsets and times still count from its own."""
    records = b"".join([data[start:end] for start, _, _, end, _ in kept])
    return _sealed(head._replace(max_timestamp=_largest(head, kept), count=len(kept)), records)


def _with_horizon(head: BatchHead, data: bytes, kept: list[Span], horizon: TimestampMs) -> bytearray:
    """From now on, the batch says when its tombstones may go, in place of the time that the others count from."""
    largest = _largest(head, kept)
    shift = head.base_timestamp - horizon
    is_append_time = head.timestamp_type is TimestampType.LOG_APPEND_TIME
    parts: list[bytes] = []
    for _, timestamp, after, end, _ in kept:
        delta = write_signed(largest - horizon if is_append_time else shift + unzigzag(timestamp))
        parts += (write_signed(1 + len(delta) + end - after), b"\0", delta, data[after:end])
    attributes = with_delete_horizon(head.attributes)
    changed = head._replace(attributes=attributes, base_timestamp=horizon, max_timestamp=largest, count=len(kept))
    return _sealed(changed, b"".join(parts))


def _largest(head: BatchHead, kept: list[Span]) -> TimestampMs:
    if head.timestamp_type is TimestampType.LOG_APPEND_TIME:
        return head.max_timestamp
    return TimestampMs(head.base_timestamp + max(map(unzigzag, {timestamp for _, timestamp, _, _, _ in kept})))


def _sealed(head: BatchHead, records: bytes) -> bytearray:
    out = bytearray(HEAD_SIZE)
    out += compress(head.codec, records)
    write_head(out, head._replace(length=len(out) - LOG_OVERHEAD))
    return out
