"""ListPartitionReassignments, version 0."""

from odradek.broker.broker import Broker
from odradek.broker.call import Call
from odradek.controller.reassignments import Ongoing, ongoing
from odradek.wire.messages.list_partition_reassignments import (
    ListPartitionReassignmentsRequest,
    ListPartitionReassignmentsResponse,
    OngoingPartitionReassignment,
    OngoingTopicReassignment,
)

VERSIONS = (0, 0)


class ListPartitionReassignments:
    def __init__(self, broker: Broker) -> None:
        self._broker = broker

    def handle(self, _call: Call, request: ListPartitionReassignmentsRequest) -> ListPartitionReassignmentsResponse:
        asked = request.topics
        wanted = None if asked is None else [(each.name, each.partition_indexes) for each in asked]
        found: dict[str, list[OngoingPartitionReassignment]] = {}
        for each in ongoing(self._broker.image, wanted):
            found.setdefault(each.topic, []).append(_entry(each))
        topics = tuple(OngoingTopicReassignment(name=name, partitions=tuple(parts)) for name, parts in found.items())
        return ListPartitionReassignmentsResponse(topics=topics)


def _entry(ongoing: Ongoing) -> OngoingPartitionReassignment:
    return OngoingPartitionReassignment(
        partition_index=ongoing.number,
        replicas=ongoing.partition.replicas,
        adding_replicas=ongoing.partition.adding,
        removing_replicas=ongoing.partition.removing,
    )
