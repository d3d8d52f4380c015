"""Groups that move between the protocols, with the answers and the records of Apache Kafka."""

import asyncio
from collections.abc import Awaitable, Callable
from itertools import groupby
from struct import pack
from typing import Any

import pytest

from odradek.model.error_code import ErrorCode
from odradek.wire.codec import encode
from odradek.wire.messages.consumer_group_describe import ConsumerGroupDescribeRequest, ConsumerGroupDescribeResponse
from odradek.wire.messages.consumer_group_heartbeat import (
    ConsumerGroupHeartbeatRequest,
    ConsumerGroupHeartbeatResponse,
    TopicPartitions,
)
from odradek.wire.messages.describe_groups import DescribeGroupsRequest
from odradek.wire.messages.find_coordinator import FindCoordinatorRequest
from odradek.wire.messages.heartbeat import HeartbeatRequest
from odradek.wire.messages.incremental_alter_configs import (
    AlterableConfig,
    AlterConfigsResource,
    IncrementalAlterConfigsRequest,
)
from odradek.wire.messages.join_group import JoinGroupRequest, JoinGroupRequestProtocol, JoinGroupResponse
from odradek.wire.messages.leave_group import LeaveGroupRequest, MemberIdentity
from odradek.wire.messages.offset_commit import (
    OffsetCommitRequest,
    OffsetCommitRequestPartition,
    OffsetCommitRequestTopic,
)
from odradek.wire.messages.offset_fetch import OffsetFetchRequest, OffsetFetchRequestGroup
from odradek.wire.messages.sync_group import SyncGroupRequest, SyncGroupRequestAssignment
from odradek.wire.records.classic_group import GroupMetadataValue
from odradek.wire.records.consumer_group import (
    ConsumerGroupMetadataValue,
    ConsumerGroupTargetAssignmentMetadataValue,
)
from odradek.wire.records.consumer_protocol import (
    ConsumerProtocolAssignment,
    ConsumerProtocolSubscription,
    TopicPartition,
)
from odradek.wire.schema import Message, replace
from support.group_records import records_of
from support.same_answers import Asker, Case, Level, Side, differences

_GROUP_RESOURCE = 32
JOIN, SYNC, BEAT, LEAVE = 9, 5, 4, 5
"""Versions: what moves a group is the same in all of them."""


