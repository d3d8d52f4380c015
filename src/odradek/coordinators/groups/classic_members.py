"""Members of consumer groups that speak the classic protocol.

They join and sync as ever, but wait for nobody: the answer to JoinGroup leaves at once, nobody leads, and SyncGroup
gives what the coordinator assigned. Their generation is the epoch of the member. To make one rejoin, its heartbeats are
answered with REBALANCE_IN_PROGRESS: first to give partitions back, then, once they are free, to get others.
"""

from collections.abc import Iterable
from dataclasses import replace

from odradek.coordinators.groups import events
from odradek.coordinators.groups.classic.answers import join_refused
from odradek.coordinators.groups.classic.group import CONSUMER
from odradek.coordinators.groups.classic.joining import ID_REQUIRED_SINCE, rebalance_timeout_ms
from odradek.coordinators.groups.classic.leaving import leave_response, leaving_members, left
from odradek.coordinators.groups.classic.syncing import check_protocol_given
from odradek.coordinators.groups.consumer.assignors.spec import NO_PARTITIONS
from odradek.coordinators.groups.consumer.consumer_groups import ConsumerGroups
from odradek.coordinators.groups.consumer.group import ConsumerGroup
from odradek.coordinators.groups.consumer.member import JOINING, ConsumerMember, MemberState, Subscription
from odradek.coordinators.groups.consumer.membership import check_room, replacement, static_member
from odradek.coordinators.groups.context import Deadline, Due, GroupContext
from odradek.coordinators.groups.embedded import owned, read_subscription, write_assignment
from odradek.coordinators.groups.errors import (
    IllegalGeneration,
    InconsistentProtocol,
    RebalanceInProgress,
    UnknownMember,
)
from odradek.coordinators.result import NOTHING, CoordinatorResult, RequestContext, Stored
from odradek.model.error_code import ErrorCode
from odradek.model.errors import BadRequest, BrokerError
from odradek.wire.messages.heartbeat import HeartbeatRequest
from odradek.wire.messages.join_group import JoinGroupRequest, JoinGroupResponse
from odradek.wire.messages.leave_group import LeaveGroupRequest, MemberIdentity
from odradek.wire.messages.sync_group import SyncGroupRequest, SyncGroupResponse
from odradek.wire.records.consumer_group import ClassicMemberMetadata, ClassicProtocol
from odradek.wire.records.consumer_protocol import ConsumerProtocolSubscription


class ClassicMembers:
    """All commands but `leave` raise a BrokerError where the member is refused."""

    def __init__(self, consumer: ConsumerGroups, context: GroupContext) -> None:
        self._consumer = consumer
        self._context = context
        self._timers = context.timers

    # --- joining

    def join(self, asked: RequestContext, request: JoinGroupRequest, group: ConsumerGroup) -> CoordinatorResult:
        if not request.member_id and request.group_instance_id is None and asked.version >= ID_REQUIRED_SINCE:
            return asked.answer(join_refused(asked.version, ErrorCode.MEMBER_ID_REQUIRED, self._context.new_id()))
        before, replaced = self._member_of(request, group)
        subscription = _subscription(request)
        after = _updated(before, asked, request, subscription)
        change = self._consumer.change(group, replaced)
        now = change.update_member(before, after, owned(subscription, self._context.image().topics))
        self._timers.cancel(Deadline(Due.CONSUMER_JOIN, group.group_id, now.member_id))
        self._timers.set(Deadline(Due.CONSUMER_SYNC, group.group_id, now.member_id), now.rebalance_timeout_ms)
        self._reschedule_session(group, now)
        return change.answer(asked, joined(now, now.epoch))

    def check_join(self, request: JoinGroupRequest, group: ConsumerGroup) -> None:
        """Whether there is room, and a protocol that all others of its kind know."""
        check_room(group, request.member_id, self._context.config().group_consumer_max_size)
        classic = [member.classic for member in group.members.values() if member.classic is not None]
        known = [{protocol.name for protocol in each.supported_protocols} for each in classic]
        is_shared = any(all(each.name in names for names in known) for each in request.protocols)
        if request.protocol_type != CONSUMER or not is_shared:
            raise InconsistentProtocol(f"group {group.group_id} has no protocol in common with {request.member_id}")

    def rejoined(self, asked: RequestContext, request: JoinGroupRequest, group: ConsumerGroup) -> ConsumerMember:
        """A static member as it is once it has joined, in its own place or in that of its predecessor."""
        before, _ = self._member_of(request, group)
        return _updated(before, asked, request, _subscription(request))

    def _member_of(self, request: JoinGroupRequest, group: ConsumerGroup) -> tuple[ConsumerMember, Iterable[Stored]]:
        """The member that sends the request, with the records that let it replace a static member before it."""
        member_id = request.member_id or self._context.new_id()
        if request.group_instance_id is None:
            return group.members.get(member_id) or ConsumerMember(member_id=member_id), ()
        if request.member_id:
            return static_member(group, member_id, request.group_instance_id), ()
        there = group.static_member(request.group_instance_id)
        if there is None:
            return ConsumerMember(member_id=member_id), ()
        member = replace(there, member_id=member_id, epoch=JOINING, previous_epoch=JOINING)
        return member, replacement(group, member)

    # --- syncing

    def sync(self, asked: RequestContext, request: SyncGroupRequest, group: ConsumerGroup) -> CoordinatorResult:
        check_protocol_given(asked, request)
        member = _member(group, request.member_id, request.group_instance_id, request.generation_id)
        assert member.classic is not None
        favourite = member.classic.supported_protocols[0]
        given = (request.protocol_type, CONSUMER), (request.protocol_name, favourite.name)
        if any(said is not None and said != known for said, known in given):
            raise InconsistentProtocol(f"{member.member_id} goes by {favourite.name} in group {group.group_id}")
        if group.target_epoch > member.epoch and member.state is not MemberState.UNREVOKED_PARTITIONS:
            self._call(group, member)
        self._timers.cancel(Deadline(Due.CONSUMER_SYNC, group.group_id, member.member_id))
        self._reschedule_session(group, member)
        response = SyncGroupResponse(
            protocol_type=request.protocol_type,
            protocol_name=request.protocol_name,
            assignment=write_assignment(member.assigned, self._context.image().topics, favourite.metadata),
        )
        return asked.answer(response)

    # --- staying and leaving

    def heartbeat(self, request: HeartbeatRequest, group: ConsumerGroup) -> None:
        member = _member(group, request.member_id, request.group_instance_id, request.generation_id)
        self._reschedule_session(group, member)
        if (
            member.epoch < group.target_epoch
            or member.state is MemberState.UNREVOKED_PARTITIONS
            or (member.state is MemberState.UNRELEASED_PARTITIONS and not _waits_for_others(group, member))
            or _has_nobody_else_to_assign(group)
        ):
            self._call(group, member)

    def leave(self, asked: RequestContext, request: LeaveGroupRequest, group: ConsumerGroup) -> CoordinatorResult:
        results, gone, result = [], {}, NOTHING
        for identity in leaving_members(asked, request):
            try:
                member = _leaving(identity, group)
                gone[member.member_id] = member
                result += events.left(group.group_id, member.member_id, identity.reason)
                results.append(left(identity, ErrorCode.NONE))
            except BrokerError as error:
                results.append(left(identity, error.code))
        records = self._consumer.remove(group, gone.values()) if gone else ()
        return asked.answer(leave_response(asked, tuple(results)), *records) + result

    # --- deadlines

    def _reschedule_session(self, group: ConsumerGroup, member: ConsumerMember) -> None:
        """To hear of the member within its session."""
        assert member.classic is not None
        session = Deadline(Due.CONSUMER_SESSION, group.group_id, member.member_id)
        self._timers.set(session, member.classic.session_timeout_ms)

    def _call(self, group: ConsumerGroup, member: ConsumerMember) -> None:
        """To join again. It has its rebalance timeout from the first call."""
        deadline = Deadline(Due.CONSUMER_JOIN, group.group_id, member.member_id)
        if deadline not in self._timers:
            self._timers.set(deadline, member.rebalance_timeout_ms)
        raise RebalanceInProgress(f"group {group.group_id} rebalances: join again")


