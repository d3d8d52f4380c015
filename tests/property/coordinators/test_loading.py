"""Loading a log comes to what replaying each of its records would come to."""

import asyncio
from collections.abc import Sequence

from hypothesis import given
from hypothesis import strategies as st

from odradek.coordinators.loading import load
from odradek.model.numbers import NO_PRODUCER_ID, LeaderEpoch, Offset, ProducerId, TimestampMs
from odradek.process.files import NotCached
from odradek.records.builder import BatchSpec, build_batch
from odradek.records.record import Record
from odradek.storage.log import Log, Origin
from odradek.wire.records.offsets import (
    LegacyOffsetCommitKey,
    LegacyOffsetCommitValue,
    OffsetCommitKey,
    OffsetCommitValue,
)
from odradek.wire.schema import Message
from odradek.wire.stored import CONSUMER_OFFSETS, write_coordinator_key, write_coordinator_value
from support.clock import ManualClock
from support.disk import FaultyDisk
from support.logs import append_batch, end_txn, open_log
from support.offset_stage import OffsetStage

GROUPS = st.sampled_from(["a", "b"])
PARTITIONS = st.integers(0, 1)
PRODUCERS = st.sampled_from([7, 8])
STEPS = st.lists(
    st.one_of(
        st.tuples(st.just("commit"), GROUPS, PARTITIONS),
        st.tuples(st.just("legacy"), GROUPS, PARTITIONS),
        st.tuples(st.just("delete"), GROUPS, PARTITIONS),
        st.tuples(st.just("in transaction"), GROUPS, PARTITIONS, PRODUCERS),
        st.tuples(st.just("end"), PRODUCERS, st.booleans()),
    ),
    max_size=40,
)


@given(STEPS)
def test_loading_is_replaying(steps: list[tuple[object, ...]]) -> None:
    log = open_log(FaultyDisk("/data"))
    one_by_one, loaded = OffsetStage().shard, OffsetStage().shard
    for number, (step, *rest) in enumerate(steps):
        if step == "end":
            producer_id, is_commit = rest
            assert isinstance(producer_id, int)
            end_txn(log, producer_id, 0, commit=bool(is_commit))
            one_by_one.end_transaction(ProducerId(producer_id), commit=bool(is_commit))
            continue
        key, value = record_of(str(step), str(rest[0]), int(str(rest[1])), number)
        producer_id = rest[2] if step == "in transaction" else NO_PRODUCER_ID
        assert isinstance(producer_id, int)
        offset = append(log, key, value, producer_id)
        one_by_one.replay(offset, key, value, ProducerId(producer_id))
    asyncio.run(load(log, CONSUMER_OFFSETS, loaded, never, ManualClock()))
    for end in ([], [7], [8]):
        for producer_id in end:
            for shard in (one_by_one, loaded):
                shard.end_transaction(ProducerId(producer_id), commit=True)
        for group in "ab":
            for partition in range(2):
                expected = one_by_one.offsets.committed(group, "t", partition)
                assert loaded.offsets.committed(group, "t", partition) == expected
                assert loaded.offsets.has(group, "t", partition) == one_by_one.offsets.has(group, "t", partition)
    assert loaded.groups.keys() <= one_by_one.groups.keys()


def record_of(step: str, group: str, partition: int, number: int) -> tuple[Message, Message | None]:
    if step == "legacy":
        value = LegacyOffsetCommitValue(offset=number, metadata="", commit_timestamp=number)
        return LegacyOffsetCommitKey(group=group, topic="t", partition=partition), value
    key = OffsetCommitKey(group=group, topic="t", partition=partition)
    if step == "delete":
        return key, None
    return key, OffsetCommitValue(offset=number, metadata="m", commit_timestamp=number)


def append(log: Log, key: Message, value: Message | None, producer_id: int) -> Offset:
    version = 0 if isinstance(value, LegacyOffsetCommitValue) else 4
    raw = None if value is None else write_coordinator_value(value, version)
    is_transactional = producer_id >= 0
    spec = BatchSpec(
        producer_id=ProducerId(producer_id),
        producer_epoch=0 if is_transactional else -1,
        transactional=is_transactional,
    )
    record = Record(Offset(0), TimestampMs(0), write_coordinator_key(key), raw)
    batch = memoryview(build_batch([record], spec))
    return append_batch(log, batch, LeaderEpoch(0), Origin.COORDINATOR).base_offset


async def never(cold: Sequence[NotCached]) -> None:
    raise AssertionError(f"{cold} is in memory")
