"""Offsets of groups: committed, asked for, deleted, expired, and pending in transactions."""

from dataclasses import replace

import pytest

from odradek.coordinators.groups.errors import GroupNotFound
from odradek.coordinators.groups.group import GroupKind
from odradek.model.broker_config import BrokerConfig
from odradek.model.error_code import ErrorCode
from odradek.model.errors import BrokerError
from odradek.model.numbers import ProducerId
from odradek.wire.messages.offset_fetch import OffsetFetchRequestTopics, OffsetFetchResponsePartitions
from odradek.wire.records.share_group import (
    ShareGroupMemberMetadataKey,
    ShareGroupMemberMetadataValue,
    ShareGroupMetadataKey,
    ShareGroupMetadataValue,
)
from odradek.wire.schema import NO_UUID
from odradek.wire.stored import CONSUMER_OFFSETS, write_coordinator_key, write_coordinator_value
from support.offset_stage import GROUP, OffsetStage, offsets

MINUTE_MS = 60_000
HOUR_MS = 60 * MINUTE_MS
DAY_MS = 24 * HOUR_MS
UNKNOWN = ErrorCode.UNKNOWN_TOPIC_OR_PARTITION


@pytest.fixture
def stage() -> OffsetStage:
    stage = OffsetStage()
    stage.add_topic("orders", 3)
    stage.add_topic("clicks", 2)
    return stage


class TestCommit:
    def test_of_a_client_without_a_group_makes_a_group(self, stage: OffsetStage) -> None:
        assert stage.commit(offsets("orders", 42, 0, 2)) == {("orders", 0): 0, ("orders", 2): 0}
        assert stage.committed() == {("orders", 0): 42, ("orders", 2): 42}
        group = stage.shard.groups[GROUP]
        assert (group.kind, group.state_name, group.protocol_type) == (GroupKind.CLASSIC, "Empty", "")

    def test_keeps_metadata_and_leader_epoch(self, stage: OffsetStage) -> None:
        stage.commit(offsets("orders", 42, metadata="für später", epoch=7))
        ((topic,),) = (stage.fetch().topics,)
        assert topic.partitions == (
            OffsetFetchResponsePartitions(
                partition_index=0, committed_offset=42, committed_leader_epoch=7, metadata="für später"
            ),
        )

    def test_without_metadata_has_empty_metadata(self, stage: OffsetStage) -> None:
        stage.commit(offsets("orders", 42, metadata=None))
        assert stage.fetch().topics[0].partitions[0].metadata == ""

    def test_for_what_is_not_there_is_refused_alone_and_told_first(self, stage: OffsetStage) -> None:
        codes = stage.commit(offsets("clicks", 1), offsets("nothing", 1), offsets("orders", 1, 0, 3))
        assert list(codes.items()) == [
            (("nothing", 0), UNKNOWN),
            (("orders", 3), UNKNOWN),
            (("orders", 0), 0),
            (("clicks", 0), 0),
        ]
        assert stage.committed() == {("orders", 0): 1, ("clicks", 0): 1}

    def test_for_nothing_that_is_there_does_not_ask_the_group(self, stage: OffsetStage) -> None:
        codes = stage.commit(offsets("nothing", 1), generation_id_or_member_epoch=5, member_id="who")
        assert codes == {("nothing", 0): UNKNOWN}
        assert (stage.log, stage.shard.groups) == ([], {})

    def test_by_the_id_of_a_topic(self, stage: OffsetStage) -> None:
        topic = stage.image.topics.get("orders")
        assert topic is not None
        codes = stage.commit(offsets(topic.id, 5), offsets(b"x" * 16, 5), offsets(NO_UUID, 5, 1), version=10)
        assert sorted(codes.values()) == [0, ErrorCode.UNKNOWN_TOPIC_ID, ErrorCode.UNKNOWN_TOPIC_ID]
        assert stage.committed() == {("orders", 0): 5}

    @pytest.mark.parametrize(
        ("version", "code"), [(8, ErrorCode.ILLEGAL_GENERATION), (9, ErrorCode.GROUP_ID_NOT_FOUND)]
    )
    def test_of_a_member_of_no_group(self, stage: OffsetStage, version: int, code: ErrorCode) -> None:
        codes = stage.commit(offsets("orders", 1), generation_id_or_member_epoch=3, member_id="who", version=version)
        assert codes == {("orders", 0): code}
        assert stage.log == []

    def test_of_an_unknown_member_changes_nothing(self, stage: OffsetStage) -> None:
        stage.commit(offsets("orders", 1))
        codes = stage.commit(
            offsets("orders", 2), offsets("nothing", 2), generation_id_or_member_epoch=3, member_id="who"
        )
        assert codes == {("nothing", 0): UNKNOWN, ("orders", 0): ErrorCode.UNKNOWN_MEMBER_ID}
        assert stage.committed() == {("orders", 0): 1}

    @pytest.mark.parametrize(
        ("text", "fits"), [("x" * 10, True), ("x" * 11, False), ("🙂" * 5, True), ("🙂" * 6, False)]
    )
    def test_metadata_has_a_limit_in_units_of_java(self, text: str, fits: bool) -> None:
        stage = OffsetStage(BrokerConfig(offset_metadata_max_bytes=10))
        stage.add_topic("orders", 2)
        codes = stage.commit(offsets("orders", 1, 0, metadata=text), offsets("orders", 1, 1))
        assert codes == {("orders", 0): 0 if fits else ErrorCode.OFFSET_METADATA_TOO_LARGE, ("orders", 1): 0}
        assert stage.committed() == ({("orders", 0): 1} if fits else {}) | {("orders", 1): 1}

    def test_is_stored_as_kafka_stores_it(self, stage: OffsetStage) -> None:
        topic = stage.image.topics.get("orders")
        assert topic is not None
        stage.commit(offsets("orders", 42, 1, metadata="m", epoch=3))
        ((key, value),) = stage.log
        assert key == b"\0\1" + b"\0\7readers" + b"\0\6orders" + b"\0\0\0\1"
        now = stage.clock.now_ms().to_bytes(8, "big")
        assert value == b"\0\4" + bytes(7) + b"\x2a" + b"\0\0\0\3" + b"\2m" + now + b"\1\0\x10" + topic.id

    def test_with_a_retention_of_its_own_is_stored_in_the_version_that_has_one(self, stage: OffsetStage) -> None:
        stage.commit(offsets("orders", 42, epoch=3), retention_time_ms=5_000, version=4)
        ((key, value),) = stage.log
        assert value is not None
        stored, version = CONSUMER_OFFSETS.read_value(CONSUMER_OFFSETS.read_key(key), value)
        assert version == 1
        assert stored.expire_timestamp == stage.clock.now_ms() + 5_000  # type: ignore[attr-defined]


