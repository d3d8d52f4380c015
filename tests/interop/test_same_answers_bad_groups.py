"""What no sane client asks of a group: the answers of Apache Kafka, and groups as they were before.

Each case ends with what the group, or its offsets, look like then.
"""

from typing import Any

import pytest

from odradek.model.error_code import ErrorCode
from odradek.wire.messages.consumer_group_describe import (
    ConsumerGroupDescribeRequest,
    ConsumerGroupDescribeResponse,
)
from odradek.wire.messages.consumer_group_heartbeat import ConsumerGroupHeartbeatRequest
from odradek.wire.messages.delete_groups import DeleteGroupsRequest
from odradek.wire.messages.describe_groups import DescribeGroupsRequest
from odradek.wire.messages.find_coordinator import FindCoordinatorRequest
from odradek.wire.messages.heartbeat import HeartbeatRequest
from odradek.wire.messages.incremental_alter_configs import (
    AlterableConfig,
    AlterConfigsResource,
    IncrementalAlterConfigsRequest,
)
from odradek.wire.messages.join_group import JoinGroupRequest, JoinGroupRequestProtocol, JoinGroupResponse
from odradek.wire.messages.offset_commit import OffsetCommitRequest
from odradek.wire.messages.offset_fetch import OffsetFetchRequest, OffsetFetchRequestGroup
from odradek.wire.messages.sync_group import SyncGroupRequest, SyncGroupRequestAssignment, SyncGroupResponse
from support.offset_stage import offsets
from support.same_answers import Asker, Case, Level, Side, differences

LONGEST = 32_767
"""Bytes that a string of the protocol can have."""
TOPICS = 100_000
_GROUP_RESOURCE = 32
NOT_THERE_YET = (ErrorCode.COORDINATOR_LOAD_IN_PROGRESS, ErrorCode.NOT_COORDINATOR, ErrorCode.COORDINATOR_NOT_AVAILABLE)


async def coordinated(ask: Asker, group_id: str) -> None:
    """Wait until the group has a coordinator, which has loaded what there is of it."""
    code: int = ErrorCode.NOT_COORDINATOR
    while code in NOT_THERE_YET:
        await ask.quietly(FindCoordinatorRequest(key_type=0, coordinator_keys=(group_id,)), 6)
        code = (await ask.quietly(DescribeGroupsRequest(groups=(group_id,)), 5)).groups[0].error_code


async def assigned_at_once(ask: Asker, group_id: str) -> None:
    """Have the group compute assignments when they are due: otherwise, who joins within a second is told less."""
    config = AlterableConfig(name="consumer.assignment.interval.ms", config_operation=0, value="0")
    resource = AlterConfigsResource(resource_type=_GROUP_RESOURCE, resource_name=group_id, configs=(config,))
    await ask.quietly(IncrementalAlterConfigsRequest(resources=(resource,), validate_only=False), 1)
    await ask.settle()


def beat(group_id: str, epoch: int = 0, **fields: Any) -> ConsumerGroupHeartbeatRequest:
    known = {"member_id": "me", "rebalance_timeout_ms": 300_000, "topic_partitions": (), "member_epoch": epoch}
    return ConsumerGroupHeartbeatRequest(group_id=group_id, **{**known, **fields})


def subscription(*topics: str, user_data: bytes = b"") -> bytes:
    """As consumers write it. To what is none, Kafka gives no answer."""
    names = b"".join(len(topic).to_bytes(2, "big") + topic.encode() for topic in topics)
    return bytes(2) + len(topics).to_bytes(4, "big") + names + len(user_data).to_bytes(4, "big") + user_data


