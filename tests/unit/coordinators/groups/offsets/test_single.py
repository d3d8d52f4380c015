"""A commit of one offset that is carried out from its bytes does what any other commit does, or is left to that."""

import pytest

from odradek.coordinators.groups.offsets.single import SingleCommit
from odradek.coordinators.result import RequestContext
from odradek.model.broker_config import BrokerConfig
from odradek.model.error_code import ErrorCode
from odradek.model.numbers import Offset
from odradek.wire.codec import encode
from odradek.wire.group_requests import read_single_offset
from odradek.wire.messages.consumer_group_heartbeat import ConsumerGroupHeartbeatRequest
from odradek.wire.messages.offset_commit import OffsetCommitRequest, OffsetCommitRequestTopic
from support.offset_stage import GROUP, OffsetStage, offsets

ID = (1).to_bytes(16, "big")
"""Of the first topic."""


def stage_of(config: BrokerConfig | None = None) -> OffsetStage:
    stage = OffsetStage(config)
    assert stage.add_topic("orders", 2) == ID
    return stage


def put(stage: OffsetStage, topic: OffsetCommitRequestTopic, version: int = 9, **request: int | str | None) -> bool:
    """As the runtime does it: whether it was carried out."""
    asked = {"group_id": GROUP, "member_id": "", "topics": (topic,), **request}
    body = encode(OffsetCommitRequest(**asked), version)  # type: ignore[arg-type]
    read = read_single_offset(memoryview(body), version)
    assert read is not None
    single = SingleCommit(read, version)
    record = single.record(stage.shard, stage.clock.now_ms())
    if record is None:
        return False
    stage.log.append(record)
    single.replay(stage.shard, Offset(len(stage.log) - 1))
    return True


@pytest.mark.parametrize("version", [8, 9, 10])
@pytest.mark.parametrize("metadata", ["", "as of now", "bis hierhin, schön"])
def test_it_does_the_same(version: int, metadata: str) -> None:
    topic: str | bytes = ID if version >= 10 else "orders"
    one, other = stage_of(), stage_of()
    for stage in (one, other):
        stage.commit(offsets("orders", 1))  # which makes the group
        stage.clock.advance(1000)
    wanted = offsets(topic, 7, 1, metadata=metadata, epoch=3)
    assert put(one, wanted, version)
    assert set(other.commit(wanted, version=version).values()) == {ErrorCode.NONE}
    assert one.log == other.log
    for partition in (0, 1):
        there = one.shard.offsets.committed(GROUP, "orders", partition)
        assert there is not None
        assert there == other.shard.offsets.committed(GROUP, "orders", partition)


@pytest.mark.parametrize(
    ("wanted", "group_id", "member_id"),
    [
        (offsets("unknown", 7), GROUP, ""),
        (offsets("orders", 7, 2), GROUP, ""),
        (offsets("orders", 7, metadata="too long"), GROUP, ""),
        (offsets("orders", 7), "nobody", ""),
        (offsets("orders", 7), GROUP, "stranger"),
    ],
)
def test_what_speaks_against_it_is_found_by_the_other_way(
    wanted: OffsetCommitRequestTopic, group_id: str, member_id: str
) -> None:
    stage = stage_of(BrokerConfig(offset_metadata_max_bytes=7))
    stage.commit(offsets("orders", 1))
    before = list(stage.log)
    epoch = 1 if member_id else -1
    assert not put(stage, wanted, group_id=group_id, member_id=member_id, generation_id_or_member_epoch=epoch)
    assert stage.log == before
    assert stage.committed() == {("orders", 0): 1}


def test_members_of_the_newer_protocol_commit_with_their_epoch() -> None:
    stage = stage_of()
    join = ConsumerGroupHeartbeatRequest(
        group_id=GROUP,
        member_id="m",
        member_epoch=0,
        rebalance_timeout_ms=1000,
        subscribed_topic_names=("orders",),
        topic_partitions=(),
    )
    stage.perform(stage.shard.consumer.heartbeat(RequestContext("ticket", 1), join))
    group = stage.shard.groups[GROUP]
    epoch = group.epoch  # type: ignore[attr-defined]
    assert not put(stage, offsets("orders", 7), member_id="m", generation_id_or_member_epoch=epoch + 1)
    assert not put(stage, offsets("orders", 7), member_id="other", generation_id_or_member_epoch=epoch)
    assert put(stage, offsets("orders", 7), member_id="m", generation_id_or_member_epoch=epoch)
    assert stage.committed() == {("orders", 0): 7}
