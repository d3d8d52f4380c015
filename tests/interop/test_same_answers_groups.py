"""Classic groups: their members, and what tools ask of groups, with the answers of Apache Kafka."""

import asyncio
from collections.abc import AsyncIterator

import pytest

from odradek.coordinators.partitioning import partition_of
from odradek.model.error_code import ErrorCode
from odradek.wire.codec import encode
from odradek.wire.messages.delete_groups import DeleteGroupsRequest
from odradek.wire.messages.describe_groups import DescribeGroupsRequest, DescribeGroupsResponse
from odradek.wire.messages.find_coordinator import FindCoordinatorRequest
from odradek.wire.messages.heartbeat import HeartbeatRequest
from odradek.wire.messages.join_group import JoinGroupRequest, JoinGroupRequestProtocol, JoinGroupResponse
from odradek.wire.messages.leave_group import LeaveGroupRequest, MemberIdentity
from odradek.wire.messages.list_groups import ListGroupsRequest
from odradek.wire.messages.sync_group import SyncGroupRequest, SyncGroupRequestAssignment
from odradek.wire.records.classic_group import GroupMetadataKey
from odradek.wire.records.consumer_protocol import ConsumerProtocolSubscription
from odradek.wire.stored import CONSUMER_OFFSETS
from support.same_answers import SETTINGS, Asker, Case, Level, Side, differences

STATIC_SINCE = 5
"""In JoinGroup; the versions of the others are less by two."""
PATIENCE_MS = 8000
"""Of members that run out of it: long enough that a machine which stands still for seconds changes no answer."""


async def group(ask: Asker, name: str) -> str:
    """The id of a group that has a coordinator, in a cluster that may not have made its topic yet."""
    group_id = ask.name(name)
    code = -1
    while code:
        found = await ask.quietly(FindCoordinatorRequest(key_type=0, coordinator_keys=(group_id,)), 6)
        code = found.coordinators[0].error_code
    code = -1
    while code:
        code = (await describe(ask, group_id)).groups[0].error_code
    return group_id


async def describe(ask: Asker, *groups: str) -> DescribeGroupsResponse:
    answer: DescribeGroupsResponse = await ask.quietly(DescribeGroupsRequest(groups=groups), 5)
    return answer


async def members(ask: Asker, group_id: str, count: int) -> None:
    """Wait until so many have joined, or wait for others to."""
    while len((await describe(ask, group_id)).groups[0].members) != count:
        continue


async def written(ask: Asker, group_id: str) -> None:
    """Wait until a group is shown: who joins with a mistake is answered before the group made for it is written."""
    while (await describe(ask, group_id)).groups[0].group_state == "Dead":
        continue


def joining(group_id: str, member_id: str = "", **fields: object) -> JoinGroupRequest:
    protocols = (JoinGroupRequestProtocol(name="range", metadata=subscription(b"")),)
    known = {"session_timeout_ms": 600_000, "protocol_type": "consumer", "protocols": protocols}
    known["rebalance_timeout_ms"] = 600_000
    return JoinGroupRequest(group_id=group_id, member_id=member_id, **{**known, **fields})  # type: ignore[arg-type]


def knowing(*names: str) -> tuple[JoinGroupRequestProtocol, ...]:
    return tuple(JoinGroupRequestProtocol(name=name, metadata=subscription(name.encode())) for name in names)


def subscription(user_data: bytes) -> bytes:
    """Of a consumer. With anything else a group of Kafka's may wait for ever: its coordinator trips over it."""
    return bytes(2) + encode(ConsumerProtocolSubscription(topics=("orders",), user_data=user_data), 0)


def syncing(ask: Asker, group_id: str, generation: int, member_id: str, **fields: object) -> SyncGroupRequest:
    if ask.level is Level.HIGHEST:
        fields = {"protocol_type": "consumer", "protocol_name": "range", **fields}
    known: dict[str, object] = {"assignments": (), **fields}
    return SyncGroupRequest(group_id=group_id, generation_id=generation, member_id=member_id, **known)  # type: ignore[arg-type]


def heartbeat(group_id: str, generation: int, member_id: str, instance_id: str | None = None) -> HeartbeatRequest:
    return HeartbeatRequest(
        group_id=group_id, generation_id=generation, member_id=member_id, group_instance_id=instance_id
    )


