"""What a segment's file says by itself: its valid length, its indexes, its part of the producers' state and epochs."""

from collections.abc import Iterator

from odradek.model.errors import CorruptBatch
from odradek.model.numbers import NO_TIMESTAMP, FilePos, Offset
from odradek.process.files import File
from odradek.records.batch import LOG_OVERHEAD, BatchHead
from odradek.records.control import end_txn_marker
from odradek.storage import batches, offset_index, time_index
from odradek.storage.leader_epochs import LeaderEpochs
from odradek.storage.producer_state import ProducerState
from odradek.storage.segment import RELATIVE_OFFSET_MAX
from odradek.storage.transaction_index import AbortedTxn


class Rebuilt:
    """The result of reading a segment from its start to the first thing that is no valid batch."""

    def __init__(self, base: Offset, epochs: LeaderEpochs) -> None:
        self.index = bytearray()
        self.time_index = bytearray()
        self.aborted: list[AbortedTxn] = []
        self.epochs = epochs
        self.valid_bytes = 0
        self.next_offset = base
        self.dense = True
        """Each offset from the segment's base to its end has its record: nothing was cleaned away."""
        self.corruption: CorruptBatch | None = None


def rebuild(
    file: File, size: int, base: Offset, interval_bytes: int, state: tuple[ProducerState, LeaderEpochs]
) -> Rebuilt:
    """Read and check every byte. `state` is that at the segment's start; the producers' state is moved along."""
    return _rebuild(file, base, interval_bytes, state, batches.checked(file, size))


def rebuild_by_heads(
    file: File, size: int, base: Offset, interval_bytes: int, state: tuple[ProducerState, LeaderEpochs]
) -> Rebuilt:
    """As `rebuild`, for a part of the log that is known to be whole: only the heads of batches are read."""
    unread = memoryview(b"")
    every = ((position, head, unread) for position, head in batches.heads(file, size))
    return _rebuild(file, base, interval_bytes, state, every)


def _rebuild(  # noqa: C901, PLR0915 - one loop, gone through for each batch of a recovery
    file: File,
    base: Offset,
    interval_bytes: int,
    state: tuple[ProducerState, LeaderEpochs],
    every: Iterator[tuple[FilePos, BatchHead, memoryview]],
) -> Rebuilt:
    producers, epochs = state
    result = Rebuilt(base, epochs)
    latest_epoch = epochs.latest
    index, times = result.index, result.time_index
    pack_index, pack_time = offset_index.ENTRY.pack, time_index.ENTRY.pack
    next_offset = base
    max_timestamp = timestamp_indexed = NO_TIMESTAMP
    offset_of_max = base
    indexed_at = valid = 0
    dense = True
    try:
        for position, head, batch in every:
            first, last = head.base_offset, head.base_offset + head.last_offset_delta
            if first < next_offset or last < first or last - base > RELATIVE_OFFSET_MAX:
                raise CorruptBatch(f"{file.path} at {position}: offsets {first} to {last} where {next_offset} is next")
            if first != next_offset or head.count != head.last_offset_delta + 1:
                dense = False
            if head.producer_id >= 0:
                if head.is_control and not batch:
                    batch = batches.read_batch(file, position, head)
                note(producers, head, batch, result.aborted)
            if head.max_timestamp > max_timestamp:
                max_timestamp, offset_of_max = head.max_timestamp, Offset(last)
            if valid - indexed_at > interval_bytes:
                index += pack_index(last - base, valid)
                if max_timestamp > timestamp_indexed:
                    times += pack_time(max_timestamp, offset_of_max - base)
                    timestamp_indexed = max_timestamp
                indexed_at = valid
            if head.leader_epoch > latest_epoch:
                result.epochs = result.epochs.assign(head.leader_epoch, first)
                latest_epoch = head.leader_epoch
            next_offset = Offset(last + 1)
            valid += head.length + LOG_OVERHEAD
    except CorruptBatch as error:
        result.corruption = error
    if max_timestamp > timestamp_indexed:
        times += pack_time(max_timestamp, offset_of_max - base)
    result.valid_bytes = valid
    result.dense = dense
    result.next_offset = next_offset
    producers.end_offset = next_offset
    return result


def note(producers: ProducerState, head: BatchHead, batch: memoryview, aborted: list[AbortedTxn]) -> None:
    """Move the producers' state past a batch of the log; only control batches are looked into."""
    if not head.is_control:
        producers.note(head, head.base_offset)
        return
    marker = end_txn_marker(batch, head)
    completed = producers.note_marker(head, head.base_offset, marker) if marker else None
    if completed is not None and completed.aborted:
        aborted.append(completed.txn)
