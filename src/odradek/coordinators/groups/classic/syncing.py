"""SyncGroup: the leader assigns, and all are told what is theirs."""

from odradek.coordinators.groups.classic import record
from odradek.coordinators.groups.classic.answers import synced
from odradek.coordinators.groups.classic.group import ClassicGroup, State
from odradek.coordinators.groups.classic.member import ClassicMember
from odradek.coordinators.groups.classic.rebalancing import Rebalancing
from odradek.coordinators.groups.context import Deadline, Due, GroupContext
from odradek.coordinators.groups.errors import (
    IllegalGeneration,
    InconsistentProtocol,
    RebalanceInProgress,
    UnknownMember,
)
from odradek.coordinators.groups.events import happened
from odradek.coordinators.result import NOTHING, Answer, CoordinatorResult, RequestContext
from odradek.model.error_code import ErrorCode
from odradek.wire.messages.sync_group import SyncGroupRequest, SyncGroupResponse

_PROTOCOL_REQUIRED_SINCE = 5


class Syncing:
    def __init__(self, rebalancing: Rebalancing, context: GroupContext) -> None:
        self._rebalancing = rebalancing
        self._timers = context.timers

    def sync(self, asked: RequestContext, request: SyncGroupRequest, group: ClassicGroup | None) -> CoordinatorResult:
        """Raises a BrokerError if the member has nothing to expect."""
        if group is None or group.is_empty:
            raise UnknownMember(f"group {request.group_id} has no members")
        member = group.member(request.member_id, request.group_instance_id)
        _check(group, request)
        if group.state is State.PREPARING_REBALANCE:
            raise RebalanceInProgress(f"group {request.group_id} rebalances")
        group.unsynced.discard(member.member_id)
        if not group.unsynced:
            self._timers.cancel(Deadline(Due.SYNC, group.group_id))
        if group.state is State.STABLE:
            return asked.answer(synced(group, member.assignment))
        result = _give_up_older(member)
        member.syncing = asked
        return result + self._assign(group, request) if member.member_id == group.leader else result

    def _assign(self, group: ClassicGroup, request: SyncGroupRequest) -> CoordinatorResult:
        self._rebalancing.begin_unless_written(group)
        assignments = {each.member_id: each.assignment for each in request.assignments}
        answers = []
        for member in group.members.values():
            if member.syncing is not None:
                response = synced(group, assignments.get(member.member_id, b""))
                answers.append(Answer(member.syncing.ticket, response))
                member.syncing = None
                self._rebalancing.reschedule_session(group, member)
        result = happened("a group is stable", group.group_id, generation=group.generation, members=len(group.members))
        return CoordinatorResult((record.assigned(group, assignments),), tuple(answers)) + result


def check_protocol_given(asked: RequestContext, request: SyncGroupRequest) -> None:
    """From one version on members must say which protocol they go by."""
    said = request.protocol_type is not None and request.protocol_name is not None
    if asked.version >= _PROTOCOL_REQUIRED_SINCE and not said:
        raise InconsistentProtocol("the member does not say which protocol it uses")


def _check(group: ClassicGroup, request: SyncGroupRequest) -> None:
    if request.generation_id != group.generation:
        raise IllegalGeneration(f"group {group.group_id} is in generation {group.generation}")
    given = (request.protocol_type, group.protocol_type), (request.protocol_name, group.protocol)
    if any(said is not None and said != known for said, known in given):
        raise InconsistentProtocol(f"group {group.group_id} uses {group.protocol_type} {group.protocol}")


def _give_up_older(member: ClassicMember) -> CoordinatorResult:
    """It asked before, and has given that up."""
    if member.syncing is None:
        return NOTHING
    refusal = SyncGroupResponse(error_code=ErrorCode.REBALANCE_IN_PROGRESS)
    return CoordinatorResult(answers=(Answer(member.syncing.ticket, refusal),))
