"""Who may commit for a consumer group, and ask what was committed."""

import pytest

from odradek.coordinators.groups.consumer.errors import StaleMemberEpoch
from odradek.coordinators.groups.errors import GroupNotEmpty, UnknownMember
from odradek.coordinators.groups.group import Member
from odradek.model.errors import UnsupportedVersion
from odradek.model.numbers import TimestampMs
from support.consumer_stage import Consumer, ConsumerStage

OUTSIDE = Member("", -1)


@pytest.fixture
def stage() -> ConsumerStage:
    made = ConsumerStage()
    made.create("orders", 4)
    return made


def test_a_member_commits_in_its_own_epoch(stage: ConsumerStage) -> None:
    reader = Consumer(stage)
    reader.beat()
    assert stage.group.check_commit(Member(reader.member_id, reader.epoch), 9, transactional=False) is None
    stage.group.check_offset_fetch(Member(reader.member_id, reader.epoch))
    stage.group.check_offset_fetch(None)


def test_nobody_else_commits_while_there_are_members(stage: ConsumerStage) -> None:
    reader = Consumer(stage)
    reader.beat()
    with pytest.raises(UnknownMember):
        stage.group.check_commit(OUTSIDE, 9, transactional=False)
    with pytest.raises(UnknownMember):
        stage.group.check_commit(Member("them", 2), 9, transactional=False)
    with pytest.raises(UnknownMember):
        stage.group.check_offset_fetch(Member("them", 2))
    with pytest.raises(GroupNotEmpty):
        stage.group.check_delete()
    stage.group.check_commit(OUTSIDE, 4, transactional=True)
    reader.leave()
    stage.group.check_commit(OUTSIDE, 9, transactional=False)
    stage.group.check_delete()


def test_epochs_that_are_not_there_yet_are_stale(stage: ConsumerStage) -> None:
    reader = Consumer(stage)
    reader.beat()
    with pytest.raises(StaleMemberEpoch):
        stage.group.check_commit(Member(reader.member_id, 3), 9, transactional=False)
    for epoch in (1, 3):
        with pytest.raises(StaleMemberEpoch):
            stage.group.check_offset_fetch(Member(reader.member_id, epoch))


def test_an_old_version_knows_no_epochs(stage: ConsumerStage) -> None:
    reader = Consumer(stage)
    reader.beat()
    with pytest.raises(UnsupportedVersion):
        stage.group.check_commit(Member(reader.member_id, 2), 8, transactional=False)
    stage.group.check_commit(Member(reader.member_id, 2), 3, transactional=True)


def test_an_earlier_epoch_holds_for_what_the_member_has_had_since(stage: ConsumerStage) -> None:
    first, second = Consumer(stage), Consumer(stage)
    stage.settle(first, second)
    before = Member(first.member_id, first.epoch)
    kept = {partition for _, partition in first.has}
    second.leave()
    first.beat()
    assert first.epoch > before.epoch
    check = stage.group.check_commit(before, 9, transactional=False)
    assert check is not None
    topic_id = stage.image.topics.names["orders"].id
    for partition in range(4):
        if partition in kept:
            check(topic_id, partition)
        else:
            with pytest.raises(StaleMemberEpoch):
                check(topic_id, partition)
    with pytest.raises(StaleMemberEpoch):
        check(bytes(16), 0)


def test_what_is_to_be_given_back_may_be_committed_until_it_is(stage: ConsumerStage) -> None:
    first, second = Consumer(stage), Consumer(stage)
    first.beat()
    first.beat()
    second.beat()
    first.keeps = True
    first.beat()
    topic_id = stage.image.topics.names["orders"].id
    (revoking,) = stage.group.members[first.member_id].revoking.values()
    stage.add_partitions("orders", 5)
    check = stage.group.check_commit(Member(first.member_id, first.epoch), 9, transactional=False)
    assert check is None
    first.keeps = False
    first.beat()
    late = stage.group.check_commit(Member(first.member_id, 2), 9, transactional=False)
    assert late is not None
    for partition in revoking:
        with pytest.raises(StaleMemberEpoch):
            late(topic_id, partition)


def test_offsets_of_topics_in_use_are_known(stage: ConsumerStage) -> None:
    reader = Consumer(stage)
    reader.beat()
    assert stage.group.is_subscribed("orders")
    assert not stage.group.is_subscribed("bills")
    assert stage.group.expiry_base_ms(TimestampMs(5)) == 5
    reader.leave()
    assert not stage.group.is_subscribed("orders")
