"""JoinGroup: who comes in, under which id, and whether that makes a rebalance."""

from odradek.coordinators.groups.classic import record
from odradek.coordinators.groups.classic.answers import answers_to_waiting, join_refused, joined, members_of
from odradek.coordinators.groups.classic.group import ClassicGroup, State
from odradek.coordinators.groups.classic.member import ClassicMember, Protocol
from odradek.coordinators.groups.classic.rebalancing import Rebalancing
from odradek.coordinators.groups.classic.table import ClassicTable
from odradek.coordinators.groups.context import Deadline, Due, GroupContext
from odradek.coordinators.groups.events import happened
from odradek.coordinators.result import NOTHING, Answer, CoordinatorResult, RequestContext
from odradek.model.error_code import ErrorCode
from odradek.model.errors import BrokerError
from odradek.wire.messages.join_group import JoinGroupRequest, JoinGroupResponse, JoinGroupResponseMember
from odradek.wire.records.classic_group import GroupMetadataValue

NEW_MEMBER_TIMEOUT_MS = 300_000
"""How long a member may wait for its first generation, in which it sends no heartbeats."""

_REBALANCE_TIMEOUT_SINCE = 1
ID_REQUIRED_SINCE = 4
_SKIP_ASSIGNMENT_SINCE = 9


class Joining:
    def __init__(self, table: ClassicTable, rebalancing: Rebalancing, context: GroupContext) -> None:
        self._table = table
        self._rebalancing = rebalancing
        self._context = context

    def join(self, asked: RequestContext, request: JoinGroupRequest) -> CoordinatorResult:
        group_id = request.group_id
        group = self._table.find(group_id)
        if self._table.is_taken(group_id):
            return asked.answer(join_refused(asked.version, ErrorCode.INCONSISTENT_GROUP_PROTOCOL))
        if group is None:
            if request.member_id:
                return asked.answer(join_refused(asked.version, ErrorCode.UNKNOWN_MEMBER_ID, request.member_id))
            group = self._table.form(group_id)
        decision = self._join(asked, request, group)
        return CoordinatorResult(self._table.first_records(group)) + decision

    def _join(self, asked: RequestContext, request: JoinGroupRequest, group: ClassicGroup) -> CoordinatorResult:
        if not self._has_room(group, request.member_id):
            return self._turn_away(asked, request, group)
        if not group.supports(request.protocol_type, _protocols(request)):
            return asked.answer(join_refused(asked.version, ErrorCode.INCONSISTENT_GROUP_PROTOCOL, request.member_id))
        if request.member_id:
            return self._existing(asked, request, group)
        prefix = asked.client_id if request.group_instance_id is None else request.group_instance_id
        member_id = f"{prefix}-{self._context.new_id()}"
        if request.group_instance_id is not None:
            holder = group.static.get(request.group_instance_id)
            if holder is not None:
                return self._replace(asked, request, group, group.members[holder], member_id)
        elif asked.version >= ID_REQUIRED_SINCE:
            return self._announce(asked, request, group, member_id)
        return self._add(asked, request, group, member_id)

    def _has_room(self, group: ClassicGroup, member_id: str) -> bool:
        most = self._context.config().group_max_size
        member = group.members.get(member_id)
        if group.state is State.EMPTY or len(group.members) < most:
            return True
        if group.state is State.PREPARING_REBALANCE:
            joined_count = sum(each.joining is not None for each in group.members.values())
            return joined_count < most or (member is not None and member.joining is not None)
        return member is not None

    def _turn_away(self, asked: RequestContext, request: JoinGroupRequest, group: ClassicGroup) -> CoordinatorResult:
        result = asked.answer(join_refused(asked.version, ErrorCode.GROUP_MAX_SIZE_REACHED))
        member = group.members.get(request.member_id)
        if member is None:
            group.remove(request.member_id)
            return result
        # It may have been the last that the others waited for. In Kafka they wait until the rebalance times out.
        result += self._rebalancing.remove_member(group, member, "the group has group.max.size members without it")
        return result + self._rebalancing.rebalance(group, f"{member.member_id} was removed")

    # --- members that come for the first time

    def _announce(
        self, asked: RequestContext, request: JoinGroupRequest, group: ClassicGroup, member_id: str
    ) -> CoordinatorResult:
        """The client has to come again with the id that it is told: one that gives up leaves no member behind."""
        group.pending.add(member_id)
        deadline = Deadline(Due.SESSION, group.group_id, member_id)
        self._context.timers.set(deadline, request.session_timeout_ms)
        return asked.answer(join_refused(asked.version, ErrorCode.MEMBER_ID_REQUIRED, member_id))

    def _add(
        self, asked: RequestContext, request: JoinGroupRequest, group: ClassicGroup, member_id: str
    ) -> CoordinatorResult:
        member = ClassicMember(
            member_id=member_id,
            instance_id=request.group_instance_id,
            client_id=asked.client_id,
            client_host=asked.client_host,
            rebalance_timeout_ms=rebalance_timeout_ms(asked, request),
            session_timeout_ms=request.session_timeout_ms,
            protocols=_protocols(request),
            joining=asked,
            is_new=True,
        )
        if group.initial is not None:
            group.initial = group.initial._replace(grew=True)
        group.add(member, request.protocol_type)
        self._context.timers.set(Deadline(Due.SESSION, group.group_id, member_id), NEW_MEMBER_TIMEOUT_MS)
        return self._rebalancing.rebalance(group, _said(f"{member_id} joins", request))

    # --- members that come again

    def _existing(self, asked: RequestContext, request: JoinGroupRequest, group: ClassicGroup) -> CoordinatorResult:
        if request.member_id in group.pending:
            if request.group_instance_id is not None:  # ids are given out to members that are not static
                return asked.answer(join_refused(asked.version, ErrorCode.UNKNOWN_SERVER_ERROR))
            return self._add(asked, request, group, request.member_id)
        try:
            member = group.member(request.member_id, request.group_instance_id)
        except BrokerError as error:
            return asked.answer(join_refused(asked.version, error.code, request.member_id))
        is_leader = member.member_id == group.leader
        is_same = member.protocols == _protocols(request)
        if group.state is State.COMPLETING_REBALANCE and is_same:
            return asked.answer(joined(group, member.member_id, members_of(group) if is_leader else ()))
        if group.state is State.STABLE and is_same and not is_leader:
            return asked.answer(joined(group, member.member_id))
        # A leader that joins a stable group again wants to assign again: its topics have more partitions now.
        return self._rejoin(asked, request, group, member)

    def _rejoin(
        self, asked: RequestContext, request: JoinGroupRequest, group: ClassicGroup, member: ClassicMember
    ) -> CoordinatorResult:
        result = NOTHING
        if member.joining is not None:  # it asked before, and has given that up
            refusal = join_refused(member.joining.version, ErrorCode.REBALANCE_IN_PROGRESS, member.member_id)
            result = CoordinatorResult(answers=(Answer(member.joining.ticket, refusal),))
        _update(member, asked, request)
        member.joining = asked
        return result + self._rebalancing.rebalance(group, _said(f"{member.member_id} joins again", request))

    def _replace(
        self, asked: RequestContext, request: JoinGroupRequest, group: ClassicGroup, member: ClassicMember, new_id: str
    ) -> CoordinatorResult:
        """A static member has restarted. Its place in a stable group is still there for it."""
        old_id = member.member_id
        result = CoordinatorResult(answers=tuple(answers_to_waiting(member, ErrorCode.FENCED_INSTANCE_ID, old_id)))
        _update(member, asked, request)
        member.is_new = False
        session = Deadline(Due.SESSION, group.group_id, new_id)
        if group.state is State.STABLE and group.elect_protocol() == group.protocol:
            # The deadline of the old id stays. It has no meaning once the record is written.
            self._context.timers.set(session, member.session_timeout_ms)
            stored = record.renamed(group, old_id, new_id)
            assert isinstance(stored.value, GroupMetadataValue)
            result += happened(
                "a static member is back", group.group_id, instance=member.instance_id, member=new_id, was=old_id
            )
            return result + asked.answer(
                _replaced_without_rebalance(asked, group, old_id, new_id, stored.value), stored
            )
        self._context.timers.cancel(Deadline(Due.SESSION, group.group_id, old_id))
        group.rename(old_id, new_id)
        self._context.timers.set(session, member.session_timeout_ms)
        member.joining = asked
        return result + self._rebalancing.rebalance(group, f"static member {member.instance_id} is back")


