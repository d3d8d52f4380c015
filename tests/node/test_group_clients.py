"""Members of librdkafka's share the work of a group, by each of its strategies."""

import shutil
import subprocess
from collections.abc import Callable, Iterator
from typing import Any

import pytest
from confluent_kafka import Consumer, Producer, TopicPartition
from confluent_kafka.admin import AdminClient

from odradek.testing import RunningBroker, running_broker

pytestmark = pytest.mark.slow
PARTITIONS = 4
RECORDS = 40
LIMIT_S = 120
SETTINGS: dict[str, Any] = {"auto.offset.reset": "earliest", "heartbeat.interval.ms": 100, "session.timeout.ms": 30_000}

Topic = Callable[[str], str]


@pytest.fixture(scope="module")
def broker() -> Iterator[RunningBroker]:
    with running_broker() as running:
        yield running


@pytest.fixture
def topic(broker: RunningBroker) -> Topic:
    """Makes a topic with records in all partitions, and says its name."""

    def make(name: str) -> str:
        broker.create_topic(name, partitions=PARTITIONS)
        produce(broker, name, range(RECORDS))
        return name

    return make


def produce(broker: RunningBroker, topic: str, numbers: range) -> None:
    producer = Producer({"bootstrap.servers": broker.bootstrap})
    for number in numbers:
        producer.produce(topic, str(number), partition=number % PARTITIONS)
    assert producer.flush(LIMIT_S) == 0


class Member:
    """A consumer of librdkafka's."""

    def __init__(self, broker: RunningBroker, topic: str, group: str, **settings: Any) -> None:
        given = {key.replace("_", "."): value for key, value in settings.items()}
        self.assignments = 0
        self.read: list[int] = []
        self.consumer = Consumer({"bootstrap.servers": broker.bootstrap, "group.id": group, **SETTINGS, **given})
        self.consumer.subscribe([topic], on_assign=self._assigned)

    def _assigned(self, consumer: Consumer, partitions: list[TopicPartition]) -> None:
        self.assignments += 1

    @property
    def partitions(self) -> set[int]:
        return {each.partition for each in self.consumer.assignment()}

    def poll(self) -> None:
        message = self.consumer.poll(0.02)
        if message is not None:
            assert message.error() is None, message.error()
            value = message.value()
            assert value is not None
            self.read.append(int(value))


def poll_until(done: Callable[[], bool], *members: Member) -> None:
    while not done():
        for member in members:
            member.poll()


def shared(*members: Member) -> bool:
    """Whether each partition has one owner, and all have the same number of them."""
    owned = [member.partitions for member in members]
    is_even = all(len(each) == PARTITIONS // len(members) for each in owned)
    return is_even and set().union(*owned) == set(range(PARTITIONS))


@pytest.mark.parametrize("strategy", ["range", "roundrobin", "cooperative-sticky"])
def test_members_share_the_partitions(broker: RunningBroker, topic: Topic, strategy: str) -> None:
    name = topic(f"shared-{strategy}")
    first = Member(broker, name, name, partition_assignment_strategy=strategy)
    poll_until(lambda: first.partitions == set(range(PARTITIONS)), first)
    second = Member(broker, name, name, partition_assignment_strategy=strategy)
    poll_until(lambda: shared(first, second), first, second)
    poll_until(lambda: {*first.read, *second.read} == set(range(RECORDS)), first, second)
    second.consumer.close()
    poll_until(lambda: first.partitions == set(range(PARTITIONS)), first)
    first.consumer.close()


@pytest.mark.parametrize("commits_itself", [True, False])
def test_a_group_goes_on_where_it_committed(broker: RunningBroker, topic: Topic, commits_itself: bool) -> None:
    name = topic(f"committed-{commits_itself}")
    member = Member(broker, name, name, enable_auto_commit=commits_itself, auto_commit_interval_ms=60_000)
    poll_until(lambda: len(member.read) == RECORDS, member)
    if not commits_itself:
        member.consumer.commit(asynchronous=False)
    member.consumer.close()  # which commits, where it does so by itself
    produce(broker, name, range(RECORDS, RECORDS + 5))
    later = Member(broker, name, name)
    poll_until(lambda: len(later.read) >= 5, later)
    assert sorted(later.read) == list(range(RECORDS, RECORDS + 5))
    later.consumer.close()


def test_a_static_member_restarts_and_the_others_do_not_notice(broker: RunningBroker, topic: Topic) -> None:
    name = topic("static")
    first = Member(broker, name, name, group_instance_id="one")
    second = Member(broker, name, name, group_instance_id="two")
    poll_until(lambda: shared(first, second), first, second)
    before, owned = first.assignments, second.partitions
    second.consumer.close()
    again = Member(broker, name, name, group_instance_id="two")
    poll_until(lambda: again.partitions == owned, first, again)
    assert first.assignments == before
    assert shared(first, again)
    for member in (first, again):
        member.consumer.close()


def test_a_group_is_there_after_its_broker_was_killed(odradek_broker: RunningBroker) -> None:
    broker = odradek_broker
    broker.create_topic("kept", partitions=PARTITIONS)
    produce(broker, "kept", range(RECORDS))
    member = Member(broker, "kept", "readers", enable_auto_commit=False)
    poll_until(lambda: len(member.read) == RECORDS, member)
    member.consumer.commit(asynchronous=False)
    before = member.assignments
    broker.kill()
    broker.restart()
    produce(broker, "kept", range(RECORDS, RECORDS + 5))
    while len(member.read) < RECORDS + 5:
        message = member.consumer.poll(0.02)
        if message is not None and message.error() is None:
            member.read.append(int(message.value() or b""))
    assert sorted(member.read) == list(range(RECORDS + 5))
    assert member.assignments == before  # it is the same member still
    member.consumer.commit(asynchronous=False)
    member.consumer.close()


def test_kcat_in_a_group(broker: RunningBroker, topic: Topic) -> None:
    program = shutil.which("kcat")
    if program is None:
        pytest.skip("there is no kcat on PATH (Debian has it in the package kcat)")
    name = topic("kcat")

    def read(count: int) -> list[int]:
        options = ["-q", "-c", str(count), "-X", "auto.offset.reset=earliest", "-f", "%s\n"]
        command = [program, "-b", broker.bootstrap, "-G", "kcat-readers", *options, name]
        ended = subprocess.run(command, capture_output=True, text=True, timeout=LIMIT_S, check=False)
        assert ended.returncode == 0, ended.stderr
        return sorted(map(int, ended.stdout.split()))

    assert read(RECORDS) == list(range(RECORDS))
    produce(broker, name, range(RECORDS, RECORDS + 3))
    assert read(3) == list(range(RECORDS, RECORDS + 3))


def test_a_group_as_its_client_shows_it(broker: RunningBroker, topic: Topic) -> None:
    name = topic("shown")
    member = Member(broker, name, name)
    poll_until(lambda: len(member.partitions) == PARTITIONS, member)
    admin = AdminClient({"bootstrap.servers": broker.bootstrap})
    shown = admin.describe_consumer_groups([name])[name].result(LIMIT_S)
    assert (shown.state.name, shown.partition_assignor, len(shown.members)) == ("STABLE", "range", 1)
    assert {each.partition for each in shown.members[0].assignment.topic_partitions} == set(range(PARTITIONS))
    listed = admin.list_consumer_groups().result(LIMIT_S)
    assert name in {each.group_id for each in listed.valid}
    member.consumer.close()
    assert admin.delete_consumer_groups([name])[name].result(LIMIT_S) is None