def leaving(ask: Asker, group_id: str, *members: MemberIdentity) -> LeaveGroupRequest:
    if ask.level is not Level.HIGHEST:
        return LeaveGroupRequest(group_id=group_id, member_id=members[0].member_id)
    return LeaveGroupRequest(group_id=group_id, members=members)


def assigned(**assignments: bytes) -> tuple[SyncGroupRequestAssignment, ...]:
    return tuple(SyncGroupRequestAssignment(member_id=name, assignment=each) for name, each in assignments.items())


async def enter(ask: Asker, group_id: str, **fields: object) -> JoinGroupResponse:
    """A member joins for the first time, in one step or two, and does not wait for others."""
    told: JoinGroupResponse = await ask(joining(group_id, "", **fields))
    if told.error_code:
        told = await ask(joining(group_id, told.member_id, **fields))
    return told


async def alone(ask: Asker, group_id: str) -> str:
    """A stable group of one. Returns its member."""
    told = await enter(ask, group_id)
    assignment = assigned(**{told.member_id: b"all"})
    await ask(syncing(ask, group_id, told.generation_id, told.member_id, assignments=assignment))
    return told.member_id


# --- members


async def two_members(ask: Asker) -> None:
    group_id = await group(ask, "two")
    first = await alone(ask, group_id)
    await ask(heartbeat(group_id, 1, first))
    second = ""
    if ask.level is not Level.LOWEST:
        second = (await ask(joining(group_id))).member_id
    async with asyncio.TaskGroup() as tasks:
        other = tasks.create_task(ask.beside(joining(group_id, second, protocols=knowing("range"))))
        await members(ask, group_id, 2)
        await ask(heartbeat(group_id, 1, first))
        await ask(syncing(ask, group_id, 1, first))
        await ask(DescribeGroupsRequest(groups=(group_id,)))
        await ask(joining(group_id, first))
    ask.keep(other.result())
    second = other.result().member_id
    await ask(DescribeGroupsRequest(groups=(group_id,)))
    await ask(heartbeat(group_id, 1, first))
    await ask(heartbeat(group_id, 2, first))
    async with asyncio.TaskGroup() as tasks:
        other = tasks.create_task(ask.beside(syncing(ask, group_id, 2, second)))
        await ask(syncing(ask, group_id, 2, first, assignments=assigned(**{first: b"a", second: b"b"})))
    ask.keep(other.result())
    await ask(DescribeGroupsRequest(groups=(group_id,)))
    await ask(joining(group_id, second, protocols=knowing("range")))
    await ask(leaving(ask, group_id, MemberIdentity(member_id=second)))
    await ask(leaving(ask, group_id, MemberIdentity(member_id=second)))
    await ask(heartbeat(group_id, 2, second))
    await ask(heartbeat(group_id, 2, first))
    await ask(joining(group_id, first))
    await ask(leaving(ask, group_id, MemberIdentity(member_id=first)))
    await ask(DescribeGroupsRequest(groups=(group_id,)))
    await ask(joining(group_id, first))
    await ask(syncing(ask, group_id, 3, first))
    await ask(heartbeat(group_id, 3, first))


async def strangers(ask: Asker) -> None:
    """Unknown members and stale generations, before and after there is a group."""
    group_id = await group(ask, "strangers")
    known = ""
    for _ in range(2):
        for member_id in ("", "nobody", known):
            for generation in (-1, 0, 1, 2):
                await ask(heartbeat(group_id, generation, member_id))
                if (member_id, generation) != (known, 1):
                    await ask(syncing(ask, group_id, generation, member_id))
        await ask(joining(group_id, "nobody"))
        await ask(leaving(ask, group_id, MemberIdentity(member_id="nobody")))
        await ask(leaving(ask, group_id, MemberIdentity(member_id="")))
        known = known or await alone(ask, group_id)
    await ask(DescribeGroupsRequest(groups=(group_id,)))


async def invalid_ids(ask: Asker) -> None:
    await group(ask, "invalid")
    await ask(joining(""))
    await ask(joining("", "me"))
    await ask(syncing(ask, "", 1, "me"))
    await ask(heartbeat("", 1, "me"))
    await ask(leaving(ask, "", MemberIdentity(member_id="me")))
    await ask(DescribeGroupsRequest(groups=("",)))
    await ask(DeleteGroupsRequest(groups_names=("",)))


