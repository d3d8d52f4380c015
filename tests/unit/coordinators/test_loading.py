"""A partition's log becomes the state of a shard: the last record of each key counts, and transactions once decided."""

import asyncio
from collections.abc import Sequence
from typing import Any

import pytest

from odradek.coordinators.loading import Summary, load
from odradek.coordinators.result import Stored
from odradek.coordinators.timers import Timers
from odradek.model.errors import CorruptBatch, StorageFailed, UnsupportedVersion
from odradek.model.numbers import NO_PRODUCER_ID, LeaderEpoch, Offset, ProducerId, TimestampMs
from odradek.process.files import NotCached
from odradek.records.batch import Codec
from odradek.records.builder import BatchSpec, build_batch
from odradek.records.record import Record
from odradek.storage.log import Log, Origin
from odradek.wire.stored import CONSUMER_OFFSETS, write_coordinator_key, write_coordinator_value
from support.clock import ManualClock
from support.coordinator_stage import Recorder, record
from support.disk import FaultyDisk, Op
from support.logs import append_batch, end_txn, open_log

FILE = r"/data/\S+/00000000000000000000\.log"


@pytest.fixture
def disk() -> FaultyDisk:
    return FaultyDisk("/data")


@pytest.fixture
def log(disk: FaultyDisk) -> Log:
    return open_log(disk)


def append(log: Log, *records: Stored, producer: int = -1, codec: Codec = Codec.NONE) -> None:
    append_raw(log, *(_raw(each) for each in records), producer=producer, codec=codec)


def append_raw(
    log: Log, *pairs: tuple[bytes | None, bytes | None], producer: int = -1, codec: Codec = Codec.NONE
) -> None:
    is_transactional = producer >= 0
    spec = BatchSpec(
        producer_id=ProducerId(producer),
        producer_epoch=0 if is_transactional else -1,
        transactional=is_transactional,
        codec=codec,
    )
    records = [Record(Offset(number), TimestampMs(0), key, value) for number, (key, value) in enumerate(pairs)]
    append_batch(log, memoryview(build_batch(records, spec)), LeaderEpoch(0), Origin.COORDINATOR)


def _raw(record: Stored) -> tuple[bytes, bytes | None]:
    value = None if record.value is None else write_coordinator_value(record.value, record.version)
    return write_coordinator_key(record.key), value


def loaded(log: Log, disk: FaultyDisk | None = None) -> tuple[Recorder, Summary]:
    shard = Recorder(Timers(ManualClock().now_ms))

    async def read_ahead(cold: Sequence[NotCached]) -> None:
        assert disk is not None
        for each in cold:
            disk.warm(each.path)

    return shard, asyncio.run(load(log, CONSUMER_OFFSETS, shard, read_ahead, ManualClock()))


def test_the_last_of_each_key_is_replayed_in_the_order_of_the_log(log: Log) -> None:
    append(log, record("a", 1), record("b", 1))
    append(log, record("a", 2))
    append(log, record("c", 1))
    append(log, record("b", 2))
    shard, summary = loaded(log)
    assert shard.replayed == [(2, "a", 2), (3, "c", 1), (4, "b", 2)]
    assert summary.records == 5


def test_a_deletion_is_the_last_word(log: Log) -> None:
    append(log, record("a", 1))
    append(log, record("a", None), record("b", 1))
    append(log, record("b", None))
    append(log, record("b", 3))
    assert loaded(log)[0].state == {"b": 3}


def test_compressed_batches_and_many_segments(log: Log) -> None:
    for number in range(200):
        append(log, record(f"key-{number % 7}", number), codec=Codec.ZSTD if number % 2 else Codec.NONE)
    assert len(log.segments) > 2
    assert loaded(log)[0].state == {f"key-{number % 7}": number for number in range(193, 200)}


def test_a_log_that_starts_later(log: Log) -> None:
    for number in range(10):
        append(log, record(str(number), number), record("again", number))
    log.advance_high_watermark(log.end_offset)
    log.advance_start(Offset(8))
    assert loaded(log)[0].state == {**{str(number): number for number in range(4, 10)}, "again": 9}


class TestTransactions:
    def test_counts_when_it_is_committed(self, log: Log) -> None:
        append(log, record("a", 1), record("b", 1))
        append(log, record("a", 2), producer=5)
        end_txn(log, 5, 0, commit=True)
        shard, _ = loaded(log)
        assert (shard.state, shard.pending) == ({"a": 2, "b": 1}, [])

    def test_is_forgotten_when_it_is_aborted(self, log: Log) -> None:
        append(log, record("a", 1))
        append(log, record("a", 2), producer=5)
        end_txn(log, 5, 0, commit=False)
        shard, _ = loaded(log)
        assert (shard.state, shard.pending) == ({"a": 1}, [])

    def test_is_pending_as_long_as_it_is_open(self, log: Log) -> None:
        append(log, record("a", 1))
        append(log, record("a", 2), record("b", 2), producer=5)
        append(log, record("a", 3), producer=6)
        end_txn(log, 6, 0, commit=True)
        shard, _ = loaded(log)
        assert shard.state == {"a": 3}
        assert shard.pending == [(5, 1, "a", 2), (5, 2, "b", 2)]

    def test_does_not_count_where_something_newer_is_stored(self, log: Log) -> None:
        append(log, record("a", 1), producer=5)
        append(log, record("a", 2))
        end_txn(log, 5, 0, commit=True)
        assert loaded(log)[0].state == {"a": 2}

    def test_two_in_a_row_by_one_producer(self, log: Log) -> None:
        append(log, record("a", 1), producer=5)
        end_txn(log, 5, 0, commit=True)
        append(log, record("a", 2), record("b", 2), producer=5)
        end_txn(log, 5, 0, commit=False)
        assert loaded(log)[0].state == {"a": 1}

    def test_a_deletion_reaches_into_it(self, log: Log) -> None:
        append(log, record("a", 1), record("b", 1), producer=5)
        append(log, record("a", None))
        end_txn(log, 5, 0, commit=True)
        assert loaded(log)[0].state == {"b": 1}

    def test_a_marker_of_a_transaction_without_records_changes_nothing(self, log: Log) -> None:
        append(log, record("a", 1))
        end_txn(log, 9, 0, commit=True)
        assert loaded(log)[0].state == {"a": 1}


