"""What was committed is what is read, after a reload too; and it goes back only by the hand that moved it on.

A member that sends a commit, loses its connection and commits again further on may have the first come last. A commit
of any other member that goes back would mean that somebody went on consuming what was not its own any more.
"""

from odradek.model.topic_partition import TopicPartition
from odradek.wire.messages.offset_commit import OffsetCommitRequest, OffsetCommitResponse
from odradek.wire.messages.offset_fetch import OffsetFetchRequest, OffsetFetchRequestGroup, OffsetFetchResponse
from odradek.wire.schema import Message
from support.sim.groups.broker import Ticket
from support.sim.groups.checkers.commits import accepted
from support.sim.groups.requests import fetched
from support.sim.groups.watching import Checker, Violation
from support.sim.groups.world import World

_VERSION = 8


class OffsetsChecker(Checker):
    def __init__(self, world: World) -> None:
        super().__init__(world)
        self._committed: dict[str, dict[TopicPartition, tuple[int, str]]] = {}
        """By group: the offset, and the member."""

    def answered(self, ticket: Ticket, response: Message) -> None:
        match ticket.request, response:
            case OffsetCommitRequest() as request, OffsetCommitResponse():
                self._take(request, response)
            case OffsetFetchRequest() as request, OffsetFetchResponse():
                group_id = request.group_id or request.groups[0].group_id
                self._compare(group_id, fetched(response, self.world.cluster.image))
            case _:
                pass

    def loaded(self) -> None:
        self._read_all()

    def settled(self) -> None:
        self._read_all()

    def _take(self, request: OffsetCommitRequest, response: OffsetCommitResponse) -> None:
        ids = self.world.cluster.image.topics.ids
        sent = {
            TopicPartition(topic.name or ids[topic.topic_id].name, each.partition_index): each.committed_offset
            for topic in request.topics
            for each in topic.partitions
        }
        committed = self._committed.setdefault(request.group_id, {})
        for partition in accepted(request, response, self.world):
            before, by = committed.get(partition, (-1, request.member_id))
            if sent[partition] < before and by != request.member_id:
                raise Violation(
                    f"{request.group_id}: {request.member_id} put {partition} back to {sent[partition]}, "
                    f"where {by} had come to {before}"
                )
            committed[partition] = sent[partition], request.member_id

    def _read_all(self) -> None:
        for group_id, committed in self._committed.items():
            request = OffsetFetchRequest(groups=(OffsetFetchRequestGroup(group_id=group_id, topics=None),))
            response = self.world.broker.fetch(_VERSION, request)
            found = fetched(response, self.world.cluster.image)
            self._compare(group_id, found)
            if missing := committed.keys() - found.keys():
                raise Violation(f"{group_id}: nothing is committed for {sorted(missing)} any more")

    def _compare(self, group_id: str, found: dict[TopicPartition, int]) -> None:
        committed = self._committed.get(group_id, {})
        for partition, offset in found.items():
            expected, by = committed.get(partition, (-1, ""))
            if offset != expected:
                raise Violation(f"{group_id}: {partition} was read as {offset}, {by} committed {expected}")
