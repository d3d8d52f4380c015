"""Transactions that hang: open in a partition, and nobody will end them there.

Readers of committed records wait at such a transaction for ever, and nothing behind it is compacted.
"""

from collections.abc import Collection
from dataclasses import dataclass
from enum import Enum

from odradek.client.client import Client
from odradek.client.errors import ClientError, Refused
from odradek.client.producers import ProducerView, describe_producers
from odradek.client.transactions import Choice, TransactionView, describe_transactions, list_transactions
from odradek.model.error_code import ErrorCode
from odradek.model.numbers import ProducerId, TimestampMs
from odradek.model.topic_partition import TopicPartition


class Why(Enum):
    UNKNOWN_PRODUCER = "no coordinator knows its producer"
    NOT_IN_TRANSACTION = "its coordinator does not count the partition in"
    OVERDUE = "its coordinator has not aborted it in time"


@dataclass(frozen=True, slots=True)
class Hanging:
    partition: TopicPartition
    producer: ProducerView
    why: Why
    transactional_id: str | None
    """Of the producer, where a coordinator knows it."""


@dataclass(frozen=True, slots=True)
class Search:
    partitions: Collection[TopicPartition]
    node_id: int | None = None
    """Whose replicas are looked at; None for the leaders."""
    quiet_ms: int = 15 * 60_000
    """What wrote a record more lately than this is no candidate: its end may be on the way."""


async def find_hanging(
    client: Client, search: Search, now: TimestampMs
) -> tuple[list[Hanging], dict[TopicPartition, ClientError]]:
    """Those found, and the partitions that nobody could tell of."""
    described = await describe_producers(client, search.partitions, search.node_id)
    failures = {each: outcome for each, outcome in described.items() if isinstance(outcome, ClientError)}
    candidates = [
        (partition, producer)
        for partition, producers in described.items()
        if not isinstance(producers, ClientError)
        for producer in producers
        if producer.open_from is not None and now - producer.last_timestamp > search.quiet_ms
    ]
    known = await _known(client, sorted({producer.producer_id for _, producer in candidates})) if candidates else {}
    found = []
    for partition, producer in candidates:
        transaction = known.get(producer.producer_id)
        why = _why(partition, transaction, now)
        if why is not None:
            found.append(Hanging(partition, producer, why, transaction.transactional_id if transaction else None))
    return found, failures


async def _known(client: Client, producer_ids: Collection[ProducerId]) -> dict[ProducerId, TransactionView]:
    """Raises what keeps a coordinator from answering: what it knows must not be taken for unknown."""
    listed = await list_transactions(client, Choice(producer_ids=tuple(producer_ids)))
    described = await describe_transactions(client, [each.transactional_id for each in listed])
    known = {}
    for each in listed:
        view = described[each.transactional_id]
        if isinstance(view, TransactionView):
            known[each.producer_id] = view
        elif not isinstance(view, Refused) or view.code is not ErrorCode.TRANSACTIONAL_ID_NOT_FOUND:
            raise view
    return known


def _why(partition: TopicPartition, transaction: TransactionView | None, now: TimestampMs) -> Why | None:
    """None where its coordinator will end it."""
    if transaction is None:
        return Why.UNKNOWN_PRODUCER
    if partition not in transaction.partitions:
        return Why.NOT_IN_TRANSACTION
    return Why.OVERDUE if transaction.is_overdue(now) else None
