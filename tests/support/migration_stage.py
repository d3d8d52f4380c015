"""Groups that move between the protocols, without a broker: consumers of both kinds, and time moved by hand."""

from collections.abc import Callable, Hashable, Iterable, Mapping, Sequence
from enum import Enum, auto
from struct import Struct

from odradek.coordinators.groups.context import Deadline, GroupContext
from odradek.coordinators.groups.group import GroupKind
from odradek.coordinators.groups.shard import GroupShard
from odradek.coordinators.result import CoordinatorResult, RequestContext
from odradek.model.broker_config import BrokerConfig
from odradek.model.error_code import ErrorCode
from odradek.model.group_config import GroupConfig
from odradek.model.numbers import Offset
from odradek.wire.codec import decode, encode
from odradek.wire.messages.consumer_group_heartbeat import (
    ConsumerGroupHeartbeatRequest,
    ConsumerGroupHeartbeatResponse,
)
from odradek.wire.messages.heartbeat import HeartbeatRequest, HeartbeatResponse
from odradek.wire.messages.join_group import JoinGroupRequest, JoinGroupRequestProtocol, JoinGroupResponse
from odradek.wire.messages.leave_group import LeaveGroupRequest, LeaveGroupResponse, MemberIdentity
from odradek.wire.messages.sync_group import SyncGroupRequest, SyncGroupRequestAssignment, SyncGroupResponse
from odradek.wire.records.consumer_protocol import (
    ConsumerProtocolAssignment,
    ConsumerProtocolSubscription,
    TopicPartition,
)
from odradek.wire.schema import Message
from odradek.wire.stored import CONSUMER_OFFSETS, write_coordinator_key, write_coordinator_value
from support.clock import ManualClock
from support.consumer_stage import GROUP, REBALANCE_MS, Consumer, ConsumerStage, Owned

CLASSIC_SESSION_MS = 30_000
_INT16 = Struct(">h")
_LOST = (ErrorCode.UNKNOWN_MEMBER_ID, ErrorCode.ILLEGAL_GENERATION, ErrorCode.FENCED_INSTANCE_ID)


class MigrationStage(ConsumerStage):
    """All kinds of groups. Answers come by ticket, now or later."""

    def __init__(self, config: BrokerConfig | None = None, clock: ManualClock | None = None) -> None:
        """Nobody waits for others to come, unless the settings say so."""
        super().__init__(
            config or BrokerConfig(group_consumer_assignment_interval_ms=0, group_initial_rebalance_delay_ms=0), clock
        )
        context = GroupContext(
            config=lambda: self.config,
            group_config=lambda _: GroupConfig.parse(self.group_texts, self.config),
            image=lambda: self.image,
            clock=self.clock,
            timers=self.timers,
            new_id=self.new_id,
        )
        self.shard = GroupShard(context)
        self.groups = self.shard.groups
        self.consumer = self.shard.consumer
        self.members = self.shard.membership
        self.answers: dict[Hashable, Message] = {}
        self._tickets = 0

    def restarted(self) -> "MigrationStage":
        """Another broker on the same log, at the same time."""
        stage = MigrationStage(self.config, self.clock)
        stage._ids, stage.image, stage.log = self._ids, self.image, list(self.log)
        stage._tickets = self._tickets
        for key, value in self.log:
            stage._replay(key, value)
        stage.perform(stage.shard.loaded())
        return stage

    @property
    def kind(self) -> GroupKind:
        return self.groups[GROUP].kind

    # --- requests

    def ask(self, request: ConsumerGroupHeartbeatRequest, version: int = 1) -> ConsumerGroupHeartbeatResponse | None:
        asked = self.asked(version)
        self.perform(self.members.consumer_heartbeat(asked, request))
        answer = self.answers.get(asked.ticket)
        assert answer is None or isinstance(answer, ConsumerGroupHeartbeatResponse)
        return answer

    def asked(self, version: int) -> RequestContext:
        self._tickets += 1
        return RequestContext(self._tickets, version, "client", "/127.0.0.1")

    def perform(self, decision: CoordinatorResult) -> list[Message]:
        if decision.records and self.is_full:
            return []
        for stored in decision.records:
            value = None if stored.value is None else write_coordinator_value(stored.value, stored.version)
            self.log.append((write_coordinator_key(stored.key), value))
            self._replay(*self.log[-1])
        for ticket, response in decision.answers:
            assert ticket not in self.answers, f"{ticket} is answered twice"
            self.answers[ticket] = response
        self.events += decision.effects
        return [answer.response for answer in decision.answers]

    def _replay(self, key: bytes, value: bytes | None) -> None:
        read = CONSUMER_OFFSETS.read_key(key)
        self.shard.replay(Offset(0), read, None if value is None else CONSUMER_OFFSETS.read_value(read, value)[0])

    # --- time

    def advance(self, ms: int) -> None:
        end = self.clock.now_ms() + ms
        while (at := self.timers.next_ms) is not None and at <= end:
            self.clock.advance(max(at - self.clock.now_ms(), 0))
            for deadline in self.timers.due():
                assert isinstance(deadline, Deadline)
                self.perform(self.shard.expired(deadline))
        self.clock.advance(end - self.clock.now_ms())

    def run(self, *members: "Consumer | ClassicConsumer", rounds: int = 100) -> None:
        """A step of each in turn, until nobody has anything to do."""
        for _ in range(rounds):
            before = (len(self.log), [member.has for member in members])
            for member in members:
                move(member)
                self.advance(1)
            after = (len(self.log), [member.has for member in members])
            are_in = all(member.is_in for member in members if isinstance(member, ClassicConsumer))
            if before == after and are_in and (not members or self.groups[GROUP].state_name == "Stable"):
                return
        raise AssertionError(f"the group is {self.groups[GROUP].state_name} after {rounds} rounds")


