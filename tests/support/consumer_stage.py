"""Consumer groups without a broker: consumers that behave as clients do, and time and topics that are moved by hand.

Records go through their bytes before they are replayed, as they would on the way through a log.
"""

from collections.abc import Iterable
from typing import TYPE_CHECKING

from odradek.coordinators.groups.consumer.consumer_groups import ConsumerGroups
from odradek.coordinators.groups.consumer.group import ConsumerGroup
from odradek.coordinators.groups.context import Deadline, GroupContext
from odradek.coordinators.result import CoordinatorResult, Effect, RequestContext, Stored
from odradek.coordinators.timers import Timers
from odradek.metadata.delta import Delta
from odradek.metadata.image import EMPTY, Position
from odradek.model.broker_config import BrokerConfig
from odradek.model.error_code import ErrorCode
from odradek.model.group_config import GroupConfig
from odradek.model.numbers import LeaderEpoch, Offset, TimestampMs
from odradek.wire.messages.consumer_group_heartbeat import (
    ConsumerGroupHeartbeatRequest,
    ConsumerGroupHeartbeatResponse,
    TopicPartitions,
)
from odradek.wire.records.metadata import PartitionRecord, RemoveTopicRecord, TopicRecord
from odradek.wire.schema import Message
from odradek.wire.stored import CONSUMER_OFFSETS, write_coordinator_key, write_coordinator_value
from support.clock import ManualClock

if TYPE_CHECKING:
    from odradek.coordinators.groups.group import Group

GROUP = "readers"
HEARTBEAT_MS = 5_000
SESSION_MS = 45_000
REBALANCE_MS = 60_000

Owned = frozenset[tuple[str, int]]
"""Partitions by the name of their topic, or its id in hex where it is gone."""


class ConsumerStage:
    def __init__(self, config: BrokerConfig | None = None, clock: ManualClock | None = None) -> None:
        """Assignments come at once, unless the settings say otherwise: waiting for them is a story of its own."""
        self.config = config or BrokerConfig(group_consumer_assignment_interval_ms=0)
        self.clock = clock or ManualClock()
        self.timers = Timers(self.clock.now_ms)
        self.image = EMPTY
        self.log: list[tuple[bytes, bytes | None]] = []
        self.events: list[Effect] = []
        self.is_full = False
        """Whether the disk is: then nothing is appended, and nobody gets an answer that depends on it."""
        self.group_texts: dict[str, str] = {}
        """The settings of the group."""
        self.groups: dict[str, Group] = {}
        self._ids = 0
        context = GroupContext(
            config=lambda: self.config,
            group_config=lambda _: GroupConfig.parse(self.group_texts, self.config),
            image=lambda: self.image,
            clock=self.clock,
            timers=self.timers,
            new_id=self.new_id,
        )
        self.consumer = ConsumerGroups(self.groups, context)

    def restarted(self) -> "ConsumerStage":
        """Another broker on the same log, at the same time."""
        stage = ConsumerStage(self.config, self.clock)
        stage._ids, stage.image, stage.log = self._ids, self.image, list(self.log)
        for key, value in self.log:
            stage._replay(key, value)
        stage.perform(stage.consumer.loaded())
        return stage

    @property
    def group(self) -> ConsumerGroup:
        found = self.groups[GROUP]
        assert isinstance(found, ConsumerGroup)
        return found

    def new_id(self) -> str:
        self._ids += 1
        return f"id{self._ids}"

    # --- topics

    def create(self, name: str, partitions: int = 1) -> bytes:
        """Its id."""
        topic_id = (1_000 + self.image.offset).to_bytes(16, "big")
        self._change(TopicRecord(name=name, topic_id=topic_id), *_partitions(topic_id, range(partitions)))
        return topic_id

    def add_partitions(self, name: str, total: int) -> None:
        topic = self.image.topics.names[name]
        self._change(*_partitions(topic.id, range(len(topic.partitions), total)))

    def delete(self, name: str) -> None:
        self._change(RemoveTopicRecord(topic_id=self.image.topics.names[name].id))

    def _change(self, *records: Message) -> None:
        delta = Delta(self.image)
        for record in records:
            delta.replay(record)
        self.image = delta.finish(Position(Offset(self.image.offset + len(records)), LeaderEpoch(1), TimestampMs(1)))
        self.perform(self.consumer.topics_changed(delta, self.image))

    # --- requests

    def ask(self, request: ConsumerGroupHeartbeatRequest, version: int = 1) -> ConsumerGroupHeartbeatResponse | None:
        """None where no answer comes: the disk is full."""
        answers = self.perform(self.consumer.heartbeat(RequestContext(0, version, "client", "/127.0.0.1"), request))
        if not answers:
            return None
        (answer,) = answers
        assert isinstance(answer, ConsumerGroupHeartbeatResponse)
        return answer

    def perform(self, decision: CoordinatorResult) -> list[Message]:
        """The answers."""
        if decision.records and self.is_full:
            return []
        for stored in decision.records:
            key, value = _written(stored)
            self.log.append((key, value))
            self._replay(key, value)
        self.events += decision.effects
        return [answer.response for answer in decision.answers]

    def read_log(self, since: int = 0) -> list[tuple[Message, Message | None]]:
        return [_read(key, value) for key, value in self.log[since:]]

    def _replay(self, key: bytes, value: bytes | None) -> None:
        self.consumer.replay(*_read(key, value))

    # --- time

    def advance(self, ms: int) -> None:
        """All that is due on the way is done in its time."""
        end = self.clock.now_ms() + ms
        while (at := self.timers.next_ms) is not None and at <= end:
            self.clock.advance(max(at - self.clock.now_ms(), 0))
            for deadline in self.timers.due():
                assert isinstance(deadline, Deadline)
                self.perform(self.consumer.expired(deadline))
        self.clock.advance(end - self.clock.now_ms())

    def settle(self, *consumers: "Consumer", rounds: int = 10) -> None:
        """Heartbeats of all, in turn, until nothing changes."""
        for _ in range(rounds):
            size = len(self.log)
            for consumer in consumers:
                consumer.beat()
            if len(self.log) == size and self.group.state_name == "Stable":
                return
        raise AssertionError(f"the group is {self.group.state_name} after {rounds} rounds")


