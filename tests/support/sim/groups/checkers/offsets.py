"""What is read is what was committed, after each reload too; and one member's offset is not put back by another.

A read may say what was committed last when it came, or anything that was committed from then on until it was answered.
"""

from collections.abc import Sequence
from typing import NamedTuple

from odradek.coordinators.result import Stored
from odradek.model.numbers import Offset
from odradek.model.topic_partition import TopicPartition
from odradek.wire.messages.offset_fetch import OffsetFetchRequest, OffsetFetchResponse
from odradek.wire.records.offsets import OffsetCommitKey, OffsetCommitValue
from odradek.wire.schema import Message
from support.sim.exchange import Ticket
from support.sim.groups.checkers.commits import committer_of
from support.sim.groups.requests import fetched
from support.sim.groups.watching import Checker
from support.sim.groups.world import World
from support.sim.violations import Violation


class _Commit(NamedTuple):
    offset: int
    member_id: str
    mark: int
    """The number of its batch."""


_NOTHING = _Commit(-1, "", 0)


class OffsetsChecker(Checker):
    def __init__(self, world: World) -> None:
        super().__init__(world)
        self._commits: dict[str, dict[TopicPartition, list[_Commit]]] = {}
        """By group."""

    def appended(self, batch: Sequence[Stored]) -> None:
        for key, value, _ in batch:
            if isinstance(key, OffsetCommitKey) and isinstance(value, OffsetCommitValue):
                self._take(key, value)

    def answered(self, ticket: Ticket, response: Message) -> None:
        match ticket.request, response:
            case OffsetFetchRequest() as request, OffsetFetchResponse():
                group_id = request.group_id or request.groups[0].group_id
                for partition, offset in fetched(response, self.world.admin.image).items():
                    self._compare(group_id, partition, offset, ticket.mark)
            case _:
                pass

    def loaded(self) -> None:
        self._read_all()

    def settled(self) -> None:
        self._read_all()

    def _take(self, key: OffsetCommitKey, value: OffsetCommitValue) -> None:
        partition = TopicPartition(key.topic, key.partition)
        known = self._commits.setdefault(key.group, {}).setdefault(partition, [])
        member_id = committer_of(value).member_id
        before = known[-1] if known else _NOTHING
        if value.offset < before.offset and before.member_id != member_id:
            raise Violation(
                f"{key.group}: {member_id} put {partition} back to {value.offset}, "
                f"where {before.member_id} had come to {before.offset}"
            )
        known.append(_Commit(value.offset, member_id, self.world.broker.appended))

    def _read_all(self) -> None:
        offsets = self.world.broker.shard.offsets
        for group_id, partitions in self._commits.items():
            for partition in partitions:
                found = offsets.committed(group_id, *partition)
                if found is None:
                    raise Violation(f"{group_id}: nothing is committed for {partition} any more")
                self._compare(group_id, partition, Offset(found.offset), self.world.broker.appended)

    def _compare(self, group_id: str, partition: TopicPartition, offset: int, mark: int) -> None:
        known = self._commits.get(group_id, {}).get(partition, [])
        before = [each for each in known if each.mark <= mark]
        allowed = [*(before[-1:] or [_NOTHING]), *known[len(before) :]]
        if all(each.offset != offset for each in allowed):
            said = " or ".join(f"{each.offset} by {each.member_id}" for each in allowed)
            raise Violation(f"{group_id}: {partition} was read as {offset}, where {said} was committed")
