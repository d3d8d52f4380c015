"""The log of a partition: appending, reading, rolling."""

from dataclasses import replace

import pytest

from odradek.model.errors import (
    BatchTooLarge,
    CorruptBatch,
    InvalidProducerEpoch,
    InvalidRecord,
    MessageTooLarge,
    OffsetOutOfRange,
    OutOfOrderSequence,
    OutOfPlace,
    StorageFailed,
)
from odradek.model.numbers import LeaderEpoch, Offset, ProducerId, TimestampMs
from odradek.records.batch import BatchHead, Codec, parse_head, stamp
from odradek.records.builder import BatchSpec
from odradek.storage.log import Appended, Log, Origin
from support.clock import ManualClock
from support.disk import FaultyDisk, Op
from support.logs import (
    NOW,
    SMALL,
    append,
    append_batch,
    batch,
    log_of,
    marker,
    offsets_and_values,
    open_dirs,
    open_log,
    setting,
    timed_batch,
    values,
)


@pytest.fixture
def disk() -> FaultyDisk:
    return FaultyDisk("/data")


@pytest.fixture
def log(disk: FaultyDisk) -> Log:
    return open_log(disk)


def read_heads(log: Log, offset: int, size: int, until: int | None = None) -> list[BatchHead]:
    """The heads of the batches in what a consumer gets; the last batch may be cut."""
    found = log.read(Offset(offset), size, None if until is None else Offset(until))
    data = found.read() if found else b""
    heads, at = [], 0
    while at + 61 <= len(data):
        heads.append(parse_head(data, at))
        at += heads[-1].size
    return heads


# --- appending


def test_records_get_the_next_offsets(log: Log) -> None:
    assert append(log, "a", "b") == Appended(Offset(0), Offset(1))
    assert append(log, "c") == Appended(Offset(2), Offset(2))
    assert append(log, "d", spec=BatchSpec(codec=Codec.ZSTD)) == Appended(Offset(3), Offset(3))
    assert offsets_and_values(log) == [(0, "a"), (1, "b"), (2, "c"), (3, "d")]


def test_a_batch_is_stamped_with_its_place_and_written_as_it_came(log: Log, disk: FaultyDisk) -> None:
    append(log, "a", "b")
    sent = batch("c")
    before = bytes(sent)
    append_batch(log, sent, LeaderEpoch(7))
    assert parse_head(sent).base_offset == 2
    assert parse_head(sent).leader_epoch == 7
    assert bytes(sent[16:]) == before[16:]
    assert disk.tree("/data/orders-0")["00000000000000000000.log"].endswith(bytes(sent))


def test_what_is_no_batch_leaves_no_trace(log: Log) -> None:
    append(log, "a")
    good = bytes(batch("b"))
    for position in (*range(8, 12), *range(16, len(good))):
        bad = bytearray(good)
        bad[position] ^= 0x11
        with pytest.raises((CorruptBatch, InvalidRecord)):
            append_batch(log, memoryview(bad), LeaderEpoch(0))
    for size in range(len(good)):
        with pytest.raises(CorruptBatch):
            append_batch(log, memoryview(bytearray(good[:size])), LeaderEpoch(0))
    with pytest.raises(CorruptBatch):
        append_batch(log, memoryview(bytearray(good + good)), LeaderEpoch(0))
    assert (values(log), log.end_offset) == (["a"], 1)


def test_clients_send_no_control_batches(log: Log) -> None:
    with pytest.raises(InvalidRecord):
        append_batch(log, marker(1, 0, commit=True), LeaderEpoch(0))
    append_batch(log, marker(1, 0, commit=True), LeaderEpoch(0), Origin.COORDINATOR)
    assert log.end_offset == 1


def test_a_batch_past_max_message_bytes_is_refused(disk: FaultyDisk) -> None:
    size = len(batch("a"))
    log = open_log(disk, replace(SMALL, max_message_bytes=size))
    append(log, "a")
    with pytest.raises(MessageTooLarge, match=f"{size + 1} bytes .* of orders-0 is {size}"):
        append(log, "ab")


def test_a_batch_past_a_whole_segment_is_refused(disk: FaultyDisk) -> None:
    log = open_log(disk, replace(SMALL, segment_bytes=100))
    with pytest.raises(BatchTooLarge, match="of orders-0 is 100"):
        append(log, "x" * 100)
    append(log, "a")
    assert values(log) == ["a"]


