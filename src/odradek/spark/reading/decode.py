"""From record batches to Arrow: columns that the kernel fills, put together without a copy."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from struct import pack
from typing import TYPE_CHECKING, Any

import pyarrow as pa

from odradek.spark.reading import layout
from odradek.spark.reading.buffers import Buffers
from odradek.spark.reading.columns import HEADERS, arrow_schema
from odradek.spark.reading.compiled import load_kernel
from odradek.spark.reading.errors import CorruptRecords, UnfitTimestamp
from odradek.spark.reading.runs import Gathering, Run

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator

    from odradek.spark.reading.batches import Batch
    from odradek.spark.reading.range import Range, ReadSetting

_WANTS = {
    "key": layout.WANT_KEYS,
    "value": layout.WANT_VALUES,
    "offset": layout.WANT_OFFSETS,
    "timestamp": layout.WANT_TIMESTAMPS,
    HEADERS: layout.WANT_HEADERS,
}
_ROWS_MAX = 1 << 20
"""So that their topics, of 249 bytes at most, are within what 32 bits of a string column can count."""
_REASONS = {
    layout.CORRUPT_LENGTH: "record {} at {} is not as long as it says",
    layout.CORRUPT_DELTA: "record {} at {} has an offset delta out of order",
    layout.CORRUPT_TIMESTAMP: "record {} at {} has a timestamp that does not fit into 64 bits",
    layout.CORRUPT_HEADERS: "record {} at {} has headers that make no sense",
    layout.CORRUPT_REST: "behind its last record, {}, bytes are left from {} on",
}


Kernel = Callable[[Mapping[str, Any]], int]
"""`kernel.decode`, given its parameters in their order as arrays and numbers."""


def _compiled_kernel() -> Kernel:
    compiled = load_kernel()
    return lambda given: compiled(*(each if isinstance(each, int) else each.ctypes.data for each in given.values()))


class Decoder:
    """For the batches of one range. Not for two threads at a time."""

    def __init__(self, range: Range, setting: ReadSetting, kernel: Kernel | None = None) -> None:
        self._range = range
        self.place = f"{range.topic}-{range.partition}"
        self._rows_max = min(setting.batch_rows_max, _ROWS_MAX)
        self._schema = arrow_schema(setting.columns)
        self._wants = sum(_WANTS.get(name, 0) for name in setting.columns)
        self._has_types = "timestampType" in setting.columns
        self._kernel = kernel or _compiled_kernel()
        self._gathering = Gathering(self.place)
        self._constants: dict[str | int, pa.Array] = {}

    def decode(self, batches: Iterable[Batch], start: int | None = None) -> Iterator[pa.RecordBatch]:
        """The rows of these batches that are in the range, from `start` on. Raises CorruptRecords, maybe after some."""
        for run in self._gathering.runs(batches):
            yield from self.decode_run(run, self._range.start if start is None else start)

    def decode_run(self, run: Run, start: int) -> Iterator[pa.RecordBatch]:
        types = set(run.numbers[4 :: layout.BATCH_NUMBERS])
        is_mixed = self._has_types and len(types) > 1
        buffers = self._fill(run, start, self._wants | (layout.WANT_TYPES if is_mixed else 0))
        same: dict[str, str | int] = {"topic": self._range.topic, "partition": self._range.partition}
        if self._has_types and not is_mixed:
            same["timestampType"] = types.pop()
        columns = {name: buffers.column(name) for name in self._schema.names if name not in same}
        for row in range(0, buffers.rows, self._rows_max):
            count = min(self._rows_max, buffers.rows - row)
            arrays = [
                self._constant(same[name], count) if name in same else columns[name].slice(row, count)
                for name in self._schema.names
            ]
            yield pa.RecordBatch.from_arrays(arrays, schema=self._schema)

    def _fill(self, run: Run, start: int, wants: int) -> Buffers:
        buffers = Buffers(run, wants)
        code = self._kernel(buffers.arguments(start, self._range.end))
        if code == layout.FINE:
            return buffers
        batch, record, at = buffers.found[layout.FOUND_BATCH :]
        if code == layout.UNFIT_TIMESTAMP:
            raise UnfitTimestamp(self.place, record, at)
        begin, _, base_offset = run.numbers[batch * layout.BATCH_NUMBERS :][:3]
        raise CorruptRecords(self.place, base_offset, _REASONS[code].format(record, at - begin))

    def _constant(self, value: str | int, count: int) -> pa.Array:
        """The same memory for all record batches, as nobody writes to it."""
        kept = self._constants.get(value)
        if kept is None or len(kept) < count:
            kept = self._constants[value] = pa.repeat(_scalar(value), count)
        return kept.slice(0, count)


def _scalar(value: str | int) -> pa.Scalar:
    """From its bytes: where pyarrow is given an object of Python's it imports pandas, which takes longer than to read
    the records of most batches of a stream."""
    if isinstance(value, int):
        return pa.Array.from_buffers(pa.int32(), 1, [None, pa.py_buffer(pack("=i", value))])[0]
    text = value.encode()
    edges = pa.py_buffer(pack("=2i", 0, len(text)))
    return pa.Array.from_buffers(pa.string(), 1, [None, edges, pa.py_buffer(text)])[0]