class TestFetch:
    def test_of_a_group_that_is_not_there_finds_nothing(self, stage: OffsetStage) -> None:
        wanted = OffsetFetchRequestTopics(name="orders", partition_indexes=(0, 9))
        (topic,) = stage.fetch([wanted]).topics
        assert [(each.committed_offset, each.error_code) for each in topic.partitions] == [(-1, 0), (-1, 0)]
        assert stage.fetch().topics == ()

    def test_by_id_puts_unknown_ids_last(self, stage: OffsetStage) -> None:
        orders = stage.image.topics.get("orders")
        assert orders is not None
        stage.commit(offsets("orders", 5))
        wanted = [
            OffsetFetchRequestTopics(topic_id=topic_id, partition_indexes=(0,))
            for topic_id in (b"x" * 16, NO_UUID, orders.id)
        ]
        found = stage.fetch(wanted, version=10).topics
        assert [(each.topic_id, each.partitions[0].error_code) for each in found] == [
            (orders.id, 0),
            (b"x" * 16, ErrorCode.UNKNOWN_TOPIC_ID),
            (NO_UUID, ErrorCode.UNKNOWN_TOPIC_ID),
        ]
        assert found[0].partitions[0].committed_offset == 5

    def test_all_by_id_leaves_out_topics_that_are_gone(self, stage: OffsetStage) -> None:
        stage.commit(offsets("orders", 5))
        orders = stage.image.topics.get("orders")
        assert orders is not None
        assert [each.topic_id for each in stage.fetch(version=10).topics] == [orders.id]
        stage.image = replace(stage.image, topics=type(stage.image.topics)())
        assert stage.fetch(version=10).topics == ()

    def test_an_offset_of_another_topic_of_the_same_name_is_none(self, stage: OffsetStage) -> None:
        stage.commit(offsets("orders", 5))
        image = stage.image
        stage.image = type(image)()
        new_id = stage.add_topic("orders", 3)
        by_id = OffsetFetchRequestTopics(topic_id=new_id, partition_indexes=(0,))
        by_name = OffsetFetchRequestTopics(name="orders", partition_indexes=(0,))
        assert stage.fetch([by_id], version=10).topics[0].partitions[0].committed_offset == -1
        assert stage.fetch([by_name]).topics[0].partitions[0].committed_offset == 5