def _replaced_without_rebalance(
    asked: RequestContext, group: ClassicGroup, old_id: str, new_id: str, value: GroupMetadataValue
) -> JoinGroupResponse:
    """What a static member is told that restarted without a rebalance."""
    is_leader = group.leader == old_id
    if asked.version < _SKIP_ASSIGNMENT_SINCE or not is_leader:
        # Told the old id of the leader, a client that cannot skip the assignment does not know that it leads.
        return joined(group, new_id)
    members = tuple(
        JoinGroupResponseMember(
            member_id=each.member_id, group_instance_id=each.group_instance_id, metadata=each.subscription
        )
        for each in value.members
    )
    return JoinGroupResponse(
        generation_id=group.generation,
        protocol_type=group.protocol_type,
        protocol_name=group.protocol,
        leader=new_id,
        skip_assignment=True,
        member_id=new_id,
        members=members,
    )


def _update(member: ClassicMember, asked: RequestContext, request: JoinGroupRequest) -> None:
    member.protocols = _protocols(request)
    member.rebalance_timeout_ms = rebalance_timeout_ms(asked, request)
    member.session_timeout_ms = request.session_timeout_ms


def _said(reason: str, request: JoinGroupRequest) -> str:
    """With what the client says of it."""
    return f"{reason}: {request.reason}" if request.reason else reason


def _protocols(request: JoinGroupRequest) -> tuple[Protocol, ...]:
    return tuple(Protocol(each.name, each.metadata) for each in request.protocols)


def rebalance_timeout_ms(asked: RequestContext, request: JoinGroupRequest) -> int:
    """The first version has one timeout for both."""
    return request.rebalance_timeout_ms if asked.version >= _REBALANCE_TIMEOUT_SINCE else request.session_timeout_ms
