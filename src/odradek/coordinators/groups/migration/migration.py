"""Which protocol a request is to be understood in, and what moves a group from one to the other.

    a member of the consumer protocol joins a classic group    -> a consumer group with classic members
    the last member of the consumer protocol goes              -> a classic group, which rebalances

Each move is one batch: the records that end the group of one kind, and those that begin the other. Offsets stay.
"""

from collections.abc import Collection, Mapping
from typing import NamedTuple

from odradek.coordinators.decision import NOTHING, Answer, Asked, Decision
from odradek.coordinators.groups.classic.answers import join_refused, turned_away
from odradek.coordinators.groups.classic.group import ClassicGroup
from odradek.coordinators.groups.classic.groups import ClassicGroups
from odradek.coordinators.groups.classic.member import Protocol
from odradek.coordinators.groups.consumer.answers import refused
from odradek.coordinators.groups.consumer.assignors.spec import Assignment
from odradek.coordinators.groups.consumer.consumer_groups import THROWN_OUT_FOR, ConsumerGroups
from odradek.coordinators.groups.consumer.group import ConsumerGroup
from odradek.coordinators.groups.consumer.member import JOINING, ConsumerMember
from odradek.coordinators.groups.consumer.replay import REPLAY
from odradek.coordinators.groups.context import Deadline, Due, GroupContext
from odradek.coordinators.groups.errors import FencedInstance, UnknownMember
from odradek.coordinators.groups.events import happened
from odradek.coordinators.groups.group import Group
from odradek.coordinators.groups.migration.classic_members import ClassicMembers, joined
from odradek.coordinators.groups.migration.downgrade import can_downgrade, downgraded, held
from odradek.coordinators.groups.migration.upgrade import check_upgrade, upgraded
from odradek.model.error_code import ErrorCode
from odradek.model.errors import BrokerError
from odradek.wire.messages.consumer_group_heartbeat import ConsumerGroupHeartbeatRequest
from odradek.wire.messages.heartbeat import HeartbeatRequest, HeartbeatResponse
from odradek.wire.messages.join_group import JoinGroupRequest
from odradek.wire.messages.leave_group import LeaveGroupRequest
from odradek.wire.messages.sync_group import SyncGroupRequest, SyncGroupResponse
from odradek.wire.records.consumer_group import ConsumerGroupMemberMetadataKey


class _Downgrade(NamedTuple):
    """What no record says of a group that has just become a classic one."""

    protocols: Mapping[str, tuple[Protocol, ...]]
    rebalances: bool


