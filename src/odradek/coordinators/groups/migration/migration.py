"""Groups that move between the protocols.

    upgrade      a member of the consumer protocol joins a classic group: a consumer group with classic members
    downgrade    the last member of the consumer protocol goes: a classic group, which rebalances

Each move is one batch: the records that end the group of one kind, and those that begin the other. Offsets stay.
"""

from collections.abc import Collection, Mapping
from typing import NamedTuple

from odradek.coordinators.groups.classic.answers import answers_to_waiting
from odradek.coordinators.groups.classic.group import ClassicGroup
from odradek.coordinators.groups.classic.groups import ClassicGroups
from odradek.coordinators.groups.classic.member import Protocol
from odradek.coordinators.groups.classic_members import joined
from odradek.coordinators.groups.consumer.assignors.spec import Assignment
from odradek.coordinators.groups.consumer.consumer_groups import ConsumerGroups
from odradek.coordinators.groups.consumer.group import ConsumerGroup
from odradek.coordinators.groups.consumer.member import ConsumerMember
from odradek.coordinators.groups.consumer.replay import REPLAY
from odradek.coordinators.groups.context import Deadline, Due, GroupContext
from odradek.coordinators.groups.errors import FencedInstance, UnknownMember
from odradek.coordinators.groups.events import happened
from odradek.coordinators.groups.group import Group
from odradek.coordinators.groups.migration.downgrade import can_downgrade, downgraded, held
from odradek.coordinators.groups.migration.upgrade import check_upgrade, upgraded
from odradek.coordinators.result import NOTHING, Answer, CoordinatorResult, RequestContext
from odradek.model.error_code import ErrorCode
from odradek.model.errors import BrokerError
from odradek.wire.messages.consumer_group_heartbeat import ConsumerGroupHeartbeatRequest
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
        self._downgrades: dict[str, _Downgrade] = {}

    # --- upgrade

    def not_a_member(self, request: ConsumerGroupHeartbeatRequest, group: ClassicGroup) -> BrokerError:
        """Why this one is no member any more of what was a consumer group when it was.

        To Kafka there is no such group, which clients take for fatal. One that was out for a while may join anew, and
        move the group back.
        """
        check_upgrade(group, self._context.config())
        if request.instance_id in group.static:
            return FencedInstance(f"another member is {request.instance_id} in group {group.group_id}")
        return UnknownMember(f"{request.member_id} is no member of group {group.group_id}")

    def upgrade(
        self, asked: RequestContext, request: ConsumerGroupHeartbeatRequest, group: ClassicGroup
    ) -> CoordinatorResult:
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
            answers += answers_to_waiting(member, ErrorCode.REBALANCE_IN_PROGRESS, member.member_id)
            session = Deadline(Due.CONSUMER_SESSION, group.group_id, member.member_id)
            self._context.timers.set(session, member.session_timeout_ms)
        event = happened("a group moved to the consumer protocol", group.group_id, members=len(group.members) + 1)
        return CoordinatorResult(records, tuple(answers)) + event + decision

    # --- downgrade

    def with_downgrade(self, group_id: str, decision: CoordinatorResult) -> CoordinatorResult:
        """The same, unless it takes the last member of the consumer protocol out: then the group moves as well."""
        group = self._groups.get(group_id)
        written = [each for each in decision.records if isinstance(each.key, ConsumerGroupMemberMetadataKey)]
        if not isinstance(group, ConsumerGroup) or not written or any(each.value is not None for each in written):
            return decision
        gone = {each.key.member_id for each in written if isinstance(each.key, ConsumerGroupMemberMetadataKey)}
        left = [member for member_id, member in group.members.items() if member_id not in gone]
        if not can_downgrade(left, self._context.config()):
            return decision
        return CoordinatorResult(answers=decision.answers, effects=decision.effects) + self._downgrade(group, left)

    def downgrade_for(
        self, asked: RequestContext, group: ConsumerGroup, there: ConsumerMember, after: ConsumerMember
    ) -> CoordinatorResult | None:
        """A static member comes back with the classic protocol. None, if it was not the last one without it.

        Where the others have what they should have, it gets what its predecessor should have, and nobody rebalances.
        """
        others = [member for member in group.members.values() if member is not there]
        if not can_downgrade([*others, after], self._context.config()):
            return None
        is_settled = group.target_epoch == group.epoch and after.subscription == there.subscription
        is_settled &= all(member.is_reconciled_to(group.epoch) for member in others)
        targets = {**group.targets, after.member_id: group.target(after)} if is_settled else None
        return self._downgrade(group, [*others, after], targets) + asked.answer(joined(after, group.epoch))

    def _downgrade(
        self,
        group: ConsumerGroup,
        left: Collection[ConsumerMember],
        targets: Mapping[str, Assignment] | None = None,
    ) -> CoordinatorResult:
        """Without targets that hold, the group rebalances, and until then its members have what they have."""
        # Kafka takes them to have what they should have. If the group moves back at once, then what a member has not
        # given back yet would be free to all.
        rebalances = targets is None
        partitions = {member.member_id: held(member) for member in left} if targets is None else targets
        topics, now_ms = self._context.image().topics, self._context.clock.now_ms()
        moved = downgraded(group, left, partitions, topics, now_ms, rebalances=rebalances)
        self._downgrades[group.group_id] = _Downgrade(moved.protocols, rebalances)
        for member_id in group.members:
            self._consumer.cancel_timers(group, member_id)
        # What follows is up to the classic group, which is there once these records are.
        self._context.timers.set(Deadline(Due.DOWNGRADED, group.group_id), 0)
        event = happened("a group moved to the classic protocol", group.group_id, members=len(left))
        return CoordinatorResult(moved.records) + event

    def downgraded(self, group_id: str) -> CoordinatorResult:
        downgrade = self._downgrades.pop(group_id, None)
        group = self._groups.get(group_id)
        if downgrade is None or group is None:
            return NOTHING
        if isinstance(group, ConsumerGroup):
            self._consumer.schedule_timers(group)  # it could not be written, so all is as it was
            return NOTHING
        return self._classic.begin_after_downgrade(group_id, downgrade.protocols, rebalances=downgrade.rebalances)
