"""A running group of the consumer protocol is handed from odradek to Apache Kafka and back: its members see nothing."""

import asyncio
from collections.abc import Awaitable
from pathlib import Path

from odradek.model.error_code import ErrorCode
from odradek.testing import running_broker
from odradek.wire.messages.consumer_group_describe import (
    ConsumerGroupDescribeRequest,
    ConsumerGroupDescribeResponse,
    DescribedGroup,
)
from odradek.wire.messages.consumer_group_heartbeat import (
    ConsumerGroupHeartbeatRequest,
    ConsumerGroupHeartbeatResponse,
)
from odradek.wire.messages.find_coordinator import FindCoordinatorRequest, FindCoordinatorResponse
from odradek.wire.schema import replace
from support.apache_kafka import ApacheKafka
from support.one_node import one_node
from support.raw_client import RawClient

GROUP = "handed-over"
SETTINGS = {
    **one_node(),
    "group.consumer.max.session.timeout.ms": "600000",
    "group.consumer.session.timeout.ms": "600000",
    "group.consumer.assignment.interval.ms": "0",
}
_NOT_YET = (
    ErrorCode.COORDINATOR_NOT_AVAILABLE,
    ErrorCode.COORDINATOR_LOAD_IN_PROGRESS,
    ErrorCode.NOT_COORDINATOR,
)
_LIMIT_S = 300


async def coordinated(port: int) -> RawClient:
    """A client of a broker that has loaded the group."""
    client = await RawClient.connect("127.0.0.1", port)
    while True:
        asked = FindCoordinatorRequest(coordinator_keys=(GROUP,))
        found = await client.ask(asked, FindCoordinatorResponse, 4)
        if not found.coordinators[0].error_code and (await described(client)).error_code not in _NOT_YET:
            return client


async def beat(client: RawClient, request: ConsumerGroupHeartbeatRequest) -> ConsumerGroupHeartbeatResponse:
    answer = await client.ask(request, ConsumerGroupHeartbeatResponse, 1)
    assert not answer.error_code, answer
    return answer


async def described(client: RawClient) -> DescribedGroup:
    asked = ConsumerGroupDescribeRequest(group_ids=(GROUP,), include_authorized_operations=False)
    (group,) = (await client.ask(asked, ConsumerGroupDescribeResponse, 1)).groups
    return replace(group, members=tuple(sorted(group.members, key=lambda member: member.member_id)))


def member(name: str, epoch: int, **fields: object) -> ConsumerGroupHeartbeatRequest:
    return ConsumerGroupHeartbeatRequest(group_id=GROUP, member_id=name, member_epoch=epoch, **fields)  # type: ignore[arg-type]


async def begin(port: int) -> DescribedGroup:
    """A group of two, stable: one by names, one static and by an expression, which takes Kafka some heartbeats."""
    client = await coordinated(port)
    known = {"rebalance_timeout_ms": 60_000, "topic_partitions": ()}
    first = await beat(client, member("a", 0, subscribed_topic_names=("orders",), **known))
    second = await beat(client, member("b", 0, instance_id="one", subscribed_topic_regex="bil.*", **known))
    while True:
        first = await beat(client, member("a", first.member_epoch, topic_partitions=()))
        second = await beat(client, member("b", second.member_epoch, instance_id="one", topic_partitions=()))
        group = await described(client)
        if group.group_state == "Stable" and all(each.assignment.topic_partitions for each in group.members):
            await client.close()
            return group


async def go_on(port: int) -> DescribedGroup:
    """Each member goes on with its heartbeats, and nothing is new to it."""
    client = await coordinated(port)
    epoch = (await described(client)).group_epoch
    for _ in range(2):
        for request in (member("a", epoch), member("b", epoch, instance_id="one")):
            answer = await beat(client, request)
            assert answer.member_epoch == epoch
            assert answer.assignment is None
    group = await described(client)
    await client.close()
    return group


def run(story: Awaitable[DescribedGroup]) -> DescribedGroup:
    async def limited() -> DescribedGroup:
        async with asyncio.timeout(_LIMIT_S):
            return await story

    return asyncio.run(limited())


def test_from_odradek_to_kafka_and_back(kafka: ApacheKafka, tmp_path: Path) -> None:
    data, work = tmp_path / "data", tmp_path / "work"
    work.mkdir()
    with running_broker(SETTINGS, directory=data) as broker:
        broker.create_topic("orders", 4)
        broker.create_topic("bills", 2)
        before = run(begin(broker.port))
        broker.restart()
        assert run(go_on(broker.port)) == before
    with kafka.broker(work, [data], SETTINGS) as theirs:
        assert run(go_on(theirs.port)) == before
    with running_broker(SETTINGS, directory=data) as broker:
        assert run(go_on(broker.port)) == before


def test_from_kafka_to_odradek(kafka: ApacheKafka, tmp_path: Path) -> None:
    data, work = tmp_path / "data", tmp_path / "work"
    work.mkdir()
    with running_broker(SETTINGS, directory=data) as broker:
        broker.create_topic("orders", 4)
        broker.create_topic("bills", 2)
    with kafka.broker(work, [data], SETTINGS) as theirs:
        before = run(begin(theirs.port))
    with running_broker(SETTINGS, directory=data) as broker:
        assert run(go_on(broker.port)) == before
