"""Markers are written and read at one go where they are as brokers write them, as the long way would do it."""

from hypothesis import example, given
from hypothesis import strategies as st

from odradek.model.errors import CorruptBatch
from odradek.model.numbers import Offset, ProducerId, TimestampMs
from odradek.records.batch import parse_head
from odradek.records.builder import BatchSpec, build_batch
from odradek.records.control import (
    ControlType,
    EndTxnMarker,
    build_end_txn_batch,
    control_key,
    control_type,
    end_txn_marker,
    read_coordinator_epoch,
)
from odradek.records.record import Record, read_records

INT32S = st.integers(-(1 << 31), (1 << 31) - 1)


@given(st.integers(0, 1 << 60), st.integers(0, 32_767), st.booleans(), INT32S, st.integers(0, 1 << 50))
def test_a_marker_is_a_batch(producer_id: int, epoch: int, commit: bool, coordinator_epoch: int, time: int) -> None:
    kind = ControlType.COMMIT if commit else ControlType.ABORT
    value = bytes(2) + coordinator_epoch.to_bytes(4, "big", signed=True)
    record = Record(Offset(0), TimestampMs(time), control_key(kind), value)
    spec = BatchSpec(producer_id=ProducerId(producer_id), producer_epoch=epoch, transactional=True, control=True)
    made = build_end_txn_batch(
        ProducerId(producer_id),
        epoch,
        commit=commit,
        coordinator_epoch=coordinator_epoch,
        timestamp=TimestampMs(time),
    )
    assert made.batch == build_batch([record], spec)
    assert made.head == parse_head(made.batch)
    assert end_txn_marker(memoryview(made.batch), made.head) == EndTxnMarker(kind, coordinator_epoch)


@given(st.binary(min_size=17, max_size=17))
@example(bytes.fromhex("2000000008000000010c00000000000700"))
@example(bytes.fromhex("2000000008000500010c00000000000700"))
@example(bytes.fromhex("2000000008000000020c00000000000700"))
@example(bytes.fromhex("200000000800000001ffff0000000007" + "00"))
@example(bytes.fromhex("2000000008000000010cffff0000000700"))
@example(bytes.fromhex("2000000208000000010c00000000000700"))
@example(bytes.fromhex("2000000008000000010c00000000000702"))
def test_other_bytes_are_read_as_a_record_is(data: bytes) -> None:
    batch = build_end_txn_batch(ProducerId(1), 0, commit=True, coordinator_epoch=0, timestamp=TimestampMs(0)).batch
    batch[-17:] = data
    assert outcome(batch, short=True) == outcome(batch, short=False)


def outcome(batch: bytearray, *, short: bool) -> EndTxnMarker | str | None:
    view, head = memoryview(batch), parse_head(batch)
    try:
        if short:
            return end_txn_marker(view, head)
        record = next(read_records(view, head))
        kind = control_type(record.key)
        if kind not in (ControlType.ABORT, ControlType.COMMIT):
            return None
        return EndTxnMarker(ControlType(kind), read_coordinator_epoch(record.value))
    except CorruptBatch as error:
        return str(error)
