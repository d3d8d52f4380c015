"""TxnOffsetCommit: offsets that count once the transaction of a producer is committed."""

from collections.abc import Mapping
from typing import NamedTuple

from odradek.coordinators.groups.context import GroupContext
from odradek.coordinators.groups.errors import IllegalGeneration
from odradek.coordinators.groups.group import Group, Member, PartitionCheck
from odradek.coordinators.groups.offsets.commits import units
from odradek.coordinators.groups.offsets.records import pending_record
from odradek.coordinators.result import CoordinatorResult, RequestContext, Stored, Writer
from odradek.metadata.image import Image, Topic
from odradek.model.error_code import ErrorCode
from odradek.model.errors import BrokerError
from odradek.model.numbers import ProducerId
from odradek.wire.messages.txn_offset_commit import (
    TxnOffsetCommitRequest,
    TxnOffsetCommitRequestPartition,
    TxnOffsetCommitRequestTopic,
    TxnOffsetCommitResponse,
    TxnOffsetCommitResponsePartition,
    TxnOffsetCommitResponseTopic,
)


class TxnTopicOffsets(NamedTuple):
    """Offsets for partitions that are there."""

    topic: Topic
    partitions: list[TxnOffsetCommitRequestPartition]


class Commit:
    """A request, and what became of its partitions so far. Those that are not there are refused from the start."""

    def __init__(self, request: TxnOffsetCommitRequest, image: Image) -> None:
        self.request = request
        self.topics: list[TxnTopicOffsets] = []
        self._outcome: dict[str, list[TxnOffsetCommitResponsePartition]] = {}
        for asked in request.topics:
            topic = image.topics.get(asked.name)
            known = (
                [] if topic is None else [each for each in asked.partitions if each.partition_index in topic.partitions]
            )
            if len(known) != len(asked.partitions):
                self._refuse_unknown(asked, topic)
            if topic is not None and known:
                self.topics.append(TxnTopicOffsets(topic, known))

    def _refuse_unknown(self, asked: TxnOffsetCommitRequestTopic, topic: Topic | None) -> None:
        for each in asked.partitions:
            if topic is None or each.partition_index not in topic.partitions:
                self.tell(asked.name, each.partition_index, ErrorCode.UNKNOWN_TOPIC_OR_PARTITION)

    @property
    def writer(self) -> Writer:
        return Writer(ProducerId(self.request.producer_id), self.request.producer_epoch)

    def tell(self, topic: str, partition: int, code: int = ErrorCode.NONE) -> None:
        answer = TxnOffsetCommitResponsePartition(partition_index=partition, error_code=code)
        self._outcome.setdefault(topic, []).append(answer)

    def response(self) -> TxnOffsetCommitResponse:
        return TxnOffsetCommitResponse(
            topics=tuple(
                TxnOffsetCommitResponseTopic(name=name, partitions=tuple(partitions))
                for name, partitions in self._outcome.items()
            )
        )

    def refusal(self, code: ErrorCode) -> TxnOffsetCommitResponse:
        """The same for all that is wanted."""
        for topic, partitions in self.topics:
            for each in partitions:
                self.tell(topic.name, each.partition_index, code)
        return self.response()


class TransactionalCommits:
    def __init__(self, groups: Mapping[str, Group], context: GroupContext) -> None:
        self._groups = groups
        self._context = context

    def commit(self, asked: RequestContext, commit: Commit) -> CoordinatorResult:
        """For a transaction that is known to have the partition of the group. Raises what refuses all of it."""
        request = commit.request
        metadata_max = self._context.config().offset_metadata_max_bytes
        try:
            check = self._check(asked.version, request)
            if check is not None:
                for topic, partitions in commit.topics:
                    for each in partitions:
                        if not _is_too_long(each, metadata_max):
                            check(topic.id, each.partition_index)
        except BrokerError as error:
            if error.code is ErrorCode.STALE_MEMBER_EPOCH:  # which this API has no word for
                raise IllegalGeneration(str(error)) from None
            raise
        records = self._records(commit, metadata_max)
        return asked.answer(commit.response(), *records)._replace(writer=commit.writer)

    def _check(self, version: int, request: TxnOffsetCommitRequest) -> PartitionCheck | None:
        group = self._groups.get(request.group_id)
        if group is None:
            if request.generation_id < 0:
                return None  # the group begins with what is committed
            raise IllegalGeneration(f"Group {request.group_id} not found")
        member = Member(request.member_id, request.generation_id, request.group_instance_id)
        return group.check_commit(member, version, transactional=True)

    def _records(self, commit: Commit, metadata_max: int) -> list[Stored]:
        now = self._context.clock.now_ms()
        records = []
        for topic, partitions in commit.topics:
            for each in partitions:
                if _is_too_long(each, metadata_max):
                    commit.tell(topic.name, each.partition_index, ErrorCode.OFFSET_METADATA_TOO_LARGE)
                    continue
                commit.tell(topic.name, each.partition_index)
                records.append(pending_record(commit.request.group_id, topic.name, each, now))
        return records


def _is_too_long(partition: TxnOffsetCommitRequestPartition, metadata_max: int) -> bool:
    metadata = partition.committed_metadata
    return bool(metadata) and units(metadata or "") > metadata_max
