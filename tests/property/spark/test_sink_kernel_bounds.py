"""The kernels stay within their arrays: compiled with bounds checked, they give the same batches."""

from random import Random
from typing import Any

import numpy as np
import pyarrow as pa
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from numba import njit

from odradek.spark.reading.compiled import KernelSource
from odradek.spark.sink import encoding, kernel
from odradek.spark.sink.columns import Rows
from odradek.spark.sink.encoding import Encoder, EncodingSetting, TopicShape
from odradek.spark.sink.layout import Layout

CHECKED = {
    name: njit(getattr(kernel, name).py_func, boundscheck=True, error_model="numpy")
    for name in ("plan_batches", "fill_batches", "hash_rows")
}
BYTES = st.none() | st.binary(max_size=200)
HEADERS = st.none() | st.lists(st.fixed_dictionaries({"key": st.text(max_size=9), "value": BYTES}), max_size=3)
HEADER_TYPE = pa.list_(pa.struct([("key", pa.string()), ("value", pa.binary())]))
ROWS = st.lists(st.tuples(BYTES, BYTES, HEADERS, st.none() | st.integers(0, 3)), max_size=40)


def call_checked(source: KernelSource, rows: Rows, *others: Any) -> int:
    keys, values, headers = rows.keys, rows.values, rows.headers
    given = (*keys, *values, *headers.places, *headers.names, *headers.contents, *others)
    arrays = [each if isinstance(each, int) else _flat(each) for each in given]
    return int(CHECKED[source.function](len(rows), *arrays))


def _flat(array: Any) -> Any:
    """As the kernels see it, without a copy of what they write to; what is only read may not be written to."""
    flat = array.reshape(-1)
    if flat.flags.writeable:
        return flat
    return flat.copy()


def encode(rows: list[tuple[Any, ...]], size: int) -> tuple[list[tuple[Any, ...]], int]:
    setting = EncodingSetting(batch_bytes_max=size, record_bytes_max=1 << 20, hashed=True)
    made = Encoder(
        Layout(key=0, value=1, headers=2, partition=3, topic_name="t"), setting, lambda _: TopicShape(4), Random(0)
    )
    kinds = (pa.binary(), pa.binary(), HEADER_TYPE, pa.int32())
    columns = [pa.array([row[number] for row in rows], kind) for number, kind in enumerate(kinds)]
    batches = made.encode(pa.record_batch(columns, names=["key", "value", "headers", "partition"]))
    return [(each.place, bytes(each.batch[61:]), each.count) for each in batches], made.row_hash


@pytest.mark.slow
@settings(suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(ROWS, st.integers(130, 1000))
def test_nothing_is_read_or_written_outside(
    monkeypatch: pytest.MonkeyPatch, rows: list[tuple[Any, ...]], size: int
) -> None:
    plain = encode(rows, size)
    with monkeypatch.context() as patched:
        patched.setattr(encoding, "_call", call_checked)
        assert encode(rows, size) == plain


def test_bounds_are_checked() -> None:
    """Else the test above would show nothing."""
    nothing, none = np.empty(0, np.int64), np.empty(0, np.uint8)
    with pytest.raises(IndexError):
        CHECKED["hash_rows"](
            1, nothing, nothing, none, nothing, nothing, none, nothing, nothing, nothing, nothing, none, nothing,
            nothing, none, nothing, nothing, nothing,
        )  # fmt: skip
