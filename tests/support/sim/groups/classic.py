"""A consumer of the classic protocol: eager, or cooperative as of KIP-429; with an instance id, a static member.

An eager one gives everything back before it joins again. A cooperative one keeps what it has, gives back what the next
generation takes from it, and then joins once more, so that others can have that.
"""

from collections.abc import Callable
from enum import Enum, auto
from functools import partial
from typing import TYPE_CHECKING, Any

from odradek.model.error_code import ErrorCode
from odradek.wire.messages.heartbeat import HeartbeatRequest, HeartbeatResponse
from odradek.wire.messages.join_group import JoinGroupRequest, JoinGroupRequestProtocol, JoinGroupResponse
from odradek.wire.messages.leave_group import LeaveGroupRequest, MemberIdentity
from odradek.wire.messages.sync_group import SyncGroupRequest, SyncGroupRequestAssignment, SyncGroupResponse
from support.sim.admin import partitions_of
from support.sim.groups.assignors import (
    Assignor,
    Subscribed,
    cooperative_assignor,
    range_assignor,
    roundrobin_assignor,
)
from support.sim.groups.consumer import RETRIABLE, Claim, Consumer
from support.sim.groups.embedded import assignment_bytes, read_assignment, read_subscription, subscription_bytes
from support.sim.groups.spec import Protocol, Spec

if TYPE_CHECKING:
    from odradek.model.topic_partition import TopicPartition
    from support.sim.groups.world import World

_ASSIGNORS: dict[Protocol, Assignor] = {
    Protocol.RANGE: range_assignor,
    Protocol.ROUNDROBIN: roundrobin_assignor,
    Protocol.COOPERATIVE: cooperative_assignor,
}
_NO_GENERATION = -1
_TIMEOUT_MS = 5_000
_BACKOFF_MS = 100
_BATCHED_LEAVE = 3


class Step(Enum):
    OUT = auto()
    """It has to join, and has not begun to."""
    PREPARING = auto()
    """It commits before it joins."""
    JOINING = auto()
    SYNCING = auto()
    STABLE = auto()


