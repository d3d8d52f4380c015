"""What checkers of groups see of a node: each batch that its coordinator writes, each request and each answer."""

from typing import TYPE_CHECKING

from odradek.broker.coordination.coordinator_topics import OFFSETS_TOPIC
from odradek.coordinators.result import Stored
from odradek.model.errors import BrokerError
from odradek.records.batch import parse_head
from odradek.records.record import read_records
from odradek.wire.stored import CONSUMER_OFFSETS
from support.sim.exchange import Exchange, Ticket

if TYPE_CHECKING:
    from collections.abc import Sequence

    from odradek.coordinators.groups.shard import GroupShard
    from odradek.model.buffer import Buffer
    from odradek.wire.schema import Message
    from support.sim.events import Events
    from support.sim.groups.watching import Checker
    from support.sim.node import SimNode

_JOIN, _LEAVE, _COMMIT, _FETCH, _SYNC, _HEARTBEAT, _CONSUMER_HEARTBEAT = 11, 13, 8, 9, 14, 12, 68
_WANTED = frozenset((_JOIN, _LEAVE, _COMMIT, _FETCH, _SYNC, _HEARTBEAT, _CONSUMER_HEARTBEAT))


class Broker:
    def __init__(self, events: "Events", node: "SimNode") -> None:
        self.node = node
        self.checkers: Sequence[Checker] = ()
        self.appended = 0
        """Batches of the coordinator, in all its lives."""
        self.records = 0
        self.exchange = Exchange(events, _WANTED, lambda: self.appended)
        self.exchange.answered = self._answered
        self._was_active = False
        node.host.tap = self.exchange
        node.disk.written = self._written
        node.watched = self._look
        node.died = self._died

    @property
    def is_up(self) -> bool:
        return self.node.is_up

    @property
    def is_active(self) -> bool:
        """Whether it has loaded all that it coordinates."""
        return self._shard() is not None

    @property
    def shard(self) -> "GroupShard":
        shard = self._shard()
        assert shard is not None
        return shard

    def _shard(self) -> "GroupShard | None":
        if not self.node.is_serving:
            return None
        try:
            (shard,) = self.node.coordinators.groups.shards()
        except (BrokerError, ValueError):
            return None
        return shard

    def _look(self) -> None:
        is_active = self.is_active
        if is_active and not self._was_active:
            self._was_active = True
            for checker in self.checkers:
                checker.loaded()
        self._was_active = is_active

    def _died(self, _how: str) -> None:
        self._was_active = False
        for checker in self.checkers:
            checker.killed()

    def _written(self, path: str, data: "Buffer") -> None:
        if not path.endswith(".log") or OFFSETS_TOPIC not in path:
            return
        head = parse_head(data)
        self.appended += 1
        self.records += head.count
        batch = []
        for _, _, raw_key, raw_value, _ in read_records(memoryview(data), head):
            assert raw_key is not None
            key = CONSUMER_OFFSETS.read_key(raw_key)
            value, version = (None, 0) if raw_value is None else CONSUMER_OFFSETS.read_value(key, raw_value)
            batch.append(Stored(key, value, version))
        for checker in self.checkers:
            checker.appended(batch)

    def _answered(self, ticket: Ticket, response: "Message | None") -> None:
        if response is not None:
            for checker in self.checkers:
                checker.answered(ticket, response)
