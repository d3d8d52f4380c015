"""Groups of the consumer protocol, with the answers and the records of Apache Kafka."""

from collections.abc import Awaitable, Callable
from itertools import groupby
from random import Random
from typing import Any, TypeVar

import pytest

from odradek.coordinators.groups.consumer.topics import hash_of_topic
from odradek.coordinators.groups.xxh3 import xxh3_64
from odradek.metadata.image import EMPTY, Topic
from odradek.model.error_code import ErrorCode
from odradek.wire.messages.consumer_group_describe import (
    Assignment,
    ConsumerGroupDescribeRequest,
    ConsumerGroupDescribeResponse,
    Member,
)
from odradek.wire.messages.consumer_group_heartbeat import (
    ConsumerGroupHeartbeatRequest,
    ConsumerGroupHeartbeatResponse,
    TopicPartitions,
)
from odradek.wire.messages.create_partitions import CreatePartitionsRequest, CreatePartitionsTopic
from odradek.wire.messages.delete_groups import DeleteGroupsRequest
from odradek.wire.messages.delete_topics import DeleteTopicsRequest, DeleteTopicState
from odradek.wire.messages.describe_groups import DescribeGroupsRequest
from odradek.wire.messages.find_coordinator import FindCoordinatorRequest, FindCoordinatorResponse
from odradek.wire.messages.incremental_alter_configs import (
    AlterableConfig,
    AlterConfigsResource,
    IncrementalAlterConfigsRequest,
)
from odradek.wire.messages.list_groups import ListGroupsRequest, ListGroupsResponse
from odradek.wire.messages.metadata import MetadataRequest, MetadataRequestTopic, MetadataResponse
from odradek.wire.messages.offset_commit import (
    OffsetCommitRequest,
    OffsetCommitRequestPartition,
    OffsetCommitRequestTopic,
)
from odradek.wire.messages.offset_fetch import (
    OffsetFetchRequest,
    OffsetFetchRequestGroup,
    OffsetFetchRequestTopics,
)
from odradek.wire.records.consumer_group import (
    ConsumerGroupCurrentMemberAssignmentValue,
    ConsumerGroupMetadataValue,
    ConsumerGroupRegularExpressionValue,
    ConsumerGroupTargetAssignmentMemberKey,
    ConsumerGroupTargetAssignmentMemberValue,
    ConsumerGroupTargetAssignmentMetadataValue,
)
from odradek.wire.schema import Message, Struct, replace
from support.group_records import records_of
from support.same_answers import Asker, Case, Level, Side, differences

_GROUP_RESOURCE = 32
_HISTORIES = 8
_STEPS = 60


