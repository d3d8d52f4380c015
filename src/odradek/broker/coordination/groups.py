"""The groups that this node coordinates, as handlers reach them."""

from collections.abc import Callable
from typing import TypeAlias

from odradek.broker.coordination.coordinator import Coordinator, Refusal
from odradek.broker.coordination.coordinator_topics import OFFSETS_TOPIC
from odradek.coordinators.groups.shard import GroupShard
from odradek.coordinators.result import CoordinatorResult, RequestContext
from odradek.model.numbers import ProducerId
from odradek.model.topic_partition import TopicPartition

__all__ = ["Command", "Groups", "Refusal"]

Command: TypeAlias = Callable[[GroupShard, RequestContext], CoordinatorResult]


class Groups(Coordinator[GroupShard]):
    def partition_of(self, group_id: str) -> TopicPartition:
        """Has all that is known of the group."""
        return TopicPartition(OFFSETS_TOPIC, self._runtime.number_of(group_id))

    def end_transaction(
        self, number: int, producer_id: ProducerId, write_marker: Callable[[], None], *, commit: bool
    ) -> None:
        """Offsets that a transaction committed in this partition count now, or not at all. See the runtime's."""
        self._runtime.end_transaction(number, producer_id, write_marker, commit=commit)
