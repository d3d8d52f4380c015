"""What all kinds of groups have in common, for those who need not know which kind a group is."""

from collections.abc import Iterable
from enum import Enum
from typing import NamedTuple, Protocol

from odradek.coordinators.result import Stored
from odradek.model.numbers import TimestampMs
from odradek.wire.schema import uuid


class GroupKind(Enum):
    """As ListGroups names them."""

    CLASSIC = "classic"
    CONSUMER = "consumer"
    SHARE = "share"
    STREAMS = "streams"


class Member(NamedTuple):
    """Who a request about offsets says that it comes from."""

    member_id: str
    epoch: int
    """Its generation, in a classic group; -1 with no member id stands for a client that is in no group."""
    instance_id: str | None = None


class PartitionCheck(Protocol):
    def __call__(self, topic_id: uuid, partition: int) -> None:
        """Raises a BrokerError unless the member may commit for this partition."""
        ...


class Group(Protocol):
    group_id: str
    kind: GroupKind

    @property
    def state_name(self) -> str:
        """As ListGroups and DescribeGroups tell it."""
        ...

    @property
    def protocol_type(self) -> str:
        """`consumer` for consumers, whatever the others said; empty where nobody joined ever."""
        ...

    def check_commit(self, member: Member, version: int, *, transactional: bool) -> PartitionCheck | None:
        """Raises the BrokerError that a commit by this member in this version of its API gets.

        Where it depends on the partition, what is returned is asked for each of them; one refused refuses the commit.
        """
        ...

    def check_offset_fetch(self, member: Member | None) -> None:
        """The same for one that asks what is committed; None where it does not say who it is."""
        ...

    def check_offset_delete(self) -> None: ...

    def check_delete(self) -> None:
        """Raises unless the group can be deleted now: it has no members."""
        ...

    def is_subscribed(self, topic: str) -> bool:
        """Whether offsets of this topic are in use, and so are neither deleted nor expire."""
        ...

    def expiry_base_ms(self, committed_ms: TimestampMs) -> TimestampMs | None:
        """Since when an offset that was committed then is out of use; None while it cannot expire."""
        ...

    def tombstones(self) -> Iterable[Stored]:
        """What deletes all records of the group but its offsets."""
        ...
