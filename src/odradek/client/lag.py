"""How far groups are behind: what they committed next to where the logs begin and end."""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from functools import partial

from odradek.client.client import Client
from odradek.client.committed import Committed, fetch_committed
from odradek.client.errors import ClientError
from odradek.client.offsets import EARLIEST, LATEST, list_offsets
from odradek.model.numbers import Offset
from odradek.model.topic_partition import TopicPartition


@dataclass(frozen=True, slots=True)
class Extent:
    """Where a log begins, and where the next record will be; both None where nobody can say."""

    start: Offset | None = None
    end: Offset | None = None


@dataclass(frozen=True, slots=True)
class Position:
    """What a group committed for a partition, and the log it is about."""

    committed: Committed | None
    log: Extent

    @property
    def next(self) -> Offset | None:
        """What a member would read next: records below the start of the log are gone, so there is none to wait for."""
        if self.committed is None:
            return None
        return max(self.committed.offset, self.log.start or self.committed.offset)

    @property
    def lag(self) -> int | None:
        """Offsets that are still to be read; None without a commit, or where the end is not known."""
        if self.next is None or self.log.end is None:
            return None
        return max(0, self.log.end - self.next)

    @property
    def note(self) -> str | None:
        """In words, where what was committed is not in the log."""
        if self.committed is None:
            return None
        committed, start, end = self.committed.offset, self.log.start, self.log.end
        if start is not None and committed < start:
            return f"committed {committed}, but the log begins at {start}: the lag counts from there"
        if end is not None and committed > end:
            return f"committed {committed}, but the log ends at {end}"
        return None


Positions = dict[TopicPartition, Position]


async def extents(client: Client, partitions: Iterable[TopicPartition]) -> dict[TopicPartition, Extent]:
    """Of those partitions that are there. One that nobody leads has nothing that could be known."""
    wanted = set(partitions)
    view = await client.persist(partial(client.look_up, sorted({each.topic for each in wanted})))
    leaders = {
        partition: each.leader
        for name, topic in view.topics.items()
        for each in topic.partitions
        if (partition := TopicPartition(name, each.partition)) in wanted
    }
    led = [partition for partition, leader in leaders.items() if leader >= 0]
    starts = await list_offsets(client, dict.fromkeys(led, EARLIEST))
    ends = await list_offsets(client, dict.fromkeys(led, LATEST))
    return {each: Extent(_known(starts.get(each)), _known(ends.get(each))) for each in leaders}


def _known(outcome: Offset | ClientError | None) -> Offset | None:
    return None if isinstance(outcome, ClientError) else outcome


async def positions(
    client: Client, group_ids: Sequence[str], owned: Mapping[str, Iterable[TopicPartition]]
) -> dict[str, Positions | ClientError]:
    """Of all partitions that a group has committed, and of those that its members own, in their order."""
    fetched = await fetch_committed(client, group_ids)
    wanted = {
        group_id: sorted({*committed, *owned.get(group_id, ())})
        for group_id, committed in fetched.items()
        if not isinstance(committed, ClientError)
    }
    logs = await extents(client, {each for partitions in wanted.values() for each in partitions})
    found: dict[str, Positions | ClientError] = {}
    for group_id, committed in fetched.items():
        if isinstance(committed, ClientError):
            found[group_id] = committed
        else:
            found[group_id] = {
                each: Position(_readable(committed.get(each)), logs.get(each, Extent())) for each in wanted[group_id]
            }
    return found


def _readable(outcome: Committed | ClientError | None) -> Committed | None:
    return None if isinstance(outcome, ClientError) else outcome