def test_a_repeat_is_answered_and_not_written(log: Log, disk: FaultyDisk) -> None:
    first = BatchSpec(producer_id=ProducerId(9), producer_epoch=0, base_sequence=0)
    append(log, "before")
    assert append(log, "a", "b", spec=first) == Appended(Offset(1), Offset(2))
    append(log, "between")
    written = disk.bytes_written
    again = append(log, "a", "b", spec=first)
    assert again == Appended(Offset(1), Offset(2), duplicate=True, timestamp=again.timestamp)
    assert disk.bytes_written == written
    with pytest.raises(OutOfOrderSequence):
        append(log, "x", spec=replace(first, base_sequence=5))
    with pytest.raises(InvalidProducerEpoch):
        append(log, "x", spec=replace(first, producer_epoch=1)) and append(log, "x", spec=first)
    assert values(log) == ["before", "a", "b", "between", "x"]


def test_a_follower_takes_batches_as_they_are(log: Log) -> None:
    first, second = batch("a", "b"), batch("c")
    stamp(first, Offset(0), LeaderEpoch(3))
    stamp(second, Offset(2), LeaderEpoch(4))
    assert log.replicate(memoryview(bytes(first) + bytes(second))) == 3
    assert offsets_and_values(log) == [(0, "a"), (1, "b"), (2, "c")]
    assert log.epochs.entries == ((3, 0), (4, 2))
    with pytest.raises(OutOfPlace, match="ends at 3, the leader sent 2"):
        log.replicate(second)


def test_a_follower_takes_what_is_whole_before_what_is_not(log: Log) -> None:
    first, second = batch("a"), batch("b")
    stamp(second, Offset(1), LeaderEpoch(0))
    for cut in (1, 30, 61, len(second) - 1):
        fresh = log.end_offset
        stamp(first, fresh, LeaderEpoch(0))
        assert log.replicate(memoryview(bytes(first) + bytes(second)[:cut])) == fresh + 1
    second[-1] ^= 1
    fresh = log.end_offset
    stamp(first, fresh, LeaderEpoch(0))
    with pytest.raises(CorruptBatch):
        log.replicate(memoryview(bytes(first) + bytes(second)))
    assert log.end_offset == fresh + 1


def test_a_follower_of_a_cleaned_log_leaves_the_same_gaps(log: Log) -> None:
    for base in (5, 9, 10, 5000):
        sent = batch(str(base))
        stamp(sent, Offset(base), LeaderEpoch(0))
        log.replicate(sent)
    assert offsets_and_values(log) == [(5, "5"), (9, "9"), (10, "10"), (5000, "5000")]
    assert [head.base_offset for head in read_heads(log, 6, 10_000)] == [9, 10, 5000]


# --- reading


def test_an_offset_in_the_middle_of_a_batch_gives_the_whole_batch(log: Log) -> None:
    append(log, "a", "b", "c")
    append(log, "d", "e", "f")
    assert [head.base_offset for head in read_heads(log, 4, 10_000)] == [3]
    assert [head.base_offset for head in read_heads(log, 2, 10_000)] == [0, 3]


def test_the_first_batch_comes_whole_however_large(log: Log) -> None:
    append(log, "x" * 500)
    append(log, "y")
    found = log.read(Offset(0), 1)
    assert found is not None
    assert found.size == parse_head(found.read()).size > 500
    for room in (0, 100, found.size - 1):
        assert log.read(Offset(0), room, one_batch=False) is None
    assert log.read(Offset(0), found.size, one_batch=False) == found


def test_reading_stops_at_a_given_offset(log: Log) -> None:
    for value in "abcde":
        append(log, value)
    assert [head.base_offset for head in read_heads(log, 1, 10_000, until=3)] == [1, 2]
    assert read_heads(log, 3, 10_000, until=3) == []
    assert read_heads(log, 3, 10_000, until=2) == []
    append(log, "f", "g")
    assert [head.base_offset for head in read_heads(log, 5, 10_000, until=6)] == []  # half a batch is none


def test_reading_goes_to_the_end_of_a_segment_and_then_on_in_the_next(log: Log) -> None:
    for number in range(6):
        append(log, str(number))
        if number % 2:
            log.roll()
    assert [head.base_offset for head in read_heads(log, 1, 10_000)] == [1]
    assert [head.base_offset for head in read_heads(log, 2, 10_000)] == [2, 3]
    assert read_heads(log, 6, 10_000) == []