class TestTransactions:
    def test_do_not_count_before_they_are_committed(self, stage: OffsetStage) -> None:
        stage.commit(offsets("orders", 1))
        stage.commit_in_transaction(5, "orders", 2)
        assert stage.committed() == {("orders", 0): 1}
        assert stage.committed(stable=True) == {("orders", 0): -ErrorCode.UNSTABLE_OFFSET_COMMIT}
        stage.shard.end_transaction(ProducerId(5), commit=True)
        assert stage.committed(stable=True) == {("orders", 0): 2}

    def test_that_are_aborted_never_count(self, stage: OffsetStage) -> None:
        stage.commit_in_transaction(5, "orders", 2)
        wanted = [OffsetFetchRequestTopics(name="orders", partition_indexes=(0, 1))]
        (topic,) = stage.fetch(wanted, stable=True).topics
        assert [each.error_code for each in topic.partitions] == [ErrorCode.UNSTABLE_OFFSET_COMMIT, 0]
        stage.shard.end_transaction(ProducerId(5), commit=False)
        assert stage.committed(stable=True) == {}

    def test_of_two_the_later_record_counts(self, stage: OffsetStage) -> None:
        stage.commit_in_transaction(5, "orders", 5)
        stage.commit_in_transaction(6, "orders", 6)
        stage.shard.end_transaction(ProducerId(6), commit=True)
        assert stage.committed(stable=True) == {("orders", 0): -ErrorCode.UNSTABLE_OFFSET_COMMIT}
        stage.shard.end_transaction(ProducerId(5), commit=True)
        assert stage.committed(stable=True) == {("orders", 0): 6}

    def test_end_without_offsets(self, stage: OffsetStage) -> None:
        stage.shard.end_transaction(ProducerId(5), commit=True)
        assert stage.committed() == {}

    def test_keep_their_group(self, stage: OffsetStage) -> None:
        stage.commit_in_transaction(5, "orders", 5)
        stage.perform(stage.shard.loaded())
        stage.wait(30 * DAY_MS)
        assert GROUP in stage.shard.groups

    def test_are_deleted_with_their_group(self, stage: OffsetStage) -> None:
        stage.commit(offsets("orders", 1))
        stage.commit_in_transaction(5, "orders", 5, partition=1)
        for stored in stage.shard.delete(GROUP):
            stage.append(write_coordinator_key(stored.key), None)
        stage.shard.end_transaction(ProducerId(5), commit=True)
        assert stage.shard.groups == {}
        assert stage.committed() == {}


class TestDelete:
    def test_takes_back_what_was_committed(self, stage: OffsetStage) -> None:
        stage.commit(offsets("orders", 1, 0, 1, 2))
        answer = stage.delete(orders=(0, 2, 9), nothing=(0,))
        codes = {
            (topic.name, each.partition_index): each.error_code for topic in answer.topics for each in topic.partitions
        }
        assert codes == {("orders", 9): UNKNOWN, ("nothing", 0): UNKNOWN, ("orders", 0): 0, ("orders", 2): 0}
        assert stage.committed() == {("orders", 1): 1}

    def test_records_nothing_where_nothing_was_committed(self, stage: OffsetStage) -> None:
        stage.commit(offsets("orders", 1))
        before = len(stage.log)
        stage.delete(orders=(1,))
        assert len(stage.log) == before

    def test_of_a_group_that_is_not_there(self, stage: OffsetStage) -> None:
        with pytest.raises(GroupNotFound):
            stage.delete(orders=(0,))


class TestTopicsThatGo:
    def test_take_their_offsets_along(self, stage: OffsetStage) -> None:
        stage.commit(offsets("orders", 1, 0, 1), offsets("clicks", 1))
        stage.commit_in_transaction(5, "orders", 2, partition=2)
        stage.remove_topic("orders")
        assert stage.committed() == {("clicks", 0): 1}
        stage.shard.end_transaction(ProducerId(5), commit=True)
        assert stage.committed() == {("clicks", 0): 1}

    def test_leave_those_of_another_topic_of_the_same_name(self, stage: OffsetStage) -> None:
        stage.commit(offsets("orders", 1))
        stage.image = type(stage.image)()
        stage.add_topic("orders")
        stage.commit(offsets("orders", 2))
        ours = [key for key, _ in stage.log]
        assert ours[0] == ours[1], "they have one key, and the last one counts"
        stage.remove_topic("orders")
        assert stage.committed() == {}


