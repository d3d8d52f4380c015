"""Batches of transactions: which partitions of a produce request may be written to.

The first batch of a transaction in a partition needs the coordinator to know of that partition, or else the end of the
transaction would not reach it, and its records would hide all that come after them from readers of committed ones. A
client from version 12 on has partitions join by writing to them; an older one has said before that they would.
"""

from collections.abc import Callable, Iterator, Mapping
from typing import NamedTuple, TypeAlias

from odradek.broker.broker import Broker
from odradek.broker.coordination.internal_topics import INTERNAL_TOPICS
from odradek.broker.coordination.transactions import ClientKnows, Transactions
from odradek.coordinators.errors import CoordinatorLoading, CoordinatorNotAvailable, NotCoordinator
from odradek.coordinators.transactions.errors import ConcurrentTransactions, InvalidProducerIdMapping
from odradek.coordinators.transactions.transaction import Claim
from odradek.model.buffer import Buffer
from odradek.model.clock import Clock
from odradek.model.error_code import ErrorCode
from odradek.model.errors import BrokerError, CorruptBatch
from odradek.model.topic_partition import TopicPartition
from odradek.records.batch import MAGIC, MAGIC_AT, TRANSACTIONAL, BatchHead, parse_head
from odradek.replication.waiters import Unsettled
from odradek.wire.messages.produce import ProduceRequest

_BY_ID_SINCE = 13
_JOINING_SINCE = 12
_ABORTABLE_SINCE = 11
_ATTRIBUTES_AT = 22
"""The lower byte of them."""
_ALL_MEAN_LATER = (CoordinatorLoading, CoordinatorNotAvailable, NotCoordinator)


class NotEnoughReplicas(BrokerError):
    """For now: what producers of any age try again."""

    code = ErrorCode.NOT_ENOUGH_REPLICAS


class TransactionalIdRefused(BrokerError):
    code = ErrorCode.TRANSACTIONAL_ID_AUTHORIZATION_FAILED


class Gate(NamedTuple):
    refused: Mapping[TopicPartition, BrokerError]
    joined: frozenset[TopicPartition]
    """Partitions in which the transaction begins with what is written now."""
    unsettled: Unsettled | None = None
    """To be waited for, and the gate to be asked for again after that."""
    refusal: BrokerError | None = None
    """Of the request as a whole."""


OPEN = Gate({}, frozenset())
GateFor: TypeAlias = Callable[[int, ProduceRequest], Gate]


def is_batch_transactional(records: Buffer) -> bool:
    """As far as the first batch goes, which is all that a client may send."""
    return (
        len(records) > _ATTRIBUTES_AT and bool(records[_ATTRIBUTES_AT] & TRANSACTIONAL) and records[MAGIC_AT] == MAGIC
    )


def is_transactional(request: ProduceRequest) -> bool:
    return any(
        is_batch_transactional(part.records or b"") for topic in request.topic_data for part in topic.partition_data
    )


class TransactionalProduce:
    def __init__(
        self, broker: Broker, transactions: Transactions, clock: Clock, is_verifying: Callable[[], bool]
    ) -> None:
        """`is_verifying` is transaction.partition.verification.enable."""
        self._broker = broker
        self._transactions = transactions
        self._clock = clock
        self._is_verifying = is_verifying

    def gate_for(self, version: int, request: ProduceRequest) -> Gate:
        """Raises what the request is refused for as a whole."""
        if request.transactional_id is None:
            raise TransactionalIdRefused(
                "Transactional Id authorization failed: a batch of a transaction without a transactional id"
            )
        batches = list(self._batches(version, request))  # a partition may be named again: all of them are written
        producers = {(head.producer_id, head.producer_epoch) for _, head in batches}
        if len(producers) > 1:
            raise InvalidProducerIdMapping("batches of several producers in one transaction")
        knows = _known_in(version)
        if knows is not ClientKnows.JOINING and not self._is_verifying():
            return Gate({}, frozenset(place for place, _ in batches))
        refused: dict[TopicPartition, BrokerError] = {}
        due = dict.fromkeys(place for place, head in batches if self._is_due(place, head, knows, refused))
        if not due:
            return Gate(refused, frozenset())
        ((producer_id, epoch),) = producers
        who = Claim(request.transactional_id, producer_id, epoch)
        admission = self._transactions.admit(who, due, knows)
        refused.update((place, _for_producer(error, knows)) for place, error in admission.refused.items())
        return Gate(refused, frozenset(due).difference(refused), admission.unsettled)

    def _is_due(
        self, place: TopicPartition, head: BatchHead, knows: ClientKnows, refused: dict[TopicPartition, BrokerError]
    ) -> bool:
        producers = self._broker.partition(*place).log.producers
        try:
            return producers.is_verification_due(
                head.producer_id,
                head.producer_epoch,
                head.base_sequence,
                self._clock.now_ms(),
                rises=knows is ClientKnows.JOINING,
            )
        except BrokerError as error:
            refused[place] = error
            return False

    def _batches(self, version: int, request: ProduceRequest) -> Iterator[tuple[TopicPartition, BatchHead]]:
        """Those of transactions, but for what is refused anyway when it is to be written."""
        for topic in request.topic_data:
            try:
                name = topic.name if version < _BY_ID_SINCE else self._broker.name_of(topic.topic_id)
            except BrokerError:
                continue
            for part in topic.partition_data:
                place = TopicPartition(name, part.index)
                records = part.records or b""
                if name in INTERNAL_TOPICS or not is_batch_transactional(records) or not self._broker.leads(place):
                    continue
                try:
                    yield place, parse_head(memoryview(records))
                except CorruptBatch:
                    continue


def _known_in(version: int) -> ClientKnows:
    if version >= _JOINING_SINCE:
        return ClientKnows.JOINING
    return ClientKnows.ABORTABLE if version >= _ABORTABLE_SINCE else ClientKnows.NOTHING


def _for_producer(error: BrokerError, knows: ClientKnows) -> BrokerError:
    """Older clients know no error that means to try again later but this one."""
    is_old = knows is not ClientKnows.JOINING
    if isinstance(error, _ALL_MEAN_LATER) or (is_old and isinstance(error, ConcurrentTransactions)):
        return NotEnoughReplicas(str(error))
    return error