class Group:
    """One that no other case has. Assignments come at once, so that nothing depends on the time."""

    def __init__(self, ask: Asker, name: str) -> None:
        self.ask = ask
        self.id = ask.name(f"consumer-{name}")

    async def begin(self) -> "Group":
        while True:
            found: FindCoordinatorResponse = await self.ask.quietly(
                FindCoordinatorRequest(coordinator_keys=(self.id,)), 4
            )
            if not found.coordinators[0].error_code:
                break
        code = -1
        while code:
            code = (await self.ask.quietly(DescribeGroupsRequest(groups=(self.id,)), 5)).groups[0].error_code
        await self.set("consumer.assignment.interval.ms", "0")
        return self

    async def set(self, name: str, value: str) -> None:
        config = AlterableConfig(name=name, config_operation=0, value=value)
        resource = AlterConfigsResource(resource_type=_GROUP_RESOURCE, resource_name=self.id, configs=(config,))
        await self.ask.quietly(IncrementalAlterConfigsRequest(resources=(resource,), validate_only=False), 1)
        await self.ask.settle()

    async def beat(self, member: str, epoch: int, **fields: Any) -> ConsumerGroupHeartbeatResponse:
        """Kept."""
        answer = await self.quietly(member, epoch, **fields)
        self.ask.keep(answer)
        return answer

    async def quietly(self, member: str, epoch: int, **fields: Any) -> ConsumerGroupHeartbeatResponse:
        version = fields.pop("version", 1)
        request = ConsumerGroupHeartbeatRequest(
            **{"group_id": self.id, "member_id": member, "member_epoch": epoch, **fields}
        )
        answer: ConsumerGroupHeartbeatResponse = await self.ask.quietly(request, version)
        return replace(answer, assignment=answer.assignment and _sorted(answer.assignment))

    async def join(self, member: str, *topics: str, **fields: Any) -> ConsumerGroupHeartbeatResponse:
        known = {"rebalance_timeout_ms": 300_000, "subscribed_topic_names": topics, "topic_partitions": ()}
        return await self.beat(member, 0, **(known | fields))

    async def until_epoch(self, epoch: int, member_id: str, at: int, **fields: Any) -> None:
        """A change of topics comes to Kafka's coordinator some time later."""
        while True:
            answer = await self.quietly(member_id, at, **fields)
            if answer.member_epoch == epoch or answer.error_code:
                self.ask.keep(answer)
                return

    async def describe(self, *, operations: bool = False) -> None:
        request = ConsumerGroupDescribeRequest(group_ids=(self.id,), include_authorized_operations=operations)
        answer: ConsumerGroupDescribeResponse = await self.ask.quietly(request)
        (group,) = answer.groups
        members = tuple(map(_in_order, sorted(group.members, key=lambda member: member.member_id)))
        self.ask.keep(replace(group, members=members))

    async def keep_records(self, *topics: str) -> None:
        """What the group wrote, without times. The hash must be that of these topics."""
        expected = await self._hash(topics)
        told = [(key, self._told(value, expected)) for key, value in await records_of(self.ask, self.id)]
        # Within a batch, Kafka writes the targets of members in the order of a hash table.
        for kind, run in groupby(told, key=lambda each: type(each[0])):
            in_order = list(run)
            if kind is ConsumerGroupTargetAssignmentMemberKey:
                in_order.sort(key=lambda each: each[0].member_id)  # type: ignore[attr-defined]
            for key, value in in_order:
                self.ask.keep((type(key).__name__, key, value))

    def _told(self, value: Message | None, expected: int) -> object:
        if isinstance(value, ConsumerGroupMetadataValue):
            return (value.epoch, "as expected" if value.metadata_hash in (expected, 0) else value.metadata_hash)
        if isinstance(value, ConsumerGroupTargetAssignmentMetadataValue):
            return (value.assignment_epoch, value.assignment_timestamp > 0)
        if isinstance(value, ConsumerGroupRegularExpressionValue):
            return (value.topics, value.version > 0, value.timestamp > 0)
        if isinstance(value, ConsumerGroupTargetAssignmentMemberValue):
            return _sorted(value)
        if isinstance(value, ConsumerGroupCurrentMemberAssignmentValue):
            return _with_sorted(value, "assigned_partitions", "partitions_pending_revocation")
        return value

    async def _hash(self, names: tuple[str, ...]) -> int:
        wanted = tuple(MetadataRequestTopic(name=name) for name in sorted(names))
        answer: MetadataResponse = await self.ask.quietly(
            MetadataRequest(topics=wanted, allow_auto_topic_creation=False), 13
        )
        hashes = b""
        for topic in sorted(answer.topics, key=lambda topic: topic.name or ""):
            partitions: Any = dict.fromkeys(range(len(topic.partitions)))
            hashes += hash_of_topic(Topic(topic.name or "", topic.topic_id, partitions), EMPTY).to_bytes(8, "little")
        return int.from_bytes(xxh3_64(hashes).to_bytes(8, "big"), "big", signed=True)


def _in_order(member: Member) -> Member:
    """Topics are numbered as they are met, so they come by their names."""
    parts = (member.assignment, member.target_assignment)
    assigned, target = (
        Assignment(topic_partitions=tuple(sorted(part.topic_partitions, key=lambda topic: topic.topic_name)))
        for part in map(_sorted, parts)
    )
    return replace(member, assignment=assigned, target_assignment=target)


S = TypeVar("S", bound=Struct)


def _sorted(assignment: S) -> S:
    """Kafka has partitions in the order of a hash table, too."""
    return _with_sorted(assignment, "topic_partitions")


def _with_sorted(struct: S, *lists: str) -> S:
    """The same with the partitions of these topics in order; what belongs to each of them goes with it."""
    changes = {}
    for name in lists:
        topics = []
        for topic in getattr(struct, name):
            order = sorted(range(len(topic.partitions)), key=topic.partitions.__getitem__)
            parts = [each for each in ("partitions", "assignment_epochs") if hasattr(topic, each)]
            topics.append(replace(topic, **{each: tuple(getattr(topic, each)[at] for at in order) for each in parts}))
        changes[name] = tuple(topics)
    return replace(struct, **changes)


def has(topic_id: bytes, *partitions: int) -> tuple[TopicPartitions, ...]:
    return (TopicPartitions(topic_id=topic_id, partitions=partitions),) if partitions else ()


# --- heartbeats