class Consumer:
    """A client: it says what it was not yet asked for, gives back what it is told to, and joins anew when fenced."""

    def __init__(
        self,
        stage: ConsumerStage,
        topics: Iterable[str] | None = ("orders",),
        *,
        expression: str | None = None,
        instance_id: str | None = None,
        assignor: str | None = None,
    ) -> None:
        self.stage = stage
        self.topics = None if topics is None else tuple(topics)
        self.expression = expression
        self.instance_id = instance_id
        self.assignor = assignor
        self.member_id = stage.new_id()
        self.epoch = 0
        self.owned: dict[bytes, frozenset[int]] = {}
        self.keeps = False
        """Whether it takes its time to give back what it must, and has not done so yet."""
        self.error = ErrorCode.NONE
        """Of the last answer."""
        self._wanted: dict[bytes, frozenset[int]] = {}
        self._says_all = True
        self._told_owned: dict[bytes, frozenset[int]] | None = None

    @property
    def has(self) -> Owned:
        topics = self.stage.image.topics
        return frozenset(
            (topic.name if (topic := topics.by_id(topic_id)) else topic_id.hex(), partition)
            for topic_id, partitions in self.owned.items()
            for partition in partitions
        )

    def subscribe(self, *topics: str, expression: str | None = None) -> None:
        self.topics, self.expression, self._says_all = topics, expression, True

    def beat(self, *, lost: bool = False) -> ConsumerGroupHeartbeatResponse | None:
        """Once; where the answer is lost, the consumer says all again next time."""
        if not self.keeps:
            self._give_back()
        answer = self.stage.ask(self.request())
        if lost or answer is None:
            self._says_all = True
            return None
        self._take(answer)
        return answer

    def leave(self, epoch: int = -1) -> ConsumerGroupHeartbeatResponse:
        request = ConsumerGroupHeartbeatRequest(
            group_id=GROUP, member_id=self.member_id, member_epoch=epoch, instance_id=self.instance_id
        )
        answer = self.stage.ask(request)
        assert answer is not None
        self.owned, self._wanted, self.epoch = {}, {}, 0
        return answer

    def request(self) -> ConsumerGroupHeartbeatRequest:
        says_all = self._says_all or self.epoch == 0
        told = tuple(
            TopicPartitions(topic_id=topic_id, partitions=tuple(sorted(partitions)))
            for topic_id, partitions in sorted(self.owned.items())
        )
        says_owned = says_all or self.owned != self._told_owned
        return ConsumerGroupHeartbeatRequest(
            group_id=GROUP,
            member_id=self.member_id,
            member_epoch=self.epoch,
            instance_id=self.instance_id,
            rebalance_timeout_ms=REBALANCE_MS if says_all else -1,
            subscribed_topic_names=self.topics if says_all else None,
            subscribed_topic_regex=self.expression if says_all else None,
            server_assignor=self.assignor if says_all else None,
            topic_partitions=told if says_owned else None,
        )

    def _take(self, answer: ConsumerGroupHeartbeatResponse) -> None:
        self.error = ErrorCode(answer.error_code)
        if self.error in (ErrorCode.FENCED_MEMBER_EPOCH, ErrorCode.UNKNOWN_MEMBER_ID):
            self.owned, self._wanted, self.epoch, self._says_all = {}, {}, 0, True
        if self.error is not ErrorCode.NONE:
            return
        self._says_all = False
        self._told_owned = self.owned
        self.epoch = answer.member_epoch
        if answer.assignment is not None:
            topics = answer.assignment.topic_partitions
            self._wanted = {topic.topic_id: frozenset(topic.partitions) for topic in topics}
        if all(self.owned[topic_id] <= self._wanted.get(topic_id, frozenset()) for topic_id in self.owned):
            self.owned = dict(self._wanted)

    def _give_back(self) -> None:
        kept = {
            topic_id: partitions & self._wanted.get(topic_id, frozenset())
            for topic_id, partitions in self.owned.items()
        }
        kept = {topic_id: partitions for topic_id, partitions in kept.items() if partitions}
        if kept != self.owned:
            self.owned = kept


def _partitions(topic_id: bytes, numbers: Iterable[int]) -> Iterable[PartitionRecord]:
    for number in numbers:
        yield PartitionRecord(
            partition_id=number,
            topic_id=topic_id,
            replicas=(1,),
            isr=(1,),
            removing_replicas=(),
            adding_replicas=(),
            leader=1,
            leader_epoch=0,
            partition_epoch=0,
        )


def _written(stored: Stored) -> tuple[bytes, bytes | None]:
    value = None if stored.value is None else write_coordinator_value(stored.value, stored.version)
    return write_coordinator_key(stored.key), value


def _read(key: bytes, value: bytes | None) -> tuple[Message, Message | None]:
    read = CONSUMER_OFFSETS.read_key(key)
    return read, None if value is None else CONSUMER_OFFSETS.read_value(read, value)[0]
