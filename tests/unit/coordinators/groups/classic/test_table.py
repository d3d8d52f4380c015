"""Ids of groups are shared by all kinds: who has one, and who makes way."""

from collections.abc import Iterator

import pytest

from odradek.coordinators.groups.errors import GroupNotEmpty
from odradek.coordinators.groups.group import Group, GroupKind, Member
from odradek.coordinators.result import Stored
from odradek.model.error_code import ErrorCode
from odradek.model.numbers import TimestampMs
from odradek.wire.records.classic_group import GroupMetadataKey
from support.classic_stage import GROUP, ClassicStage


class OtherGroup:
    """A group of another kind. What deletes it stands for the records of its kind."""

    group_id = GROUP
    state_name = "Empty"
    protocol_type = "consumer"

    def __init__(self, kind: GroupKind, *, has_members: bool) -> None:
        self.kind = kind
        self._has_members = has_members

    def check_commit(self, member: Member, version: int, *, transactional: bool) -> None: ...
    def check_offset_fetch(self, member: Member | None) -> None: ...
    def check_offset_delete(self) -> None: ...

    def check_delete(self) -> None:
        if self._has_members:
            raise GroupNotEmpty("it has members")

    def is_subscribed(self, topic: str) -> bool:
        return False

    def expiry_base_ms(self, committed_ms: TimestampMs) -> TimestampMs | None:
        return None

    def tombstones(self) -> Iterator[Stored]:
        yield Stored(GroupMetadataKey(group="what was there"), None)


def stage_with(group: Group) -> ClassicStage:
    stage = ClassicStage()
    stage.groups[GROUP] = group
    return stage


@pytest.mark.parametrize("kind", [GroupKind.CONSUMER, GroupKind.STREAMS])
def test_an_empty_group_of_another_kind_makes_way(kind: GroupKind) -> None:
    stage = stage_with(OtherGroup(kind, has_members=False))
    _, ticket = stage.enter()
    stage.wait_for(ticket)
    assert stage.joined(ticket).generation_id == 1
    assert [value is None for value in stage.values] == [True, False]
    assert stage.group().kind is GroupKind.CLASSIC


def test_it_stays_where_the_change_cannot_be_written() -> None:
    other = OtherGroup(GroupKind.CONSUMER, has_members=False)
    stage = stage_with(other)
    stage.is_full = True
    stage.join()
    assert stage.groups == {GROUP: other}
    stage.is_full = False
    stage.join()
    assert [value is None for value in stage.values] == [True, False]


def test_members_that_could_not_be_recorded_do_not_take_a_group_over() -> None:
    """Their group was never written, and then another kind was first."""
    stage = ClassicStage()
    stage.is_full = True
    stage.join(version=0)
    stage.is_full = False
    other = stage.groups[GROUP] = OtherGroup(GroupKind.CONSUMER, has_members=True)
    stage.advance(3_600_000)
    assert stage.groups == {GROUP: other}
    assert not stage.log


@pytest.mark.parametrize(
    ("kind", "has_members"),
    [(GroupKind.CONSUMER, True), (GroupKind.STREAMS, True), (GroupKind.SHARE, True), (GroupKind.SHARE, False)],
)
def test_others_keep_their_id(kind: GroupKind, has_members: bool) -> None:
    stage = stage_with(OtherGroup(kind, has_members=has_members))
    for member_id in ("", "me"):
        refused = stage.joined(stage.join(member_id))
        assert (refused.error_code, refused.member_id) == (ErrorCode.INCONSISTENT_GROUP_PROTOCOL, "")
    assert stage.synced(stage.sync("me", 1)).error_code == ErrorCode.UNKNOWN_MEMBER_ID
    assert stage.heartbeat("me", 1) == ErrorCode.UNKNOWN_MEMBER_ID
    assert stage.leave().error_code == 0
    assert stage.classic.describe(GROUP, 6, 0).error_code == ErrorCode.GROUP_ID_NOT_FOUND
    assert not stage.log