def joined(member: ConsumerMember, generation: int) -> JoinGroupResponse:
    assert member.classic is not None
    return JoinGroupResponse(
        member_id=member.member_id,
        generation_id=generation,
        protocol_type=CONSUMER,
        protocol_name=member.classic.supported_protocols[0].name,
    )


def _subscription(request: JoinGroupRequest) -> ConsumerProtocolSubscription:
    """What the member tells for the protocol that it likes best."""
    try:
        return read_subscription(request.protocols[0].metadata)
    except BadRequest as error:
        raise InconsistentProtocol(f"the subscription of {request.member_id}: {error}") from None


def _updated(
    member: ConsumerMember, asked: RequestContext, request: JoinGroupRequest, subscription: ConsumerProtocolSubscription
) -> ConsumerMember:
    """With what the request says of it."""
    protocols = tuple(ClassicProtocol(name=each.name, metadata=each.metadata) for each in request.protocols)
    return replace(
        member,
        instance_id=request.group_instance_id or member.instance_id,
        rack_id=subscription.rack_id or member.rack_id,
        rebalance_timeout_ms=rebalance_timeout_ms(asked, request),
        client_id=asked.client_id,
        client_host=asked.client_host,
        subscription=Subscription(frozenset(subscription.topics)),
        classic=ClassicMemberMetadata(session_timeout_ms=request.session_timeout_ms, supported_protocols=protocols),
    )


def _member(group: ConsumerGroup, member_id: str, instance_id: str | None, generation: int) -> ConsumerMember:
    member = group.member(member_id) if instance_id is None else static_member(group, member_id, instance_id)
    if member.classic is None:
        raise UnknownMember(f"{member_id} does not speak the classic protocol in group {group.group_id}")
    if member.epoch != generation:
        raise IllegalGeneration(f"generation {generation}, where {member_id} is in {member.epoch}")
    return member


def _leaving(identity: MemberIdentity, group: ConsumerGroup) -> ConsumerMember:
    if identity.group_instance_id is None:
        return group.member(identity.member_id)
    there = group.static_member(identity.group_instance_id)
    member_id = identity.member_id or ("" if there is None else there.member_id)
    return static_member(group, member_id, identity.group_instance_id)


def _has_nobody_else_to_assign(group: ConsumerGroup) -> bool:
    """Whether a new target is due, and only joining makes one: there are no members of the other protocol."""
    return group.epoch > group.target_epoch and all(member.classic is not None for member in group.members.values())


def _waits_for_others(group: ConsumerGroup, member: ConsumerMember) -> bool:
    """Whether something that it should have is still with another member."""
    return any(
        number not in member.assigned.get(topic_id, {}) and group.ownership.owner(topic_id, number) is not None
        for topic_id, numbers in group.targets.get(member.member_id, NO_PARTITIONS).items()
        for number in numbers
    )
