"""The first records that a new leader of the metadata log writes."""

from collections.abc import Mapping, Sequence

from odradek.metadata.features import ELIGIBLE_LEADER_REPLICAS, METADATA_VERSION, NEW_CLUSTER, TRANSACTIONS
from odradek.metadata.image import ResourceType
from odradek.metadata.replay import Replay
from odradek.wire.records.metadata import (
    AbortTransactionRecord,
    BeginTransactionRecord,
    ConfigRecord,
    EndTransactionRecord,
    FeatureLevelRecord,
)
from odradek.wire.schema import Message


def feature_records(levels: Mapping[str, int] = NEW_CLUSTER) -> tuple[Message, ...]:
    return tuple(FeatureLevelRecord(name=name, feature_level=level) for name, level in levels.items())


def activation_records(state: Replay, bootstrap: Sequence[Message], min_insync_replicas: int) -> tuple[Message, ...]:
    """`bootstrap` is written if the log has nothing yet. What a former leader left unfinished is aborted."""
    leftover: tuple[Message, ...] = ()
    if state.transaction is not None:
        leftover = (AbortTransactionRecord(reason="Controller failover"),)
    if METADATA_VERSION in state.image.features:
        return leftover
    levels = {record.name: record.feature_level for record in bootstrap if isinstance(record, FeatureLevelRecord)}
    records = tuple(bootstrap)
    if levels.get(ELIGIBLE_LEADER_REPLICAS, 0) > 0:
        # With eligible leaders, brokers must agree on this one: it is pinned for the cluster.
        records += (
            ConfigRecord(
                resource_type=ResourceType.BROKER,
                resource_name="",
                name="min.insync.replicas",
                value=str(min_insync_replicas),
            ),
        )
    if levels.get(METADATA_VERSION, 0) < TRANSACTIONS:
        return (*leftover, *records)
    return (*leftover, BeginTransactionRecord(name="Bootstrap records"), *records, EndTransactionRecord())
