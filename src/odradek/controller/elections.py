"""Elections of leaders that somebody asks for."""

from collections.abc import Iterator, Sequence
from typing import NamedTuple

from odradek.controller.context import Context
from odradek.controller.errors import (
    ElectionNotNeeded,
    EligibleLeadersNotAvailable,
    InvalidRequest,
    PreferredLeaderNotAvailable,
)
from odradek.controller.partition_change import Election, PartitionTarget, change
from odradek.controller.partitions import find, subject_of
from odradek.controller.result import ControllerResult
from odradek.metadata.image import NO_LEADER, Image
from odradek.model.errors import BrokerError
from odradek.wire.records.metadata import PartitionChangeRecord

_KINDS = {0: Election.PREFERRED, 1: Election.UNCLEAN}


class Elected(NamedTuple):
    topic: str
    partition: int
    error: BrokerError | None


def elect(
    image: Image, kind: int, wanted: Sequence[tuple[str, Sequence[int]]] | None, context: Context
) -> ControllerResult[tuple[Elected, ...]]:
    """In the partitions of these topics; None stands for all there are, of which those are left out that need nothing.

    Raises InvalidRequest for a kind that is none, unless nothing is asked of it.
    """
    election = _KINDS.get(kind)
    if wanted is not None and not wanted:
        return ControllerResult((), ())
    if election is None:
        raise InvalidRequest(f"Unknown election type {kind}")
    records: list[PartitionChangeRecord] = []
    reply: list[Elected] = []
    for topic, number in _all(image) if wanted is None else _named(wanted):
        try:
            records.append(_elect(image, election, (topic, number), context))
            reply.append(Elected(topic, number, None))
        except BrokerError as error:
            if wanted is not None or not isinstance(error, ElectionNotNeeded):
                reply.append(Elected(topic, number, error))
    return ControllerResult(tuple(records), tuple(reply))


def _all(image: Image) -> Iterator[tuple[str, int]]:
    return ((topic.name, number) for topic in image.topics for number in topic.partitions)


def _named(wanted: Sequence[tuple[str, Sequence[int]]]) -> Iterator[tuple[str, int]]:
    return ((topic, number) for topic, numbers in wanted for number in numbers)


def _elect(image: Image, election: Election, where: tuple[str, int], context: Context) -> PartitionChangeRecord:
    topic, partition = find(image, *where)
    settled = partition.replicas[0] if election is Election.PREFERRED else partition.leader
    if partition.leader == settled != NO_LEADER:
        raise ElectionNotNeeded(f"Leader election not needed for topic partition {where[0]}-{where[1]}")
    record = change(subject_of(image, topic, where[1], context), PartitionTarget.unchanged(partition, election))
    if record is None:
        said = f"{where[0]}-{where[1]} has no replica that could lead"
        raise PreferredLeaderNotAvailable(said) if election is Election.PREFERRED else EligibleLeadersNotAvailable(said)
    return record
