"""Random histories of a group: no partition has two owners at any moment, and in the end all is shared out."""

from dataclasses import dataclass, field
from random import Random

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from odradek.model.broker_config import BrokerConfig
from odradek.model.error_code import ErrorCode
from support.consumer_stage import HEARTBEAT_MS, SESSION_MS, Consumer, ConsumerStage

_STEPS = 120
_MEMBERS_MAX = 6


@dataclass
class History:
    rng: Random
    stage: ConsumerStage
    consumers: list[Consumer] = field(default_factory=list)
    names: int = 0

    def step(self) -> None:
        acts = (
            (40, self.beat),
            (10, self.join),
            (5, self.leave),
            (5, self.crash),
            (5, self.restart_static),
            (8, self.hold),
            (6, self.change_topics),
            (6, self.resubscribe),
            (8, self.wait),
            (4, self.restart_broker),
        )
        (act,) = self.rng.choices([act for _, act in acts], [weight for weight, _ in acts])
        act()
        self.check()

    # --- what happens

    def beat(self) -> None:
        if self.consumers:
            consumer = self.rng.choice(self.consumers)
            consumer.beat(lost=self.rng.random() < 0.15)

    def join(self) -> None:
        if len(self.consumers) < _MEMBERS_MAX:
            self.names += 1
            instance = f"instance{self.names}" if self.rng.random() < 0.3 else None
            self.consumers.append(self._subscribed(Consumer(self.stage, instance_id=instance)))
            self.consumers[-1].beat(lost=self.rng.random() < 0.2)

    def leave(self) -> None:
        if self.consumers:
            consumer = self.consumers.pop(self.rng.randrange(len(self.consumers)))
            if consumer.epoch > 0:
                consumer.leave()

    def crash(self) -> None:
        if self.consumers:
            self.consumers.pop(self.rng.randrange(len(self.consumers)))

    def restart_static(self) -> None:
        static = [each for each in self.consumers if each.instance_id is not None and each.epoch > 0]
        if static:
            consumer = self.rng.choice(static)
            consumer.leave(-2)
            self.consumers.remove(consumer)
            again = Consumer(
                self.stage, consumer.topics, expression=consumer.expression, instance_id=consumer.instance_id
            )
            self.consumers.append(again)

    def hold(self) -> None:
        for consumer in self.consumers:
            consumer.keeps = self.rng.random() < 0.3

    def change_topics(self) -> None:
        topics = sorted(self.stage.image.topics.names)
        kind = self.rng.random()
        if kind < 0.4 or not topics:
            self.names += 1
            self.stage.create(f"topic{self.names}", self.rng.randint(1, 6))
        elif kind < 0.8:
            name = self.rng.choice(topics)
            count = len(self.stage.image.topics.names[name].partitions)
            self.stage.add_partitions(name, count + self.rng.randint(1, 3))
        else:
            self.stage.delete(self.rng.choice(topics))

    def resubscribe(self) -> None:
        if self.consumers:
            self._subscribed(self.rng.choice(self.consumers))

    def wait(self) -> None:
        self.stage.advance(self.rng.choice([500, HEARTBEAT_MS, SESSION_MS // 3]))
        self._forget_the_dead()

    def restart_broker(self) -> None:
        stage = self.stage.restarted()
        assert stage.groups.keys() == self.stage.groups.keys()
        for group_id in stage.groups:
            assert stage.consumer.describe(group_id) == self.stage.consumer.describe(group_id)
        for consumer in self.consumers:
            consumer.stage = stage
        self.stage = stage

    def _subscribed(self, consumer: Consumer) -> Consumer:
        topics = sorted(self.stage.image.topics.names)
        if self.rng.random() < 0.3:
            consumer.subscribe(expression=self.rng.choice(["topic.*", "topic[0-4]", "nothing"]))
        else:
            consumer.subscribe(*self.rng.sample(topics, self.rng.randint(0, len(topics))), "later")
        return consumer

    def _forget_the_dead(self) -> None:
        """A client stops reading when it could not reach the coordinator for a session; so do ours."""
        for consumer in self.consumers:
            members = self.stage.group.members if self.stage.groups else {}
            if consumer.epoch > 0 and consumer.member_id not in members:
                consumer.beat()
                assert consumer.error in (ErrorCode.UNKNOWN_MEMBER_ID, ErrorCode.FENCED_INSTANCE_ID)

    # --- what holds

    def check(self) -> None:
        owners: dict[tuple[bytes, int], str] = {}
        for consumer in self.consumers:
            for topic_id, partitions in consumer.owned.items():
                for partition in partitions:
                    other = owners.setdefault((topic_id, partition), consumer.member_id)
                    assert other == consumer.member_id, f"{partition} is with {other} and {consumer.member_id}"

    def calm_down(self) -> None:
        """Nothing happens any more but heartbeats."""
        for consumer in self.consumers:
            consumer.keeps = False
        for _ in range(30):
            self.stage.advance(HEARTBEAT_MS)
            for consumer in self.consumers:
                consumer.beat()
                if consumer.error is ErrorCode.FENCED_INSTANCE_ID:
                    consumer.epoch = 0
            self.check()

    def check_shared_out(self) -> None:
        topics = self.stage.image.topics
        wanted = {
            (topic, partition)
            for topic in topics.names
            if any(self._wants(consumer, topic) for consumer in self.consumers)
            for partition in topics.names[topic].partitions
        }
        assert {each for consumer in self.consumers for each in consumer.has} == wanted
        for consumer in self.consumers:
            assert all(self._wants(consumer, topic) for topic, _ in consumer.has)
            assert consumer.epoch == self.stage.group.epoch
        assert not self.consumers or self.stage.group.state_name == "Stable"

    def _wants(self, consumer: Consumer, topic: str) -> bool:
        member = self.stage.group.members[consumer.member_id]
        names, expression = member.subscription
        matched = self.stage.group.matched
        return topic in names or (expression in matched and topic in matched[expression].topics)


@pytest.mark.slow
@settings(deadline=None, max_examples=60)
@given(seed=st.integers(0, 1 << 32), interval_ms=st.sampled_from([0, 1_000]))
def test_one_owner_at_every_moment_and_all_shared_out_in_the_end(seed: int, interval_ms: int) -> None:
    stage = ConsumerStage(BrokerConfig(group_consumer_assignment_interval_ms=interval_ms))
    stage.create("orders", 4)
    history = History(Random(seed), stage)
    for _ in range(_STEPS):
        history.step()
    history.calm_down()
    history.check_shared_out()
