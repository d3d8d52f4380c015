"""A cluster of some brokers, and what a command makes of it."""

from collections.abc import Callable
from itertools import count
from typing import Any

import pytest

from odradek.controller import brokers, topics
from odradek.controller.context import Context
from odradek.controller.result import ControllerResult
from odradek.metadata.bootstrap import activation_records, feature_records
from odradek.metadata.image import Endpoint, Image
from odradek.metadata.replay import Batch, Replay
from odradek.model.numbers import LeaderEpoch, Offset, TimestampMs
from odradek.wire.schema import Message


class Cluster:
    """The image, moved on by what commands decide."""

    def __init__(self) -> None:
        numbers = count(1000)
        self.context = Context(lambda: next(numbers).to_bytes(16, "big"), cluster_id="cluster")
        self._state = Replay()
        self.epochs: dict[int, int] = {}
        self.write(*activation_records(self._state, feature_records(), 1))

    @property
    def image(self) -> Image:
        return self._state.image

    def write(self, *records: Message) -> None:
        if records:
            base = self.image.end_offset
            last = Offset(base + len(records) - 1)
            self._state, _ = self._state.apply(Batch(base, last, LeaderEpoch(1), TimestampMs(1), records))

    def do(self, decision: ControllerResult[Any]) -> Any:
        self.write(*decision.records)
        return decision.response

    def add_broker(self, broker_id: int, *, unfence: bool = True, directories: int = 2) -> int:
        """Its epoch."""
        ids = tuple(bytes([broker_id, number]) * 8 for number in range(1, directories + 1))
        endpoints = {"PLAINTEXT": Endpoint("h", 9092)}
        registration = brokers.Registration(broker_id, self.context.new_uuid(), endpoints, ids)
        epoch: int = self.do(brokers.register(self.image, registration, self.context))
        if unfence:
            self.do(brokers.unfence(self.image, broker_id, epoch, self.context))
        self.epochs[broker_id] = epoch
        return epoch

    def create(self, name: str, partitions: int = 1, **fields: Any) -> Any:
        """The outcome."""
        wanted = topics.NewTopic(name, partitions, **fields)
        return self.do(topics.create(self.image, [wanted], self.context))[0].outcome


@pytest.fixture
def make_cluster() -> Callable[..., Cluster]:
    def make(*broker_ids: int) -> Cluster:
        made = Cluster()
        for broker_id in broker_ids:
            made.add_broker(broker_id)
        return made

    return make


@pytest.fixture
def cluster(make_cluster: Callable[..., Cluster]) -> Cluster:
    """With one broker in service."""
    return make_cluster(1)