async def session_timeouts(ask: Asker) -> None:
    group_id = await group(ask, "timeouts")
    for timeout_ms in (5999, 1_800_001, 0, -1):
        await ask(joining(group_id, session_timeout_ms=timeout_ms))
        await ask(joining(group_id, "me", session_timeout_ms=timeout_ms))
    await ask(DescribeGroupsRequest(groups=(group_id,)))


async def protocols(ask: Asker) -> None:
    """Those that nobody shares, and the choice of those that all have."""
    group_id = await group(ask, "protocols")
    await ask(joining(group_id, protocols=()))
    await ask(joining(group_id, protocol_type=""))
    await written(ask, group_id)
    await ask(DescribeGroupsRequest(groups=(group_id,)))
    told = await enter(ask, group_id, protocols=knowing("sticky", "range", "roundrobin"))
    first = told.member_id
    await ask(joining(group_id, protocols=knowing("other")))
    await ask(joining(group_id, protocols=()))
    await ask(joining(group_id, protocol_type="connect", protocols=knowing("range")))
    await ask(joining(group_id, first, protocols=knowing("other")))
    await ask(joining(group_id, "nobody", protocols=knowing("other")))
    await ask(joining(group_id, first, protocols=knowing("range", "roundrobin")))
    for fields in (
        {"protocol_type": "connect"},
        {"protocol_name": "roundrobin"},
        {"protocol_name": None},
        {"protocol_type": None},
    ):
        if ask.level is Level.HIGHEST:
            await ask(syncing(ask, group_id, 2, first, **fields))
    await ask(syncing(ask, group_id, 2, first))
    other = await group(ask, "connect")
    told = await enter(ask, other, protocol_type="connect", protocols=knowing("compatible"))
    await ask(syncing(ask, other, 1, told.member_id, **(_connect if ask.level is Level.HIGHEST else {})))
    await ask(DescribeGroupsRequest(groups=(other,)))


_connect = {"protocol_type": "connect", "protocol_name": "compatible"}


async def rejoining(ask: Asker) -> None:
    """The same again, something else, and a leader in a stable group."""
    group_id = await group(ask, "rejoining")
    told = await enter(ask, group_id)
    member = told.member_id
    await ask(joining(group_id, member))
    await ask(joining(group_id, member, protocols=knowing("range")))
    await ask(syncing(ask, group_id, 1, member))
    await ask(syncing(ask, group_id, 2, member, assignments=assigned(**{member: b"mine", "nobody": b"else"})))
    await ask(syncing(ask, group_id, 2, member))
    await ask(joining(group_id, member, protocols=knowing("range")))
    await ask(DescribeGroupsRequest(groups=(group_id,)))


async def leaving_together(ask: Asker) -> None:
    if ask.level is not Level.HIGHEST:
        return
    group_id = await group(ask, "together")
    await ask(leaving(ask, group_id))
    await ask(
        leaving(ask, group_id, MemberIdentity(member_id="a"), MemberIdentity(member_id="", group_instance_id="b"))
    )
    pending = (await ask(joining(group_id))).member_id
    static = await ask(joining(group_id, group_instance_id="static"))
    identities = [
        MemberIdentity(member_id=pending, reason="enough"),
        MemberIdentity(member_id=pending),
        MemberIdentity(member_id="", group_instance_id="nobody"),
        MemberIdentity(member_id="other", group_instance_id="static"),
        MemberIdentity(member_id=static.member_id, group_instance_id="other"),
        MemberIdentity(member_id=""),
        MemberIdentity(member_id="", group_instance_id="static"),
    ]
    await ask(leaving(ask, group_id, *identities))
    await ask(leaving(ask, group_id))
    await ask(DescribeGroupsRequest(groups=(group_id,)))