class Migration:
    def __init__(
        self, groups: dict[str, Group], classic: ClassicGroups, consumer: ConsumerGroups, context: GroupContext
    ) -> None:
        self._groups = groups
        self._classic = classic
        self._consumer = consumer
        self._context = context
        self._members = ClassicMembers(consumer, context)
        self._downgrades: dict[str, _Downgrade] = {}

    # --- the classic protocol

    def join(self, asked: Asked, request: JoinGroupRequest) -> Decision:
        group = self._mixed(request.group_id)
        if group is None or self._classic.refusal(request) is not ErrorCode.NONE:
            return self._classic.join(asked, request)
        try:
            self._members.check_join(request, group)
            there = group.static_member(request.group_instance_id)
            if there is not None and there.classic is None:
                others = [member for member in group.members.values() if member is not there]
                after = self._members.take_place(asked, request, group)
                if can_downgrade([*others, after], self._context.config()):
                    return self._downgrade_for(asked, group, others, there, after)
            return self._members.join(asked, request, group)
        except BrokerError as error:
            return asked.answer(join_refused(asked.version, error.code))

    def sync(self, asked: Asked, request: SyncGroupRequest) -> Decision:
        group = self._mixed(request.group_id)
        if group is None:
            return self._classic.sync(asked, request)
        try:
            return self._members.sync(asked, request, group)
        except BrokerError as error:
            return asked.answer(SyncGroupResponse(error_code=error.code))

    def heartbeat(self, asked: Asked, request: HeartbeatRequest) -> Decision:
        group = self._mixed(request.group_id)
        if group is None:
            return self._classic.heartbeat(asked, request)
        try:
            self._members.heartbeat(request, group)
        except BrokerError as error:
            return asked.answer(HeartbeatResponse(error_code=error.code))
        return asked.answer(HeartbeatResponse())

    def leave(self, asked: Asked, request: LeaveGroupRequest) -> Decision:
        group = self._mixed(request.group_id)
        if group is None:
            return self._classic.leave(asked, request)
        return self._settled(request.group_id, self._members.leave(asked, request, group))

    def _mixed(self, group_id: str) -> ConsumerGroup | None:
        """A consumer group that has members, of whatever protocol."""
        group = self._groups.get(group_id)
        return group if isinstance(group, ConsumerGroup) and group.members else None

    # --- the consumer protocol

    def consumer_heartbeat(self, asked: Asked, request: ConsumerGroupHeartbeatRequest) -> Decision:
        group = self._groups.get(request.group_id)
        if not isinstance(group, ClassicGroup) or request.member_epoch < JOINING:
            return self._settled(request.group_id, self._consumer.heartbeat(asked, request))
        try:
            if request.member_epoch > JOINING:
                raise self._left_behind(request, group)
            return self._consumer.heartbeat(asked, request) if group.is_empty else self._upgrade(asked, request, group)
        except BrokerError as error:
            return asked.answer(refused(error))

    def _left_behind(self, request: ConsumerGroupHeartbeatRequest, group: ClassicGroup) -> BrokerError:
        """Why this one is no member any more of what was a consumer group when it was.

        To Kafka there is no such group, which clients take for fatal. One that was out for a while may join anew, and
        move the group back.
        """
        check_upgrade(group, self._context.config())
        if request.instance_id in group.static:
            return FencedInstance(f"another member is {request.instance_id} in group {group.group_id}")
        return UnknownMember(f"{request.member_id} is no member of group {group.group_id}")

    def _upgrade(self, asked: Asked, request: ConsumerGroupHeartbeatRequest, group: ClassicGroup) -> Decision:
        """Raises GroupNotFound where the group has to stay what it is."""
        check_upgrade(group, self._context.config())
        records = upgraded(group, self._consumer.topics)
        after = ConsumerGroup(group.group_id)
        for key, value, _ in records[1:]:
            REPLAY[type(key)](after, key, value)
        # The new member joins the group as it will be. If it cannot, the group stays what it is.
        self._groups[group.group_id] = after
        try:
            decision = self._consumer.heartbeat(asked, request)
        finally:
            self._groups[group.group_id] = group
        if not decision.records:
            return decision
        answers: list[Answer] = []
        for member in group.members.values():
            answers += turned_away(member, ErrorCode.REBALANCE_IN_PROGRESS, member.member_id)
            session = Deadline(Due.CONSUMER_SESSION, group.group_id, member.member_id)
            self._context.timers.set(session, member.session_timeout_ms)
        told = happened("a group moved to the consumer protocol", group.group_id, members=len(group.members) + 1)
        return Decision(records, tuple(answers)) + told + decision

    # --- what is due

    def expired(self, deadline: Deadline) -> Decision:
        if deadline.due is Due.DOWNGRADED:
            return self._downgraded(deadline.group_id)
        if deadline.due in THROWN_OUT_FOR:
            return self._settled(deadline.group_id, self._consumer.expired(deadline))
        return self._classic.expired(deadline)

    # --- back to the classic protocol

    def _settled(self, group_id: str, decision: Decision) -> Decision:
        """The same, unless it takes the last member of the consumer protocol out: then the group moves as well."""
        group = self._groups.get(group_id)
        told = [record for record in decision.records if isinstance(record.key, ConsumerGroupMemberMetadataKey)]
        if not isinstance(group, ConsumerGroup) or not told or any(record.value is not None for record in told):
            return decision
        gone = {record.key.member_id for record in told if isinstance(record.key, ConsumerGroupMemberMetadataKey)}
        left = [member for member_id, member in group.members.items() if member_id not in gone]
        if not can_downgrade(left, self._context.config()):
            return decision
        return Decision(answers=decision.answers, effects=decision.effects) + self._downgrade(group, left)

    def _downgrade_for(
        self,
        asked: Asked,
        group: ConsumerGroup,
        others: Collection[ConsumerMember],
        there: ConsumerMember,
        after: ConsumerMember,
    ) -> Decision:
        """A static member comes back with the classic protocol, and was the last one without it.

        Where the others have what they should have, it gets what its predecessor should have, and nobody rebalances.
        """
        is_settled = group.target_epoch == group.epoch and after.subscription == there.subscription
        is_settled &= all(member.is_reconciled_to(group.epoch) for member in others)
        targets = {**group.targets, after.member_id: group.target(after)} if is_settled else None
        return self._downgrade(group, [*others, after], targets) + asked.answer(joined(after, group.epoch))

    def _downgrade(
        self,
        group: ConsumerGroup,
        left: Collection[ConsumerMember],
        targets: Mapping[str, Assignment] | None = None,
    ) -> Decision:
        """Without targets that hold, the group rebalances, and until then its members have what they have."""
        # Kafka takes them to have what they should have. If the group moves back at once, then what a member has not
        # given back yet would be free to all.
        rebalances = targets is None
        partitions = {member.member_id: held(member) for member in left} if targets is None else targets
        topics, now_ms = self._context.image().topics, self._context.clock.now_ms()
        moved = downgraded(group, left, partitions, topics, now_ms, rebalances=rebalances)
        self._downgrades[group.group_id] = _Downgrade(moved.protocols, rebalances)
        for member_id in group.members:
            self._consumer.expect_nothing(group, member_id)
        # What follows is up to the classic group, which is there once these records are.
        self._context.timers.set(Deadline(Due.DOWNGRADED, group.group_id), 0)
        told = happened("a group moved to the classic protocol", group.group_id, members=len(left))
        return Decision(moved.records) + told

    def _downgraded(self, group_id: str) -> Decision:
        downgrade = self._downgrades.pop(group_id, None)
        group = self._groups.get(group_id)
        if downgrade is None or group is None:
            return NOTHING
        if isinstance(group, ConsumerGroup):
            self._consumer.expect_all(group)  # it could not be written, so all is as it was
            return NOTHING
        return self._classic.taken_over(group_id, downgrade.protocols, rebalances=downgrade.rebalances)
