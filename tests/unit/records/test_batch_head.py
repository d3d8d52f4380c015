import pytest

from odradek.model.error_code import ErrorCode
from odradek.model.errors import CorruptBatch, InvalidRecord, UnsupportedMagic
from odradek.model.numbers import LeaderEpoch, Offset, ProducerId, TimestampMs
from odradek.records.batch import (
    HEAD_SIZE,
    SEQUENCE_MAX,
    BatchHead,
    Codec,
    TimestampType,
    add_sequence,
    check_crc,
    check_produced,
    parse_head,
    stamp,
    stamp_append_time,
)
from odradek.records.builder import PLAIN, BatchSpec, build_batch
from odradek.records.record import Record, read_records


def a_batch(spec: BatchSpec = PLAIN) -> bytearray:
    times = (1000, 3000, 2000)
    return build_batch([Record(Offset(n), TimestampMs(time), b"k", b"v") for n, time in enumerate(times)], spec)


def test_a_head_is_read_at_any_position() -> None:
    batch = a_batch(BatchSpec(producer_id=ProducerId(7), producer_epoch=1, base_sequence=40, transactional=True))
    head = parse_head(b"before" + bytes(batch), 6)
    assert (head.base_offset, head.last_offset, head.next_offset, head.count) == (0, 2, 3, 3)
    assert (head.base_timestamp, head.max_timestamp) == (1000, 3000)
    assert (head.producer_id, head.producer_epoch, head.base_sequence, head.last_sequence) == (7, 1, 40, 42)
    assert (head.codec, head.timestamp_type) == (Codec.NONE, TimestampType.CREATE_TIME)
    assert (head.is_transactional, head.is_control, head.delete_horizon_ms) == (True, False, None)
    assert head.size == len(batch)


def test_a_batch_without_a_sequence_has_none_at_its_end_either() -> None:
    batch = a_batch(BatchSpec(producer_id=ProducerId(7), producer_epoch=1, base_sequence=-1, transactional=True))
    assert parse_head(batch).last_sequence == -1


def test_sequences_go_on_at_zero() -> None:
    assert add_sequence(SEQUENCE_MAX, 1) == 0
    assert add_sequence(SEQUENCE_MAX - 1, 1) == SEQUENCE_MAX
    assert add_sequence(SEQUENCE_MAX, SEQUENCE_MAX) == SEQUENCE_MAX - 1


@pytest.mark.parametrize("size", [0, 1, 16, HEAD_SIZE - 1])
def test_a_cut_head_is_refused(size: int) -> None:
    with pytest.raises(CorruptBatch, match="shorter than a batch head"):
        parse_head(a_batch()[:size])


@pytest.mark.parametrize("magic", [0, 1])
@pytest.mark.parametrize("size", [34, HEAD_SIZE, 100])
def test_old_formats_are_told_apart_even_if_shorter_than_a_head(magic: int, size: int) -> None:
    old = bytearray(size)
    old[16] = magic
    with pytest.raises(UnsupportedMagic) as refused:
        parse_head(old)
    assert refused.value.code is ErrorCode.INVALID_RECORD


@pytest.mark.parametrize("magic", [3, 127, 128, 255])
def test_unknown_formats_are_corrupt(magic: int) -> None:
    batch = a_batch()
    batch[16] = magic
    with pytest.raises(CorruptBatch, match="unknown magic") as refused:
        parse_head(batch)
    assert refused.value.code is ErrorCode.CORRUPT_MESSAGE


def test_a_length_below_that_of_a_head_is_refused() -> None:
    batch = a_batch()
    batch[8:12] = (HEAD_SIZE - 12 - 1).to_bytes(4, "big")
    with pytest.raises(CorruptBatch, match="shorter than a batch head"):
        parse_head(batch)


def test_the_crc_covers_all_but_place_and_itself() -> None:
    batch = a_batch()
    for at in range(len(batch)):
        changed = bytearray(batch)
        changed[at] ^= 0x40
        try:
            check_crc(memoryview(changed), parse_head(changed))
        except CorruptBatch:
            continue
        assert at in range(8) or at in range(12, 16), f"a change at {at} went unseen"


def test_a_view_of_another_size_is_refused() -> None:
    batch = a_batch()
    with pytest.raises(CorruptBatch, match="given as"):
        check_crc(memoryview(batch)[:-1], parse_head(batch))


def test_a_stamp_gives_a_place_and_keeps_the_crc() -> None:
    batch = bytearray(b"before") + a_batch()
    stamp(memoryview(batch), Offset(1 << 40), LeaderEpoch(9), 6)
    head = parse_head(batch, 6)
    assert (head.base_offset, head.leader_epoch, head.last_offset) == (1 << 40, 9, (1 << 40) + 2)
    check_crc(memoryview(batch)[6:], head)


def test_append_time_is_the_time_of_every_record() -> None:
    batch = memoryview(a_batch())
    stamp_append_time(batch, TimestampMs(5000))
    head = parse_head(batch)
    check_crc(batch, head)
    assert head.timestamp_type is TimestampType.LOG_APPEND_TIME
    assert [record.timestamp for record in read_records(batch, head)] == [5000, 5000, 5000]


def test_a_batch_of_a_producer_passes() -> None:
    check_produced(parse_head(a_batch()))
    check_produced(parse_head(a_batch(BatchSpec(producer_id=ProducerId(0), producer_epoch=0, base_sequence=0))))


@pytest.mark.parametrize(
    "changes",
    [
        {"count": 0},
        {"count": -1},
        {"count": 2},
        {"last_offset_delta": 3},
        {"last_offset_delta": -1},
        {"attributes": 0x20},
        {"attributes": 0x40},
        {"attributes": 5},
        {"producer_id": 1, "producer_epoch": 0},
        {"producer_id": 1, "base_sequence": 0},
    ],
    ids=str,
)
def test_what_no_producer_may_send_is_refused(changes: dict[str, int]) -> None:
    head: BatchHead = parse_head(a_batch())._replace(**changes)  # type: ignore[arg-type]
    with pytest.raises(InvalidRecord):
        check_produced(head)


def test_an_unknown_codec_is_corrupt() -> None:
    with pytest.raises(CorruptBatch, match="codec 7"):
        _ = parse_head(a_batch())._replace(attributes=7).codec
