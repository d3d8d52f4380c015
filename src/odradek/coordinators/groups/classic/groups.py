"""The classic groups of a shard: what their members ask, what is recorded of them, and what becomes due."""

from collections.abc import Mapping

from odradek.coordinators.groups.classic import record
from odradek.coordinators.groups.classic.answers import join_refused
from odradek.coordinators.groups.classic.describing import described, not_there
from odradek.coordinators.groups.classic.group import ClassicGroup, State
from odradek.coordinators.groups.classic.joining import Joining
from odradek.coordinators.groups.classic.leaving import Leaving
from odradek.coordinators.groups.classic.member import Protocol
from odradek.coordinators.groups.classic.rebalancing import Rebalancing
from odradek.coordinators.groups.classic.syncing import Syncing, check_protocol_given
from odradek.coordinators.groups.classic.table import ClassicTable
from odradek.coordinators.groups.context import Deadline, Due, GroupContext
from odradek.coordinators.groups.errors import (
    IllegalGeneration,
    RebalanceInProgress,
    UnknownMember,
)
from odradek.coordinators.groups.group import Group
from odradek.coordinators.result import NOTHING, CoordinatorResult, RequestContext, all_of
from odradek.model.error_code import ErrorCode
from odradek.model.errors import BrokerError
from odradek.wire.group_requests import Heartbeat
from odradek.wire.messages.describe_groups import DescribedGroup
from odradek.wire.messages.heartbeat import HeartbeatRequest, HeartbeatResponse
from odradek.wire.messages.join_group import JoinGroupRequest
from odradek.wire.messages.leave_group import LeaveGroupRequest
from odradek.wire.messages.sync_group import SyncGroupRequest, SyncGroupResponse
from odradek.wire.records.classic_group import GroupMetadataKey, GroupMetadataValue


