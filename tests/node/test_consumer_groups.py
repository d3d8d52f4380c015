"""Consumers of confluent-kafka share topics in groups of the consumer protocol."""

import asyncio
from collections.abc import Callable, Iterable, Iterator
from contextlib import ExitStack
from uuid import UUID

import pytest
from confluent_kafka import Consumer, ConsumerGroupTopicPartitions, KafkaException, Producer, TopicPartition
from confluent_kafka.admin import AdminClient
from confluent_kafka.cimpl import NewPartitions, NewTopic

from odradek.model.error_code import ErrorCode
from odradek.testing import RunningBroker, running_broker
from odradek.wire.messages.consumer_group_describe import ConsumerGroupDescribeRequest, ConsumerGroupDescribeResponse
from odradek.wire.messages.consumer_group_heartbeat import (
    ConsumerGroupHeartbeatRequest,
    ConsumerGroupHeartbeatResponse,
)
from odradek.wire.messages.find_coordinator import FindCoordinatorRequest, FindCoordinatorResponse
from support.committing import begin_at_the_start
from support.raw_client import RawClient

pytestmark = pytest.mark.slow

PARTITIONS = 4
SETTINGS = {
    "group.consumer.min.heartbeat.interval.ms": "100",
    "group.consumer.heartbeat.interval.ms": "100",
    "group.consumer.min.session.timeout.ms": "1000",
    "group.consumer.session.timeout.ms": "10000",
    "group.consumer.assignment.interval.ms": "0",
}
_POLLS_MAX = 3000
"""Of a tenth of a second each: what takes longer never happens."""

Make = Callable[..., Consumer]


@pytest.fixture(scope="module")
def broker() -> Iterator[RunningBroker]:
    with running_broker(SETTINGS) as running:
        yield running


@pytest.fixture(scope="module")
def admin(broker: RunningBroker) -> AdminClient:
    return AdminClient({"bootstrap.servers": broker.bootstrap})


@pytest.fixture
def topic(request: pytest.FixtureRequest, admin: AdminClient) -> str:
    name = str(request.node.name)[:60]
    create(admin, name)
    return name


@pytest.fixture
def consumer(broker: RunningBroker) -> Iterator[Make]:
    """Makes one of the group that is named like its topic."""
    with ExitStack() as closing:

        def make(group: str, *topics: str, **config: str) -> Consumer:
            made = Consumer(
                {
                    "bootstrap.servers": broker.bootstrap,
                    "group.id": group,
                    "group.protocol": "consumer",
                    "auto.offset.reset": "earliest",
                    "enable.auto.commit": False,
                    "topic.metadata.refresh.interval.ms": 100,
                    **{key.replace("_", "."): value for key, value in config.items()},
                }
            )
            closing.callback(_close, made)
            made.subscribe(list(topics))
            return made

        yield make


def _close(consumer: Consumer) -> None:
    try:
        consumer.close()
    except RuntimeError:
        return  # it is closed


def create(admin: AdminClient, name: str, partitions: int = PARTITIONS) -> None:
    admin.create_topics([NewTopic(name, partitions)])[name].result(30)


def poll_until(condition: Callable[[], bool], *consumers: Consumer) -> None:
    for _ in range(_POLLS_MAX):
        for consumer in consumers:
            consumer.poll(0.1 / len(consumers))
        if condition():
            return
    raise AssertionError(f"never: {[consumer.assignment() for consumer in consumers]}")


def read(count: int, *consumers: Consumer) -> list[int]:
    """As many records as that, by whichever of them; in order."""
    values: list[int] = []
    for _ in range(_POLLS_MAX):
        for consumer in consumers:
            message = consumer.poll(0.1 / len(consumers))
            if message is not None and message.error() is None:
                values.append(int(message.value() or b""))
        if len(values) >= count:
            return sorted(values)
    raise AssertionError(f"there were {len(values)} records only")


def produce(broker: RunningBroker, topic: str, values: Iterable[int]) -> None:
    producer = Producer({"bootstrap.servers": broker.bootstrap})
    for value in values:
        producer.produce(topic, str(value), partition=value % PARTITIONS)
    producer.flush()


def has(consumer: Consumer) -> set[tuple[str, int]]:
    return {(each.topic, each.partition) for each in consumer.assignment()}


def all_of(topic: str, partitions: int = PARTITIONS) -> set[tuple[str, int]]:
    return {(topic, partition) for partition in range(partitions)}


def shared(topic: str, *consumers: Consumer) -> Callable[[], bool]:
    def is_so() -> bool:
        each = [has(consumer) for consumer in consumers]
        return all(each) and sum(map(len, each)) == PARTITIONS and set.union(*each) == all_of(topic)

    return is_so


def test_a_second_consumer_takes_its_share_and_gives_it_back(topic: str, consumer: Make) -> None:
    first = consumer(topic, topic)
    poll_until(lambda: has(first) == all_of(topic), first)
    second = consumer(topic, topic)
    poll_until(shared(topic, first, second), first, second)
    second.close()
    poll_until(lambda: has(first) == all_of(topic), first)


