"""Features of a cluster: what Kafka 4.3 supports, what a new cluster has, and what metadata.version allows.

A feature is at a level that all nodes agreed on. metadata.version is the one that says which records there may be, and
in which versions they are written.
"""

from typing import NamedTuple

from odradek.wire.records.metadata import (
    BrokerRegistrationChangeRecord,
    PartitionChangeRecord,
    PartitionRecord,
    RegisterBrokerRecord,
)
from odradek.wire.schema import Message

METADATA_VERSION = "metadata.version"
KRAFT_VERSION = "kraft.version"
ELIGIBLE_LEADER_REPLICAS = "eligible.leader.replicas.version"
GROUP_VERSION = "group.version"
TRANSACTION_VERSION = "transaction.version"

METADATA_VERSION_LEAST = 7
METADATA_VERSION_LATEST = 30


class Levels(NamedTuple):
    """The levels of a feature that a node can work with."""

    least: int
    most: int


SUPPORTED = {
    METADATA_VERSION: Levels(METADATA_VERSION_LEAST, METADATA_VERSION_LATEST),
    KRAFT_VERSION: Levels(0, 1),
    ELIGIBLE_LEADER_REPLICAS: Levels(0, 1),
    GROUP_VERSION: Levels(0, 1),
    "share.version": Levels(0, 1),
    "streams.version": Levels(0, 1),
    TRANSACTION_VERSION: Levels(0, 2),
}

NEW_CLUSTER = {
    METADATA_VERSION: METADATA_VERSION_LATEST,
    ELIGIBLE_LEADER_REPLICAS: 1,
    GROUP_VERSION: 1,
    "share.version": 1,
    "streams.version": 1,
    TRANSACTION_VERSION: 2,
}
"""Levels in a cluster that Kafka 4.3 formats, in the order that it writes them in. kraft.version is not among them: it
is a matter of the quorum, and has control records of its own."""

# What came with which metadata.version.
_ZK_MIGRATION = 8
SCRAM = 11
TRANSACTIONS = 13
DELEGATION_TOKENS = 14
CONTROLLER_REGISTRATION = 15
DIRECTORIES = 17
_ELIGIBLE_LEADERS = 23
CORDONED_DIRECTORIES = 30

METADATA_CHANGED = frozenset({7, 8, 11, 13, 14, 15, 17, 23, 30})
"""Levels that brought new records or fields: going back below one of them could lose something."""


def record_version(record: Message, metadata_version: int) -> int:
    """The version that Kafka writes a record in when the cluster is at this level."""
    if isinstance(record, PartitionRecord | PartitionChangeRecord):
        return (metadata_version >= DIRECTORIES) + (metadata_version >= _ELIGIBLE_LEADERS)
    if isinstance(record, RegisterBrokerRecord):
        later = (_ZK_MIGRATION, DIRECTORIES, CORDONED_DIRECTORIES)
        return 1 + sum(metadata_version >= level for level in later)
    if isinstance(record, BrokerRegistrationChangeRecord):
        return _least_version(record)
    return 0  # all others have no other


def _least_version(record: BrokerRegistrationChangeRecord) -> int:
    if record.cordoned_log_dirs is not None:
        return 3
    if record.log_dirs:
        return 2
    return 1 if record.in_controlled_shutdown else 0
