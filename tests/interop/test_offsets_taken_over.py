"""Offsets that were committed with odradek are there with Apache Kafka on the same directory, and the other way."""

import asyncio
from collections.abc import Awaitable
from pathlib import Path
from typing import NamedTuple, TypeVar

from odradek.model.error_code import ErrorCode
from odradek.testing import running_broker
from odradek.wire.messages.find_coordinator import FindCoordinatorRequest, FindCoordinatorResponse
from odradek.wire.messages.offset_commit import OffsetCommitRequest, OffsetCommitResponse
from odradek.wire.messages.offset_delete import (
    OffsetDeleteRequest,
    OffsetDeleteRequestPartition,
    OffsetDeleteRequestTopic,
    OffsetDeleteResponse,
)
from odradek.wire.messages.offset_fetch import OffsetFetchRequest, OffsetFetchRequestGroup, OffsetFetchResponse
from support.apache_kafka import ApacheKafka
from support.offset_stage import offsets
from support.one_node import one_node
from support.raw_client import RawClient

SETTINGS = one_node(3)
GROUPS = ("readers", "writers", "\N{SNOWMAN}")
_LIMIT_S = 300
T = TypeVar("T")


class Found(NamedTuple):
    offset: int
    leader_epoch: int
    metadata: str | None


State = dict[tuple[str, str, int], Found]
"""By group, topic and partition."""


async def coordinated(port: int) -> RawClient:
    """A client of a broker that has loaded all groups."""
    client = await RawClient.connect("127.0.0.1", port)
    for group in GROUPS:
        code = -1
        while code:
            found = await client.ask(FindCoordinatorRequest(coordinator_keys=(group,)), FindCoordinatorResponse, 4)
            code = found.coordinators[0].error_code or (await fetch(client, group))[0]
    return client


async def fetch(client: RawClient, group: str) -> tuple[int, State]:
    request = OffsetFetchRequest(groups=(OffsetFetchRequestGroup(group_id=group, topics=None),), require_stable=True)
    (found,) = (await client.ask(request, OffsetFetchResponse, 8)).groups
    state = {
        (group, topic.name, each.partition_index): Found(
            each.committed_offset, each.committed_leader_epoch, each.metadata
        )
        for topic in found.topics
        for each in topic.partitions
    }
    return found.error_code, state


async def change(port: int, since: int) -> State:
    """Commit in all ways there are, delete some, and tell what is there then."""
    client = await coordinated(port)
    for number, group in enumerate(GROUPS):
        base = since + number * 10
        for version, topic in (
            (9, offsets("orders", base, 0, 1, metadata="words", epoch=2)),
            (3, offsets("orders", base + 1, 2)),
            (8, offsets("bills", base + 2, metadata=None)),
        ):
            retention = 86_400_000 if version == 3 else -1
            request = OffsetCommitRequest(group_id=group, member_id="", retention_time_ms=retention, topics=(topic,))
            answer = await client.ask(request, OffsetCommitResponse, version)
            assert {each.error_code for told in answer.topics for each in told.partitions} == {ErrorCode.NONE}
    gone = OffsetDeleteRequestTopic(name="orders", partitions=(OffsetDeleteRequestPartition(partition_index=1),))
    deleted = await client.ask(OffsetDeleteRequest(group_id="writers", topics=(gone,)), OffsetDeleteResponse, 0)
    assert deleted.error_code == ErrorCode.NONE
    state = await everything(client)
    await client.close()
    return state


async def look(port: int) -> State:
    client = await coordinated(port)
    state = await everything(client)
    await client.close()
    return state


async def everything(client: RawClient) -> State:
    state: State = {}
    for group in GROUPS:
        code, found = await fetch(client, group)
        assert code == ErrorCode.NONE
        state |= found
    return state


def soon(work: Awaitable[T]) -> T:
    async def limited() -> T:
        async with asyncio.timeout(_LIMIT_S):
            return await work

    return asyncio.run(limited())


def test_offsets_go_to_kafka_and_back(kafka: ApacheKafka, tmp_path: Path) -> None:
    data, work = tmp_path / "data", tmp_path / "work"
    work.mkdir()
    with running_broker(SETTINGS, directory=data) as broker:
        broker.create_topic("orders", 3)
        broker.create_topic("bills")
        ours = soon(change(broker.port, 100))
        broker.restart()
        assert soon(look(broker.port)) == ours
    assert len(ours) == 11
    with kafka.broker(work, [data], SETTINGS) as theirs:
        assert soon(look(theirs.port)) == ours
        changed = soon(change(theirs.port, 500))
    assert len(changed) == 11
    assert changed != ours
    with running_broker(SETTINGS, directory=data) as broker:
        assert soon(look(broker.port)) == changed
