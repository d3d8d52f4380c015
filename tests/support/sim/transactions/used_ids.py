"""Transactional ids that were used before: of their epochs nearly none are left."""

from collections.abc import Iterable

from odradek.broker.coordination.coordinator_topics import TRANSACTIONS_TOPIC
from odradek.coordinators.batches import batches_of
from odradek.coordinators.partitioning import partition_of
from odradek.coordinators.result import CoordinatorResult
from odradek.coordinators.transactions.record import stored
from odradek.coordinators.transactions.transaction import EPOCH_LAST, Transaction
from odradek.model.numbers import LeaderEpoch, ProducerId, TimestampMs
from odradek.model.topic_partition import TopicPartition
from odradek.records.batch import Codec
from odradek.storage.log import Origin
from support.sim.node import SimNode

_PARTITIONS = 2
_LEVEL = 2
_LEFT = 6
_IDS = 1_000_000
"""Far from those that a node gives out."""
_USED_MS = TimestampMs(1_700_000_000_000)


def write_used_ids(node: SimNode, transactional_ids: Iterable[str]) -> None:
    """Into the log of a node that serves, which then begins anew."""
    for number, transactional_id in enumerate(transactional_ids):
        used = Transaction(
            transactional_id=transactional_id,
            producer_id=ProducerId(_IDS + number),
            epoch=EPOCH_LAST - _LEFT,
            timeout_ms=1_000,
            updated_ms=_USED_MS,
        )
        record = stored(used, _LEVEL)
        log = node.log(TopicPartition(TRANSACTIONS_TOPIC, partition_of(transactional_id, _PARTITIONS)))
        for (batch, head), _ in batches_of(CoordinatorResult((record,)), _USED_MS, Codec.NONE, 1 << 20):
            log.append_checked(memoryview(batch), head, LeaderEpoch(0), Origin.COORDINATOR)
    node.kill()
    node.start()
