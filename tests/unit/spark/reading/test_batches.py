import pytest

from odradek.model.numbers import LeaderEpoch, Offset, ProducerId, TimestampMs
from odradek.records.batch import parse_head, stamp
from odradek.records.builder import BatchSpec, build_batch, build_emptied
from odradek.records.control import build_end_txn_batch
from odradek.records.record import Record
from odradek.spark.reading.batches import split, visible
from odradek.spark.reading.errors import CorruptRecords

NOW = TimestampMs(1_700_000_000_000)
ONE, TWO = ProducerId(1001), ProducerId(1002)


def batch(offset: int, count: int = 1, producer: ProducerId | None = None) -> bytearray:
    """Of a transaction, where there is a producer."""
    records = [Record(Offset(offset + number), NOW, None, b"v") for number in range(count)]
    spec = BatchSpec(base_offset=Offset(offset))
    if producer is not None:
        spec = BatchSpec(base_offset=Offset(offset), producer_id=producer, producer_epoch=0, transactional=True)
    return build_batch(records, spec)


def marker(offset: int, producer: ProducerId, *, commit: bool) -> bytearray:
    made = build_end_txn_batch(producer, 0, commit=commit, coordinator_epoch=0, timestamp=NOW).batch
    stamp(memoryview(made), Offset(offset), LeaderEpoch(0))
    return made


def seen(log: list[bytearray], aborted: list[tuple[int, int]]) -> list[int]:
    """Base offsets of the batches that a reader sees."""
    batches = split(memoryview(b"".join(log)), "orders-0", 0)
    return [each.head.base_offset for each in visible(batches, aborted, "orders-0")]


def test_a_batch_that_is_cut_off_is_left_for_the_next_answer() -> None:
    raw = bytes(batch(0, 3) + batch(3, 2))
    for cut in range(1, len(batch(3, 2)) + 1):
        assert [each.head.base_offset for each in split(memoryview(raw[:-cut]), "orders-0", 0)] == [0]


def test_a_batch_behind_the_end_comes_alone_or_not_at_all() -> None:
    first, second = batch(0, 3), batch(3, 2)

    def offsets(log: bytearray, end: int) -> list[int]:
        return [each.head.base_offset for each in split(memoryview(log), "orders-0", 0, end)]

    assert offsets(first + second, 3) == [0]
    assert offsets(first + second, 4) == [0, 3]
    assert offsets(second, 2) == [3]


def test_markers_and_emptied_batches_have_nothing_to_see() -> None:
    emptied = build_emptied(parse_head(batch(2, 5)))
    log = [batch(0, producer=ONE), marker(1, ONE, commit=True), emptied, batch(7)]
    assert seen(log, []) == [0, 7]


def test_what_an_aborted_transaction_wrote_is_left_out_and_no_more() -> None:
    log = [
        batch(0, producer=ONE),
        batch(1, producer=TWO),
        batch(2),
        batch(3, producer=ONE),
        marker(4, ONE, commit=False),
        batch(5, producer=ONE),
        marker(6, TWO, commit=True),
        marker(7, ONE, commit=True),
    ]
    assert seen(log, [(ONE, 0)]) == [1, 2, 5]
    assert seen(log, []) == [0, 1, 2, 3, 5]


def test_a_producer_that_aborts_twice_is_told_apart_by_offsets() -> None:
    log = [
        batch(0, producer=ONE),
        marker(1, ONE, commit=False),
        batch(2, producer=ONE),
        marker(3, ONE, commit=True),
        batch(4, producer=ONE),
        marker(5, ONE, commit=False),
    ]
    assert seen(log, [(ONE, 4), (ONE, 0)]) == [2]


def test_a_marker_whose_records_compaction_took_still_ends_its_transaction() -> None:
    log = [marker(5, ONE, commit=False), batch(6, producer=ONE), marker(7, ONE, commit=True)]
    assert seen(log, [(ONE, 3)]) == [6]


@pytest.mark.parametrize("at", [21, 40, 62])
def test_a_wrong_crc_is_told_before_the_batch_is_believed(at: int) -> None:
    damaged = batch(7, 3)
    damaged[at] ^= 0x20  # at 22 this would be a control batch
    with pytest.raises(CorruptRecords, match="orders-0 has a corrupt batch at offset 7: its CRC is wrong") as caught:
        seen([batch(0, 7), damaged], [])
    assert caught.value.offset == 7


def test_what_is_no_batch_is_told_with_the_offset_where_one_should_be() -> None:
    broken = batch(0, 3) + batch(3)
    broken[len(batch(0, 3)) + 16] = 9  # its magic
    with pytest.raises(CorruptRecords, match="orders-0 has a corrupt batch at offset 3: unknown magic 9"):
        split(memoryview(broken), "orders-0", 0)
    with pytest.raises(CorruptRecords, match="at offset 12: "):
        split(memoryview(bytes(100)), "orders-0", 12)