def test_records_are_read_once_and_commits_are_kept(
    topic: str, consumer: Make, broker: RunningBroker, admin: AdminClient
) -> None:
    produce(broker, topic, range(40))
    first = consumer(topic, topic)
    assert read(40, first) == list(range(40))
    first.commit(asynchronous=False)
    first.close()
    (listed,) = admin.list_consumer_group_offsets([ConsumerGroupTopicPartitions(topic)]).values()
    committed = listed.result(30).topic_partitions
    assert committed is not None
    assert {(each.partition, each.offset) for each in committed} == {(number, 10) for number in range(PARTITIONS)}
    broker.restart()
    produce(broker, topic, [40])
    assert read(1, consumer(topic, topic)) == [40]


def test_an_expression_sees_a_topic_that_comes_later(topic: str, consumer: Make, admin: AdminClient) -> None:
    reader = consumer(topic, f"^{topic}.*")
    poll_until(lambda: has(reader) == all_of(topic), reader)
    create(admin, f"{topic}-later", 1)
    poll_until(lambda: has(reader) == all_of(topic) | {(f"{topic}-later", 0)}, reader)


def test_partitions_that_are_added_are_read(topic: str, consumer: Make, admin: AdminClient) -> None:
    reader = consumer(topic, topic)
    poll_until(lambda: has(reader) == all_of(topic), reader)
    admin.create_partitions([NewPartitions(topic, 6)])[topic].result(30)
    poll_until(lambda: has(reader) == all_of(topic, 6), reader)


def test_a_group_outlives_a_crash_of_the_broker(
    topic: str, consumer: Make, broker: RunningBroker, admin: AdminClient
) -> None:
    begin_at_the_start(admin, topic, topic, PARTITIONS)
    first, second = consumer(topic, topic), consumer(topic, topic)
    poll_until(shared(topic, first, second), first, second)
    before = has(first), has(second)
    broker.kill()
    broker.start()
    produce(broker, topic, range(PARTITIONS))
    assert read(PARTITIONS, first, second) == list(range(PARTITIONS))
    assert (has(first), has(second)) == before


def test_a_static_member_that_restarts_gets_the_same(topic: str, consumer: Make, admin: AdminClient) -> None:
    first = consumer(topic, topic, group_instance_id="one")
    second = consumer(topic, topic, group_instance_id="two")
    poll_until(shared(topic, first, second), first, second)
    before = has(first)
    first.close()
    again = consumer(topic, topic, group_instance_id="one")
    poll_until(lambda: bool(has(again)), again, second)
    assert has(again) == before
    described = admin.describe_consumer_groups([topic])[topic].result(30)
    assert {member.group_instance_id for member in described.members} == {"one", "two"}
    assert described.state.name == "STABLE"


def test_a_commit_of_somebody_else_is_refused(topic: str, consumer: Make, broker: RunningBroker) -> None:
    member = consumer(topic, topic)
    poll_until(lambda: has(member) == all_of(topic), member)
    outside = Consumer({"bootstrap.servers": broker.bootstrap, "group.id": topic})
    with pytest.raises(KafkaException, match="UNKNOWN_MEMBER_ID"):
        outside.commit(offsets=[TopicPartition(topic, 0, 1)], asynchronous=False)
    outside.close()


def test_in_version_0_the_coordinator_makes_the_id_of_a_member(topic: str, broker: RunningBroker) -> None:
    request = ConsumerGroupHeartbeatRequest(
        group_id=topic,
        member_id="",
        member_epoch=0,
        rebalance_timeout_ms=1_000,
        subscribed_topic_names=(topic,),
        topic_partitions=(),
    )

    async def join() -> str:
        client = await RawClient.connect("127.0.0.1", broker.port)
        await client.ask(FindCoordinatorRequest(coordinator_keys=(topic,)), FindCoordinatorResponse, 4)
        answer = await client.ask(request, ConsumerGroupHeartbeatResponse, 0)
        await client.close()
        assert answer.error_code == 0
        return answer.member_id or ""

    made = asyncio.run(join())
    assert str(UUID(made)) == made


def test_without_the_protocol_in_the_settings_nobody_is_served() -> None:
    async def ask(port: int) -> list[int]:
        client = await RawClient.connect("127.0.0.1", port)
        heartbeat = ConsumerGroupHeartbeatRequest(group_id="readers", member_id="me", member_epoch=1)
        beaten = await client.ask(heartbeat, ConsumerGroupHeartbeatResponse, 1)
        describe = ConsumerGroupDescribeRequest(group_ids=("one", "other"), include_authorized_operations=True)
        described = await client.ask(describe, ConsumerGroupDescribeResponse, 1)
        await client.close()
        return [beaten.error_code, *(group.error_code for group in described.groups)]

    with running_broker({"group.coordinator.rebalance.protocols": "classic"}) as running:
        assert asyncio.run(ask(running.port)) == [ErrorCode.UNSUPPORTED_VERSION] * 3