async def join(ask: Asker, group_id: str, metadata: bytes | None = None) -> JoinGroupResponse:
    protocols = (JoinGroupRequestProtocol(name="range", metadata=metadata or subscription("t")),)
    timeouts = {"session_timeout_ms": 600_000, "rebalance_timeout_ms": 600_000}
    request: dict[str, Any] = {"group_id": group_id, "protocol_type": "consumer", "protocols": protocols, **timeouts}
    told: JoinGroupResponse = await ask(JoinGroupRequest(**request, member_id=""), 9)
    if told.error_code == ErrorCode.MEMBER_ID_REQUIRED:
        told = await ask(JoinGroupRequest(**request, member_id=told.member_id), 9)
    return told


async def sync(ask: Asker, group_id: str, joined: JoinGroupResponse, assignment: bytes = b"all") -> None:
    given = (SyncGroupRequestAssignment(member_id=joined.member_id, assignment=assignment),)
    request = SyncGroupRequest(
        group_id=group_id, generation_id=joined.generation_id, member_id=joined.member_id, assignments=given
    )
    told: SyncGroupResponse = await ask(request, 4)
    # What cannot be written has the group rebalance. We begin that in a moment of its own, right after the answer.
    while told.error_code and not (await ask.quietly(heartbeat(group_id, joined), 4)).error_code:
        continue


def heartbeat(group_id: str, joined: JoinGroupResponse) -> HeartbeatRequest:
    return HeartbeatRequest(group_id=group_id, generation_id=joined.generation_id, member_id=joined.member_id)


async def look(ask: Asker, group_id: str, joined: JoinGroupResponse) -> None:
    await ask(heartbeat(group_id, joined), 4)
    await ask(DescribeGroupsRequest(groups=(group_id,)), 5)


# --- sizes


async def long_group_ids(ask: Asker) -> None:
    topic = offsets(await ask.topic_id(await ask.create("long-ids")), 1)
    for size in (300, LONGEST, LONGEST + 1):
        group_id = "g" * size
        if size <= LONGEST:
            await coordinated(ask, group_id)
        await ask(OffsetCommitRequest(group_id=group_id, member_id="", topics=(topic,)), 10)
        await ask(OffsetFetchRequest(groups=(OffsetFetchRequestGroup(group_id=group_id, topics=None),)), 10)
        await ask(beat(group_id, subscribed_topic_names=("t",)), 1)
        await ask(beat(group_id, -1), 1)
        await ask(DescribeGroupsRequest(groups=(group_id,)), 5)
        await ask(DeleteGroupsRequest(groups_names=(group_id,)), 2)


async def long_ids_of_members(ask: Asker) -> None:
    group_id = ask.name("long-members")
    await coordinated(ask, group_id)
    await assigned_at_once(ask, group_id)
    for size in (LONGEST, LONGEST + 1):
        await ask(beat(group_id, subscribed_topic_names=("t",), member_id="m" * size), 1)
        await ask(beat(group_id, subscribed_topic_names=("t",), instance_id="i" * size), 1)
        await ask(beat(group_id, subscribed_topic_names=("t",), rack_id="r" * size), 1)
    await ask(ConsumerGroupDescribeRequest(group_ids=(group_id,), include_authorized_operations=False), 1)


async def what_members_say(ask: Asker) -> None:
    """More than a record of the log can hold."""
    group_id = ask.name("talkative")
    await coordinated(ask, group_id)
    joined = await join(ask, group_id, metadata=subscription("t", user_data=b"m" * (2 << 20)))
    await sync(ask, group_id, joined)
    await look(ask, group_id, joined)


async def what_leaders_say(ask: Asker) -> None:
    group_id = ask.name("generous")
    await coordinated(ask, group_id)
    joined = await join(ask, group_id)
    await sync(ask, group_id, joined, assignment=b"a" * (2 << 20))
    await look(ask, group_id, joined)