def test_offsets_outside_the_log_are_refused(log: Log) -> None:
    append(log, "a", "b", "c")
    log.advance_high_watermark(Offset(3))
    log.advance_start(Offset(1))
    for offset in (-1, 0, 4):
        with pytest.raises(OffsetOutOfRange, match=rf"offset {offset} is outside \[1, 3\]"):
            log.read(Offset(offset), 100)
    assert log.read(Offset(3), 100) is None
    assert [head.base_offset for head in read_heads(log, 1, 100)] == [0]  # the batch is whole, if not all of it counts


def test_a_log_of_many_batches_is_read_from_any_offset(disk: FaultyDisk) -> None:
    log = open_log(disk, replace(SMALL, segment_bytes=50_000))
    for number in range(3000):
        append(log, str(number))
    assert len(log.segments) > 4
    for offset in range(0, 3000, 7):
        (head, *_) = read_heads(log, offset, 100)
        assert head.base_offset == offset
    disk.counts.clear()
    read_heads(log, 2222, 100)
    assert disk.counts[Op.READ] <= 4


# --- rolling


def sizes(log: Log) -> list[int]:
    return [segment.size for segment in log.segments]


def test_a_segment_never_grows_past_its_limit(disk: FaultyDisk) -> None:
    size = len(batch("a"))
    log = open_log(disk, replace(SMALL, segment_bytes=3 * size))
    for _ in range(7):
        append(log, "a")
    assert sizes(log) == [3 * size, 3 * size, size]
    assert [segment.base_offset for segment in log.segments] == [0, 3, 6]


def test_a_segment_is_rolled_by_the_time_of_its_records(disk: FaultyDisk) -> None:
    log = open_log(disk, replace(SMALL, segment_ms=1000))
    for time in (0, 1000, 500, 1001, 1500, 2001, 2002):
        append(log, "a", at=NOW + time)
    assert [segment.base_offset for segment in log.segments] == [0, 3, 6]


def test_without_times_in_the_records_the_clock_counts() -> None:
    clock = ManualClock()
    log = open_log(FaultyDisk("/data", clock=clock), replace(SMALL, segment_ms=1000), clock)
    append(log, "a", at=-1)
    clock.advance(1000)
    append(log, "b", at=-1)
    assert len(log.segments) == 1
    clock.advance(1)
    append(log, "c", at=-1)
    assert [segment.base_offset for segment in log.segments] == [0, 2]


def test_jitter_comes_off_the_time_and_is_drawn_anew_for_each_segment(disk: FaultyDisk) -> None:
    drawn = iter((400, 0, 900, 0))
    given = replace(setting(replace(SMALL, segment_ms=1000, segment_jitter_ms=950)), jitter=lambda most: next(drawn))
    log = log_of(open_dirs(disk, given=given))
    for time in (0, 600, 601, 1600, 1602, 1701, 1703):
        append(log, str(time), at=NOW + time)
    assert [segment.base_offset for segment in log.segments] == [0, 2, 4, 6]