async def refused(ask: Asker) -> None:
    topic = await ask.create("refused", 2)
    group = await Group(ask, "refused").begin()
    wrong: tuple[dict[str, Any], ...] = (
        {"group_id": ""},
        {"member_id": ""},
        {"member_id": "  "},
        {"instance_id": ""},
        {"rack_id": ""},
        {"rebalance_timeout_ms": -1},
        {"topic_partitions": None},
        {"topic_partitions": has(bytes(16), 1)},
        {"subscribed_topic_names": None},
        {"member_epoch": -2},
        {"member_epoch": -3},
        {"member_epoch": -1},
        {"member_epoch": 1},
        {"server_assignor": "sticky"},
        {"server_assignor": ""},
        {"subscribed_topic_names": None, "subscribed_topic_regex": "("},
        {"subscribed_topic_names": None, "subscribed_topic_regex": "*"},
        {"subscribed_topic_names": None, "subscribed_topic_regex": "a{2000}"},
        {"subscribed_topic_names": None, "subscribed_topic_regex": "(?<=a)b"},
    )
    for fields in wrong:
        await group.join("me", topic, **fields)
    nobody: dict[str, Any] = {"rebalance_timeout_ms": 1, "subscribed_topic_names": (), "topic_partitions": ()}
    for epoch in (1, -1):
        await group.beat("", epoch, version=0, **nobody)
    made_up = await group.quietly("", 0, version=0, **nobody)
    ask.keep((made_up.error_code, made_up.member_epoch))
    left = await group.quietly(made_up.member_id or "", -1, version=0)
    ask.keep((left.error_code, left.member_epoch))
    await group.describe()


async def life(ask: Asker) -> None:
    """Two members share a topic; one leaves, then the other."""
    topic = await ask.create("life", 4)
    topic_id = await ask.topic_id(topic)
    group = await Group(ask, "life").begin()
    await group.join("a", topic)
    await group.describe(operations=True)
    await group.beat("a", 2, topic_partitions=has(topic_id, 0, 1, 2, 3))
    await group.beat("a", 2)
    await group.join("b", topic, server_assignor="range")
    await group.describe()
    await group.beat("b", 3)
    first = await group.beat("a", 2)
    await group.describe()
    await group.beat("a", 2)
    await group.beat("b", 3)
    kept = first.assignment.topic_partitions if first.assignment else ()
    await group.beat("a", 2, topic_partitions=kept)
    await group.beat("b", 3)
    await group.beat("a", 3)
    await group.describe()
    await group.beat("a", 3, rebalance_timeout_ms=1_000, subscribed_topic_names=(topic,), topic_partitions=kept)
    await group.beat("b", 3, server_assignor="uniform")
    await group.beat("b", -1)
    await group.beat("b", 3)
    await group.beat("b", -1)
    await group.beat("a", 3)
    await group.describe()
    listed: ListGroupsResponse = await ask.quietly(
        ListGroupsRequest(states_filter=("stable",), types_filter=("consumer",)), 5
    )
    # Of other cases there may be groups whose members are about to time out, on one broker before the other.
    ask.keep([each for each in listed.groups if each.group_id == group.id])
    await ask(DeleteGroupsRequest(groups_names=(group.id,)), 2)
    await group.beat("a", -1)
    await group.describe()
    await ask(DeleteGroupsRequest(groups_names=(group.id,)), 2)
    await group.describe()
    await group.keep_records(topic)


async def epochs(ask: Asker) -> None:
    """Which epochs a member may say, and with what."""
    topic = await ask.create("epochs", 2)
    topic_id = await ask.topic_id(topic)
    group = await Group(ask, "epochs").begin()
    await group.join("a", topic)
    await group.join("a", topic)
    for epoch in (1, 3, 100):
        await group.beat("a", epoch)
    await group.join("b", topic)
    await group.beat("a", 2, topic_partitions=has(topic_id, 0, 1))
    await group.beat("a", 2, topic_partitions=has(topic_id, 0))
    await group.beat("a", 2, topic_partitions=has(topic_id, 0))
    await group.beat("a", 2, topic_partitions=())
    await group.beat("a", 2, topic_partitions=has(topic_id, 0, 1))
    await group.beat("a", 2)
    await group.beat("b", 2, topic_partitions=())
    await group.beat("b", 0, rebalance_timeout_ms=1, subscribed_topic_names=(topic,), topic_partitions=())
    await group.beat("c", 3)
    await group.describe()
    await group.keep_records(topic)


