"""Rows of Arrow to batches of records, in whole columns: no Python object stands for a row."""

import hashlib
from collections.abc import Callable
from dataclasses import dataclass
from random import Random
from typing import Any, NamedTuple

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
from numpy.typing import NDArray

from odradek.model.topic_partition import TopicPartition
from odradek.records.batch import HEAD_SIZE
from odradek.spark.reading.compiled import KernelSource, load_kernel
from odradek.spark.sink.columns import (
    Places,
    Rows,
    byte_column,
    header_column,
    no_bytes,
    no_headers,
    no_numbers,
    number_column,
)
from odradek.spark.sink.errors import BadRow
from odradek.spark.sink.kernel_layout import (
    BATCH_BYTES,
    BATCH_NUMBERS,
    FILL,
    HASH,
    PLAN,
    TABLE_NUMBERS,
    TABLE_PARTITIONS,
)
from odradek.spark.sink.layout import Layout

_HASH_MASK = (1 << 64) - 1


@dataclass(frozen=True, slots=True, kw_only=True)
class EncodingSetting:
    batch_bytes_max: int
    """Of a batch before it is compressed, its head included; a record that is larger has a batch of its own. Where a
    topic takes less, so much."""
    record_bytes_max: int
    """A record that is larger, with the head of its batch, is refused."""
    hashed: bool = False
    """Whether rows are hashed."""


class TopicShape(NamedTuple):
    """What rows have to know of their topic."""

    partitions: int
    batch_bytes_max: int | None = None
    """The largest batch that it takes; None where nobody says."""


class Encoded(NamedTuple):
    """A batch to be: its records, with room for a head in front."""

    place: TopicPartition
    batch: memoryview
    count: int  # type: ignore[assignment]  # hides tuple.count


class Encoder:
    """For the rows of one task."""

    def __init__(
        self, layout: Layout, setting: EncodingSetting, shape_of: Callable[[str], TopicShape], rng: Random
    ) -> None:
        self.row_count = 0
        """Rows encoded so far."""
        self.row_hash = 0
        """Of all of them, in any order; 0 where they are not hashed."""
        self._layout = layout
        self._setting = setting
        self._topics = _Topics(shape_of, rng, setting.batch_bytes_max)

    def encode(self, table: pa.RecordBatch) -> list[Encoded]:
        """Batches, those of each partition in the order of its rows. Raises BadRow."""
        rows, topics = self._read(table)
        count = len(rows)
        if not count:
            return []
        if self._setting.hashed:
            self._hash(rows, topics)
        slots, order, sizes = (np.empty(count, np.int64) for _ in range(3))
        begins = np.zeros(self._topics.slot_count + 1, np.int64)
        batches = np.empty((count, BATCH_NUMBERS), np.int64)
        size = self._topics.batch_bytes_max
        made = _call(
            PLAN, rows, rows.wanted, topics, self._topics.table, self._topics.slot_count, size, size - HEAD_SIZE,
            slots, order, begins, sizes, batches,
        )  # fmt: skip
        self._check_sizes(sizes)
        encoded = self._fill(rows, order, sizes, batches[:made])
        self.row_count += count
        return encoded

    def skip(self, table: pa.RecordBatch) -> None:
        """Counts and hashes only. Raises BadRow."""
        rows, topics = self._read(table)
        if len(rows):
            self._hash(rows, topics)
        self.row_count += len(rows)

    # ---

    def _read(self, table: pa.RecordBatch) -> tuple[Rows, Places]:
        count = table.num_rows
        layout = self._layout
        rows = Rows(
            no_bytes(count) if layout.key is None else byte_column(table.column(layout.key)),
            byte_column(table.column(layout.value)),
            no_headers(count) if layout.headers is None else header_column(table.column(layout.headers)),
            no_numbers(count) if layout.partition is None else number_column(table.column(layout.partition)),
        )
        topics = self._read_topics(table)
        if layout.headers is not None:
            self._check_headers(rows)
        if layout.partition is not None:
            self._check_partitions(table.column(layout.partition), rows, topics)
        return rows, topics

    def _read_topics(self, table: pa.RecordBatch) -> Places:
        """The line of each row's topic."""
        if self._layout.topic_name is not None:
            return np.full(table.num_rows, self._topics.line_of(self._layout.topic_name), np.int64)
        column = table.column(self._layout.topic)
        if column.null_count:
            raise self._bad(_first(column.is_null()), "its topic is null; give a topic, or set the option topic")
        codes = pc.dictionary_encode(column)
        try:
            names = codes.dictionary.to_pylist()
        except UnicodeDecodeError:
            raise self._bad(_first_no_text(column), "its topic is not UTF-8") from None
        lines = [self._topics.line_of(name) for name in names]
        found: Places = np.array(lines, np.int64)[codes.indices.to_numpy()]
        return found

    def _check_headers(self, rows: Rows) -> None:
        names = rows.headers.names.lengths
        if not len(names) or names.min() >= 0:
            return
        nameless = np.concatenate(([0], np.cumsum(names < 0)))  # so many among the headers before each
        firsts, counts = rows.headers.places
        bad = nameless[firsts + counts] > nameless[firsts]
        if bad.any():
            raise self._bad(int(bad.argmax()), "a header has no key; headers need keys that are not null")

    def _check_partitions(self, column: Any, rows: Rows, topics: Places) -> None:
        partitions = self._topics.table[topics, TABLE_PARTITIONS]
        bad = (rows.wanted >= partitions) | ((rows.wanted < 0) & ~_is_null(column))
        if bad.any():
            row = int(bad.argmax())
            name, count = self._topics.names[topics[row]], partitions[row]
            raise self._bad(row, f"partition {rows.wanted[row]} of {name}, which has {count} of them, from 0 on")

    def _check_sizes(self, sizes: Places) -> None:
        largest = int(sizes.argmax())
        if sizes[largest] > self._setting.record_bytes_max - HEAD_SIZE - _RECORD_OVERHEAD:
            raise self._bad(
                largest,
                f"a record of {sizes[largest]} bytes; set kafka.max.request.size above it, and the topic's limit",
            )

    def _hash(self, rows: Rows, topics: Places) -> None:
        found = _call(HASH, rows, rows.wanted, topics, self._topics.hashes)
        self.row_hash = (self.row_hash + found) & _HASH_MASK

    def _fill(self, rows: Rows, order: Places, sizes: Places, batches: Places) -> list[Encoded]:
        filled = np.empty(int(batches[:, BATCH_BYTES].sum()) + HEAD_SIZE * len(batches), np.uint8)
        _call(FILL, rows, order, sizes, batches, len(batches), HEAD_SIZE, filled)
        view = memoryview(filled.data).cast("B")
        encoded = []
        at = 0
        for slot, _, count, size in batches.tolist():
            end = at + HEAD_SIZE + size
            encoded.append(Encoded(self._topics.place_of(slot), view[at:end], count))
            at = end
        return encoded

    def _bad(self, row: int, why: str) -> BadRow:
        return BadRow(self.row_count + row, why)


