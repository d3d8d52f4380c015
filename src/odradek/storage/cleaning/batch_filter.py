"""What a cleaning leaves of one batch.

A batch keeps its base offset, its last offset and its sequence, whichever of its records go. One without records is
removed, unless the log would lose something by it: where a producer's sequence stands, or where the cleaned part ends.
"""

from dataclasses import replace

from odradek.model.numbers import TimestampMs
from odradek.records.batch import HEAD_SIZE, LOG_OVERHEAD, BatchHead, TimestampType, write_head
from odradek.records.builder import BatchSpec, build_batch, build_emptied
from odradek.records.compression import compress
from odradek.records.record import read_records
from odradek.records.spans import Span, find_spans, inflate
from odradek.records.varint import unzigzag
from odradek.storage.cleaning.decided_txns import DecidedTxns
from odradek.storage.cleaning.job import Job
from odradek.storage.cleaning.offset_map import OffsetMap


class BatchFilter:
    def __init__(self, job: Job, known: OffsetMap) -> None:
        self._known = known
        self._end = job.end
        self._now = job.now
        self._horizon = TimestampMs(job.now + job.delete_retention_ms)
        self._last_of = job.last_of
        self.txns = DecidedTxns(job.aborted)

    def leave(self, batch: memoryview, head: BatchHead) -> memoryview | bytearray | None:
        """What takes the place of `batch`, maybe itself; None if nothing does."""
        if head.is_control:
            return self._leave_marker(batch, head)
        if self.txns.meet_batch(head):
            return self._leave_nothing(head)
        data = inflate(batch, head)
        spans = find_spans(data, head)
        horizon = head.delete_horizon_ms
        is_over = horizon is not None and horizon <= self._now
        kept = self._known.survivors(spans, head.base_offset, drop_tombstones=is_over)
        if not kept:
            return self._leave_nothing(head)
        if horizon is None and any(is_tombstone for _, _, is_tombstone, *_ in kept):
            return self._with_horizon(batch, head, kept)
        return batch if len(kept) == len(spans) else _with_spans(head, data, kept)

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

    def _with_horizon(self, batch: memoryview, head: BatchHead, kept: list[Span]) -> bytearray:
        """From now on, the batch says when its tombstones may go."""
        wanted = {head.base_offset + span[0] for span in kept}
        records = [record for record in read_records(batch, head) if record.offset in wanted]
        return build_batch(records, replace(BatchSpec.like(head), delete_horizon_ms=self._horizon))


def _with_spans(head: BatchHead, data: bytes, kept: list[Span]) -> bytearray:
    """The batch with these of its records, byte for byte as they were: offsets and times still count from its own."""
    out = bytearray(HEAD_SIZE)
    out += compress(head.codec, b"".join([data[start:end] for *_, start, end in kept]))
    largest = head.max_timestamp
    if head.timestamp_type is TimestampType.CREATE_TIME:
        largest = TimestampMs(head.base_timestamp + max(unzigzag(timestamp) for _, _, _, timestamp, _, _ in kept))
    write_head(out, head._replace(length=len(out) - LOG_OVERHEAD, max_timestamp=largest, count=len(kept)))
    return out
