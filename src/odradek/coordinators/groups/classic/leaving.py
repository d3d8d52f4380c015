"""LeaveGroup: members say that they go, or somebody says it for static ones."""

from odradek.coordinators.groups import events
from odradek.coordinators.groups.classic.group import ClassicGroup
from odradek.coordinators.groups.classic.member import ClassicMember
from odradek.coordinators.groups.classic.rebalancing import Rebalancing
from odradek.coordinators.groups.context import Deadline, Due, GroupContext
from odradek.coordinators.groups.errors import UnknownMember
from odradek.coordinators.result import NOTHING, CoordinatorResult, RequestContext
from odradek.model.error_code import ErrorCode
from odradek.model.errors import BrokerError
from odradek.wire.messages.leave_group import LeaveGroupRequest, LeaveGroupResponse, MemberIdentity, MemberResponse

_MANY_SINCE = 3


class Leaving:
    def __init__(self, rebalancing: Rebalancing, context: GroupContext) -> None:
        self._rebalancing = rebalancing
        self._timers = context.timers

    def leave(self, asked: RequestContext, request: LeaveGroupRequest, group: ClassicGroup | None) -> CoordinatorResult:
        result, results = NOTHING, []
        for identity in leaving_members(asked, request):
            code = ErrorCode.NONE
            try:
                result += self._leave(identity, group)
            except BrokerError as error:
                code = error.code
            results.append(left(identity, code))
        has_left = any(each.error_code == ErrorCode.NONE for each in results)
        if group is not None and has_left and not group.is_empty:
            result += self._rebalancing.rebalance(group, "members left")
        return result + asked.answer(leave_response(asked, tuple(results)))

    def _leave(self, identity: MemberIdentity, group: ClassicGroup | None) -> CoordinatorResult:
        if group is None:
            raise UnknownMember("no such group")
        member_id = identity.member_id
        if not member_id:
            if identity.group_instance_id not in group.static:
                raise UnknownMember(f"group {group.group_id} has no static member {identity.group_instance_id}")
            return self._drop(group, group.members[group.static[identity.group_instance_id]], identity)
        if member_id in group.pending:
            group.remove(member_id)
            self._timers.cancel(Deadline(Due.SESSION, group.group_id, member_id))
            return NOTHING
        return self._drop(group, group.member(member_id, identity.group_instance_id), identity)

    def _drop(self, group: ClassicGroup, member: ClassicMember, identity: MemberIdentity) -> CoordinatorResult:
        result = events.left(group.group_id, member.member_id, identity.reason)
        return self._rebalancing.drop(group, member) + result


def leaving_members(asked: RequestContext, request: LeaveGroupRequest) -> tuple[MemberIdentity, ...]:
    """Early versions know one member, and no static ones."""
    return request.members if asked.version >= _MANY_SINCE else (MemberIdentity(member_id=request.member_id),)


def left(identity: MemberIdentity, code: ErrorCode) -> MemberResponse:
    return MemberResponse(member_id=identity.member_id, group_instance_id=identity.group_instance_id, error_code=code)


def leave_response(asked: RequestContext, results: tuple[MemberResponse, ...]) -> LeaveGroupResponse:
    if asked.version >= _MANY_SINCE:
        return LeaveGroupResponse(members=results)
    return LeaveGroupResponse(error_code=results[0].error_code)
