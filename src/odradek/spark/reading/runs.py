"""Batches gathered for the kernel: as many in one call as lie in one buffer."""

from __future__ import annotations

from struct import Struct
from typing import TYPE_CHECKING, Any

import numpy as np
from crc32c import crc32c

from odradek.model.errors import CorruptBatch
from odradek.records.batch import CODEC_MASK, CRC_START, HEAD_SIZE, LENGTH_MIN, LOG_OVERHEAD, MAGIC, TimestampType
from odradek.records.compression import INFLATED_MAX, decompress, decompress_into, inflated_max
from odradek.spark.reading.errors import CorruptRecords
from odradek.spark.reading.old_messages import UNTIMED

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator

    from odradek.records.batch import BatchHead, Codec
    from odradek.spark.reading.batches import Batch

Bytes = np.ndarray[Any, np.dtype[np.uint8]]

_RECORD_LEAST = 7
"""Bytes of a record without key, value and headers."""
_PLAIN_HEAD = Struct(">qi4xbIhiq22xi")
"""What has to be known of a batch that is neither compressed nor of a transaction, nor has LogAppendTime."""
_SCRATCH_BYTES = 8 << 20
"""Inflated at a time, unless a single batch has more."""


class Run:
    """Batches whose records lie in `data`, of which `size` bytes are theirs."""

    def __init__(self, received: memoryview | None, data: Bytes) -> None:
        """`received` is where they come from, where they are not inflated."""
        self._received = received
        self.data = data
        self.numbers: list[int] = []
        """As the kernel wants them, see `layout.BATCH_NUMBERS`."""
        self.rows_max = 0
        self.size = 0

    def takes(self, data: memoryview, packed: _Packed | None) -> bool:
        if packed is None:
            return self._received is data
        return self._received is None and self.size + packed.size_max <= len(self.data)

    def add(self, head: BatchHead, at: int, end: int) -> None:
        """Raises CorruptBatch where so many records cannot be in so many bytes: memory is taken by their number."""
        if not 0 <= head.count * _RECORD_LEAST <= end - at:
            raise CorruptBatch(f"{head.count} records in {end - at} bytes")
        kind, base_timestamp = 0, head.base_timestamp
        if head.attributes > CODEC_MASK:
            if head.attributes & UNTIMED:
                kind = -1
            elif head.timestamp_type is TimestampType.LOG_APPEND_TIME:
                kind, base_timestamp = 1, head.max_timestamp
        self.numbers += (at, end, head.base_offset, base_timestamp, kind, head.last_offset_delta, head.count)
        self.rows_max += head.count
        self.size += end - at


def plain_run(received: memoryview, end: int) -> Run | None:
    """All batches up to the offset `end`, in one go: a producer that waits for nothing sends many small ones, and for
    these, `split`, `visible` and `Gathering` take longer than the kernel.

    None where anything is out of the ordinary, be it compressed, transactional, empty, cut short or corrupt: that is
    for those three, which tell what is wrong.
    """
    run = Run(received, np.frombuffer(received, np.uint8))
    numbers = run.numbers
    at, size = 0, len(received)
    while at < size:
        if size - at < HEAD_SIZE:
            return None
        base, length, magic, crc, attributes, last_delta, time, count = _PLAIN_HEAD.unpack_from(received, at)
        if magic != MAGIC or length < LENGTH_MIN:
            return None
        if base >= end:
            break
        start, at = at + HEAD_SIZE, at + LOG_OVERHEAD + length
        if attributes or not 0 < count * _RECORD_LEAST <= at - start or at > size:
            return None
        if crc32c(received[start - HEAD_SIZE + CRC_START : at]) != crc:
            return None
        numbers += (start, at, base, time, 0, last_delta, count)
        run.rows_max += count
        run.size += at - start
    return run if numbers else None


class _Packed:
    """The records of a compressed batch."""

    def __init__(self, codec: Codec, data: memoryview) -> None:
        size_max = inflated_max(codec, data)
        self._codec, self._data = codec, data
        self._inflated = decompress(codec, data) if size_max is None else None
        self.size_max = min(size_max, INFLATED_MAX) if size_max is not None else len(self._inflated or b"")

    def unpack(self, room: memoryview) -> int:
        if self._inflated is None:
            return decompress_into(self._codec, self._data, room)
        room[:] = self._inflated
        return len(room)


class Gathering:
    """Makes runs. What it inflates goes into memory that is used again, so a run is good until the next is taken."""

    def __init__(self, place: str) -> None:
        self._place = place
        self._scratch: Bytes = np.empty(0, np.uint8)

    def runs(self, batches: Iterable[Batch]) -> Iterator[Run]:
        """Raises CorruptRecords, maybe after some runs."""
        run: Run | None = None
        for head, data, at in batches:
            start, end = at + HEAD_SIZE, at + LOG_OVERHEAD + head.length
            try:
                packed = _Packed(head.codec, data[start:end]) if head.attributes & CODEC_MASK else None
                if run is None or not run.takes(data, packed):
                    if run is not None:
                        yield run
                    run = Run(data, np.frombuffer(data, np.uint8)) if packed is None else self._inflated_run(packed)
                if packed is not None:
                    start = run.size
                    end = start + packed.unpack(run.data[start : start + packed.size_max].data)
                run.add(head, start, end)
            except CorruptBatch as error:
                raise CorruptRecords(self._place, head.base_offset, str(error)) from None
        if run is not None:
            yield run

    def _inflated_run(self, packed: _Packed) -> Run:
        if len(self._scratch) < packed.size_max or not len(self._scratch):
            self._scratch = np.empty(max(packed.size_max, _SCRATCH_BYTES), np.uint8)
        return Run(None, self._scratch)
