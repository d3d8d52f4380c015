"""The kernel against read_records, which decides what a batch has and what is corrupt."""

import re
from collections.abc import Sequence
from datetime import UTC, datetime, timedelta

import pyarrow as pa
import pytest
from hypothesis import assume, given
from hypothesis import strategies as st

from odradek.model.errors import CorruptBatch
from odradek.model.numbers import Offset, TimestampMs
from odradek.records.batch import HEAD_SIZE, Codec, TimestampType, parse_head, write_head
from odradek.records.builder import BatchSpec, build_batch
from odradek.records.record import Record, read_records
from odradek.spark.reading.batches import split, visible
from odradek.spark.reading.columns import ALL_COLUMNS, arrow_schema
from odradek.spark.reading.decode import Decoder
from odradek.spark.reading.errors import CorruptRecords, ReadError, UnfitTimestamp
from odradek.spark.reading.range import Range, ReadSetting
from odradek.spark.reading.runs import plain_run

pytestmark = pytest.mark.slow

EPOCH = datetime(1970, 1, 1, tzinfo=UTC)
BYTES = st.none() | st.binary(max_size=200)
NAMES = st.text(max_size=10) | st.binary(max_size=3).map(lambda name: name.decode("utf-8", "surrogateescape"))
HEADERS = st.lists(st.tuples(NAMES, BYTES), max_size=3).map(tuple)
TIMES = st.integers(-1, 1 << 45)
FAR_TIMES = st.integers(-(1 << 63), (1 << 63) - 1) | st.integers(-(1 << 54), 1 << 54)
WHOLE = Range("orders", bytes(16), 3, 0, (1 << 63) - 1)


@st.composite
def logs(draw: st.DrawFn) -> list[tuple[list[Record], BatchSpec]]:
    """Batches one after the other, with gaps, as a log has them."""
    log = []
    base = draw(st.integers(0, 1 << 60))
    for _ in range(draw(st.integers(1, 4))):
        deltas = sorted(draw(st.sets(st.integers(0, 300), max_size=8)))
        last = draw(st.integers(deltas[-1] if deltas else 0, 400))
        records = [
            Record(Offset(base + delta), TimestampMs(draw(TIMES)), draw(BYTES), draw(BYTES), draw(HEADERS))
            for delta in deltas
        ]
        kind = draw(st.sampled_from(TimestampType))
        times = [record.timestamp for record in records]
        if kind is TimestampType.LOG_APPEND_TIME:
            times = [TimestampMs(draw(TIMES))] * len(records)
        spec = BatchSpec(
            base_offset=Offset(base),
            codec=draw(st.sampled_from(Codec)),
            timestamp_type=kind,
            max_timestamp=max(times, default=TimestampMs(-1)),
            last_offset_delta=last,
            delete_horizon_ms=draw(st.none() | TIMES.map(TimestampMs)),
        )
        log.append((records, spec))
        base += last + 1 + draw(st.integers(0, 5))
    return log


def decoded(
    data: bytes | bytearray, wanted: Range = WHOLE, columns: Sequence[str] = ALL_COLUMNS, rows_max: int = 1 << 16
) -> list[pa.RecordBatch]:
    """Where there is a quick way through the batches, it leads to the same."""
    setting = ReadSetting(bootstrap="", columns=tuple(columns), batch_rows_max=rows_max)
    quick = plain_run(memoryview(data), wanted.end)
    try:
        batches = split(memoryview(data), "orders-3", wanted.start)
        found = list(Decoder(wanted, setting).decode(visible(batches, (), "orders-3")))
    except ReadError as error:
        if quick is not None:
            with pytest.raises(type(error), match=f"^{re.escape(str(error))}$"):
                list(Decoder(wanted, setting).decode_run(quick, wanted.start))
        raise
    if quick is not None:
        assert list(Decoder(wanted, setting).decode_run(quick, wanted.start)) == found
    for each in found:
        each.validate(full=True)
        assert each.schema == arrow_schema(setting.columns)
        assert 0 < each.num_rows <= rows_max
    return found


def rows_of(found: list[pa.RecordBatch]) -> list[dict[str, object]]:
    return [row for each in found for row in each.to_pylist()]


def row(record: Record, kind: TimestampType, columns: Sequence[str] = ALL_COLUMNS) -> dict[str, object]:
    headers = [
        {"key": name.encode("utf-8", "surrogateescape").decode("utf-8", "replace"), "value": content}
        for name, content in record.headers
    ]
    all_columns = {
        "key": record.key,
        "value": record.value,
        "topic": "orders",
        "partition": 3,
        "offset": record.offset,
        "timestamp": EPOCH + timedelta(milliseconds=record.timestamp),
        "timestampType": int(kind),
        "headers": headers or None,
    }
    return {name: all_columns[name] for name in columns}


