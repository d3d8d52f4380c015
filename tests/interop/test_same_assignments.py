"""Apache Kafka's assignors and ours on the same groups: the same partitions for everyone.

Where Kafka goes by the order of a hash table, it is handed its members, topics and partitions in the order that we go
by: member ids, topic ids, numbers. Then all that it does is determined, and every assignment is equal. In a running
Kafka the order of its hash tables decides instead which of several equally good members gets a partition.
"""

import json
import subprocess
from collections.abc import Iterator, Sequence
from pathlib import Path
from random import Random

import pytest

from odradek.coordinators.groups.consumer.assignors import ASSIGNORS
from odradek.coordinators.groups.consumer.assignors.spec import Assignment, GroupAssignment, GroupSpec, MemberSpec
from support.apache_kafka import ApacheKafka

HISTORIES = 150
STEPS = 8


class Kafkas:
    """Kafka's assignors, in a process that answers line by line."""

    def __init__(self, process: "subprocess.Popen[str]") -> None:
        assert process.stdin is not None
        assert process.stdout is not None
        self._stdin, self._stdout = process.stdin, process.stdout

    def assign(self, name: str, spec: GroupSpec) -> GroupAssignment:
        members = [
            {
                "id": member_id,
                "instance": member.instance_id,
                "subscribed": [topic.hex() for topic in sorted(member.subscribed)],
                "assigned": {topic.hex(): sorted(member.assigned[topic]) for topic in sorted(member.assigned)},
            }
            for member_id, member in sorted(spec.members.items())
        ]
        counts = {topic.hex(): count for topic, count in spec.partitions.items()}
        self._stdin.write(json.dumps({"assignor": name, "members": members, "partitions": counts}) + "\n")
        self._stdin.flush()
        answer: dict[str, dict[str, list[int]]] = json.loads(self._stdout.readline())
        return {member_id: read(answer.get(member_id, {})) for member_id in spec.members}


def read(answer: dict[str, list[int]]) -> Assignment:
    return {bytes.fromhex(topic): frozenset(partitions) for topic, partitions in answer.items()}


@pytest.fixture(scope="module")
def kafkas(kafka: ApacheKafka, programs: Path) -> Iterator[Kafkas]:
    command = kafka.command("Assign", classes=[programs])
    with subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True) as process:
        yield Kafkas(process)
        assert process.stdin is not None
        process.stdin.close()


class Fate:
    """A group whose members, subscriptions and topics change by chance."""

    def __init__(self, seed: int, *, topics: Sequence[bytes], homogeneous: bool) -> None:
        self._random = Random(seed)
        self._homogeneous = homogeneous
        self._partitions = {topic: self._random.choice([1, 2, 3, 7, 30]) for topic in topics}
        self._members: dict[str, MemberSpec] = {}
        self._shared = self._some_topics()
        for _ in range(self._random.randint(1, 8)):
            self._join()

    def step(self) -> None:
        chance = self._random.random()
        if chance < 0.35 or not self._members:
            self._join()
        elif chance < 0.6 and len(self._members) > 1:
            del self._members[self._random.choice(sorted(self._members))]
        elif chance < 0.75:
            topic = self._random.choice(sorted(self._partitions))
            self._partitions[topic] += self._random.randint(1, 20)
        elif self._homogeneous:
            self._shared = self._some_topics()
            self._members = {
                member_id: member._replace(subscribed=self._shared) for member_id, member in self._members.items()
            }
        else:
            member_id = self._random.choice(sorted(self._members))
            self._members[member_id] = self._members[member_id]._replace(subscribed=self._some_topics())

    @property
    def spec(self) -> GroupSpec:
        return GroupSpec(dict(self._members), dict(self._partitions))

    def take(self, targets: GroupAssignment) -> None:
        self._members = {
            member_id: member._replace(assigned=targets[member_id]) for member_id, member in self._members.items()
        }

    def _join(self) -> None:
        member_id = f"{self._random.randrange(1 << 32):08x}"
        instance_id = f"i{self._random.randrange(1 << 20)}" if self._random.random() < 0.3 else None
        subscribed = self._shared if self._homogeneous else self._some_topics()
        self._members[member_id] = MemberSpec(subscribed, instance_id=instance_id)

    def _some_topics(self) -> frozenset[bytes]:
        topics = sorted(self._partitions)
        return frozenset(self._random.sample(topics, self._random.randint(0, len(topics))))


@pytest.mark.parametrize("name", ["uniform", "range"])
def test_members_that_want_the_same(kafkas: Kafkas, name: str) -> None:
    # A hash table of Java's has such ids in their order.
    topics = [bytes(15) + bytes([last]) for last in range(1, 7)]
    for seed in range(HISTORIES):
        fate = Fate(seed, topics=topics, homogeneous=True)
        for step in range(STEPS):
            spec = fate.spec
            targets = ASSIGNORS[name](spec)
            assert targets == kafkas.assign(name, spec), f"history {seed}, step {step}"
            fate.take(targets)
            fate.step()


@pytest.mark.parametrize("name", ["uniform", "range"])
def test_members_that_want_different_topics(kafkas: Kafkas, name: str) -> None:
    for seed in range(HISTORIES):
        random = Random(seed)
        fate = Fate(seed, topics=[random.randbytes(16) for _ in range(6)], homogeneous=False)
        for step in range(STEPS):
            spec = fate.spec
            targets = ASSIGNORS[name](spec)
            if not spec.is_homogeneous:
                assert targets == kafkas.assign(name, spec), f"history {seed}, step {step}"
            fate.take(targets)
            fate.step()
