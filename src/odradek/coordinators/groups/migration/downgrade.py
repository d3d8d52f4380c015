"""A consumer group becomes a classic group, once all who are left in it speak the classic protocol."""

from collections.abc import Collection, Mapping
from typing import NamedTuple

from odradek.coordinators.groups.classic import record
from odradek.coordinators.groups.classic.group import CONSUMER, ClassicGroup
from odradek.coordinators.groups.classic.member import ClassicMember, Protocol
from odradek.coordinators.groups.consumer.assignors.spec import NO_PARTITIONS
from odradek.coordinators.groups.consumer.group import ConsumerGroup
from odradek.coordinators.groups.consumer.member import ConsumerMember
from odradek.coordinators.groups.embedded import write_assignment
from odradek.coordinators.result import Stored
from odradek.metadata.image import Topics
from odradek.model.broker_config import BrokerConfig
from odradek.model.numbers import TimestampMs
from odradek.wire.schema import uuid

_POLICIES = ("downgrade", "bidirectional")


class Downgraded(NamedTuple):
    records: tuple[Stored, ...]
    protocols: Mapping[str, tuple[Protocol, ...]]
    """All that each member knows. The record has only what it told for the one that they agree on."""


def can_downgrade(left: Collection[ConsumerMember], config: BrokerConfig) -> bool:
    """Whether these members are a classic group if nobody else is with them."""
    return (
        bool(left)
        and all(member.classic is not None for member in left)
        and config.group_consumer_migration_policy.lower() in _POLICIES
        and len(left) <= config.group_max_size
    )


def downgraded(
    group: ConsumerGroup,
    left: Collection[ConsumerMember],
    partitions: Mapping[str, Mapping[uuid, Collection[int]]],
    topics: Topics,
    now_ms: TimestampMs,
    *,
    rebalances: bool,
) -> Downgraded:
    """The records that make a classic group of those who are left, in one generation: that is the epoch of the group.

    `partitions` is what they are taken to have there, by their ids. Where a rebalance is due the record names no
    leader, and so it is not forgotten over a restart.
    """
    classic = ClassicGroup(group.group_id, now_ms)
    classic.generation = group.epoch
    for member in left:
        classic.add(_member(member), CONSUMER)
    classic.protocol = classic.elect_protocol()
    if rebalances:
        classic.leader = None
    assignments = {
        member.member_id: write_assignment(
            partitions.get(member.member_id, NO_PARTITIONS), topics, member.metadata(classic.protocol)
        )
        for member in classic.members.values()
    }
    return Downgraded(
        (*group.tombstones(), record.assigned(classic, assignments)),
        {member.member_id: member.protocols for member in classic.members.values()},
    )


def held(member: ConsumerMember) -> dict[uuid, set[int]]:
    """All that it may have, also what it is to give back."""
    found: dict[uuid, set[int]] = {}
    for partitions in (member.assigned, member.revoking):
        for topic_id, numbers in partitions.items():
            found.setdefault(topic_id, set()).update(numbers)
    return found


def _member(member: ConsumerMember) -> ClassicMember:
    assert member.classic is not None
    return ClassicMember(
        member_id=member.member_id,
        instance_id=member.instance_id,
        client_id=member.client_id,
        client_host=member.client_host,
        rebalance_timeout_ms=member.rebalance_timeout_ms,
        session_timeout_ms=member.classic.session_timeout_ms,
        protocols=tuple(Protocol(known.name, known.metadata) for known in member.classic.supported_protocols),
    )