class ClassicConsumer(Consumer):
    def __init__(self, world: "World", spec: Spec) -> None:
        super().__init__(world, spec)
        self.step = Step.OUT
        self._rejoins = False
        """It is stable, but has a reason to join again at the next poll."""
        self._attempt = 0
        """Counts the times that it began to join: what comes of an attempt that was given up means nothing."""
        self._not_before_ms = 0
        self._beating = False
        self.assigned_over: frozenset[TopicPartition] | None = None
        """The partitions that it looked at when it assigned, as long as it leads."""
        self._led_topics: tuple[str, ...] = ()

    @property
    def is_cooperative(self) -> bool:
        return self.spec.protocol is Protocol.COOPERATIVE

    def claim(self) -> Claim | None:
        if self.step in (Step.STABLE, Step.PREPARING) and self.epoch != _NO_GENERATION:
            return Claim(self.member_id, self.epoch)
        return None

    def is_at_rest(self) -> bool:
        return self.step is Step.STABLE and not self._rejoins

    # --- joining

    def _poll(self) -> None:
        if self.step is Step.STABLE and self._has_changed_topics():
            self._rejoins = True
        is_wanted = self.step is Step.OUT or (self.step is Step.STABLE and self._rejoins)
        if is_wanted and self.line.is_ready and self.world.events.now_ms >= self._not_before_ms:
            self._prepare()

    def _has_changed_topics(self) -> bool:
        return self.assigned_over is not None and partitions_of(self.image, self._led_topics) != self.assigned_over

    def _prepare(self) -> None:
        was_stable = self.step is Step.STABLE
        self.step = Step.PREPARING
        self._rejoins = False
        self._attempt += 1
        join = partial(self._join, self._attempt)
        if was_stable:
            self._commit(self.positions, join)
        else:
            join()

    def _join(self, attempt: int) -> None:
        if self.is_closing or attempt != self._attempt:
            return
        self.step = Step.JOINING
        self.assigned_over = None
        if not self.is_cooperative or self.epoch == _NO_GENERATION:
            self._own(())
        metadata = subscription_bytes(self._subscription(), self.spec.versions.subscription)
        request = JoinGroupRequest(
            group_id=self.spec.group_id,
            session_timeout_ms=self.spec.session_ms,
            rebalance_timeout_ms=self.spec.poll_max_ms,
            member_id=self.member_id,
            group_instance_id=self.spec.instance_id,
            protocol_type="consumer",
            protocols=(JoinGroupRequestProtocol(name=self.spec.protocol.value, metadata=metadata),),
        )
        self._ask(request, self.spec.versions.join, self._joined)

    def _ask(self, request: JoinGroupRequest | SyncGroupRequest, version: int, then: Callable[[Any], None]) -> None:
        """For what may take as long as a rebalance. An answer counts only as long as nothing else was begun."""
        attempt = self._attempt

        def answered(response: JoinGroupResponse | SyncGroupResponse) -> None:
            if attempt == self._attempt:
                then(response)

        def lost() -> None:
            if attempt == self._attempt:
                self._out()

        self.line.ask(request, version, self.spec.poll_max_ms + _TIMEOUT_MS, answered, lost)

    def _subscription(self) -> Subscribed:
        if not self.is_cooperative:
            return Subscribed(self.spec.topics)
        return Subscribed(self.spec.topics, tuple(sorted(self.positions)), self.epoch)

    def _joined(self, response: JoinGroupResponse) -> None:
        error = ErrorCode(response.error_code)
        if error is ErrorCode.MEMBER_ID_REQUIRED:
            self.member_id = response.member_id
            self._join(self._attempt)
        elif error:
            self._refused(error)
        else:
            self.member_id, self.epoch = response.member_id, response.generation_id
            self.step = Step.SYNCING
            self.world.owned(self)
            self._sync(response)

    def _sync(self, response: JoinGroupResponse) -> None:
        assignments: tuple[SyncGroupRequestAssignment, ...] = ()
        if response.leader == self.member_id:
            assignments = self._assign(response)
        request = SyncGroupRequest(
            group_id=self.spec.group_id,
            generation_id=self.epoch,
            member_id=self.member_id,
            group_instance_id=self.spec.instance_id,
            protocol_type="consumer",
            protocol_name=self.spec.protocol.value,
            assignments=assignments,
        )
        self._ask(request, self.spec.versions.sync, self._synced)

    def _assign(self, response: JoinGroupResponse) -> tuple[SyncGroupRequestAssignment, ...]:
        members = {each.member_id: read_subscription(each.metadata) for each in response.members}
        self.image = self.world.admin.image  # a leader refreshes its metadata before it assigns
        self._led_topics = tuple(sorted({topic for member in members.values() for topic in member.topics}))
        self.assigned_over = partitions_of(self.image, self._led_topics)
        if response.skip_assignment:
            return ()
        self.world.assigned(self)
        assigned = _ASSIGNORS[self.spec.protocol](members, self.image)
        return tuple(
            SyncGroupRequestAssignment(member_id=member_id, assignment=assignment_bytes(partitions))
            for member_id, partitions in assigned.items()
        )

    def _synced(self, response: SyncGroupResponse) -> None:
        if response.error_code:
            self._refused(ErrorCode(response.error_code))
            return
        self.step = Step.STABLE
        before = self.owned
        self._own(read_assignment(response.assignment))
        self._rejoins = self.is_cooperative and not before <= self.owned

    # --- being in the group

    def _beat(self) -> None:
        self.process.later(self.spec.heartbeat_ms, self._beat)
        if self.step in (Step.OUT, Step.JOINING) or self.epoch == _NO_GENERATION or self.is_closing:
            return
        if self._has_to_leave():
            self._poll_too_late()
        elif self.line.is_ready and not self._beating:
            self._beating = True
            self._send_beat()

    def _send_beat(self) -> None:
        claim = Claim(self.member_id, self.epoch)

        def answered(response: HeartbeatResponse) -> None:
            self._beating = False
            error = ErrorCode(response.error_code)
            if error is ErrorCode.REBALANCE_IN_PROGRESS:
                self._rejoins = self._rejoins or self.step is Step.STABLE
            elif error and error not in RETRIABLE and claim == (self.member_id, self.epoch):
                self._refused(error)

        request = HeartbeatRequest(
            group_id=self.spec.group_id,
            generation_id=self.epoch,
            member_id=self.member_id,
            group_instance_id=self.spec.instance_id,
        )
        self.line.ask(request, self.spec.versions.heartbeat, _TIMEOUT_MS, answered, self._not_beaten)

    def _not_beaten(self) -> None:
        self._beating = False

    def _commit_refused(self, error: ErrorCode, claim: Claim) -> None:
        if claim != (self.member_id, self.epoch):
            return
        if error is ErrorCode.REBALANCE_IN_PROGRESS:
            self._rejoins = True
        else:
            self._refused(error)

    def _refused(self, error: ErrorCode) -> None:
        """It is no member of this generation, or of none."""
        if error in (ErrorCode.FENCED_INSTANCE_ID, ErrorCode.GROUP_MAX_SIZE_REACHED):
            self._gone()
            return
        if error is ErrorCode.UNKNOWN_MEMBER_ID:
            self._forget()
        elif error is ErrorCode.ILLEGAL_GENERATION:
            self._forget(self.member_id)
        elif error not in RETRIABLE and error is not ErrorCode.REBALANCE_IN_PROGRESS:
            self.world.unexpected(self, error)
        self._not_before_ms = self.world.events.now_ms + _BACKOFF_MS
        self._out()

    def _forget(self, member_id: str = "") -> None:
        """What it owned is lost: there is no telling whether somebody else has it."""
        self.member_id, self.epoch = member_id, _NO_GENERATION
        self._out()
        self._own(())

    def _out(self) -> None:
        """It joins at the next poll."""
        self._attempt += 1
        self.step = Step.OUT
        self.world.owned(self)

    # --- leaving

    def _poll_too_late(self) -> None:
        if self.spec.instance_id is None:
            self._send_leave(_nothing)
        self._forget("" if self.spec.instance_id is None else self.member_id)

    def _leave(self) -> None:
        if self.spec.instance_id is not None or not self.member_id:
            self._gone()
        else:
            self._own(())
            self._send_leave(self._gone)

    def _send_leave(self, then: Callable[[], None]) -> None:
        batched = self.spec.versions.leave >= _BATCHED_LEAVE
        request = LeaveGroupRequest(
            group_id=self.spec.group_id,
            member_id="" if batched else self.member_id,
            members=(MemberIdentity(member_id=self.member_id),) if batched else (),
        )
        self.line.ask(request, self.spec.versions.leave, _TIMEOUT_MS, lambda _: then(), then)


def _nothing() -> None:
    return
