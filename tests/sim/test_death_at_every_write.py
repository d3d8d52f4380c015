"""A broker that dies in each of the writes that end a transaction: Prepare, every marker, Complete, and more."""

from itertools import count

import pytest

from odradek.model.broker_config import BrokerConfig
from odradek.model.topic_partition import TopicPartition
from support.sim.groups.consumer import Claim
from support.sim.process import Process
from support.sim.script import Script, perform
from support.sim.streams import CALM
from support.sim.transactions.checkers.ending import check_ended
from support.sim.transactions.checkers.stable import StableOffsets
from support.sim.transactions.flow import NEW, OLD, Flow
from support.sim.transactions.lines import Lines
from support.sim.transactions.producer import Producer
from support.sim.transactions.values import Tag, Value
from support.sim.transactions.world import World

pytestmark = pytest.mark.slow

TOPIC, GROUP = "topic", "group"
PLACES = [TopicPartition(TOPIC, number) for number in range(3)]
POINTS_LEAST = 5
"""Prepare, three markers of the topic, one of the offsets."""
LIMIT_MS = 60_000


class History:
    """One transaction with records in three partitions and an offset. The broker dies once, and comes back."""

    def __init__(self, flow: Flow, point: int, *, commit: bool) -> None:
        self._flow = flow
        self._point = point
        self._commit = commit
        config = BrokerConfig(offsets_topic_num_partitions=1, transaction_state_log_num_partitions=1)
        self.world = World(1, CALM, CALM, config)
        self.node = self.world.node
        self.stable = StableOffsets(self.node)
        self.values = {number: [Value(number, 0, Tag("it", 1))] for number in range(3)}
        self.is_done = False

    def go(self) -> None:
        self.node.watched = self.stable.look
        self.node.died = lambda _how: self.world.events.after(100, self.node.start)
        self.node.start()
        self.world.admin.set_up({TOPIC: 3}, 1)
        process = Process(self.world.events)
        lines = Lines(self.world.host_of(process, "it", self._flow), process, "it")
        lines.open()
        perform(self._transact(Producer(process, lines, self._flow, 30_000)))
        self.world.events.run_until(LIMIT_MS)

    def _transact(self, producer: Producer) -> Script[None]:
        yield from producer.init()
        yield from producer.produce(TOPIC, self.values)
        yield from producer.send_offsets(GROUP, {PLACES[0]: 7}, Claim("", -1))
        self.node.disk.die_at(self._point)
        yield from producer.end(commit=self._commit)
        self.is_done = True

    def offset(self) -> int | None:
        found = self.node.coordinators.groups.shard_of(GROUP).offsets.committed(GROUP, *PLACES[0])
        return None if found is None else found.offset


@pytest.mark.parametrize("commit", [True, False], ids=["commit", "abort"])
@pytest.mark.parametrize("flow", [NEW, OLD], ids=["new clients", "older clients"])
def test_a_transaction_ends_as_it_was_decided(flow: Flow, commit: bool) -> None:
    for point in count(1):
        history = History(flow, point, commit=commit)
        history.go()
        assert history.is_done
        check_ended(history.node, history.stable)
        seen = [read.value for place in PLACES for read in history.stable.committed(place)]
        assert seen == ([value for values in history.values.values() for value in values] if commit else [])
        assert history.offset() == (7 if commit else None)
        deaths = history.node.life - 1
        history.node.died = lambda _how: None
        history.node.kill()
        if not deaths:
            break
    assert point > POINTS_LEAST