@given(logs(), st.data())
def test_rows_are_the_records_of_the_range(log: list[tuple[list[Record], BatchSpec]], data: st.DataObject) -> None:
    raw = b"".join(build_batch(records, spec) for records, spec in log)
    kept = [
        (record, spec.timestamp_type)
        for batch, (_, spec) in zip(split(memoryview(raw), "", 0), log, strict=True)
        for record in read_records(batch.view, batch.head)
    ]
    first, last = log[0][1].base_offset, log[-1][1].base_offset + 400
    start, end = sorted(data.draw(st.tuples(st.integers(first, last), st.integers(first, last))))
    columns = data.draw(st.lists(st.sampled_from(ALL_COLUMNS), min_size=1, unique=True))
    wanted = Range("orders", bytes(16), 3, start, end)
    found = decoded(raw, wanted, columns, data.draw(st.integers(1, 10)))
    assert rows_of(found) == [row(record, kind, columns) for record, kind in kept if start <= record.offset < end]


@given(logs(), st.data())
def test_damage_is_found_where_read_records_finds_it(
    log: list[tuple[list[Record], BatchSpec]], data: st.DataObject
) -> None:
    """The CRC is made anew, as if a producer had sent it like this."""
    records, spec = log[0]
    batch = build_batch(records, spec)
    changes = st.tuples(st.integers(57, len(batch) - 1), st.integers(0, 255))
    for at, byte in data.draw(st.lists(changes, max_size=3)):
        batch[at] = byte
    del batch[len(batch) - data.draw(st.integers(0, 3)) :]
    if len(batch) < HEAD_SIZE:
        return
    head = parse_head(batch)._replace(length=len(batch) - 12)
    write_head(batch, head)
    head = parse_head(batch)
    try:
        kept = list(read_records(memoryview(batch), head))
    except CorruptBatch:
        with pytest.raises(CorruptRecords, match=rf"orders-3 has a corrupt batch at offset {head.base_offset}"):
            decoded(batch)
        return
    if any(abs(record.timestamp) > (1 << 63) // 1000 for record in kept):
        with pytest.raises(UnfitTimestamp, match="orders-3 has a record at offset"):
            decoded(batch)
        return
    columns = [name for name in ALL_COLUMNS if name != "timestamp"]  # most of these are beyond Python's own
    assert rows_of(decoded(batch, columns=columns)) == [row_without_time(each, head.timestamp_type) for each in kept]


def row_without_time(record: Record, kind: TimestampType) -> dict[str, object]:
    columns = [name for name in ALL_COLUMNS if name != "timestamp"]
    return row(record._replace(timestamp=TimestampMs(0)), kind, columns)


@given(FAR_TIMES, FAR_TIMES)
def test_every_timestamp_that_spark_can_hold(first: int, second: int) -> None:
    assume(-(1 << 63) <= second - first < 1 << 63)  # the difference is what a batch has
    records = [Record(Offset(n), TimestampMs(time), None, None) for n, time in enumerate((first, second))]
    batch = build_batch(records)
    far = next((each for each in records if abs(each.timestamp) * 1000 >= 1 << 63), None)
    if far is not None:
        with pytest.raises(UnfitTimestamp, match=f"offset {far.offset} whose timestamp, {far.timestamp} ms"):
            decoded(batch, columns=["timestamp"])
        return
    (found,) = decoded(batch, columns=["timestamp"])
    assert found.column(0).cast(pa.int64()).to_pylist() == [first * 1000, second * 1000]


@given(st.binary(max_size=300))
def test_garbage_behind_a_head_raises_nothing_but_corrupt_records(garbage: bytes) -> None:
    batch = bytearray(HEAD_SIZE) + garbage
    head = parse_head(build_batch([Record(Offset(0), TimestampMs(0), None, None)]))
    write_head(batch, head._replace(length=len(batch) - 12, count=max(1, len(garbage) // 9), last_offset_delta=1000))
    try:
        kept = list(read_records(memoryview(batch), parse_head(batch)))
    except CorruptBatch:
        with pytest.raises(CorruptRecords):
            decoded(batch)
    else:
        assert len(rows_of(decoded(batch, columns=["offset"]))) == len(kept)
