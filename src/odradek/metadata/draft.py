"""Parts of an image that are about to change: copied at the first change, and they know what changed."""

from collections.abc import Collection, Mapping
from dataclasses import replace
from typing import Generic, NamedTuple, TypeVar

from odradek.metadata.image import UNCHANGED_LEADER, UNCHANGED_STATE, Partition, Topic, Topics, metric_name
from odradek.metadata.persistent_map import GONE, changed
from odradek.metadata.uuids import MIGRATING, to_text
from odradek.model.errors import OdradekError
from odradek.model.numbers import LeaderEpoch
from odradek.wire.records.metadata import PartitionChangeRecord, PartitionRecord

K = TypeVar("K")
V = TypeVar("V")


class Inconsistent(OdradekError):
    """A record that does not fit what the records before it say."""


class Draft(Generic[K, V]):
    """A mapping of an image."""

    __slots__ = ("_before", "_changes")

    def __init__(self, before: Mapping[K, V]) -> None:
        self._before = before
        self._changes: dict[K, V] = {}

    @property
    def changed(self) -> Collection[K]:
        """The keys that were set or removed, in the order of their first change."""
        return self._changes.keys()

    def get(self, key: K) -> V | None:
        if key in self._changes:
            value = self._changes[key]
            return None if value is GONE else value
        return self._before.get(key)

    def put(self, key: K, value: V) -> None:
        self._changes[key] = value

    def remove(self, key: K) -> None:
        if key in self._changes or key in self._before:
            self._changes[key] = GONE

    def finish(self) -> Mapping[K, V]:
        return changed(self._before, self._changes) if self._changes else self._before


class TopicChange(NamedTuple):
    """A topic that was there before and is there still."""

    before: Topic
    after: Topic
    partitions: Collection[int]
    """The ones that are new or changed."""


class _TopicDraft:
    __slots__ = ("before", "changed", "id", "name", "partitions")

    def __init__(self, name: str, topic_id: bytes, before: Topic | None) -> None:
        self.name = name
        self.id = topic_id
        self.before = before
        self.partitions = dict(before.partitions) if before else {}
        self.changed: dict[int, None] = {}

    def put(self, number: int, partition: Partition) -> None:
        self.partitions[number] = partition
        self.changed[number] = None


class TopicsDraft:
    """The topics of an image. What changed can be asked for when it is finished."""

    def __init__(self, before: Topics) -> None:
        self._before = before
        self._drafts: dict[bytes, _TopicDraft] = {}
        self._created_names: dict[str, bytes] = {}
        self._deleted: dict[bytes, Topic] = {}
        self.created: tuple[Topic, ...] = ()
        self.changed: tuple[TopicChange, ...] = ()

    @property
    def deleted(self) -> Collection[Topic]:
        return self._deleted.values()

    def add(self, name: str, topic_id: bytes) -> None:
        if self._id_of(name) is not None:
            raise Inconsistent(f"topic {name} is there already")
        self._drafts[topic_id] = _TopicDraft(name, topic_id, None)
        self._created_names[name] = topic_id

    def remove(self, topic_id: bytes) -> str:
        """Returns the name that it had."""
        draft = self._drafts.pop(topic_id, None)
        if draft is not None and draft.before is None:
            del self._created_names[draft.name]
            return draft.name
        topic = self._before.by_id(topic_id)
        if topic is None or topic_id in self._deleted:
            raise Inconsistent(f"there is no topic with id {to_text(topic_id)} to remove")
        self._deleted[topic_id] = topic
        return topic.name

    def put_partition(self, record: PartitionRecord) -> None:
        self._open(record.topic_id).put(record.partition_id, partition_of(record))

    def change_partition(self, record: PartitionChangeRecord) -> None:
        draft = self._open(record.topic_id)
        partition = draft.partitions.get(record.partition_id)
        if partition is None:
            raise Inconsistent(f"there is no partition {draft.name}-{record.partition_id} to change")
        draft.put(record.partition_id, changed_partition(partition, record))

    def clear_eligible_leaders(self, name: str) -> None:
        """Of one topic, or with an empty name of all."""
        if name:
            topic_id = self._id_of(name)
            if topic_id is None:
                raise Inconsistent(f"there is no topic {name} to clear eligible leaders of")
            self._clear(self._open(topic_id))
            return
        ids = [topic_id for topic_id in self._before.ids if topic_id not in self._deleted]
        for topic_id in (*ids, *self._created_names.values()):
            if topic_id in self._drafts or _has_eligible_leaders(self._before.ids[topic_id]):
                self._clear(self._open(topic_id))

    def finish(self) -> Topics:
        if not self._drafts and not self._deleted:
            return self._before
        names: dict[str, Topic] = {topic.name: GONE for topic in self._deleted.values()}
        ids: dict[bytes, Topic] = dict.fromkeys(self._deleted, GONE)
        created, changes = [], []
        for draft in self._drafts.values():
            topic = names[draft.name] = ids[draft.id] = Topic(draft.name, draft.id, draft.partitions)
            if draft.before is None:
                created.append(topic)
            elif draft.changed:
                changes.append(TopicChange(draft.before, topic, draft.changed.keys()))
        self.created, self.changed = tuple(created), tuple(changes)
        by_broker = _ByBroker(self._before.by_broker)
        for topic in self._deleted.values():
            by_broker.change(topic, None)
        for topic in created:
            by_broker.change(None, topic)
        for change in changes:
            by_broker.change(change.before, change.after)
        metric_names: dict[str, str] = {}
        for name, topic in names.items():
            unified = metric_name(name)
            if unified is not None:
                gone: str = GONE
                metric_names[unified] = gone if topic is GONE else name
        before = self._before
        return Topics(
            changed(before.names, names),
            changed(before.ids, ids),
            by_broker.finish(),
            changed(before.by_metric_name, metric_names) if metric_names else before.by_metric_name,
        )

    def _id_of(self, name: str) -> bytes | None:
        if name in self._created_names:
            return self._created_names[name]
        topic = self._before.get(name)
        return None if topic is None or topic.id in self._deleted else topic.id

    def _open(self, topic_id: bytes) -> _TopicDraft:
        draft = self._drafts.get(topic_id)
        if draft is None:
            topic = self._before.by_id(topic_id)
            if topic is None or topic_id in self._deleted:
                raise Inconsistent(f"there is no topic with id {to_text(topic_id)}")
            draft = self._drafts[topic_id] = _TopicDraft(topic.name, topic_id, topic)
        return draft

    def _clear(self, draft: _TopicDraft) -> None:
        for number, partition in tuple(draft.partitions.items()):
            if partition.eligible_leaders or partition.last_known_eligible:
                cleared = replace(
                    partition,
                    partition_epoch=partition.partition_epoch + 1,
                    eligible_leaders=(),
                    last_known_eligible=(),
                )
                draft.put(number, cleared)