def test_a_segment_is_rolled_when_its_index_is_full(disk: FaultyDisk) -> None:
    log = open_log(disk, replace(SMALL, segment_bytes=1 << 20, index_interval_bytes=0, segment_index_bytes=80))
    for _ in range(100):
        append(log, "a", at=NOW)  # the times do not rise, so the offset index is the first to be full
    assert len(log.segments) == 10
    assert all(len(segment.index.entries) <= 10 for segment in log.segments)
    rising = open_log(FaultyDisk("/data"), log.config)
    for number in range(100):
        append(rising, "a", at=NOW + number)
    assert all(len(segment.time_index.entries) <= 80 // 12 for segment in rising.segments)
    assert len(rising.segments) > 10


def test_a_segment_holds_offsets_within_32_bits_of_its_base(log: Log) -> None:
    append(log, "a")
    for base in (0x7FFF_FFFE, 0x7FFF_FFFF, 0x8000_0000, 1 << 40):
        sent = batch("far")
        stamp(sent, Offset(base), LeaderEpoch(0))
        log.replicate(sent)
    assert [segment.base_offset for segment in log.segments] == [0, 0x8000_0000, 1 << 40]
    assert [offset for offset, _ in offsets_and_values(log)] == [0, 0x7FFF_FFFE, 0x7FFF_FFFF, 0x8000_0000, 1 << 40]


def test_an_empty_segment_too_far_behind_gives_way(log: Log, disk: FaultyDisk) -> None:
    sent = batch("far")
    stamp(sent, Offset(1 << 40), LeaderEpoch(0))
    log.replicate(sent)
    assert [segment.base_offset for segment in log.segments] == [1 << 40]
    assert sorted(name for name in disk.tree("/data/orders-0") if name.endswith(".log")) == [f"{1 << 40:020d}.log"]
    disk.crash()
    assert offsets_and_values(open_log(disk)) == [(1 << 40, "far")]


def test_an_empty_segment_is_not_rolled(log: Log) -> None:
    log.roll()
    assert len(log.segments) == 1
    append(log, "a")
    log.roll()
    log.roll()
    assert [segment.base_offset for segment in log.segments] == [0, 1]


def test_a_preallocated_file_is_cut_to_its_content_when_it_is_closed(disk: FaultyDisk) -> None:
    dirs = open_dirs(disk, given=setting(replace(SMALL, preallocate=True)))
    log = log_of(dirs)
    append(log, "a")
    log.roll()
    append(log, "b")
    used = len(batch("a"))
    tree = disk.tree("/data/orders-0")
    assert len(tree["00000000000000000001.log"]) == SMALL.segment_bytes
    assert len(tree["00000000000000000000.log"]) == used
    dirs.close()
    assert len(disk.tree("/data/orders-0")["00000000000000000001.log"]) == used
    assert values(log_of(open_dirs(disk))) == ["a", "b"]


def test_a_preallocated_file_is_read_to_its_content_only(disk: FaultyDisk) -> None:
    log = open_log(disk, replace(SMALL, preallocate=True))
    append(log, "a")
    log.roll()
    append(log, "b")
    assert [head.base_offset for head in read_heads(log, 1, 10_000)] == [1]
    disk.crash()
    assert values(open_log(disk, log.config)) == ["a", "b"]


# --- watermarks


def test_the_high_watermark_follows_and_never_passes_the_end(log: Log) -> None:
    append(log, "a", "b")
    log.advance_high_watermark(Offset(1))
    assert log.high_watermark == 1
    log.advance_high_watermark(Offset(0))
    assert log.high_watermark == 1
    log.advance_high_watermark(Offset(99))
    assert log.high_watermark == 2


def test_records_below_the_start_are_gone_for_readers(log: Log) -> None:
    append(log, "a", "b", "c", "d")
    log.advance_high_watermark(Offset(3))
    assert log.advance_start(Offset(2))
    assert not log.advance_start(Offset(2))
    assert not log.advance_start(Offset(1))
    with pytest.raises(OffsetOutOfRange):
        log.advance_start(Offset(4))  # past the high watermark
    assert values(log) == ["c", "d"]
    assert log.starts_inside


# --- errors of the disk


@pytest.mark.parametrize("op", [Op.WRITE, Op.CREATE, Op.ALLOCATE])
def test_a_failed_append_takes_the_directory_out_of_service(op: Op) -> None:
    disk = FaultyDisk("/data")
    log = open_log(disk, replace(SMALL, preallocate=True))
    append(log, "a")
    log.roll()
    append(log, "b")
    disk.fail_next(op, on=".log")
    with pytest.raises(StorageFailed, match=r"log directory /data failed: .*Input/output error"):
        fill_segments(log)
    acknowledged = log.end_offset
    for attempt in (
        lambda: append(log, "c"),
        lambda: log.read(Offset(0), 1),
        lambda: log.find_time(TimestampMs(0)),
        lambda: log.truncate_to(Offset(0)),
        lambda: log.roll(),
        lambda: log.sync(),
        lambda: log.close(),
        lambda: log.apply_retention(NOW),
    ):
        with pytest.raises(StorageFailed, match="log directory /data is offline"):
            attempt()
    disk.crash()
    assert open_log(disk, log.config).end_offset >= acknowledged


def fill_segments(log: Log) -> None:
    for _ in range(20):
        append(log, "x" * 50)


def test_a_read_that_fails_takes_the_directory_out_of_service(log: Log, disk: FaultyDisk) -> None:
    append(log, "a")
    disk.fail_next(Op.READ)
    with pytest.raises(StorageFailed, match="Input/output error"):
        log.read(Offset(0), 100)
    with pytest.raises(StorageFailed, match="is offline"):
        append(log, "b")


def test_a_half_written_batch_is_not_read(log: Log, disk: FaultyDisk) -> None:
    append(log, "a")
    disk.fail_next(Op.WRITE, written=40)
    with pytest.raises(StorageFailed):
        append(log, "b")
    disk.crash()
    assert values(open_log(disk)) == ["a"]


def test_timestamps_of_a_batch_may_differ(log: Log) -> None:
    append_batch(log, timed_batch([("a", NOW + 5), ("b", NOW - 5)]), LeaderEpoch(0))
    assert [(record.value, record.timestamp - NOW) for _, record in log.records(Offset(0))] == [(b"a", 5), (b"b", -5)]
