"""Offsets that are committed within a transaction: refused, pending, and then there or gone."""

from typing import Any

import pytest

from odradek.coordinators.groups.offsets.transactional import Commit
from odradek.coordinators.result import RequestContext, Writer
from odradek.model.broker_config import BrokerConfig
from odradek.model.error_code import ErrorCode
from odradek.model.errors import BrokerError
from odradek.model.numbers import ProducerId
from odradek.wire.messages.txn_offset_commit import (
    TxnOffsetCommitRequest,
    TxnOffsetCommitRequestPartition,
    TxnOffsetCommitRequestTopic,
    TxnOffsetCommitResponse,
)
from odradek.wire.records.offsets import OffsetCommitValue
from odradek.wire.schema import NO_UUID
from odradek.wire.stored import write_coordinator_key, write_coordinator_value
from support.offset_stage import GROUP, OffsetStage, offsets

WRITER = Writer(ProducerId(7), 3)
ALL = {("orders", 0): ErrorCode.NONE}


def commit(stage: OffsetStage, *partitions: int, topic: str = "orders", metadata: str = "", **fields: Any) -> Any:
    """Codes by topic and partition, or the one that refuses all of it."""
    parts = tuple(
        TxnOffsetCommitRequestPartition(partition_index=each, committed_offset=9, committed_metadata=metadata)
        for each in partitions or (0,)
    )
    request = TxnOffsetCommitRequest(
        transactional_id="shop",
        producer_id=WRITER.producer_id,
        producer_epoch=WRITER.epoch,
        topics=(TxnOffsetCommitRequestTopic(name=topic, partitions=parts),),
        **{"group_id": GROUP, **fields},
    )
    commit = Commit(request, stage.image)
    try:
        decision = stage.shard.transactional.commit(RequestContext("ticket", 5), commit)
    except BrokerError as error:
        return error.code
    assert decision.writer == WRITER
    for stored in decision.records:
        assert isinstance(stored.value, OffsetCommitValue)
        assert (stored.version, stored.value.topic_id) == (4, NO_UUID)
        value = write_coordinator_value(stored.value, stored.version)
        stage.append(write_coordinator_key(stored.key), value, WRITER.producer_id)
    response = decision.answers[0].response
    assert isinstance(response, TxnOffsetCommitResponse)
    return {(each.name, part.partition_index): part.error_code for each in response.topics for part in each.partitions}


@pytest.fixture
def stage() -> OffsetStage:
    stage = OffsetStage(BrokerConfig(offset_metadata_max_bytes=4))
    stage.add_topic("orders", 2)
    return stage


@pytest.mark.parametrize("is_commit", [True, False])
def test_they_are_pending_until_the_transaction_ends(stage: OffsetStage, is_commit: bool) -> None:
    stage.commit(offsets("orders", 3))
    assert commit(stage) == ALL
    assert stage.committed() == {("orders", 0): 3}
    assert stage.committed(stable=True) == {("orders", 0): -ErrorCode.UNSTABLE_OFFSET_COMMIT}
    stage.shard.end_transaction(WRITER.producer_id, commit=is_commit)
    assert stage.committed(stable=True) == {("orders", 0): 9 if is_commit else 3}


def test_partitions_that_are_not_there_are_refused_and_the_others_not(stage: OffsetStage) -> None:
    unknown = ErrorCode.UNKNOWN_TOPIC_OR_PARTITION
    assert commit(stage, 0, 5) == {("orders", 5): unknown, ("orders", 0): ErrorCode.NONE}
    assert commit(stage, topic="nowhere") == {("nowhere", 0): unknown}


def test_long_metadata_is_refused(stage: OffsetStage) -> None:
    assert commit(stage, metadata="12345") == {("orders", 0): ErrorCode.OFFSET_METADATA_TOO_LARGE}
    assert commit(stage, metadata="1234") == ALL


def test_a_group_that_is_not_there_has_no_members(stage: OffsetStage) -> None:
    assert commit(stage, generation_id=1, member_id="m") == ErrorCode.ILLEGAL_GENERATION
    assert commit(stage) == ALL
    assert commit(stage, generation_id=1, member_id="m") == ErrorCode.UNKNOWN_MEMBER_ID


def test_the_same_for_all_that_is_wanted(stage: OffsetStage) -> None:
    request = TxnOffsetCommitRequest(
        transactional_id="shop",
        group_id=GROUP,
        producer_id=1,
        producer_epoch=0,
        topics=(
            TxnOffsetCommitRequestTopic(
                name="orders",
                partitions=tuple(
                    TxnOffsetCommitRequestPartition(partition_index=each, committed_offset=1, committed_metadata=None)
                    for each in (0, 7)
                ),
            ),
        ),
    )
    told = Commit(request, stage.image).refusal(ErrorCode.INVALID_GROUP_ID)
    codes = {part.partition_index: part.error_code for part in told.topics[0].partitions}
    assert codes == {0: ErrorCode.INVALID_GROUP_ID, 7: ErrorCode.UNKNOWN_TOPIC_OR_PARTITION}