class _ByBroker:
    """The index of replicas by their broker, while topics change."""

    def __init__(self, before: Mapping[int, Mapping[bytes, tuple[int, ...]]]) -> None:
        self._before = before
        self._changes: dict[int, dict[bytes, tuple[int, ...]]] = {}

    def change(self, before: Topic | None, after: Topic | None) -> None:
        """Of the topic, or a topic that is gone (`after` is None) or new (`before` is None)."""
        was, now = _numbers_by_broker(before, after), _numbers_by_broker(after, before)
        for broker in was.keys() | now.keys():
            topic = after or before
            if topic is not None and was.get(broker) != now.get(broker):
                self._changes.setdefault(broker, {})[topic.id] = now.get(broker, GONE)

    def finish(self) -> Mapping[int, Mapping[bytes, tuple[int, ...]]]:
        if not self._changes:
            return self._before
        nothing: Mapping[bytes, tuple[int, ...]] = {}
        now = {broker: changed(self._before.get(broker, nothing), each) for broker, each in self._changes.items()}
        return {broker: each for broker, each in {**self._before, **now}.items() if each}


def _numbers_by_broker(topic: Topic | None, other: Topic | None) -> dict[int, tuple[int, ...]]:
    """Empty where replicas are the same in both states of the topic, as with most changes."""
    if topic is None:
        return {}
    if (
        other is not None
        and all(
            number in other.partitions and other.partitions[number].replicas == each.replicas
            for number, each in topic.partitions.items()
        )
        and len(topic.partitions) == len(other.partitions)
    ):
        return {}
    found: dict[int, list[int]] = {}
    for number, partition in topic.partitions.items():
        for broker in partition.replicas:
            found.setdefault(broker, []).append(number)
    return {broker: tuple(numbers) for broker, numbers in found.items()}


def _has_eligible_leaders(topic: Topic) -> bool:
    return any(each.eligible_leaders or each.last_known_eligible for each in topic.partitions.values())


def partition_of(record: PartitionRecord) -> Partition:
    return Partition(
        leader=record.leader,
        leader_epoch=LeaderEpoch(record.leader_epoch),
        partition_epoch=record.partition_epoch,
        replicas=record.replicas,
        isr=record.isr,
        directories=_directories(record.directories, record.replicas),
        adding=record.adding_replicas,
        removing=record.removing_replicas,
        leader_recovery_state=record.leader_recovery_state,
        eligible_leaders=record.eligible_leader_replicas or (),
        last_known_eligible=record.last_known_elr or (),
    )


def changed_partition(partition: Partition, record: PartitionChangeRecord) -> Partition:
    """Whoever is named the leader, were it the same one, begins a new epoch."""
    replicas = _unless_none(record.replicas, partition.replicas)
    elected = record.leader != UNCHANGED_LEADER
    state = record.leader_recovery_state
    return Partition(
        leader=record.leader if elected else partition.leader,
        leader_epoch=LeaderEpoch(partition.leader_epoch + elected),
        partition_epoch=partition.partition_epoch + 1,
        replicas=replicas,
        isr=_unless_none(record.isr, partition.isr),
        directories=_directories(_unless_none(record.directories, partition.directories), replicas),
        adding=_unless_none(record.adding_replicas, partition.adding),
        removing=_unless_none(record.removing_replicas, partition.removing),
        leader_recovery_state=partition.leader_recovery_state if state == UNCHANGED_STATE else state,
        eligible_leaders=_unless_none(record.eligible_leader_replicas, partition.eligible_leaders),
        last_known_eligible=_unless_none(record.last_known_elr, partition.last_known_eligible),
    )


def _unless_none(changed: tuple[V, ...] | None, before: tuple[V, ...]) -> tuple[V, ...]:
    return before if changed is None else changed


def _directories(given: tuple[bytes, ...], replicas: tuple[int, ...]) -> tuple[bytes, ...]:
    """One for each replica. Records from before Kafka 3.7 have none; nor have those of lower levels that change the
    replicas, and what snapshots have of such a partition may be of another length."""
    return given if len(given) == len(replicas) else (MIGRATING,) * len(replicas)
