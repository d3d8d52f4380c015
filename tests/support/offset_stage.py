"""A shard of groups without a broker: commits and questions about them, with time and topics that are moved by hand.

Records go through their bytes before they are replayed, as they would on the way through a log.
"""

from collections.abc import Sequence

from odradek.coordinators.groups.context import GroupContext
from odradek.coordinators.groups.shard import GroupShard
from odradek.coordinators.result import CoordinatorResult, Effect, RequestContext
from odradek.coordinators.timers import Timers
from odradek.metadata.delta import Delta
from odradek.metadata.image import EMPTY, Position
from odradek.model.broker_config import BrokerConfig
from odradek.model.group_config import GroupConfig
from odradek.model.numbers import NO_PRODUCER_ID, LeaderEpoch, Offset, ProducerId, TimestampMs
from odradek.wire.messages.offset_commit import (
    OffsetCommitRequest,
    OffsetCommitRequestPartition,
    OffsetCommitRequestTopic,
    OffsetCommitResponse,
)
from odradek.wire.messages.offset_delete import (
    OffsetDeleteRequest,
    OffsetDeleteRequestPartition,
    OffsetDeleteRequestTopic,
    OffsetDeleteResponse,
)
from odradek.wire.messages.offset_fetch import (
    OffsetFetchRequestGroup,
    OffsetFetchRequestTopics,
    OffsetFetchResponseGroup,
)
from odradek.wire.records.metadata import PartitionRecord, RemoveTopicRecord, TopicRecord
from odradek.wire.records.offsets import OffsetCommitKey, OffsetCommitValue
from odradek.wire.schema import Message
from odradek.wire.stored import CONSUMER_OFFSETS, write_coordinator_key, write_coordinator_value
from support.clock import ManualClock

GROUP = "readers"
Codes = dict[tuple[str, int], int]
"""Error codes by topic and partition."""


class OffsetStage:
    def __init__(self, config: BrokerConfig | None = None) -> None:
        self.config = config or BrokerConfig()
        self.clock = ManualClock()
        self.timers = Timers(self.clock.now_ms)
        self.image = EMPTY
        self.log: list[tuple[bytes, bytes | None]] = []
        self.events: list[Effect] = []
        self.shard = GroupShard(
            GroupContext(
                config=lambda: self.config,
                group_config=lambda _: GroupConfig(),
                image=lambda: self.image,
                clock=self.clock,
                timers=self.timers,
                new_id=lambda: "id",
            )
        )

    # --- topics and time

    def add_topic(self, name: str, partitions: int = 1) -> bytes:
        """Returns its id."""
        topic_id = (len(self.log) + self.image.offset + 2).to_bytes(16, "big")
        self.change_metadata(
            TopicRecord(name=name, topic_id=topic_id),
            *(_partition(topic_id, number) for number in range(partitions)),
        )
        return topic_id

    def remove_topic(self, name: str) -> None:
        topic = self.image.topics.get(name)
        assert topic is not None
        self.change_metadata(RemoveTopicRecord(topic_id=topic.id))

    def change_metadata(self, *records: Message) -> None:
        delta = Delta(self.image)
        for record in records:
            delta.replay(record)
        self.image = delta.finish(Position(Offset(self.image.offset + 1), LeaderEpoch(0), TimestampMs(0)))
        self.perform(self.shard.topics_changed(delta, self.image))

    def wait(self, ms: int) -> None:
        self.clock.advance(ms)
        for deadline in self.timers.due():
            self.perform(self.shard.expired(deadline))  # type: ignore[arg-type]

    # --- the log

    def perform(self, decision: CoordinatorResult) -> Message | None:
        """Record what was decided; the answer, if there is one."""
        for stored in decision.records:
            value = None if stored.value is None else write_coordinator_value(stored.value, stored.version)
            self.append(write_coordinator_key(stored.key), value)
        self.events += decision.effects
        return decision.answers[0].response if decision.answers else None

    def append(self, key: bytes, value: bytes | None, producer_id: ProducerId = NO_PRODUCER_ID) -> None:
        offset = Offset(len(self.log))
        self.log.append((key, value))
        read_key = CONSUMER_OFFSETS.read_key(key)
        read_value = None if value is None else CONSUMER_OFFSETS.read_value(read_key, value)[0]
        self.shard.replay(offset, read_key, read_value, producer_id)

    def commit_in_transaction(self, producer_id: int, topic: str, offset: int, partition: int = 0) -> None:
        key = OffsetCommitKey(group=GROUP, topic=topic, partition=partition)
        value = OffsetCommitValue(offset=offset, metadata="", commit_timestamp=self.clock.now_ms())
        self.append(write_coordinator_key(key), write_coordinator_value(value, 4), ProducerId(producer_id))

    # --- what clients ask

    def commit(self, *topics: OffsetCommitRequestTopic, version: int = 9, **request: int | str | None) -> Codes:
        asked = {"group_id": GROUP, "member_id": "", "topics": topics, **request}
        answer = self.perform(
            self.shard.offsets.commit(RequestContext("ticket", version), OffsetCommitRequest(**asked))  # type: ignore[arg-type]
        )
        assert isinstance(answer, OffsetCommitResponse)
        return {
            (topic.name, each.partition_index): each.error_code for topic in answer.topics for each in topic.partitions
        }

    def fetch(
        self, topics: Sequence[OffsetFetchRequestTopics] | None = None, *, version: int = 9, stable: bool = False
    ) -> OffsetFetchResponseGroup:
        wanted = OffsetFetchRequestGroup(group_id=GROUP, topics=None if topics is None else tuple(topics))
        return self.shard.offsets.fetch(wanted, version, require_stable=stable)

    def committed(self, *, stable: bool = False) -> dict[tuple[str, int], int]:
        """All offsets of the group; for those that are refused, the code with a minus."""
        return {
            (topic.name, each.partition_index): -each.error_code if each.error_code else each.committed_offset
            for topic in self.fetch(stable=stable).topics
            for each in topic.partitions
        }

    def delete(self, **topics: Sequence[int]) -> OffsetDeleteResponse:
        wanted = tuple(
            OffsetDeleteRequestTopic(
                name=name, partitions=tuple(OffsetDeleteRequestPartition(partition_index=each) for each in partitions)
            )
            for name, partitions in topics.items()
        )
        request = OffsetDeleteRequest(group_id=GROUP, topics=wanted)
        answer = self.perform(self.shard.offsets.delete(RequestContext("ticket", 0), request))
        assert isinstance(answer, OffsetDeleteResponse)
        return answer


def offsets(
    topic: str | bytes, offset: int, *partitions: int, metadata: str | None = "", epoch: int = -1
) -> OffsetCommitRequestTopic:
    """A commit of `offset` for each of the partitions (0 if none is named) of a topic, by its name or its id."""
    wanted = tuple(
        OffsetCommitRequestPartition(
            partition_index=each, committed_offset=offset, committed_leader_epoch=epoch, committed_metadata=metadata
        )
        for each in partitions or (0,)
    )
    if isinstance(topic, bytes):
        return OffsetCommitRequestTopic(topic_id=topic, partitions=wanted)
    return OffsetCommitRequestTopic(name=topic, partitions=wanted)


def _partition(topic_id: bytes, number: int) -> PartitionRecord:
    return PartitionRecord(
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
