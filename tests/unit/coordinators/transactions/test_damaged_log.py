"""Records of a transaction log that say what cannot be: refused, with the file and the offset."""

import asyncio
from collections.abc import Sequence
from typing import Any

import pytest

from odradek.coordinators.loading import Summary, load
from odradek.model.errors import CorruptBatch, UnsupportedVersion
from odradek.model.numbers import LeaderEpoch, Offset, TimestampMs
from odradek.process.files import NotCached
from odradek.records.builder import build_batch
from odradek.records.record import Record
from odradek.storage.log import Log, Origin
from odradek.wire.records.transaction import PartitionsSchema, TransactionLogKey, TransactionLogValue
from odradek.wire.stored import TRANSACTION_STATE, write_coordinator_key, write_coordinator_value
from support.disk import FaultyDisk
from support.logs import append_batch, open_log
from support.transaction_stage import SHOP, TransactionStage

KEY = write_coordinator_key(TransactionLogKey(transactional_id=SHOP))
ONGOING, DEAD, FENCING = 1, 6, 7


def value(**fields: Any) -> bytes:
    known: dict[str, Any] = {
        "producer_id": 5,
        "producer_epoch": 0,
        "transaction_timeout_ms": 60_000,
        "transaction_status": ONGOING,
        "transaction_partitions": (PartitionsSchema(topic="orders", partition_ids=(0,)),),
        "transaction_last_update_timestamp_ms": 1,
        "transaction_start_timestamp_ms": 1,
    }
    return write_coordinator_value(TransactionLogValue(**{**known, **fields}), 1)


@pytest.fixture
def log() -> Log:
    log = open_log(FaultyDisk("/data"))
    append(log, write_coordinator_key(TransactionLogKey(transactional_id="good")), value())
    return log


def append(log: Log, key: bytes | None, stored: bytes | None) -> None:
    batch = build_batch([Record(Offset(0), TimestampMs(0), key, stored)])
    append_batch(log, memoryview(batch), LeaderEpoch(0), Origin.COORDINATOR)


def loaded(log: Log) -> tuple[TransactionStage, Summary]:
    stage = TransactionStage()

    async def read_ahead(_cold: Sequence[NotCached]) -> None:
        raise AssertionError("all of it is in memory")

    return stage, asyncio.run(load(log, TRANSACTION_STATE, stage.shard, read_ahead, stage.clock))


@pytest.mark.parametrize(
    ("stored", "reason"),
    [
        (value(transaction_status=99), "'shop' is in the unknown state 99"),
        (value(transaction_status=-1), "'shop' is in the unknown state -1"),
        (value(transaction_status=DEAD), "'shop' is in state Dead, which is never stored"),
        (value(transaction_status=FENCING), "'shop' is in state PrepareEpochFence, which is never stored"),
        (value()[:-2], "the value: "),
        (value() + b"\x00", "the value: "),
        (b"", "the value: "),
    ],
)
def test_a_value_that_cannot_be(log: Log, stored: bytes, reason: str) -> None:
    append(log, KEY, stored)
    with pytest.raises(CorruptBatch, match=f"^/data/orders-0/00000000000000000000.log, offset 1: {reason}"):
        loaded(log)


@pytest.mark.parametrize("key", [None, b"", b"\x00", b"\x00\x00\x00\x09abc"])
def test_a_key_that_cannot_be(log: Log, key: bytes | None) -> None:
    append(log, key, value())
    with pytest.raises(CorruptBatch, match=r"^/data/orders-0/00000000000000000000.log, offset 1: "):
        loaded(log)


def test_a_version_that_came_after_us(log: Log) -> None:
    append(log, KEY, b"\x00\x09" + value()[2:])
    with pytest.raises(UnsupportedVersion, match=r"^/data/orders-0/00000000000000000000.log, offset 1: "):
        loaded(log)


def test_kinds_of_records_that_came_after_us_are_skipped_and_told(log: Log) -> None:
    append(log, b"\x00\x05" + KEY[2:], b"whatever")
    stage, summary = loaded(log)
    assert [each.transactional_id for each in stage.shard] == ["good"]
    assert sum(summary.skipped.values()) == 1