class Group:
    """One that no other case has, with a topic of two partitions."""

    def __init__(self, ask: Asker, name: str) -> None:
        self.ask = ask
        self.id = ask.name(f"moving-{name}")
        self.topic = ""
        self.topic_id = b""

    async def begin(self) -> "Group":
        self.topic = await self.ask.create(self.id, 2)
        self.topic_id = await self.ask.topic_id(self.topic)
        code = -1
        while code:
            found = await self.ask.quietly(FindCoordinatorRequest(coordinator_keys=(self.id,)), 4)
            code = found.coordinators[0].error_code
        code = -1
        while code:
            code = (await self.ask.quietly(DescribeGroupsRequest(groups=(self.id,)), 5)).groups[0].error_code
        config = AlterableConfig(name="consumer.assignment.interval.ms", config_operation=0, value="0")
        resource = AlterConfigsResource(resource_type=_GROUP_RESOURCE, resource_name=self.id, configs=(config,))
        await self.ask.quietly(IncrementalAlterConfigsRequest(resources=(resource,), validate_only=False), 1)
        await self.ask.settle()
        return self

    # --- the classic protocol

    def subscription(self, *owned: int, version: int = 1) -> bytes:
        topics = (TopicPartition(topic=self.topic, partitions=owned),) if owned else ()
        told = ConsumerProtocolSubscription(topics=(self.topic,), owned_partitions=topics)
        return pack(">h", version) + encode(told, version)

    async def enter(self, member_id: str = "", *owned: int, **fields: Any) -> JoinGroupResponse:
        """Kept."""
        protocols = (JoinGroupRequestProtocol(name="range", metadata=self.subscription(*owned)),)
        known: dict[str, Any] = {
            "group_id": self.id,
            "session_timeout_ms": 600_000,
            "rebalance_timeout_ms": 600_000,
            "member_id": member_id,
            "protocol_type": "consumer",
            "protocols": protocols,
        }
        answer: JoinGroupResponse = await self.ask.quietly(JoinGroupRequest(**(known | fields)), JOIN)
        # An id that is made in a consumer group has another form in Kafka.
        is_made = not member_id and answer.member_id
        self.ask.keep(replace(answer, member_id="made") if is_made else answer)
        return answer

    async def sync(self, member_id: str, generation: int, *assigned: int, **fields: Any) -> None:
        topics = (TopicPartition(topic=self.topic, partitions=assigned),)
        given = pack(">h", 1) + encode(ConsumerProtocolAssignment(assigned_partitions=topics), 1)
        known: dict[str, Any] = {
            "group_id": self.id,
            "generation_id": generation,
            "member_id": member_id,
            "protocol_type": "consumer",
            "protocol_name": "range",
            "assignments": (SyncGroupRequestAssignment(member_id=member_id, assignment=given),) if assigned else (),
        }
        await self.ask(SyncGroupRequest(**(known | fields)), SYNC)

    async def beat(self, member_id: str, generation: int, instance_id: str | None = None) -> None:
        request = HeartbeatRequest(
            group_id=self.id, generation_id=generation, member_id=member_id, group_instance_id=instance_id
        )
        await self.ask(request, BEAT)

    async def until_called(self, member_id: str, generation: int) -> None:
        """To join again. We begin a rebalance in a moment of its own, right after the one in which the group moves."""
        request = HeartbeatRequest(group_id=self.id, generation_id=generation, member_id=member_id)
        code = 0
        while not code:
            code = (await self.ask.quietly(request, BEAT)).error_code
        self.ask.keep(code)

    async def leave(self, *members: MemberIdentity) -> None:
        await self.ask(LeaveGroupRequest(group_id=self.id, members=members), LEAVE)

    # --- the consumer protocol

    async def speak(
        self, member_id: str, epoch: int, *owned: int | None, **fields: Any
    ) -> ConsumerGroupHeartbeatResponse:
        """Kept. Without `owned` it says nothing of what it has."""
        told = None if owned == (None,) else tuple(number for number in owned if number is not None)
        topics = (TopicPartitions(topic_id=self.topic_id, partitions=told),) if told else ()
        known: dict[str, Any] = {"topic_partitions": None if told is None else topics}
        if not epoch:
            known |= {"rebalance_timeout_ms": 300_000, "subscribed_topic_names": (self.topic,)}
        request = ConsumerGroupHeartbeatRequest(
            group_id=self.id, member_id=member_id, member_epoch=epoch, **(known | fields)
        )
        answer: ConsumerGroupHeartbeatResponse = await self.ask(request, 1)
        return answer

    # --- what is there

    async def describe(self) -> None:
        """As both kinds of groups are described."""
        answer: ConsumerGroupDescribeResponse = await self.ask.quietly(
            ConsumerGroupDescribeRequest(group_ids=(self.id,), include_authorized_operations=False), 1
        )
        (group,) = answer.groups
        members = sorted(group.members, key=lambda member: (member.member_type, member.member_id))
        self.ask.keep(replace(group, members=tuple(members)))
        await self.ask(DescribeGroupsRequest(groups=(self.id,)), 5)

    async def commit(self, member_id: str, generation: int, offset: int) -> None:
        """And see what is committed."""
        partition = OffsetCommitRequestPartition(partition_index=0, committed_offset=offset, committed_metadata="")
        topic = OffsetCommitRequestTopic(name=self.topic, partitions=(partition,))
        request = OffsetCommitRequest(
            group_id=self.id, generation_id_or_member_epoch=generation, member_id=member_id, topics=(topic,)
        )
        await self.ask(request, 9)
        wanted = OffsetFetchRequestGroup(group_id=self.id, topics=None)
        await self.ask(OffsetFetchRequest(groups=(wanted,), require_stable=False), 9)

    async def keep_records(self) -> None:
        told = [(key, _without_moments(value)) for key, value in await records_of(self.ask, self.id)]
        for kind, run in groupby(told, key=lambda each: type(each[0])):
            in_order = list(run)
            if "member_id" in kind.declared:  # Kafka has them in the order of a hash table
                in_order.sort(key=lambda each: each[0].member_id)  # type: ignore[attr-defined]
            for key, value in in_order:
                self.ask.keep((kind.__name__, key, value))