class TestUnreadable:
    def test_types_that_came_after_us_are_skipped_and_told(self, log: Log) -> None:
        append(log, record("a", 1))
        append_raw(log, (b"\x00\x63future", b"\x00\x00"), (b"\x00\x63more", None))
        shard, summary = loaded(log)
        assert shard.state == {"a": 1}
        assert summary.skipped == {"record of the unknown type 99": 2}

    @pytest.mark.parametrize("value", [b"", b"\x00", b"\x00\x04", b"\x00\x04\x00\x00"])
    def test_a_value_that_is_none_fails(self, log: Log, value: bytes) -> None:
        key, _ = _raw(record("a"))
        append_raw(log, (key, value))
        with pytest.raises(CorruptBatch, match=f"^{FILE}, offset 0: the value: "):
            loaded(log)

    def test_a_version_that_came_after_us_fails(self, log: Log) -> None:
        key, _ = _raw(record("a"))
        append(log, record("b", 1))
        append_raw(log, (key, b"\x00\x63\x00"))
        with pytest.raises(UnsupportedVersion, match=f"^{FILE}, offset 1: "):
            loaded(log)

    def test_a_batch_whose_bytes_are_not_those_that_were_written_fails(self, log: Log) -> None:
        append(log, record("a", 1))
        append(log, record("b", 1))
        end_of_second = log.size
        append(log, record("a", 2))
        log.segments[0].log.get().write(b"\x7f", end_of_second - 1)
        with pytest.raises(CorruptBatch, match=f"^{FILE}, offset 1: CRC is "):
            loaded(log)

    def test_the_file_is_that_of_the_record(self, log: Log) -> None:
        append(log, record("b", 1), record("b", 2))
        log.roll()
        append_raw(log, (_raw(record("a"))[0], b"\x00\x04"))
        with pytest.raises(CorruptBatch, match=r"/00000000000000000002\.log, offset 2: "):
            loaded(log)

    @pytest.mark.parametrize("key", [b"", b"\x00\x01", b"\x00\x01\x00\x09", None])
    def test_a_key_that_is_none_fails(self, log: Log, key: bytes | None) -> None:
        append_raw(log, (key, b"\x00\x00"))
        with pytest.raises(CorruptBatch):
            loaded(log)

    def test_what_was_written_over_is_not_looked_at(self, log: Log) -> None:
        key, _ = _raw(record("a"))
        append_raw(log, (key, b"no value"))
        append(log, record("a", 2))
        assert loaded(log)[0].state == {"a": 2}

    def test_a_disk_that_fails(self, log: Log, disk: FaultyDisk) -> None:
        append(log, record("a", 1))
        disk.fail_next(Op.READ)
        with pytest.raises(StorageFailed):
            loaded(log)


def test_after_a_cut_only_whole_batches_are_there(log: Log, disk: FaultyDisk) -> None:
    append(log, record("a", 1))
    append(log, record("a", 2), record("b", 2))
    log.truncate_to(Offset(2))  # within the second batch, which goes whole
    assert loaded(log)[0].state == {"a": 1}


def test_what_is_not_in_memory_is_read_ahead(log: Log, disk: FaultyDisk) -> None:
    for number in range(100):
        append(log, record("a", number))
    disk.cold.update(path for path in disk.tree() if path.endswith((".log", ".index")))
    assert loaded(log, disk)[0].state == {"a": 99}
    assert not any("asyncio" in thread for thread in disk.waited)


class SlowRecorder(Recorder):
    """Takes longer for its first record than the loop is to be kept waiting."""

    clock = ManualClock()

    def replay(self, offset: Offset, key: Any, value: Any, producer_id: ProducerId = NO_PRODUCER_ID) -> None:
        self.clock.advance(0 if self.replayed else 20)
        super().replay(offset, key, value, producer_id)


def test_the_loop_has_its_turn_while_much_is_loaded(log: Log) -> None:
    append(log, *(record(f"key-{number}", number) for number in range(8)))
    shard = SlowRecorder(Timers(ManualClock().now_ms))
    seen: list[int] = []

    async def scene() -> None:
        asyncio.get_running_loop().call_soon(lambda: seen.append(len(shard.replayed)))
        await load(log, CONSUMER_OFFSETS, shard, _never, shard.clock)

    asyncio.run(scene())
    assert (seen, len(shard.replayed)) == ([1], 8)


async def _never(cold: Sequence[NotCached]) -> None:
    raise AssertionError(f"{cold} is in memory")
