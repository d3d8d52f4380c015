from dataclasses import replace

import pytest

from odradek.model.numbers import LeaderEpoch, Offset, ProducerId, TimestampMs
from odradek.records.batch import HEAD_SIZE, Codec, TimestampType, check_crc, parse_head
from odradek.records.builder import BatchSpec, build_batch, build_emptied
from odradek.records.record import Record, read_records


def some(*offsets: int) -> list[Record]:
    return [Record(Offset(offset), TimestampMs(1000 + offset), b"k%d" % offset, b"v") for offset in offsets]


def test_a_batch_says_all_that_it_was_told() -> None:
    spec = BatchSpec(
        base_offset=Offset(100),
        leader_epoch=LeaderEpoch(4),
        producer_id=ProducerId(7),
        producer_epoch=2,
        base_sequence=11,
        transactional=True,
        codec=Codec.ZSTD,
    )
    batch = memoryview(build_batch(some(100, 101, 104), spec))
    head = parse_head(batch)
    check_crc(batch, head)
    assert head.size == len(batch)
    assert (head.base_offset, head.last_offset, head.leader_epoch, head.count) == (100, 104, 4, 3)
    assert (head.producer_id, head.producer_epoch, head.base_sequence) == (7, 2, 11)
    assert (head.is_transactional, head.is_control, head.codec) == (True, False, Codec.ZSTD)
    assert (head.base_timestamp, head.max_timestamp) == (1100, 1104)


def test_the_cleaner_keeps_the_range_of_offsets() -> None:
    whole = parse_head(build_batch(some(10, 11, 12, 13), BatchSpec(base_offset=Offset(10))))
    cleaned = memoryview(build_batch(some(11), BatchSpec.like(whole)))
    head = parse_head(cleaned)
    assert (head.base_offset, head.last_offset, head.count) == (10, 13, 1)
    assert (head.base_timestamp, head.max_timestamp) == (1011, 1011)
    assert list(read_records(cleaned, head)) == some(11)


def test_the_cleaner_sets_a_delete_horizon() -> None:
    whole = parse_head(build_batch(some(0, 1)))
    spec = replace(BatchSpec.like(whole), delete_horizon_ms=TimestampMs(9999))
    cleaned = memoryview(build_batch(some(1), spec))
    head = parse_head(cleaned)
    assert (head.delete_horizon_ms, head.base_timestamp, head.max_timestamp) == (9999, 9999, 1001)
    assert list(read_records(cleaned, head)) == some(1)
    assert BatchSpec.like(head).delete_horizon_ms == 9999


def test_the_cleaner_keeps_the_head_of_a_batch_that_it_emptied() -> None:
    spec = BatchSpec(
        base_offset=Offset(10),
        last_offset_delta=5,
        leader_epoch=LeaderEpoch(2),
        producer_id=ProducerId(3),
        producer_epoch=0,
        base_sequence=8,
        transactional=True,
        codec=Codec.GZIP,
        delete_horizon_ms=TimestampMs(9999),
    )
    batch = memoryview(build_emptied(parse_head(build_batch(some(11, 12), spec))))
    head = parse_head(batch)
    check_crc(batch, head)
    assert len(batch) == HEAD_SIZE
    assert (head.count, head.base_offset, head.last_offset, head.last_sequence) == (0, 10, 15, 13)
    assert (head.producer_id, head.producer_epoch, head.leader_epoch, head.is_transactional) == (3, 0, 2, True)
    assert (head.base_timestamp, head.max_timestamp) == (-1, 1012)
    assert (head.codec, head.delete_horizon_ms) == (Codec.NONE, None)
    assert list(read_records(batch, head)) == []


def test_append_time_is_kept_when_a_batch_is_rebuilt() -> None:
    spec = BatchSpec(timestamp_type=TimestampType.LOG_APPEND_TIME, max_timestamp=TimestampMs(5000))
    batch = memoryview(build_batch(some(0, 1), spec))
    head = parse_head(batch)
    assert [record.timestamp for record in read_records(batch, head)] == [5000, 5000]
    again = memoryview(build_batch(list(read_records(batch, head))[1:], BatchSpec.like(head)))
    assert parse_head(again).max_timestamp == 5000
    assert [record.timestamp for record in read_records(again, parse_head(again))] == [5000]


@pytest.mark.parametrize(
    ("offsets", "spec"),
    [
        ((1, 1), BatchSpec()),
        ((2, 1), BatchSpec()),
        ((4,), BatchSpec(base_offset=Offset(5))),
        ((0, 3), BatchSpec(last_offset_delta=2)),
        ((), BatchSpec()),
    ],
)
def test_offsets_that_make_no_batch_are_refused(offsets: tuple[int, ...], spec: BatchSpec) -> None:
    with pytest.raises(ValueError, match="offset"):
        build_batch(some(*offsets), spec)