def _without_moments(value: Message | None) -> Message | None:
    if isinstance(value, ConsumerGroupMetadataValue):
        return replace(value, metadata_hash=int(value.metadata_hash != 0))
    if isinstance(value, ConsumerGroupTargetAssignmentMetadataValue):
        return replace(value, assignment_timestamp=int(value.assignment_timestamp > 0))
    if isinstance(value, GroupMetadataValue):
        # Nor the leader, which we leave out while a rebalance is due.
        return replace(value, current_state_timestamp=int(value.current_state_timestamp > 0), leader=None)
    return value


async def classic_of_one(group: Group) -> str:
    """Its member, which has both partitions in generation 1."""
    member_id = (await group.enter()).member_id
    generation = (await group.enter(member_id)).generation_id
    await group.sync(member_id, generation, 0, 1)
    return member_id


# --- cases


async def there_and_back(ask: Asker) -> None:
    group = await Group(ask, "there-and-back").begin()
    member_id = await classic_of_one(group)
    await group.commit(member_id, 1, 11)
    await group.speak("new", 0)
    await group.describe()
    await group.commit(member_id, 1, 12)
    await group.beat(member_id, 1)
    await group.enter(member_id, 0, 1)
    await group.sync(member_id, 1)
    await group.describe()
    await group.beat(member_id, 1)
    await group.enter(member_id, 0)
    await group.sync(member_id, 2)
    await group.beat(member_id, 2)
    await group.speak("new", 2, None)
    await group.describe()
    await group.commit(member_id, 1, 13)
    await group.commit(member_id, 2, 14)
    await group.commit("new", 2, 15)
    await group.speak("new", -1)
    await group.until_called(member_id, 2)
    await group.commit(member_id, 2, 16)
    await group.enter(member_id, 0)
    await group.sync(member_id, 3, 0, 1)
    await group.beat(member_id, 3)
    await group.commit(member_id, 3, 17)
    await group.describe()
    await group.keep_records()


async def an_eager_member(ask: Asker) -> None:
    """It says that it has nothing, and so is told at once what is left to it."""
    group = await Group(ask, "eager").begin()
    member_id = await classic_of_one(group)
    await group.speak("new", 0)
    await group.beat(member_id, 1)
    await group.enter(member_id)
    await group.sync(member_id, 2)
    await group.speak("new", 2, None)
    await group.leave(MemberIdentity(member_id=member_id))
    await group.describe()
    await group.keep_records()


async def a_classic_member_comes(ask: Asker) -> None:
    group = await Group(ask, "comes").begin()
    await group.speak("there", 0)
    await group.enter("new")
    await group.sync("new", 2)
    await group.beat("new", 2)
    await group.speak("there", 1, 0, 1)
    await group.speak("there", 1, 0)
    await group.beat("new", 2)
    await group.enter("new")
    await group.sync("new", 2)
    await group.beat("new", 2)
    await group.describe()
    await group.keep_records()


async def refusals(ask: Asker) -> None:
    group = await Group(ask, "refusals").begin()
    await group.speak("there", 0)
    range_only = (JoinGroupRequestProtocol(name="range", metadata=group.subscription()),)
    sticky = (JoinGroupRequestProtocol(name="sticky", metadata=group.subscription()),)
    await group.enter("new", protocol_type="connect")
    await group.enter("new", protocols=())
    await group.enter("new", session_timeout_ms=1)
    await group.enter("new", group_instance_id="i")
    await group.enter("new", protocols=sticky)
    await group.enter("other", protocols=range_only)
    await group.enter("other", protocols=(*range_only, *sticky))
    for fields in ({}, {"protocol_name": "sticky"}, {"protocol_type": "connect"}, {"group_instance_id": "i"}):
        await group.sync("new", 2, **fields)
    await group.sync("new", 9)
    await group.sync("nobody", 2)
    await group.sync("there", 1)
    await group.beat("nobody", 2)
    await group.beat("there", 1)
    await group.beat("new", 9)
    await group.beat("new", 2, "i")
    await group.leave(MemberIdentity(member_id="nobody"), MemberIdentity(member_id="", group_instance_id="i"))
    await group.leave()
    await group.describe()


