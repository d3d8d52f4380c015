"""The offsets of all groups of a shard: committed, asked for, deleted, expired."""

from collections.abc import Collection, Iterable
from typing import Protocol

from odradek.coordinators.groups.context import GroupContext
from odradek.coordinators.groups.errors import GroupNotFound, IllegalGeneration
from odradek.coordinators.groups.group import Group, Member, PartitionCheck
from odradek.coordinators.groups.offsets.commits import BY_ID_SINCE, Outcome, TopicOffsets, answers, known_in, units
from odradek.coordinators.groups.offsets.committed import Committed, pack, pack_legacy, pack_single, pack_value
from odradek.coordinators.groups.offsets.deletions import delete
from odradek.coordinators.groups.offsets.fetches import OffsetFetches
from odradek.coordinators.groups.offsets.pending import PendingOffsets
from odradek.coordinators.groups.offsets.records import commit_record, tombstone
from odradek.coordinators.groups.offsets.table import OffsetTable
from odradek.coordinators.result import Answer, CoordinatorResult, RequestContext, Stored
from odradek.metadata.image import Topic
from odradek.model.error_code import ErrorCode
from odradek.model.errors import BrokerError
from odradek.model.numbers import NO_PRODUCER_ID, NO_TIMESTAMP, Offset, ProducerId, TimestampMs
from odradek.wire.group_requests import SingleOffset
from odradek.wire.messages.offset_commit import (
    OffsetCommitRequest,
    OffsetCommitRequestPartition,
    OffsetCommitResponsePartition,
)
from odradek.wire.messages.offset_delete import OffsetDeleteRequest
from odradek.wire.messages.offset_fetch import OffsetFetchRequestGroup, OffsetFetchResponseGroup
from odradek.wire.records.offsets import (
    LegacyOffsetCommitKey,
    LegacyOffsetCommitValue,
    OffsetCommitKey,
    OffsetCommitValue,
)
from odradek.wire.schema import NO_UUID

_EPOCHS_SINCE = 9
"""From this version of OffsetCommit on clients know that a group may not be there."""
_MINUTE_MS = 60_000


class Committing(Protocol):
    """What classic groups have to do with commits."""

    def simple(self, group_id: str) -> Group:
        """A new group without members, for offsets that are committed without one."""
        ...

    def count_as_heartbeat(self, group: Group, member_id: str) -> None:
        """A member of a group of any kind committed something, which is as good as a heartbeat."""
        ...