class ClassicGroups:
    def __init__(self, groups: dict[str, Group], context: GroupContext) -> None:
        """`groups` has all groups of the shard, of any kind. An id belongs to one of them."""
        self._context = context
        self._table = ClassicTable(groups, context.clock)
        self._rebalancing = Rebalancing(context)
        self._joining = Joining(self._table, self._rebalancing, context)
        self._syncing = Syncing(self._rebalancing, context)
        self._leaving = Leaving(self._rebalancing, context)

    # --- what members ask

    def join(self, asked: RequestContext, request: JoinGroupRequest) -> CoordinatorResult:
        refused = self.refusal(request)
        if refused is not ErrorCode.NONE:
            return asked.answer(join_refused(asked.version, refused, request.member_id))
        return self._joining.join(asked, request)

    def refusal(self, request: JoinGroupRequest) -> ErrorCode:
        """Of a request that no group would take."""
        config = self._context.config()
        least, most = config.group_min_session_timeout_ms, config.group_max_session_timeout_ms
        return ErrorCode.NONE if least <= request.session_timeout_ms <= most else ErrorCode.INVALID_SESSION_TIMEOUT

    def sync(self, asked: RequestContext, request: SyncGroupRequest) -> CoordinatorResult:
        try:
            check_protocol_given(asked, request)
            return self._syncing.sync(asked, request, self._table.find(request.group_id))
        except BrokerError as error:
            return asked.answer(SyncGroupResponse(error_code=error.code))

    def heartbeat(self, asked: RequestContext, request: HeartbeatRequest) -> CoordinatorResult:
        try:
            self._heartbeat(request)
        except BrokerError as error:
            return asked.answer(HeartbeatResponse(error_code=error.code))
        return asked.answer(HeartbeatResponse())

    def hears(self, beat: Heartbeat) -> bool:
        """A heartbeat that finds its group stable. False, with nothing done, where `heartbeat` has to find out."""
        group = self._table.find(beat.group_id)
        if group is None or group.state is not State.STABLE or beat.generation != group.generation:
            return False
        member = group.members.get(beat.member_id)
        instance_id = beat.instance_id
        if member is None or (instance_id is not None and group.static.get(instance_id) != beat.member_id):
            return False
        self._rebalancing.reschedule_session(group, member)
        return True

    def leave(self, asked: RequestContext, request: LeaveGroupRequest) -> CoordinatorResult:
        return self._leaving.leave(asked, request, self._table.find(request.group_id))

    def describe(self, group_id: str, version: int, operations: int) -> DescribedGroup:
        """What DescribeGroups tells in this version; `operations` are what the client may do with the group."""
        group = self._table.find(group_id)
        return not_there(group_id, version, operations) if group is None else described(group, operations)

    def _heartbeat(self, request: HeartbeatRequest) -> None:
        group = self._table.find(request.group_id)
        if group is None:
            raise UnknownMember(f"Group {request.group_id} not found")
        member = group.member(request.member_id, request.group_instance_id)
        if request.generation_id != group.generation:
            raise IllegalGeneration(f"group {group.group_id} is in generation {group.generation}")
        self._rebalancing.reschedule_session(group, member)
        if group.state is State.PREPARING_REBALANCE:
            raise RebalanceInProgress(f"group {group.group_id} rebalances: join again")

    # --- what the log says

    def replay(self, key: GroupMetadataKey, value: GroupMetadataValue | None) -> None:
        if value is not None:
            group = self._table.recorded(key.group)
            record.replay(group, value)
            if group.state is not State.PREPARING_REBALANCE:
                self._context.timers.cancel(Deadline(Due.JOIN, key.group))
        else:
            removed = self._table.remove(key.group)
            if removed is not None:
                self._forget(removed)

    def loaded(self) -> CoordinatorResult:
        """The log is read to its end: sessions begin, as if each member had just been heard of."""
        return all_of(self._loaded(group) for group in list(self._table))

    def simple(self, group_id: str) -> ClassicGroup:
        """A group for offsets that are committed without one. It is in no record but those of its offsets."""
        return self._table.recorded(group_id)

    def count_as_heartbeat(self, group: Group, member_id: str) -> None:
        """A member of a group of any kind committed something, which is as good as a heartbeat."""
        if isinstance(group, ClassicGroup) and group.state in (State.STABLE, State.PREPARING_REBALANCE):
            member = group.members.get(member_id)
            if member is not None:
                self._rebalancing.reschedule_session(group, member)

    def begin_after_downgrade(
        self, group_id: str, protocols: Mapping[str, tuple[Protocol, ...]], *, rebalances: bool
    ) -> CoordinatorResult:
        """A group that was of another kind until now: its members' sessions begin, and maybe a rebalance.

        `protocols` is what they know, of which the record has only a part.
        """
        group = self._table.find(group_id)
        if group is None:
            return NOTHING
        for member in group.members.values():
            if member.joining is None:
                member.protocols = protocols.get(member.member_id, member.protocols)
            self._rebalancing.reschedule_session(group, member)
        reason = "it was a consumer group until now"
        return self._rebalancing.rebalance(group, reason) if rebalances else NOTHING

    def _loaded(self, group: ClassicGroup) -> CoordinatorResult:
        for member in group.members.values():
            self._rebalancing.reschedule_session(group, member)
        if group.is_unled:
            return self._rebalancing.begin(group, "a rebalance was due when it was loaded")
        if len(group.members) > self._context.config().group_max_size:
            return self._rebalancing.begin(group, "it has more than group.max.size members")
        return NOTHING

    def _forget(self, group: ClassicGroup) -> None:
        timers = self._context.timers
        timers.cancel(Deadline(Due.JOIN, group.group_id))
        timers.cancel(Deadline(Due.SYNC, group.group_id))
        for member_id in (*group.members, *group.pending):
            timers.cancel(Deadline(Due.SESSION, group.group_id, member_id))

    # --- what is due

    def expired(self, deadline: Deadline) -> CoordinatorResult:
        group = self._table.find(deadline.group_id)
        if group is None:
            return NOTHING
        if deadline.due is Due.JOIN:
            return self._rebalancing.join_due(group)
        if deadline.due is Due.SYNC:
            return self._rebalancing.sync_due(group)
        return self._rebalancing.session_due(group, deadline.member_id)
