"""From one generation of a classic group to the next: members are called, joined, and told.

A rebalance writes nothing: until its leader has assigned, a generation is not recorded, and a restart falls back on the
one before. Only a group that has become empty is written at once.
"""

from odradek.coordinators.groups.classic import record
from odradek.coordinators.groups.classic.answers import answers_to_waiting, joined, members_of
from odradek.coordinators.groups.classic.group import ClassicGroup, InitialDelay, State
from odradek.coordinators.groups.classic.member import ClassicMember
from odradek.coordinators.groups.context import Deadline, Due, GroupContext
from odradek.coordinators.groups.events import happened, removed
from odradek.coordinators.result import NOTHING, Answer, CoordinatorResult
from odradek.model.error_code import ErrorCode
from odradek.wire.messages.sync_group import SyncGroupResponse

_WRITE_AGAIN_MS = 1000
"""When to try again if it cannot be written that a group is empty."""


class Rebalancing:
    def __init__(self, context: GroupContext) -> None:
        self._context = context
        self._timers = context.timers

    # --- sessions

    def reschedule_session(self, group: ClassicGroup, member: ClassicMember) -> None:
        """A sign of life within the session timeout from now."""
        self._timers.set(Deadline(Due.SESSION, group.group_id, member.member_id), member.session_timeout_ms)

    def drop(self, group: ClassicGroup, member: ClassicMember) -> CoordinatorResult:
        """The member is out, whatever follows from that."""
        self._timers.cancel(Deadline(Due.SESSION, group.group_id, member.member_id))
        group.remove(member.member_id)
        return CoordinatorResult(answers=tuple(answers_to_waiting(member, ErrorCode.UNKNOWN_MEMBER_ID, "")))

    def remove_member(self, group: ClassicGroup, member: ClassicMember, reason: str) -> CoordinatorResult:
        """The same where the member did not ask for it."""
        return self.drop(group, member) + removed(group.group_id, member.member_id, reason)

    # --- the phases

    def rebalance(self, group: ClassicGroup, reason: str) -> CoordinatorResult:
        """Members came, changed or left: begin a rebalance, or end the one under way if all have joined."""
        return self.end_if_joined(group) if group.state is State.PREPARING_REBALANCE else self.begin(group, reason)

    def begin(self, group: ClassicGroup, reason: str) -> CoordinatorResult:
        result = happened("a group rebalances", group.group_id, generation=group.generation, reason=reason)
        if group.state is State.COMPLETING_REBALANCE:
            result += self._take_back(group)
        group.unsynced.clear()
        self._timers.cancel(Deadline(Due.SYNC, group.group_id))
        is_initial = group.is_empty
        group.state = State.PREPARING_REBALANCE
        group.changed_ms = self._context.clock.now_ms()
        if is_initial:
            delay_ms = self._context.config().group_initial_rebalance_delay_ms
            group.initial = InitialDelay(delay_ms, max(group.rebalance_timeout_ms - delay_ms, 0))
            self._timers.set(Deadline(Due.JOIN, group.group_id), delay_ms)
            return result
        if group.has_all_joined:
            return result + self.end(group)
        self._timers.set(Deadline(Due.JOIN, group.group_id), group.rebalance_timeout_ms)
        return result

    def begin_unless_written(self, group: ClassicGroup) -> None:
        """The assignments are about to be recorded. Where they cannot be, nobody is left to wait for them."""
        self._timers.set(Deadline(Due.JOIN, group.group_id), 0)

    def end_if_joined(self, group: ClassicGroup) -> CoordinatorResult:
        """The first rebalance of a group waits for its time in any case."""
        return self.end(group) if group.initial is None and group.has_all_joined else NOTHING

    def end(self, group: ClassicGroup) -> CoordinatorResult:
        """The next generation is who has joined, and static members, who may come later."""
        join = Deadline(Due.JOIN, group.group_id)
        self._timers.cancel(join)
        result = NOTHING
        for member in list(group.members.values()):
            if member.joining is None and member.instance_id is None:
                result += self.remove_member(group, member, "it did not join the rebalance in time")
        if not group.members:
            self._timers.set(join, _WRITE_AGAIN_MS)
            result += happened("a group is empty", group.group_id, generation=group.generation)
            return result + CoordinatorResult((record.emptied(group, self._context.clock.now_ms()),))
        if not group.elect_joined():
            self._timers.set(join, group.rebalance_timeout_ms)
            return result
        return result + self._next_generation(group)

    def _next_generation(self, group: ClassicGroup) -> CoordinatorResult:
        group.generation += 1
        group.protocol = group.elect_protocol()
        group.topics = group.subscribed_topics()
        group.state = State.COMPLETING_REBALANCE
        group.changed_ms = self._context.clock.now_ms()
        group.initial = None
        group.unsynced = set(group.members)
        answers = []
        for member in group.members.values():
            if member.joining is not None:
                others = members_of(group) if member.member_id == group.leader else ()
                answers.append(Answer(member.joining.ticket, joined(group, member.member_id, others)))
            member.joining = None
            member.is_new = False
            self.reschedule_session(group, member)
        self._timers.set(Deadline(Due.SYNC, group.group_id), group.rebalance_timeout_ms)
        return CoordinatorResult(answers=tuple(answers)) + happened(
            "a group has a new generation",
            group.group_id,
            generation=group.generation,
            members=len(group.members),
            leader=group.leader,
            assignor=group.protocol,
        )

    def _take_back(self, group: ClassicGroup) -> CoordinatorResult:
        """A generation ends before its leader has assigned."""
        answers = []
        for member in group.members.values():
            member.assignment = b""
            if member.syncing is not None:
                refusal = SyncGroupResponse(error_code=ErrorCode.REBALANCE_IN_PROGRESS)
                answers.append(Answer(member.syncing.ticket, refusal))
                member.syncing = None
                self.reschedule_session(group, member)
        return CoordinatorResult(answers=tuple(answers))

    # --- deadlines

    def join_due(self, group: ClassicGroup) -> CoordinatorResult:
        if group.state is State.COMPLETING_REBALANCE:
            return self.begin(group, "its assignments could not be written")
        if group.state is not State.PREPARING_REBALANCE:
            return NOTHING
        initial = group.initial
        if initial is None or not initial.grew or not initial.remaining_ms:
            return self.end(group)
        delay_ms = min(self._context.config().group_initial_rebalance_delay_ms, initial.remaining_ms)
        group.initial = InitialDelay(delay_ms, max(initial.remaining_ms - initial.delay_ms, 0))
        self._timers.set(Deadline(Due.JOIN, group.group_id), delay_ms)
        return NOTHING

    def sync_due(self, group: ClassicGroup) -> CoordinatorResult:
        """Those who have not asked for their assignment are out, and the others begin anew."""
        if group.state not in (State.COMPLETING_REBALANCE, State.STABLE) or not group.unsynced:
            return NOTHING
        result = NOTHING
        for member in list(group.members.values()):
            if member.member_id in group.unsynced:
                result += self.remove_member(group, member, "it did not ask for its assignment in time")
        return result + self.begin(group, "members did not ask for their assignments in time")

    def session_due(self, group: ClassicGroup, member_id: str) -> CoordinatorResult:
        if member_id in group.pending:
            group.remove(member_id)
            return self._end_without_delay(group)
        member = group.members.get(member_id)
        if member is None or member.is_waiting:
            return NOTHING
        result = self.remove_member(group, member, f"no heartbeat for {member.session_timeout_ms} ms")
        if group.state is State.PREPARING_REBALANCE:
            return result + self._end_without_delay(group)
        return result + self.begin(group, f"{member_id} was removed")

    def _end_without_delay(self, group: ClassicGroup) -> CoordinatorResult:
        """When somebody is given up, not even the first rebalance waits any longer: so Kafka does it."""
        if group.state is State.PREPARING_REBALANCE and group.has_all_joined:
            return self.end(group)
        return NOTHING