class Offsets:
    def __init__(self, groups: dict[str, Group], context: GroupContext, classic: Committing) -> None:
        self._groups = groups
        self._context = context
        self._classic = classic
        self._table = OffsetTable()
        self._pending = PendingOffsets()

    # --- commands

    def commit(self, asked: RequestContext, request: OffsetCommitRequest) -> CoordinatorResult:
        outcome = Outcome()
        wanted = known_in(request, asked.version, self._context.image(), outcome)
        records: list[Stored] = []
        if wanted:
            try:
                check = self._check_commit(asked.version, request)
                records = self._commit(request, wanted, check, outcome)
            except BrokerError as error:
                for topic, partitions in wanted:
                    outcome.answer(topic, answers(partitions, error.code))
        return CoordinatorResult(tuple(records), (Answer(asked.ticket, outcome.response()),))

    def _check_commit(self, version: int, request: OffsetCommitRequest) -> PartitionCheck | None:
        epoch = request.generation_id_or_member_epoch
        group = self._groups.get(request.group_id)
        if group is None:
            if epoch < 0:
                return None  # by a client that assigns itself: the group begins with what it commits
            if version >= _EPOCHS_SINCE:
                raise GroupNotFound(f"Group {request.group_id} not found")
            raise IllegalGeneration(f"Group {request.group_id} not found")
        member = Member(request.member_id, epoch, request.group_instance_id)
        check = group.check_commit(member, version, transactional=False)
        self._classic.count_as_heartbeat(group, request.member_id)
        return check

    def _commit(
        self,
        request: OffsetCommitRequest,
        wanted: Iterable[TopicOffsets],
        check: PartitionCheck | None,
        outcome: Outcome,
    ) -> list[Stored]:
        now = self._context.clock.now_ms()
        expire = NO_TIMESTAMP if request.retention_time_ms == -1 else TimestampMs(now + request.retention_time_ms)
        metadata_max = self._context.config().offset_metadata_max_bytes
        if check is not None:  # before anything is said: one partition refused refuses them all
            for topic, partitions in wanted:
                for each in partitions:
                    if not _is_too_long(each, metadata_max):
                        check(topic.id, each.partition_index)
        records = []
        for topic, partitions in wanted:
            outcomes = []
            for each in partitions:
                code = 0
                if each.committed_metadata and _is_too_long(each, metadata_max):
                    code = ErrorCode.OFFSET_METADATA_TOO_LARGE
                else:
                    records.append(commit_record(request.group_id, topic, each, now, expire))
                outcomes.append(OffsetCommitResponsePartition(partition_index=each.partition_index, error_code=code))
            outcome.answer(topic, outcomes)
        return records

    def admit(self, asked: SingleOffset, version: int) -> Topic | None:
        """The topic of a commit of one offset, if `commit` would take it; None where that has to find out."""
        topics = self._context.image().topics
        topic = topics.by_id(asked.topic) if version >= BY_ID_SINCE else topics.get(asked.topic.decode())
        group = self._groups.get(asked.group_id)
        if (
            topic is None
            or group is None
            or asked.partition not in topic.partitions
            or len(asked.metadata) > self._context.config().offset_metadata_max_bytes
        ):
            return None
        member = Member(asked.member_id, asked.generation, asked.instance_id)
        try:
            check = group.check_commit(member, version, transactional=False)
            if check is not None:
                check(topic.id, asked.partition)
        except BrokerError:
            return None
        self._classic.count_as_heartbeat(group, asked.member_id)
        return topic

    def delete(self, asked: RequestContext, request: OffsetDeleteRequest) -> CoordinatorResult:
        group = self._groups.get(request.group_id)
        if group is None:
            raise GroupNotFound(f"Group {request.group_id} not found")
        group.check_offset_delete()
        return delete(asked, request, group, self._context.image(), self.has)

    def delete_all(self, group_id: str) -> tuple[Stored, ...]:
        """What deletes all offsets of a group, those of open transactions too."""
        places = [
            (topic, partition)
            for topic in self._table.topics(group_id)
            for partition, _ in self._table.of_topic(group_id, topic)
        ]
        places += (place for place in self._pending.places(group_id) if not self._table.has(group_id, *place))
        return tuple(tombstone(group_id, *place) for place in places)

    def expire(self, group: Group) -> tuple[tuple[Stored, ...], bool]:
        """What deletes offsets that were out of use for too long, and whether none is left after that."""
        group_id = group.group_id
        has_pending = self._pending.has_group(group_id)
        if group_id not in self._table:
            return (), not has_pending
        now = self._context.clock.now_ms()
        retention_ms = self._context.config().offsets_retention_minutes * _MINUTE_MS
        expired, is_all = [], True
        for topic in self._table.topics(group_id):
            is_subscribed = group.is_subscribed(topic)
            for partition, committed in self._table.of_topic(group_id, topic):
                if (
                    is_subscribed
                    or not _is_expired(group, committed, now, retention_ms)
                    or self._pending.has(group_id, topic, partition)
                ):
                    is_all = False
                else:
                    expired.append(tombstone(group_id, topic, partition))
        return tuple(expired), is_all and not has_pending

    def topics_deleted(self, topics: Collection[Topic]) -> tuple[Stored, ...]:
        """What deletes the offsets of these topics."""
        gone: dict[tuple[str, str, int], None] = {}
        for topic in topics:
            ids = (NO_UUID, topic.id)
            for group_id in self._table.groups_with(topic.name):
                for partition, committed in self._table.of_topic(group_id, topic.name):
                    if committed.topic_id in ids:
                        gone[group_id, topic.name, partition] = None
            for group_id, partitions in self._pending.groups_with(topic.name).items():
                for partition in partitions:
                    if any(each in ids for each in self._pending.topic_ids(group_id, topic.name, partition)):
                        gone[group_id, topic.name, partition] = None
        return tuple(tombstone(*place) for place in gone)

    # --- reading

    def has(self, group_id: str, topic: str, partition: int) -> bool:
        """Whether one is committed, or may be by an open transaction."""
        return self._table.has(group_id, topic, partition) or self._pending.has(group_id, topic, partition)

    def count(self, group_id: str) -> int:
        """How many are committed in a group."""
        return self._table.count(group_id)

    def committed(self, group_id: str, topic: str, partition: int) -> Committed | None:
        return self._table.get(group_id, topic, partition)

    def fetch(
        self, request: OffsetFetchRequestGroup, version: int, *, require_stable: bool
    ) -> OffsetFetchResponseGroup:
        """Raises the BrokerError of the group as a whole. A group that is not there has committed nothing."""
        group = self._groups.get(request.group_id)
        table: OffsetTable | None = self._table
        try:
            if group is None:
                raise GroupNotFound(f"Group {request.group_id} not found")
            anonymous = request.member_id is None and request.member_epoch < 0
            group.check_offset_fetch(None if anonymous else Member(request.member_id or "", request.member_epoch))
        except GroupNotFound:
            table = None
        pending = self._pending if require_stable else None
        fetches = OffsetFetches(request.group_id, table, pending, self._context.image(), version)
        topics = fetches.all() if request.topics is None else fetches.some(request.topics)
        return OffsetFetchResponseGroup(group_id=request.group_id, topics=tuple(topics))

    # --- replay

    def replay(
        self,
        offset: Offset,
        key: OffsetCommitKey | LegacyOffsetCommitKey,
        value: OffsetCommitValue | LegacyOffsetCommitValue | None,
        producer_id: ProducerId = NO_PRODUCER_ID,
    ) -> None:
        group_id = key.group
        if value is None:
            self._table.remove(group_id, key.topic, key.partition)
            self._pending.remove(group_id, key.topic, key.partition)
            return
        if group_id not in self._groups:
            self._groups[group_id] = self._classic.simple(group_id)
        packed = pack_value(value, offset) if isinstance(value, OffsetCommitValue) else pack_legacy(value, offset)
        if producer_id == NO_PRODUCER_ID:
            self._table.put(group_id, key.topic, key.partition, packed)
        else:
            self._pending.put(producer_id, group_id, (key.topic, key.partition), packed)

    def replay_single(self, offset: Offset, asked: SingleOffset, topic: Topic, now: TimestampMs) -> None:
        """What `replay` makes of the record of a commit that was admitted."""
        packed = pack_single(asked.offset, asked.leader_epoch, now, offset, topic.id, asked.metadata)
        self._table.put(asked.group_id, topic.name, asked.partition, packed)

    def end_transaction(self, producer_id: ProducerId, *, commit: bool) -> None:
        pending = self._pending.end(producer_id)
        if not commit:
            return
        for group_id, topic, partition, committed in pending:
            stored = self._table.get(group_id, topic, partition)
            if stored is None or committed.record_offset > stored.record_offset:
                self._table.put(group_id, topic, partition, pack(committed))


def _is_too_long(partition: OffsetCommitRequestPartition, metadata_max: int) -> bool:
    metadata = partition.committed_metadata
    return bool(metadata) and units(metadata or "") > metadata_max


def _is_expired(group: Group, committed: Committed, now: TimestampMs, retention_ms: int) -> bool:
    base = group.expiry_base_ms(committed.committed_ms)
    if base is None:
        return False
    if committed.expire_ms != NO_TIMESTAMP:
        return now >= committed.expire_ms
    return now - base >= retention_ms