def move(member: "Consumer | ClassicConsumer") -> None:
    if isinstance(member, Consumer):
        member.beat()
    else:
        member.step()


class Phase(Enum):
    OUT = auto()
    """It is to join, or to join again."""
    JOINING = auto()
    SYNCING = auto()
    IN = auto()


class ClassicConsumer:
    """A client of the classic protocol: it joins, assigns if it leads, syncs, and does what heartbeats tell it."""

    def __init__(
        self,
        stage: MigrationStage,
        topics: Iterable[str] = ("orders",),
        *,
        cooperative: bool = True,
        instance_id: str | None = None,
        subscription_version: int = 3,
    ) -> None:
        """An eager one gives everything back before it joins again; a cooperative one only what it must."""
        self.stage = stage
        self.topics = tuple(topics)
        self.cooperative = cooperative
        self.instance_id = instance_id
        self.subscription_version = subscription_version
        self.member_id = ""
        self.generation = -1
        self.phase = Phase.OUT
        self.has: Owned = frozenset()
        self.errors: list[ErrorCode] = []
        """That it was told, in their order."""
        self.assigns: Callable[[Iterable[str]], dict[str, bytes]] | None = None
        """How it assigns to members when it leads, in place of its own way."""
        self._ticket: Hashable = None
        self._assigned: list[tuple[str, int]] | None = None
        """The partitions that there were when it assigned them as the leader."""

    @property
    def is_in(self) -> bool:
        return self.phase is Phase.IN

    @property
    def protocol(self) -> str:
        return "cooperative-sticky" if self.cooperative else "range"

    def step(self) -> None:
        """Asks one thing, or takes one answer if it is there: others may come in between."""
        match self.phase:
            case Phase.IN:
                self._beat()
            case Phase.OUT:
                self._join()
            case Phase.JOINING:
                self._take_join()
            case Phase.SYNCING:
                self._take_sync()

    def move_to(self, stage: MigrationStage) -> None:
        """The broker restarted. What this one waited for does not come any more."""
        self.stage = stage
        if not self.is_in:
            self.phase = Phase.OUT

    def leave(self) -> LeaveGroupResponse:
        identity = MemberIdentity(member_id=self.member_id, group_instance_id=self.instance_id)
        asked = self.stage.asked(5)
        request = LeaveGroupRequest(group_id=GROUP, members=(identity,))
        self.stage.perform(self.stage.members.leave(asked, request))
        self.phase, self.has, self.member_id, self.generation = Phase.OUT, frozenset(), "", -1
        answer = self.stage.answers[asked.ticket]
        assert isinstance(answer, LeaveGroupResponse)
        return answer

    # --- what it asks

    def metadata(self) -> bytes:
        owned = self.has if self.cooperative else frozenset()
        subscription = ConsumerProtocolSubscription(
            topics=self.topics, owned_partitions=_by_topic(owned), generation_id=self.generation
        )
        version = self.subscription_version
        return _INT16.pack(version) + encode(subscription, version)

    def _beat(self) -> None:
        asked = self.stage.asked(4)
        request = HeartbeatRequest(
            group_id=GROUP,
            generation_id=self.generation,
            member_id=self.member_id,
            group_instance_id=self.instance_id,
        )
        self.stage.perform(self.stage.members.heartbeat(asked, request))
        answer = self.stage.answers[asked.ticket]
        assert isinstance(answer, HeartbeatResponse)
        self._go_by(ErrorCode(answer.error_code))
        if self.is_in and self._assigned is not None and self._assigned != self._partitions(self.topics):
            self.phase = Phase.OUT  # a leader assigns again when topics have grown

    def _join(self) -> None:
        if not self.cooperative:
            self.has = frozenset()
        asked = self.stage.asked(9)
        request = JoinGroupRequest(
            group_id=GROUP,
            session_timeout_ms=CLASSIC_SESSION_MS,
            rebalance_timeout_ms=REBALANCE_MS,
            member_id=self.member_id,
            group_instance_id=self.instance_id,
            protocol_type="consumer",
            protocols=(JoinGroupRequestProtocol(name=self.protocol, metadata=self.metadata()),),
        )
        self._ticket, self.phase = asked.ticket, Phase.JOINING
        self.stage.perform(self.stage.members.join(asked, request))

    def _sync(self, assignments: Mapping[str, bytes]) -> None:
        asked = self.stage.asked(5)
        request = SyncGroupRequest(
            group_id=GROUP,
            generation_id=self.generation,
            member_id=self.member_id,
            group_instance_id=self.instance_id,
            protocol_type="consumer",
            protocol_name=self.protocol,
            assignments=tuple(
                SyncGroupRequestAssignment(member_id=member_id, assignment=assignment)
                for member_id, assignment in assignments.items()
            ),
        )
        self._ticket, self.phase = asked.ticket, Phase.SYNCING
        self.stage.perform(self.stage.members.sync(asked, request))

    # --- what it is answered

    def _take_join(self) -> None:
        answer = self.stage.answers.get(self._ticket)
        if answer is None:
            return
        assert isinstance(answer, JoinGroupResponse)
        self.phase = Phase.OUT
        if answer.error_code == ErrorCode.MEMBER_ID_REQUIRED:
            self.member_id = answer.member_id
        elif answer.error_code:
            self._go_by(ErrorCode(answer.error_code))
        else:
            self.member_id, self.generation = answer.member_id, answer.generation_id
            leads = answer.leader == self.member_id
            assigns = leads and not answer.skip_assignment
            # One that came back to its place does not know what was assigned, and assigns anew to be sure.
            self._assigned = self._partitions(self.topics) if assigns else [] if leads else None
            self._sync(self._assignments(answer) if assigns else {})

    def _take_sync(self) -> None:
        answer = self.stage.answers.get(self._ticket)
        if answer is None:
            return
        assert isinstance(answer, SyncGroupResponse)
        self.phase = Phase.OUT
        if answer.error_code:
            self._go_by(ErrorCode(answer.error_code))
            return
        given = _read_assignment(answer.assignment)
        gives_back = self.cooperative and not self.has <= given
        self.has = given
        self.phase = Phase.OUT if gives_back else Phase.IN

    def _go_by(self, error: ErrorCode) -> None:
        if error is ErrorCode.NONE:
            return
        self.errors.append(error)
        self.phase = Phase.OUT
        if error in _LOST:
            self.has, self.generation = frozenset(), -1
            if error is not ErrorCode.ILLEGAL_GENERATION:
                self.member_id = ""
        elif not self.cooperative:
            self.has = frozenset()

    # --- what it does as the leader of a classic group

    def _assignments(self, answer: JoinGroupResponse) -> dict[str, bytes]:
        """Evenly, and what members have stays with them. What one has too much, others get in the next generation."""
        told = {member.member_id: _read_subscription(member.metadata) for member in answer.members}
        if self.assigns is not None:
            return self.assigns(told)
        partitions = self._partitions(topic for subscription in told.values() for topic in subscription.topics)
        owned = {member_id: _named(subscription.owned_partitions) for member_id, subscription in told.items()}
        quota = -(-len(partitions) // len(told))
        targets = {member_id: [each for each in partitions if each in owned[member_id]][:quota] for member_id in told}
        taken = {each for target in targets.values() for each in target} | frozenset().union(*owned.values())
        for each in partitions:
            if each not in taken:
                min(targets.values(), key=len).append(each)
        return {member_id: _write_assignment(target, answer) for member_id, target in targets.items()}

    def _partitions(self, topics: Iterable[str]) -> list[tuple[str, int]]:
        known = self.stage.image.topics.names
        return [
            (name, at) for name in sorted(set(topics)) if name in known for at in range(len(known[name].partitions))
        ]


def _by_topic(partitions: Iterable[tuple[str, int]]) -> tuple[TopicPartition, ...]:
    found: dict[str, list[int]] = {}
    for topic, number in sorted(partitions):
        found.setdefault(topic, []).append(number)
    return tuple(TopicPartition(topic=topic, partitions=tuple(numbers)) for topic, numbers in found.items())


def _named(topics: Sequence[TopicPartition]) -> Owned:
    return frozenset((each.topic, number) for each in topics for number in each.partitions)


def _read_subscription(metadata: bytes) -> ConsumerProtocolSubscription:
    return decode(ConsumerProtocolSubscription, _INT16.unpack_from(metadata)[0], metadata[_INT16.size :])


def _read_assignment(data: bytes) -> Owned:
    if not data:
        return frozenset()
    return _named(decode(ConsumerProtocolAssignment, _INT16.unpack_from(data)[0], data[2:]).assigned_partitions)


def _write_assignment(partitions: Iterable[tuple[str, int]], answer: JoinGroupResponse) -> bytes:
    version = min(_INT16.unpack_from(member.metadata)[0] for member in answer.members)
    return _INT16.pack(version) + encode(ConsumerProtocolAssignment(assigned_partitions=_by_topic(partitions)), version)