async def static(ask: Asker) -> None:
    """A member with an instance id goes and comes back."""
    topic = await ask.create("static", 4)
    group = await Group(ask, "static").begin()
    await group.join("a", topic, instance_id="one")
    await group.join("x", topic, instance_id="one")
    await group.join("b", topic, instance_id="two")
    await group.beat("a", 2, instance_id="one", topic_partitions=())
    await group.beat("b", 3, instance_id="two")
    await group.beat("a", -2, instance_id="one")
    await group.describe()
    await group.beat("b", 3, instance_id="two")
    await group.join("c", topic, instance_id="one", rack_id="here")
    await group.describe()
    for member_id, epoch, instance in [("a", 3, "one"), ("a", -1, "one"), ("a", -2, "one"), ("c", 3, "three")]:
        await group.beat(member_id, epoch, instance_id=instance)
    await group.beat("c", 3)
    await group.beat("c", -1, instance_id="one")
    await group.beat("b", 3, instance_id="two")
    await group.beat("b", -2, instance_id="two")
    await group.join("b", topic, instance_id="two")
    await group.describe()
    await group.keep_records(topic)


async def subscriptions(ask: Asker) -> None:
    """Members change what they want, and topics change under them."""
    one, other = await ask.create("subscribed-one", 2), await ask.create("subscribed-other", 1)
    one_id, other_id = await ask.topic_id(one), await ask.topic_id(other)
    group = await Group(ask, "subscriptions").begin()
    await group.join("a", one)
    await group.beat("a", 2, subscribed_topic_names=(other,), topic_partitions=has(one_id, 0, 1))
    await group.describe()
    await group.beat("a", 2, topic_partitions=())
    await group.beat("a", 3, subscribed_topic_names=(other, ask.name("nobody")), topic_partitions=has(other_id, 0))
    await group.beat("a", 4, subscribed_topic_names=())
    await group.beat("a", 4, topic_partitions=())
    await group.beat("a", 5, subscribed_topic_names=(one,))
    grown = CreatePartitionsTopic(name=one, count=3, assignments=None)
    await ask.quietly(CreatePartitionsRequest(topics=(grown,), timeout_ms=30_000, validate_only=False), 3)
    await group.until_epoch(7, "a", 6)
    await group.beat("a", 7, topic_partitions=has(one_id, 0, 1, 2))
    await ask.quietly(
        DeleteTopicsRequest(topics=(DeleteTopicState(name=one, topic_id=bytes(16)),), timeout_ms=30_000), 6
    )
    # Kafka lets it keep what is gone until it is heard of.
    while not (await group.quietly("a", 7)).assignment:
        pass
    await group.until_epoch(8, "a", 7, topic_partitions=())
    await group.describe()


async def expressions(ask: Asker) -> None:
    """Kafka looks for topics in the background: what is compared is what comes of it."""
    one, other = await ask.create("matched-one", 1), await ask.create("matched-other", 1)
    group = await Group(ask, "expressions").begin()
    known: dict[str, Any] = {"rebalance_timeout_ms": 300_000, "topic_partitions": ()}
    answer = await group.quietly("a", 0, **known, subscribed_topic_regex=f"matched-o[nt].*-{ask.level.value}")
    while answer.member_epoch != 2:
        answer = await group.quietly("a", answer.member_epoch)
    ask.keep(answer.error_code)
    await group.beat("a", 2, subscribed_topic_regex="(")
    await group.describe()
    await group.beat("a", 2, subscribed_topic_regex="", subscribed_topic_names=(one,))
    topic_id = await ask.topic_id(one)
    await group.until_epoch(3, "a", 2, topic_partitions=has(topic_id, 0))
    await group.describe()
    await group.beat("a", -1)
    await group.describe()
    await ask.topic_id(other)


async def settings_of_groups(ask: Asker) -> None:
    topic = await ask.create("settings", 1)
    group = await Group(ask, "settings").begin()
    await group.set("consumer.heartbeat.interval.ms", "7000")
    await group.set("consumer.session.timeout.ms", "50000")
    await group.join("a", topic)


# --- anything


class _Member:
    """What a client knows of itself."""

    def __init__(self, member_id: str, instance_id: str | None) -> None:
        self.id = member_id
        self.instance_id = instance_id
        self.epoch = 0
        self.has: tuple[TopicPartitions, ...] = ()
        self.is_to_have: tuple[TopicPartitions, ...] = ()

    @property
    def static(self) -> dict[str, str]:
        return {} if self.instance_id is None else {"instance_id": self.instance_id}

    def hear(self, answer: ConsumerGroupHeartbeatResponse) -> None:
        if answer.error_code in (ErrorCode.FENCED_MEMBER_EPOCH, ErrorCode.UNKNOWN_MEMBER_ID):
            self.epoch, self.has = 0, ()
        elif not answer.error_code:
            self.epoch = answer.member_epoch
            if answer.assignment is not None:
                self.is_to_have = answer.assignment.topic_partitions