_RECORD_OVERHEAD = 10
"""A record's length and its place in the batch take no more."""


def _call(source: KernelSource, rows: Rows, *others: Any) -> int:
    keys, values, headers = rows.keys, rows.values, rows.headers
    given = (len(rows), *keys, *values, *headers.places, *headers.names, *headers.contents, *others)
    return load_kernel(source)(*(each if isinstance(each, int) else each.ctypes.data for each in given))


class _Topics:
    """The topics that rows were written to so far, and their partitions as slots, one topic behind the other."""

    def __init__(self, shape_of: Callable[[str], TopicShape], rng: Random, batch_bytes_max: int) -> None:
        self.batch_bytes_max = batch_bytes_max
        """That all of them take."""
        self.table: Places = np.empty((0, TABLE_NUMBERS), np.int64)
        self.hashes: Places = np.empty(0, np.int64)
        self.names: list[str] = []
        self.slot_count = 0
        self._lines: dict[str, int] = {}
        self._places: list[TopicPartition] = []
        self._shape_of = shape_of
        self._rng = rng

    def line_of(self, name: str) -> int:
        line = self._lines.get(name)
        return self._add(name) if line is None else line

    def place_of(self, slot: int) -> TopicPartition:
        return self._places[slot]

    def _add(self, name: str) -> int:
        partitions, batch_bytes_max = self._shape_of(name)
        if batch_bytes_max is not None:
            self.batch_bytes_max = max(min(self.batch_bytes_max, batch_bytes_max), 2 * HEAD_SIZE)
        # Tasks begin elsewhere, so that rows without a key do not all go to the same partition.
        line = [self.slot_count, partitions, self._rng.randrange(partitions), 0]
        self.table = np.vstack((self.table, np.array([line], np.int64)))
        hashed = int.from_bytes(hashlib.sha256(name.encode()).digest()[:8], "little", signed=True)
        self.hashes = np.append(self.hashes, np.int64(hashed))
        self._places += (TopicPartition(name, number) for number in range(partitions))
        self.slot_count += partitions
        self._lines[name] = len(self.names)
        self.names.append(name)
        return self._lines[name]


def _first(flags: Any) -> int:
    return int(flags.to_numpy(zero_copy_only=False).argmax())


def _first_no_text(column: Any) -> int:
    """The first row whose bytes are no UTF-8."""
    for row, value in enumerate(column.cast("binary").to_pylist()):
        try:
            value.decode()
        except UnicodeDecodeError:
            return row
    raise AssertionError("all of it is text")


def _is_null(column: Any) -> NDArray[np.bool_]:
    flags: NDArray[np.bool_] = column.is_null().to_numpy(zero_copy_only=False)
    return flags
