"""Batches gathered for the kernel: as many in one call as lie in one buffer."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from odradek.model.errors import CorruptBatch
from odradek.records.batch import HEAD_SIZE, Codec, TimestampType
from odradek.records.compression import INFLATED_MAX, decompress
from odradek.spark.reading.errors import CorruptRecords

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator

    from odradek.records.batch import BatchHead
    from odradek.spark.reading.batches import Batch

Bytes = np.ndarray[Any, np.dtype[np.uint8]]

_RECORD_LEAST = 7
"""Bytes of a record without key, value and headers."""
_SCRATCH_BYTES = 8 << 20
"""Inflated at a time, unless a single batch has more."""


class Run:
    """Batches whose records lie in `data`, of which `size` bytes are theirs."""

    def __init__(self, data: Bytes) -> None:
        self.data = data
        self.heads: list[BatchHead] = []
        self.numbers: list[int] = []
        """As the kernel wants them, see `layout.BATCH_NUMBERS`."""
        self.rows_max = 0
        self.size = 0

    def add(self, head: BatchHead, at: int, end: int) -> None:
        """Raises CorruptBatch where so many records cannot be in so many bytes: memory is taken by their number."""
        if not 0 <= head.count * _RECORD_LEAST <= end - at:
            raise CorruptBatch(f"{head.count} records in {end - at} bytes")
        kind = int(head.timestamp_type)
        base_timestamp = head.max_timestamp if kind == TimestampType.LOG_APPEND_TIME else head.base_timestamp
        self.heads.append(head)
        self.numbers += (at, end, head.base_offset, base_timestamp, kind, head.last_offset_delta, head.count)
        self.rows_max += head.count
        self.size += end - at


class Gathering:
    """Makes runs. What it inflates goes into memory that is used again, so a run is good until the next is taken."""

    def __init__(self, place: str) -> None:
        self._place = place
        self._scratch: Bytes = np.empty(0, np.uint8)

    def runs(self, batches: Iterable[Batch]) -> Iterator[Run]:
        """Raises CorruptRecords, maybe after some runs."""
        run: Run | None = None
        received: memoryview | None = None
        """Whose bytes the run has; None where they are inflated ones."""
        for head, data, at in batches:
            try:
                if head.codec is Codec.NONE:
                    if run is None or received is not data:
                        if run is not None:
                            yield run
                        run, received = Run(np.frombuffer(data, np.uint8)), data
                    run.add(head, at + HEAD_SIZE, at + head.size)
                    continue
                inflated = decompress(head.codec, data[at + HEAD_SIZE : at + head.size], INFLATED_MAX)
                if run is None or received is not None or run.size + len(inflated) > len(run.data):
                    if run is not None:
                        yield run
                    run, received = Run(self._room(len(inflated))), None
                start, end = run.size, run.size + len(inflated)
                run.data[start:end] = np.frombuffer(inflated, np.uint8)
                run.add(head, start, end)
            except CorruptBatch as error:
                raise CorruptRecords(self._place, head.base_offset, str(error)) from None
        if run is not None:
            yield run

    def _room(self, size: int) -> Bytes:
        if len(self._scratch) < size or not len(self._scratch):
            self._scratch = np.empty(max(size, _SCRATCH_BYTES), np.uint8)
        return self._scratch