async def many_topics(ask: Asker) -> None:
    """A hundred thousand names, which fit into a record if they are short."""
    group_id = ask.name("greedy")
    await coordinated(ask, group_id)
    await assigned_at_once(ask, group_id)
    here = await ask.create("greedy", 2)
    for length in (6, 30):
        names = tuple(f"{number:0{length}}" for number in range(TOPICS))
        await coordinated(ask, f"{group_id}-{length}")
        joined = await join(ask, f"{group_id}-{length}", metadata=subscription(*names))
        await sync(ask, f"{group_id}-{length}", joined)
        await look(ask, f"{group_id}-{length}", joined)
        await ask(beat(group_id, subscribed_topic_names=(here, *names), member_id=f"of {length}"), 1)
    described: ConsumerGroupDescribeResponse = await ask.quietly(
        ConsumerGroupDescribeRequest(group_ids=(group_id,), include_authorized_operations=False), 1
    )
    (group,) = described.groups
    ask.keep((group.error_code, group.group_epoch, sorted(member.member_id for member in group.members)))


# --- expressions


EXPLOSIVE = ("(a+)+$", "(a|aa)+$", "(a*)*b", "(a|a)*$", "(.*){500}b", "(?:(?:a?){100}a{100})", ".*" * 1000)


async def explosive_expressions(ask: Asker) -> None:
    """Those that take exponential time where they are tried by going back."""
    await ask.create("a" * 200 + "c")
    group_id = ask.name("explosive")
    await coordinated(ask, group_id)
    for number, expression in enumerate(EXPLOSIVE):
        member = f"m{number}"
        answer = await ask.quietly(beat(group_id, subscribed_topic_regex=expression, member_id=member), 1)
        ask.keep((answer.error_code, answer.member_epoch > 0))
    for expression in ("a{1001}", "x{2}{3}", "(a", "a" * (LONGEST + 1)):
        await ask(beat(group_id, subscribed_topic_regex=expression, member_id="refused"), 1)
    described: ConsumerGroupDescribeResponse = await ask.quietly(
        ConsumerGroupDescribeRequest(group_ids=(group_id,), include_authorized_operations=False), 1
    )
    members = described.groups[0].members
    ask.keep(sorted((member.member_id, member.subscribed_topic_regex) for member in members))


# --- commits of others


async def commits_for_members(ask: Asker) -> None:
    """Nobody but a member commits in a group that has some."""
    name = await ask.create("owned", 2)
    topic_id, unknown = await ask.topic_id(name), bytes(range(16))
    group_id = ask.name("owned")
    await coordinated(ask, group_id)
    joined = await join(ask, group_id, metadata=subscription(name))
    mine = {"member_id": joined.member_id, "generation_id_or_member_epoch": joined.generation_id}

    async def commit(offset: int, **who: Any) -> None:
        topics = (offsets(topic_id, offset, 0, 5), offsets(unknown, offset))
        request = {"group_id": group_id, "member_id": "", "topics": topics}
        await ask(OffsetCommitRequest(**(request | who)), 10)

    await commit(1, **mine)
    await sync(ask, group_id, joined)
    await commit(2, **mine)
    for others in (
        {},
        {"member_id": "nobody"},
        {"member_id": "nobody", "generation_id_or_member_epoch": joined.generation_id},
        {"generation_id_or_member_epoch": joined.generation_id},
        mine | {"generation_id_or_member_epoch": joined.generation_id - 1},
        mine | {"generation_id_or_member_epoch": joined.generation_id + 1},
        mine | {"generation_id_or_member_epoch": -1},
        mine | {"group_instance_id": "nobody"},
    ):
        await commit(3, **others)
    await commit(4, **mine, topics=(offsets(topic_id, 4, 1, metadata="x" * 4097),))
    await ask(OffsetFetchRequest(groups=(OffsetFetchRequestGroup(group_id=group_id, topics=None),)), 10)
    await look(ask, group_id, joined)


CASES: list[Case] = [
    long_group_ids,
    long_ids_of_members,
    what_members_say,
    what_leaders_say,
    many_topics,
    explosive_expressions,
    commits_for_members,
]


@pytest.mark.parametrize("case", CASES, ids=lambda case: case.__name__)
def test_kafka_answers_the_same(both: tuple[Side, Side], case: Case) -> None:
    found = differences(case, Level.HIGHEST, both)
    assert not found, found