async def histories(ask: Asker) -> None:
    """Members do what comes to their mind: on both brokers the same."""
    rng = Random(f"histories of {ask.level}")
    topic = await ask.create("histories", 7)
    for number in range(_HISTORIES):
        group = await Group(ask, f"history-{number}").begin()
        members: list[_Member] = []
        for step in range(_STEPS):
            if not members or (rng.random() < 0.15 and len(members) < 6):
                instance_id = f"instance-{rng.randrange(3)}" if rng.random() < 0.3 else None
                members.append(_Member(f"member-{step}", instance_id))
            await _act(rng, group, rng.choice(members), topic, members)
        await group.describe()
        await group.keep_records(topic)


async def _act(rng: Random, group: Group, member: _Member, topic: str, members: list[_Member]) -> None:
    kind = rng.random()
    if kind < 0.08 and member.epoch:
        epoch = -2 if member.instance_id is not None and rng.random() < 0.6 else -1
        await group.beat(member.id, epoch, **member.static)
        members.remove(member)
        return
    if kind < 0.13:
        await group.beat(member.id, member.epoch + rng.choice([-2, -1, 1]) if member.epoch else 5, **member.static)
        return
    if member.epoch == 0:
        # The other assignor goes by the order of a hash table where members have to differ.
        answer = await group.join(member.id, topic, server_assignor="range", **member.static)
    elif kind < 0.2:
        wanted = () if kind < 0.16 else (topic,)
        answer = await group.beat(member.id, member.epoch, subscribed_topic_names=wanted, **member.static)
    elif kind < 0.75:
        member.has = member.is_to_have
        answer = await group.beat(member.id, member.epoch, topic_partitions=member.has, **member.static)
    else:
        answer = await group.beat(member.id, member.epoch, **member.static)
    if kind < 0.95:  # else it is lost
        member.hear(answer)


# --- offsets


async def commits(ask: Asker) -> None:
    """Who may commit, under which epoch."""
    topic = await ask.create("commits", 2)
    topic_id = await ask.topic_id(topic)
    group = await Group(ask, "commits").begin()

    async def commit(member_id: str, epoch: int, *partitions: int, version: int = 10) -> None:
        given = tuple(
            OffsetCommitRequestPartition(partition_index=each, committed_offset=5, committed_metadata="")
            for each in partitions
        )
        topics = (OffsetCommitRequestTopic(name=topic, topic_id=topic_id, partitions=given),)
        request = OffsetCommitRequest(
            group_id=group.id, generation_id_or_member_epoch=epoch, member_id=member_id, topics=topics
        )
        await ask(request, version)

    await commit("a", 1, 0)
    await group.join("a", topic)
    await commit("a", 2, 0, 1)
    for version in (8, 9, 10):
        await commit("a", 2, 0, version=version)
        await commit("a", 1, 0, version=version)
        await commit("a", 3, 0, version=version)
        await commit("", -1, 0, version=version)
        await commit("x", 2, 0, version=version)
    await group.join("b", topic)
    first = await group.beat("a", 2, topic_partitions=has(topic_id, 0, 1))
    await commit("a", 2, 0, 1)
    kept = first.assignment.topic_partitions if first.assignment else ()
    await group.beat("a", 2, topic_partitions=kept)
    for version in (9, 10):
        await commit("a", 2, 0, version=version)
        await commit("a", 2, 1, version=version)
        await commit("a", 2, 0, 1, version=version)
        await commit("b", 2, 1, version=version)
    fetched = OffsetFetchRequestTopics(name=topic, topic_id=topic_id, partition_indexes=(0, 1))
    for member_id, epoch in ((None, -1), ("a", 3), ("a", 2), ("x", 3)):
        asked = OffsetFetchRequestGroup(group_id=group.id, member_id=member_id, member_epoch=epoch, topics=(fetched,))
        await ask(OffsetFetchRequest(groups=(asked,)), 9)
        await ask(OffsetFetchRequest(groups=(asked,)), 10)
    await group.beat("a", -1)
    await group.beat("b", -1)
    await commit("", -1, 0)
    await group.describe()


CASES: list[Callable[[Asker], Awaitable[None]]] = [
    refused,
    life,
    epochs,
    static,
    subscriptions,
    expressions,
    settings_of_groups,
    histories,
    commits,
]


@pytest.mark.parametrize("level", [Level.LOWEST, Level.HIGHEST], ids=lambda level: level.value)
@pytest.mark.parametrize("case", CASES, ids=lambda case: case.__name__)
def test_same_answers(case: Case, level: Level, both: tuple[Side, Side]) -> None:
    assert not differences(case, level, both)
