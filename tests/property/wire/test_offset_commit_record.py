"""The record of a committed offset that is written by hand is the one that the codec writes."""

from hypothesis import given
from hypothesis import strategies as st

from odradek.wire import offset_commit_record
from odradek.wire.records.offsets import OffsetCommitKey, OffsetCommitValue
from odradek.wire.schema import NO_UUID
from odradek.wire.stored import write_coordinator_key, write_coordinator_value

TEXTS = st.text(st.characters(exclude_categories=["Cs"]), max_size=300)
INT32S = st.integers(-(1 << 31), (1 << 31) - 1)
INT64S = st.integers(-(1 << 63), (1 << 63) - 1)


@given(TEXTS, TEXTS, INT32S)
def test_keys(group: str, topic: str, partition: int) -> None:
    key = OffsetCommitKey(group=group, topic=topic, partition=partition)
    assert offset_commit_record.key(key) == write_coordinator_key(key)


@given(INT64S, INT32S, TEXTS, INT64S, st.just(NO_UUID) | st.binary(min_size=16, max_size=16))
def test_values(offset: int, epoch: int, metadata: str, time: int, topic_id: bytes) -> None:
    value = OffsetCommitValue(
        offset=offset, leader_epoch=epoch, metadata=metadata, commit_timestamp=time, topic_id=topic_id
    )
    assert offset_commit_record.value(value) == write_coordinator_value(value, offset_commit_record.VERSION)