async def static_members(ask: Asker) -> None:
    """One is replaced by itself with the other protocol, which moves the group and nothing else."""
    group = await Group(ask, "static").begin()
    member_id = await classic_of_one(group)
    await group.speak("static", 0, instance_id="i")
    await group.beat(member_id, 1)
    await group.enter(member_id)
    await group.sync(member_id, 2)
    await group.speak("static", 2, None, instance_id="i")
    await group.speak("static", -2, None, instance_id="i")
    await group.describe()
    back = await group.enter(group_instance_id="i")
    await group.sync("static", 2, group_instance_id="i")
    await group.sync(back.member_id, back.generation_id, group_instance_id="i")
    await group.beat(member_id, 2)
    await group.beat(back.member_id, 2, "i")
    ask.keep((await records_of(ask, group.id))[-1][1] is not None)


async def empty_groups(ask: Asker) -> None:
    group = await Group(ask, "empty").begin()
    member_id = await classic_of_one(group)
    await group.leave(MemberIdentity(member_id=member_id))
    await group.speak("new", 0)
    await group.describe()
    await group.speak("new", -1)
    await classic_of_one(group)
    await group.describe()


async def strangers(ask: Asker) -> None:
    """Groups that cannot move: nobody can read what their members say, or they are not of consumers."""
    for name, metadata, protocol_type in (("unread", b"", "consumer"), ("connect", b"", "connect")):
        group = await Group(ask, name).begin()
        protocols = (JoinGroupRequestProtocol(name="p", metadata=metadata),)
        told = await group.enter(protocols=protocols, protocol_type=protocol_type)
        await group.enter(told.member_id, protocols=protocols, protocol_type=protocol_type)
        await group.sync(told.member_id, 1, protocol_name="p", protocol_type=protocol_type)
        await group.speak("new", 0)
        await group.beat(told.member_id, 1)
        await group.describe()


CASES = (
    *(there_and_back, an_eager_member, a_classic_member_comes, refusals),
    *(static_members, empty_groups, strangers),
)


@pytest.mark.parametrize("case", CASES, ids=lambda case: case.__name__)
def test_kafka_answers_the_same(both: tuple[Side, Side], case: Case) -> None:
    assert not differences(case, Level.HIGHEST, both)


# --- on purpose not the same: docs/differences.md


async def a_subscription_that_cannot_be_read(ask: Asker) -> int:
    group = await Group(ask, "unreadable").begin()
    await group.speak("there", 0)
    protocols = (JoinGroupRequestProtocol(name="range", metadata=b""),)
    return (await group.enter("new", protocols=protocols)).error_code


async def a_member_that_is_left_behind(ask: Asker) -> int:
    group = await Group(ask, "left-behind").begin()
    await classic_of_one(group)
    await group.speak("new", 0)
    await group.speak("new", -1)
    return (await group.speak("new", 2, None)).error_code


async def words_that_come_with_an_assignment(ask: Asker) -> int:
    """As librdkafka's sticky assignors send them, and nobody reads them."""
    group = await Group(ask, "words").begin()
    protocols = (JoinGroupRequestProtocol(name="cooperative-sticky", metadata=group.subscription()),)
    member_id = (await group.enter(protocols=protocols)).member_id
    await group.enter(member_id, protocols=protocols)
    given = pack(">h", 1) + encode(ConsumerProtocolAssignment(assigned_partitions=(), user_data=b"words"), 1)
    assignments = (SyncGroupRequestAssignment(member_id=member_id, assignment=given),)
    await group.sync(member_id, 1, protocol_name="cooperative-sticky", assignments=assignments)
    return (await group.speak("new", 0)).error_code


@pytest.mark.parametrize(
    ("question", "theirs", "ours"),
    [
        (
            a_subscription_that_cannot_be_read,
            ErrorCode.UNKNOWN_SERVER_ERROR,
            ErrorCode.INCONSISTENT_GROUP_PROTOCOL,
        ),
        (a_member_that_is_left_behind, ErrorCode.GROUP_ID_NOT_FOUND, ErrorCode.UNKNOWN_MEMBER_ID),
        (words_that_come_with_an_assignment, ErrorCode.GROUP_ID_NOT_FOUND, ErrorCode.NONE),
    ],
    ids=lambda each: getattr(each, "__name__", ""),
)
def test_a_difference(
    both: tuple[Side, Side], question: Callable[[Asker], Awaitable[int]], theirs: ErrorCode, ours: ErrorCode
) -> None:
    async def ask(side: Side) -> int:
        asker = Asker(side, Level.HIGHEST)
        try:
            async with asyncio.timeout(300):
                return await question(asker)
        finally:
            await asker.close()

    assert [asyncio.run(ask(side)) for side in both] == [theirs, ours]
