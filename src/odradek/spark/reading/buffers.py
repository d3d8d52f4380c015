"""The memory that the kernel fills for one run, and the Arrow columns that it then is."""

from __future__ import annotations

from functools import cached_property
from typing import TYPE_CHECKING, Any

import numpy as np
import pyarrow as pa

from odradek.spark.reading import layout
from odradek.spark.reading.columns import HEADERS

if TYPE_CHECKING:
    from odradek.spark.reading.runs import Run

Memory = np.ndarray[Any, Any]

_NOTHING = {kind: np.empty(0, kind) for kind in layout.PARAMETERS.values() if kind != layout.NUMBER}
_HEADER_LEAST = 2
"""Bytes of a header whose name is empty and whose value is null."""


class Buffers:
    """As large as the columns of a run may be at most: what the kernel leaves untouched costs no memory."""

    def __init__(self, run: Run, wants: int) -> None:
        rows, size = run.rows_max, run.size
        self._run = run
        self._wants = wants
        self._arrays: dict[str, Memory] = {"found": np.zeros(layout.FOUND_NUMBERS, np.int64)}
        if wants & layout.WANT_KEYS:
            self._parts("key_ends", "keys", "key_valid", rows, size)
        if wants & layout.WANT_VALUES:
            self._parts("value_ends", "values", "value_valid", rows, size)
        if wants & layout.WANT_OFFSETS:
            self._arrays["offsets"] = np.empty(rows, np.int64)
        if wants & layout.WANT_TIMESTAMPS:
            self._arrays["timestamps"] = np.empty(rows, np.int64)
        if wants & layout.WANT_TYPES:
            self._arrays["timestamp_types"] = np.empty(rows, np.int32)
        if wants & layout.WANT_HEADERS:
            headers = size // _HEADER_LEAST
            self._arrays["header_ends"] = np.empty(rows + 1, np.int32)
            self._arrays["header_valid"] = _all_valid(rows)
            self._arrays["name_ends"] = np.empty(headers + 1, np.int32)
            self._arrays["names"] = np.empty(size, np.uint8)
            self._parts("content_ends", "contents", "content_valid", headers, size)

    def _parts(self, ends: str, parts: str, valid: str, count: int, size: int) -> None:
        self._arrays[ends] = np.empty(count + 1, np.int32)
        self._arrays[parts] = np.empty(size, np.uint8)
        self._arrays[valid] = _all_valid(count)

    def arguments(self, start: int, end: int) -> dict[str, Memory | int]:
        """For the kernel, by the names of its parameters."""
        run = self._run
        given: dict[str, Memory | int] = {
            "data": run.data,
            "heads": np.array(run.numbers, np.int64),
            "batches": len(run.numbers) // layout.BATCH_NUMBERS,
            "start": start,
            "end": end,
            "wants": self._wants,
        }
        return {
            name: given[name] if name in given else self._arrays.get(name, _NOTHING.get(kind, 0))
            for name, kind in layout.PARAMETERS.items()
        }

    # --- what it has filled

    @cached_property
    def found(self) -> list[int]:
        return self._arrays["found"].tolist()  # type: ignore[no-any-return]

    @property
    def rows(self) -> int:
        return self.found[layout.FOUND_ROWS]

    def column(self, name: str) -> pa.Array:
        """All of its rows."""
        match name:
            case "key":
                valid = self._valid("key_valid", self.rows, layout.FOUND_KEY_NULLS)
                return self._array(pa.binary(), "key_ends", "keys", self.rows, valid)
            case "value":
                valid = self._valid("value_valid", self.rows, layout.FOUND_VALUE_NULLS)
                return self._array(pa.binary(), "value_ends", "values", self.rows, valid)
            case "offset":
                return self._plain(pa.int64(), "offsets")
            case "timestamp":
                return self._plain(pa.timestamp("us", tz="UTC"), "timestamps")
            case "timestampType":
                return self._plain(pa.int32(), "timestamp_types")
            case _:
                assert name == HEADERS
                return self._headers()

    def _plain(self, kind: pa.DataType, name: str) -> pa.Array:
        return pa.Array.from_buffers(kind, self.rows, [None, _buffer(self._arrays[name][: self.rows])])

    def _array(self, kind: pa.DataType, ends: str, parts: str, count: int, valid: pa.Buffer | None) -> pa.Array:
        kept = self._arrays[ends][: count + 1]
        memory = [valid, _buffer(kept), _buffer(self._arrays[parts][: kept[-1]])]
        return pa.Array.from_buffers(kind, count, memory)

    def _valid(self, name: str, count: int, nulls: int) -> pa.Buffer | None:
        return _buffer(self._arrays[name][: count + 7 >> 3]) if self.found[nulls] else None

    def _headers(self) -> pa.Array:
        count = self.found[layout.FOUND_HEADERS]
        names = self._array(pa.string(), "name_ends", "names", count, None)
        if self.found[layout.FOUND_NAMES_NOT_ASCII]:
            names = _as_text(names)
        contents_valid = self._valid("content_valid", count, layout.FOUND_CONTENT_NULLS)
        contents = self._array(pa.binary(), "content_ends", "contents", count, contents_valid)
        pairs = pa.StructArray.from_arrays([names, contents], names=["key", "value"])
        kind = pa.list_(pa.field("element", pairs.type))
        ends = _buffer(self._arrays["header_ends"][: self.rows + 1])
        valid = self._valid("header_valid", self.rows, layout.FOUND_HEADERLESS)
        return pa.Array.from_buffers(kind, self.rows, [valid, ends], children=[pairs])


def _all_valid(count: int) -> Memory:
    return np.full(count + 7 >> 3, 0xFF, np.uint8)


def _buffer(array: Memory) -> pa.Buffer:
    return pa.py_buffer(array)


def _as_text(names: pa.Array) -> pa.Array:
    """Kafka takes names of headers that are not UTF-8; its consumer in Java puts a sign in place of such bytes."""
    return pa.array([name.decode("utf-8", "replace") for name in names.cast(pa.binary()).to_pylist()], pa.string())