async def static_members(ask: Asker) -> None:
    """Restarts of followers and leaders, in versions with and without skipping the assignment."""
    if ask.level is Level.LOWEST:
        return
    version = 9 if ask.level is Level.HIGHEST else STATIC_SINCE
    sync_version, other_version = (5, 4) if ask.level is Level.HIGHEST else (3, 3)
    group_id = await group(ask, "static")

    async def join(instance_id: str, member_id: str = "", **fields: object) -> JoinGroupResponse:
        asked = joining(group_id, member_id, group_instance_id=instance_id, **fields)
        told: JoinGroupResponse = await ask(asked, version)
        return told

    async def sync(member_id: str, generation: int, instance_id: str, **fields: object) -> None:
        asked = syncing(ask, group_id, generation, member_id, group_instance_id=instance_id, **fields)
        await ask(asked, sync_version)

    first = (await join("a")).member_id
    await join("a", "nobody")
    await join("b", first)
    await sync(first, 1, "a", assignments=assigned(**{first: b"all"}))
    await sync(first, 1, "b")
    await sync("nobody", 1, "a")
    again = (await join("a")).member_id
    for member_id in (first, again):
        for instance_id in (None, "a", "b"):
            await ask(heartbeat(group_id, 1, member_id, instance_id), other_version)
    await sync(first, 1, "a")
    await sync(again, 1, "a")
    await join("a", first)
    await join("a", protocols=knowing("other"))
    await join("a", again, protocols=knowing("range", "other"))
    restarted = (await join("a", protocols=knowing("other"))).member_id
    await sync(restarted, 3, "a", **({"protocol_name": "other"} if version == 9 else {}))
    await ask(DescribeGroupsRequest(groups=(group_id,)), 5)
    await ask(
        LeaveGroupRequest(group_id=group_id, members=(MemberIdentity(member_id="", group_instance_id="a"),)),
        other_version,
    )
    await ask(DescribeGroupsRequest(groups=(group_id,)), 5)


async def pending_static(ask: Asker) -> None:
    """An id that was given out is not for a static member."""
    if ask.level is not Level.HIGHEST:
        return
    group_id = await group(ask, "pending")
    pending = (await ask(joining(group_id))).member_id
    await ask(joining(group_id, pending, group_instance_id="a"))
    await ask(joining(group_id, pending))


# --- deadlines


async def silence(ask: Asker) -> None:
    """A member that is not heard of within its session timeout is out, and who waits for it goes on without it."""
    if ask.level is not Level.HIGHEST:
        return
    group_id = await group(ask, "silence")
    told = await enter(ask, group_id, session_timeout_ms=PATIENCE_MS)
    await ask(syncing(ask, group_id, 1, told.member_id))
    pending = (await ask(joining(group_id))).member_id
    await ask(joining(group_id, pending))
    await ask(heartbeat(group_id, 1, told.member_id))
    await ask(DescribeGroupsRequest(groups=(group_id,)))


async def lateness(ask: Asker) -> None:
    """Who does not join again in time is out, unless it is static; so is who does not ask for its assignment."""
    if ask.level is not Level.HIGHEST:
        return
    group_id = await group(ask, "lateness")
    static = await ask(joining(group_id, group_instance_id="a", rebalance_timeout_ms=PATIENCE_MS))
    await ask(syncing(ask, group_id, 1, static.member_id, group_instance_id="a"))
    last = ""
    for generation in (2, 3):
        last = (await ask(joining(group_id, rebalance_timeout_ms=PATIENCE_MS))).member_id
        await ask(joining(group_id, last, rebalance_timeout_ms=PATIENCE_MS))
        await ask(heartbeat(group_id, generation, static.member_id, "a"))
        await ask(DescribeGroupsRequest(groups=(group_id,)))
    code = ErrorCode.NONE
    await ask(syncing(ask, group_id, 3, last))
    while code == ErrorCode.NONE:  # the static member has joined neither, and the generation does not wait for ever
        code = (await ask.quietly(heartbeat(group_id, 3, last))).error_code
    ask.keep(code)
    await ask(heartbeat(group_id, 3, static.member_id, "a"))
    await ask(DescribeGroupsRequest(groups=(group_id,)))
    await ask(joining(group_id, last))


# --- records


async def records(ask: Asker) -> None:
    """What is in the log of a group after a life of it: when something is written, in which version, and what."""
    group_id = await group(ask, "recorded")
    member = await alone(ask, group_id)
    await ask(joining(group_id, member, protocols=knowing("range")))
    await ask(syncing(ask, group_id, 2, member, assignments=assigned(**{member: b"mine", "nobody": b"else"})))
    await ask(leaving(ask, group_id, MemberIdentity(member_id=member)))
    await ask(joining(group_id, protocols=()))
    for _ in range(2):
        static = await ask(joining(group_id, group_instance_id="a"), 9)
        await ask(syncing(ask, group_id, static.generation_id, static.member_id))
    gone = MemberIdentity(member_id="", group_instance_id="a")
    await ask(LeaveGroupRequest(group_id=group_id, members=(gone,)), 5)
    await ask(DeleteGroupsRequest(groups_names=(group_id,)))
    ask.keep([stored async for stored in records_of_group(ask, group_id)])