class TestExpiry:
    def test_of_a_client_without_a_group_counts_from_each_commit(self, stage: OffsetStage) -> None:
        stage.perform(stage.shard.loaded())
        stage.commit(offsets("orders", 1))
        stage.wait(3 * DAY_MS)
        stage.commit(offsets("clicks", 1))
        stage.wait(4 * DAY_MS - HOUR_MS)
        assert stage.committed() == {("orders", 0): 1, ("clicks", 0): 1}
        stage.wait(HOUR_MS)
        assert stage.committed() == {("clicks", 0): 1}
        stage.wait(3 * DAY_MS)
        assert stage.committed() == {}
        assert stage.shard.groups == {}, "nothing is left of it"

    def test_looks_as_often_as_the_settings_say(self, stage: OffsetStage) -> None:
        stage.config = BrokerConfig(offsets_retention_minutes=1, offsets_retention_check_interval_ms=2 * MINUTE_MS)
        stage.perform(stage.shard.loaded())
        stage.commit(offsets("orders", 1))
        stage.wait(2 * MINUTE_MS - 1)
        assert stage.committed() == {("orders", 0): 1}
        stage.wait(1)
        assert stage.committed() == {}

    def test_a_retention_of_its_own_counts_more(self, stage: OffsetStage) -> None:
        stage.perform(stage.shard.loaded())
        stage.commit(offsets("orders", 1), retention_time_ms=30 * DAY_MS, version=3)
        stage.commit(offsets("clicks", 1), retention_time_ms=HOUR_MS, version=3)
        stage.wait(2 * HOUR_MS)
        assert stage.committed() == {("orders", 0): 1}
        stage.wait(29 * DAY_MS)
        assert stage.committed() == {("orders", 0): 1}
        stage.wait(DAY_MS)
        assert stage.committed() == {}

    def test_of_many_groups_is_done_in_turns(self, stage: OffsetStage) -> None:
        stage.perform(stage.shard.loaded())
        for number in range(1_200):
            stage.commit(offsets("orders", 1, 0, 1), group_id=f"group-{number}")
        stage.wait(8 * DAY_MS)
        assert 0 < len(stage.shard.groups) < 1_200
        stage.wait(5)
        stage.wait(5)
        stage.wait(5)
        assert len(stage.shard.groups) == 0
        before = len(stage.log)
        stage.wait(9 * MINUTE_MS)
        assert len(stage.log) == before, "the next round is not before its time"


class TestUnservedGroups:
    def make_share_group(self, stage: OffsetStage, *, members: bool) -> None:
        value = ShareGroupMetadataValue(epoch=1, metadata_hash=0)
        stage.append(write_coordinator_key(ShareGroupMetadataKey(group_id=GROUP)), write_coordinator_value(value, 0))
        if members:
            key = ShareGroupMemberMetadataKey(group_id=GROUP, member_id="m")
            member = ShareGroupMemberMetadataValue(
                rack_id=None, client_id="", client_host="", subscribed_topic_names=()
            )
            stage.append(write_coordinator_key(key), write_coordinator_value(member, 0))

    def test_keep_their_ids(self, stage: OffsetStage) -> None:
        self.make_share_group(stage, members=True)
        group = stage.shard.groups[GROUP]
        assert (group.kind, group.state_name, group.protocol_type) == (GroupKind.SHARE, "Stable", "share")
        assert stage.commit(offsets("orders", 1)) == {("orders", 0): ErrorCode.GROUP_ID_NOT_FOUND}
        assert stage.committed() == {}

    def test_do_not_expire(self, stage: OffsetStage) -> None:
        self.make_share_group(stage, members=False)
        stage.perform(stage.shard.loaded())
        before = len(stage.log)
        stage.wait(30 * DAY_MS)
        assert len(stage.log) == before
        with pytest.raises(BrokerError):
            stage.shard.delete(GROUP)

    def test_are_gone_when_their_records_say_so(self, stage: OffsetStage) -> None:
        self.make_share_group(stage, members=False)
        stage.append(write_coordinator_key(ShareGroupMetadataKey(group_id=GROUP)), None)
        assert stage.shard.groups == {}
