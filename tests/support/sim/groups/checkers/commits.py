"""No commit of a fenced member is taken: the committer owned the partition, in the generation or epoch that is now.

Classic groups: the generation is the one that members were told last, or after a reload the one that is recorded, and
the record of it gives the partition to this member. Consumer groups: the partition is recorded as held by this member,
and the epoch is not ahead of it. It may be behind as long as the member has had the partition since (KIP-1251).
"""

from collections.abc import Sequence

from odradek.coordinators.result import Stored
from odradek.model.topic_partition import TopicPartition
from odradek.wire.messages.join_group import JoinGroupRequest, JoinGroupResponse
from odradek.wire.messages.leave_group import LeaveGroupRequest, LeaveGroupResponse
from odradek.wire.records.classic_group import GroupMetadataKey, GroupMetadataValue
from odradek.wire.records.offsets import OffsetCommitKey, OffsetCommitValue
from odradek.wire.schema import Message
from support.sim.exchange import Ticket
from support.sim.groups.checkers.recorded import Recorded
from support.sim.groups.consumer import Claim
from support.sim.groups.watching import Checker
from support.sim.groups.world import World
from support.sim.violations import Violation


class CommitsChecker(Checker):
    def __init__(self, world: World, recorded: Recorded) -> None:
        super().__init__(world)
        self._recorded = recorded
        self._told: dict[str, int] = {}
        """The last generation that members of a group heard of in this life of the broker."""
        self._left: set[str] = set()
        """Ids of members that have left in this life, and that no member can have any more."""

    def killed(self) -> None:
        self._told.clear()
        self._left.clear()

    def appended(self, batch: Sequence[Stored]) -> None:
        for key, value, _ in batch:
            if isinstance(key, GroupMetadataKey):
                self._told.pop(key.group, None)
                if isinstance(value, GroupMetadataValue):
                    self._told[key.group] = value.generation
            elif isinstance(key, OffsetCommitKey) and isinstance(value, OffsetCommitValue):
                self._check(key, value)

    def answered(self, ticket: Ticket, response: Message) -> None:
        match ticket.request, response:
            case JoinGroupRequest() as request, JoinGroupResponse() if not response.error_code:
                self._told[request.group_id] = response.generation_id
            case LeaveGroupRequest() as request, LeaveGroupResponse() if not response.error_code:
                self._left.update(each.member_id for each in response.members if not each.error_code)
                self._left.add(request.member_id)
            case _:
                pass

    def _check(self, key: OffsetCommitKey, value: OffsetCommitValue) -> None:
        group_id, partition = key.group, TopicPartition(key.topic, key.partition)
        member_id, epoch = committer_of(value)
        what = f"commit of {partition} by {member_id} in {epoch} was taken in {group_id}"
        if member_id in self._left:
            raise Violation(f"{what}, which it has left")
        classic = self._recorded.classic.get(group_id)
        consumer = self._recorded.consumer.get(group_id)
        if classic is not None:
            now = self._told.get(group_id, classic.generation)
            if epoch != now:
                raise Violation(f"{what}, which is in generation {now}")
            if partition not in classic.members.get(member_id, ()):
                raise Violation(f"{what}, where it does not own that")
        elif consumer is not None:
            member = consumer.members.get(member_id)
            if member is None or epoch > member.epoch:
                raise Violation(f"{what}, where the member is {member}")
            if partition not in member.held:
                raise Violation(f"{what}, where it has {sorted(member.held)}")
        else:
            raise Violation(f"{what}, which is not there")


def committer_of(value: OffsetCommitValue) -> Claim:
    """In whose name an offset was committed: see `requests.committer`."""
    member_id, epoch = value.metadata.split(" ")
    return Claim(member_id, int(epoch))