async def records_of_group(ask: Asker, group_id: str) -> AsyncIterator[tuple[object, ...]]:
    partition = partition_of(group_id, int(SETTINGS["offsets.topic.num.partitions"]))
    for record in await ask.stored("__consumer_offsets", partition):
        assert record.key is not None
        key = CONSUMER_OFFSETS.read_key(record.key)
        if key == GroupMetadataKey(group=group_id):
            yield (None,) if record.value is None else CONSUMER_OFFSETS.read_value(key, record.value)


# --- tools


async def describing(ask: Asker) -> None:
    group_id, nobody = await group(ask, "described"), await group(ask, "nobody")
    await alone(ask, group_id)
    await ask(DescribeGroupsRequest(groups=(group_id, nobody, group_id, nobody)))
    await ask(DescribeGroupsRequest(groups=()))
    if ask.level is not Level.LOWEST:
        await ask(DescribeGroupsRequest(groups=(group_id, nobody), include_authorized_operations=True))


async def listing(ask: Asker) -> None:
    """Other cases leave groups behind, and other levels: only those of this one are compared."""
    empty, stable, unwritten = [await group(ask, f"listed-{name}") for name in ("empty", "stable", "unwritten")]
    member = await alone(ask, empty)
    await ask(leaving(ask, empty, MemberIdentity(member_id=member)))
    await alone(ask, stable)
    await ask(joining(unwritten, protocols=()))
    await written(ask, unwritten)
    while (await ask.quietly(ListGroupsRequest(), 0)).error_code:  # a coordinator of other groups may be loading
        continue

    async def ask_list(**filters: tuple[str, ...]) -> None:
        answer = await ask.quietly(ListGroupsRequest(**filters))
        if isinstance(answer, str):
            ask.keep(answer)
            return
        ask.keep(answer.error_code)
        own = [each for each in answer.groups if each.group_id in (empty, stable, unwritten)]
        ask.keep(sorted(own, key=lambda each: each.group_id))

    await ask_list()
    for states in (("Empty",), ("stable", "EMPTY"), (" Stable ",), ("nonsense",), ("",), ("PreparingRebalance",)):
        await ask_list(states_filter=states)
    for types in (("classic",), ("Classic", "consumer"), ("consumer",), ("nonsense",), (" classic",), ("",)):
        await ask_list(types_filter=types)
    await ask_list(states_filter=("Empty",), types_filter=("CLASSIC",))


async def deleting(ask: Asker) -> None:
    names = ("one", "two", "three")
    groups = [await group(ask, f"deleted-{name}") for name in names]
    nobody = await group(ask, "nobody")
    for group_id in groups[:2]:
        member = await alone(ask, group_id)
        await ask(DeleteGroupsRequest(groups_names=(group_id,)))
        await ask(leaving(ask, group_id, MemberIdentity(member_id=member)))
    staying = await alone(ask, groups[2])
    await ask(DeleteGroupsRequest(groups_names=(*groups, groups[0], nobody)))
    await ask(DeleteGroupsRequest(groups_names=tuple(groups)))
    await ask(DeleteGroupsRequest(groups_names=()))
    await ask(DescribeGroupsRequest(groups=tuple(groups)))
    await ask(heartbeat(groups[2], 1, staying))
    told = await enter(ask, groups[0])
    await ask(heartbeat(groups[0], told.generation_id, told.member_id))


CASES: list[Case] = [
    two_members,
    strangers,
    invalid_ids,
    session_timeouts,
    protocols,
    rejoining,
    leaving_together,
    static_members,
    pending_static,
    silence,
    lateness,
    records,
    describing,
    listing,
    deleting,
]


@pytest.mark.parametrize("level", Level, ids=lambda level: level.value)
@pytest.mark.parametrize("case", CASES, ids=lambda case: case.__name__)
def test_kafka_answers_the_same(both: tuple[Side, Side], case: Case, level: Level) -> None:
    found = differences(case, level, both)
    assert not found, found
