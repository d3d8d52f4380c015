"""A member of a consumer group as the log has it: what it wants, and which partitions it has."""

from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from enum import IntEnum
from types import MappingProxyType
from typing import NamedTuple, TypeAlias

from odradek.coordinators.result import RequestContext
from odradek.wire.messages.consumer_group_heartbeat import ConsumerGroupHeartbeatRequest
from odradek.wire.records.consumer_group import (
    ClassicMemberMetadata,
    ConsumerGroupCurrentMemberAssignmentValue,
    ConsumerGroupMemberMetadataValue,
    TopicPartitions,
)
from odradek.wire.schema import uuid

JOINING = 0
LEAVING = -1
LEAVING_FOR_A_WHILE = -2
"""What a static member says that means to come back: until then, its partitions are nobody else's."""

Partitions: TypeAlias = Mapping[uuid, Mapping[int, int]]
"""Partitions by the id of their topic, each with the epoch in which the member got it."""

NO_PARTITIONS: Partitions = MappingProxyType({})


def _none() -> Partitions:
    return NO_PARTITIONS


class MemberState(IntEnum):
    """As records have it."""

    STABLE = 0
    """It has what it should have in its epoch."""
    UNREVOKED_PARTITIONS = 1
    """It has yet to say that it gave partitions back."""
    UNRELEASED_PARTITIONS = 2
    """Some of what it should have is still with others."""
    UNKNOWN = 127
    """Written by a later version: it has to join anew."""

    @classmethod
    def _missing_(cls, value: object) -> "MemberState":
        return cls.UNKNOWN


class Subscription(NamedTuple):
    names: frozenset[str] = frozenset()
    expression: str = ""
    """Regular; empty where there is none."""


NO_SUBSCRIPTION = Subscription()


@dataclass(frozen=True, slots=True, kw_only=True)
class ConsumerMember:
    member_id: str
    epoch: int = JOINING
    """Of the target that it has reached, or LEAVING_FOR_A_WHILE."""
    previous_epoch: int = -1
    """For a member that did not get the answer with the newest one."""
    state: MemberState = MemberState.STABLE
    instance_id: str | None = None
    rack_id: str | None = None
    rebalance_timeout_ms: int = -1
    client_id: str = ""
    client_host: str = ""
    subscription: Subscription = NO_SUBSCRIPTION
    server_assignor: str | None = None
    assigned: Partitions = field(default_factory=_none)
    revoking: Partitions = field(default_factory=_none)
    """What it is to give back, and may still have."""
    classic: ClassicMemberMetadata | None = None
    """There for a member that speaks the classic protocol."""

    def is_reconciled_to(self, epoch: int) -> bool:
        return self.epoch == epoch and self.state is MemberState.STABLE

    def epoch_of(self, topic_id: uuid, partition: int) -> int | None:
        """In which it got this partition; None where it has not got it."""
        for partitions in (self.assigned, self.revoking):
            epoch = partitions.get(topic_id, {}).get(partition)
            if epoch is not None:
                return epoch
        return None

    def told_by(self, request: ConsumerGroupHeartbeatRequest, asked: RequestContext) -> "ConsumerMember":
        """With what the request says of it. What it does not say stays; the same object where nothing changes."""
        names, expression = self.subscription
        if request.subscribed_topic_names is not None:
            names = frozenset(request.subscribed_topic_names)
        if request.subscribed_topic_regex is not None:
            expression = request.subscribed_topic_regex
        timeout_ms = request.rebalance_timeout_ms
        updated = (
            self.instance_id if request.instance_id is None else request.instance_id,
            self.rack_id if request.rack_id is None else request.rack_id,
            self.rebalance_timeout_ms if timeout_ms == -1 else timeout_ms,
            asked.client_id,
            asked.client_host,
            (names, expression),
            self.server_assignor if request.server_assignor is None else request.server_assignor,
            None,
        )
        known = (
            self.instance_id,
            self.rack_id,
            self.rebalance_timeout_ms,
            self.client_id,
            self.client_host,
            self.subscription,
            self.server_assignor,
            self.classic,
        )
        if updated == known:
            return self
        instance_id, rack_id, timeout_ms, client_id, client_host, _, server_assignor, _ = updated
        return replace(
            self,
            instance_id=instance_id,
            rack_id=rack_id,
            rebalance_timeout_ms=timeout_ms,
            client_id=client_id,
            client_host=client_host,
            subscription=Subscription(names, expression),
            server_assignor=server_assignor,
            classic=None,
        )

    def described_by(self, value: ConsumerGroupMemberMetadataValue) -> "ConsumerMember":
        return replace(
            self,
            instance_id=value.instance_id,
            rack_id=value.rack_id,
            rebalance_timeout_ms=value.rebalance_timeout_ms,
            client_id=value.client_id,
            client_host=value.client_host,
            subscription=Subscription(frozenset(value.subscribed_topic_names), value.subscribed_topic_regex or ""),
            server_assignor=value.server_assignor,
            classic=value.classic_member_metadata,
        )

    def assigned_by(self, value: ConsumerGroupCurrentMemberAssignmentValue) -> "ConsumerMember":
        return replace(
            self,
            epoch=value.member_epoch,
            previous_epoch=value.previous_member_epoch,
            state=MemberState(value.state),
            assigned=_partitions(value.assigned_partitions, value.member_epoch),
            revoking=_partitions(value.partitions_pending_revocation, value.member_epoch),
        )

    def emptied(self) -> "ConsumerMember":
        """As after its assignment was deleted, and before it is."""
        return replace(self, epoch=LEAVING, previous_epoch=-1, assigned=NO_PARTITIONS, revoking=NO_PARTITIONS)

    def away(self) -> "ConsumerMember":
        """It keeps its place, and commits of the time before are not taken from whoever comes back to it."""
        assigned = {topic_id: dict.fromkeys(partitions, 0) for topic_id, partitions in self.assigned.items()}
        return replace(self, epoch=LEAVING_FOR_A_WHILE, assigned=assigned, revoking=NO_PARTITIONS)


def _partitions(stored: tuple[TopicPartitions, ...], member_epoch: int) -> Partitions:
    """Brokers before 4.3 wrote no epochs of partitions: they have that of the member."""
    partitions = {}
    for topic in stored:
        epochs = topic.assignment_epochs
        if epochs is None or len(epochs) != len(topic.partitions):
            epochs = (max(member_epoch, 0),) * len(topic.partitions)
        partitions[topic.topic_id] = dict(zip(topic.partitions, epochs, strict=True))
    return partitions
