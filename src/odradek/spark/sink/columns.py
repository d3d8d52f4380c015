"""Columns of Arrow as the plain arrays that the kernels take."""

from dataclasses import dataclass
from functools import lru_cache
from typing import Any, NamedTuple

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
from numpy.typing import NDArray

_KEPT_MAX = 8
"""Most chunks have the same number of rows."""

Places = NDArray[np.int64]
Data = NDArray[np.uint8]


class ByteColumn(NamedTuple):
    """Bytes of rows: where they begin, how many they are (-1 for null), and all of them."""

    starts: Places
    lengths: Places
    data: Data

    @property
    def places(self) -> tuple[Places, Places]:
        return self.starts, self.lengths


class HeaderColumn(NamedTuple):
    firsts: Places
    counts: Places
    names: ByteColumn
    contents: ByteColumn

    @property
    def places(self) -> tuple[Places, Places]:
        return self.firsts, self.counts


@dataclass(frozen=True, slots=True)
class Rows:
    """Rows as records take them. What a table has no column for is null in every row."""

    keys: ByteColumn
    values: ByteColumn
    headers: HeaderColumn
    wanted: Places
    """The partitions that rows ask for; -1 for none."""

    def __len__(self) -> int:
        return len(self.wanted)


def byte_column(column: Any) -> ByteColumn:
    """Of strings or binary values, of either size of offsets."""
    kind = column.type
    if pa.types.is_null(kind):
        return no_bytes(len(column))
    width = np.int64 if pa.types.is_large_binary(kind) or pa.types.is_large_string(kind) else np.int32
    _, offsets, data = column.buffers()
    count = len(column)
    if count == 0:
        return no_bytes(0)
    ends = np.frombuffer(offsets, width, count + 1, column.offset * np.dtype(width).itemsize).astype(np.int64)
    lengths = np.diff(ends)
    if column.null_count:
        lengths[~_valid(column)] = -1
    return ByteColumn(ends[:-1], lengths, _NO_DATA if data is None else np.frombuffer(data, np.uint8))


@lru_cache(_KEPT_MAX)
def no_bytes(count: int) -> ByteColumn:
    """Null in every row."""
    return ByteColumn(np.zeros(count, np.int64), np.full(count, -1, np.int64), _NO_DATA)


def header_column(column: Any) -> HeaderColumn:
    """Of lists of structs with the fields key and value. A row whose list is null has no headers."""
    count = len(column)
    if count == 0 or pa.types.is_null(column.type):
        return no_headers(count)
    width = np.int64 if pa.types.is_large_list(column.type) else np.int32
    offsets = column.buffers()[1]
    ends = np.frombuffer(offsets, width, count + 1, column.offset * np.dtype(width).itemsize).astype(np.int64)
    counts = np.diff(ends)
    if column.null_count:
        counts[~_valid(column)] = 0
    items = column.values
    # Not flattened: offsets count from the beginning of the values. A struct that is null has no name, as one with a
    # null name has none.
    names, contents = (byte_column(pc.struct_field(items, [name])) for name in ("key", "value"))
    return HeaderColumn(ends[:-1], counts, names, contents)


@lru_cache(_KEPT_MAX)
def no_headers(count: int) -> HeaderColumn:
    nothing = np.zeros(count, np.int64)
    return HeaderColumn(nothing, nothing, no_bytes(0), no_bytes(0))


def number_column(column: Any) -> Places:
    """Of integers; -1 for null."""
    filled: Places = pc.fill_null(column, -1).to_numpy(zero_copy_only=False).astype(np.int64)
    return filled


@lru_cache(_KEPT_MAX)
def no_numbers(count: int) -> Places:
    return np.full(count, -1, np.int64)


def _valid(column: Any) -> NDArray[np.bool_]:
    valid: NDArray[np.bool_] = column.is_valid().to_numpy(zero_copy_only=False)
    return valid


_NO_DATA = np.empty(0, np.uint8)
