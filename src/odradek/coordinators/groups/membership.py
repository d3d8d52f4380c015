"""Where the requests of members arrive, in either protocol. The kind of the group decides who carries one out:

classic protocol, classic group      -> `ClassicGroups`
classic protocol, consumer group     -> `ClassicMembers`
consumer protocol, consumer group    -> `ConsumerGroups`
the group has to change its kind     -> `Migration`
"""

from odradek.coordinators.groups.classic.answers import join_refused
from odradek.coordinators.groups.classic.group import ClassicGroup
from odradek.coordinators.groups.classic.groups import ClassicGroups
from odradek.coordinators.groups.classic_members import ClassicMembers
from odradek.coordinators.groups.consumer.answers import refused
from odradek.coordinators.groups.consumer.consumer_groups import EXPIRY_REASONS, ConsumerGroups
from odradek.coordinators.groups.consumer.group import ConsumerGroup
from odradek.coordinators.groups.consumer.member import JOINING
from odradek.coordinators.groups.context import Deadline, Due, GroupContext
from odradek.coordinators.groups.group import Group
from odradek.coordinators.groups.migration.migration import Migration
from odradek.coordinators.result import CoordinatorResult, RequestContext
from odradek.model.error_code import ErrorCode
from odradek.model.errors import BrokerError
from odradek.wire.messages.consumer_group_heartbeat import ConsumerGroupHeartbeatRequest
from odradek.wire.messages.heartbeat import HeartbeatRequest, HeartbeatResponse
from odradek.wire.messages.join_group import JoinGroupRequest
from odradek.wire.messages.leave_group import LeaveGroupRequest
from odradek.wire.messages.sync_group import SyncGroupRequest, SyncGroupResponse


class GroupMembership:
    """JoinGroup, SyncGroup, Heartbeat, LeaveGroup and ConsumerGroupHeartbeat, and the timers of members."""

    def __init__(
        self, groups: dict[str, Group], classic: ClassicGroups, consumer: ConsumerGroups, context: GroupContext
    ) -> None:
        self._groups = groups
        self._classic = classic
        self._consumer = consumer
        self._classic_members = ClassicMembers(consumer, context)
        self._migration = Migration(groups, classic, consumer, context)

    # --- the classic protocol

    def join(self, asked: RequestContext, request: JoinGroupRequest) -> CoordinatorResult:
        group = self._consumer_group(request.group_id)
        if group is None or self._classic.refusal(request) is not ErrorCode.NONE:
            return self._classic.join(asked, request)
        try:
            self._classic_members.check_join(request, group)
            there = group.static_member(request.group_instance_id)
            if there is not None and there.classic is None:
                after = self._classic_members.rejoined(asked, request, group)
                downgrade = self._migration.downgrade_for(asked, group, there, after)
                if downgrade is not None:
                    return downgrade
            return self._classic_members.join(asked, request, group)
        except BrokerError as error:
            return asked.answer(join_refused(asked.version, error.code))

    def sync(self, asked: RequestContext, request: SyncGroupRequest) -> CoordinatorResult:
        group = self._consumer_group(request.group_id)
        if group is None:
            return self._classic.sync(asked, request)
        try:
            return self._classic_members.sync(asked, request, group)
        except BrokerError as error:
            return asked.answer(SyncGroupResponse(error_code=error.code))

    def heartbeat(self, asked: RequestContext, request: HeartbeatRequest) -> CoordinatorResult:
        group = self._consumer_group(request.group_id)
        if group is None:
            return self._classic.heartbeat(asked, request)
        try:
            self._classic_members.heartbeat(request, group)
        except BrokerError as error:
            return asked.answer(HeartbeatResponse(error_code=error.code))
        return asked.answer(HeartbeatResponse())

    def leave(self, asked: RequestContext, request: LeaveGroupRequest) -> CoordinatorResult:
        group = self._consumer_group(request.group_id)
        if group is None:
            return self._classic.leave(asked, request)
        return self._migration.with_downgrade(request.group_id, self._classic_members.leave(asked, request, group))

    def _consumer_group(self, group_id: str) -> ConsumerGroup | None:
        """A consumer group that has members. Without members it makes way for a classic one."""
        group = self._groups.get(group_id)
        return group if isinstance(group, ConsumerGroup) and group.members else None

    # --- the consumer protocol

    def consumer_heartbeat(self, asked: RequestContext, request: ConsumerGroupHeartbeatRequest) -> CoordinatorResult:
        group = self._groups.get(request.group_id)
        if not isinstance(group, ClassicGroup) or request.member_epoch < JOINING:
            return self._migration.with_downgrade(request.group_id, self._consumer.heartbeat(asked, request))
        try:
            if request.member_epoch > JOINING:
                raise self._migration.not_a_member(request, group)
            if group.is_empty:
                return self._consumer.heartbeat(asked, request)
            return self._migration.upgrade(asked, request, group)
        except BrokerError as error:
            return asked.answer(refused(error))

    # --- timers

    def expired(self, deadline: Deadline) -> CoordinatorResult:
        if deadline.due is Due.DOWNGRADED:
            return self._migration.downgraded(deadline.group_id)
        if deadline.due in EXPIRY_REASONS:
            return self._migration.with_downgrade(deadline.group_id, self._consumer.expired(deadline))
        return self._classic.expired(deadline)
