"""The record batches of one answer: found in its bytes, and which of them a reader sees."""

from collections.abc import Iterator, Sequence
from typing import NamedTuple

from crc32c import crc32c

from odradek.model.errors import CorruptBatch
from odradek.records.batch import (
    CODEC_MASK,
    CRC_START,
    HEAD_SIZE,
    LOG_OVERHEAD,
    MAGIC,
    MAGIC_AT,
    BatchHead,
    parse_head,
)
from odradek.records.control import end_txn_marker
from odradek.spark.reading.errors import CorruptRecords
from odradek.spark.reading.old_messages import rewrite

AbortedTransactions = Sequence[tuple[int, int]]
"""Producer id and first offset of each."""


_make = tuple.__new__
"""Makes a named tuple in a third of the time that its constructor takes."""


class Batch(NamedTuple):
    """A whole batch: `head.size` bytes of `data` from `at` on."""

    head: BatchHead
    data: memoryview
    at: int

    @property
    def view(self) -> memoryview:
        return self.data[self.at : self.at + self.head.size]


_NO_END = 1 << 63


def split(records: memoryview, place: str, position: int, end: int = _NO_END) -> list[Batch]:
    """The whole ones: a broker cuts the last one off where its limit is, also within its head.

    One that is at `end` or behind it comes alone or not at all: it tells that nothing is before it any more.
    Messages of formats before v2 are rewritten. `position` is the offset that was asked for. Raises CorruptRecords
    where there is no batch where one should be; CRCs of batches are not looked at.
    """
    batches: list[Batch] = []
    at, size = 0, len(records)
    try:
        while size - at > MAGIC_AT:
            if records[at + MAGIC_AT] < MAGIC:
                rewritten = rewrite(records, at)
                if rewritten is None:
                    break
                batches.append(Batch(rewritten.head, rewritten.batch, 0))
                at = rewritten.end
                continue
            if size - at < HEAD_SIZE:
                break
            head = parse_head(records, at)
            following = at + LOG_OVERHEAD + head.length
            if following > size or (head.base_offset >= end and batches):
                break
            batches.append(_make(Batch, (head, records, at)))
            at = following
    except CorruptBatch as error:
        raise CorruptRecords(place, batches[-1].head.next_offset if batches else position, str(error)) from None
    return batches


def visible(batches: Sequence[Batch], aborted: AbortedTransactions, place: str) -> Iterator[Batch]:
    """Without those that have no records for a reader: control batches, emptied ones, those of aborted transactions.

    `aborted` has the transactions that were aborted among the batches, and is empty where that does not matter. Raises
    CorruptRecords where a CRC is wrong, before anything behind it is believed.
    """
    coming = sorted(aborted, key=lambda transaction: transaction[1], reverse=True)
    being_aborted: set[int] = set()
    for batch in batches:
        head, data, at = batch
        if crc32c(data[at + CRC_START : at + LOG_OVERHEAD + head.length]) != head.crc:
            raise CorruptRecords(place, head.base_offset, "its CRC is wrong")
        while coming and coming[-1][1] <= head.last_offset:
            being_aborted.add(coming.pop()[0])
        if head.attributes <= CODEC_MASK:  # no flags, as in most topics
            if head.count:
                yield batch
        elif head.is_control:
            if being_aborted and _is_abort(batch, place):
                being_aborted.discard(head.producer_id)
        elif head.count and not (head.is_transactional and head.producer_id in being_aborted):
            yield batch


def _is_abort(batch: Batch, place: str) -> bool:
    try:
        marker = end_txn_marker(batch.view, batch.head)
    except CorruptBatch as error:
        raise CorruptRecords(place, batch.head.base_offset, str(error)) from None
    return marker is not None and not marker.commit
