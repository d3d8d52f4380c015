"""What a partition knows of its producers: sequences, epochs, open transactions. Pure state, no files.

A batch is checked first and noted after it was written, so that a failed write leaves no trace. The last five batches
of each producer are remembered: one of them sent again is answered with its first offset.
"""

from collections.abc import Iterable, Iterator
from typing import NamedTuple

from odradek.model.errors import (
    InvalidProducerEpoch,
    InvalidTxnState,
    OutOfOrderSequence,
    TransactionCoordinatorFenced,
)
from odradek.model.numbers import NO_OFFSET, NO_TIMESTAMP, Offset, ProducerId, TimestampMs
from odradek.records.batch import SEQUENCE_MAX, BatchHead
from odradek.records.control import EndTxnMarker
from odradek.storage.transaction_index import AbortedTxn

BATCHES_KEPT = 5
NO_EPOCH = -1
NO_SEQUENCE = -1
NO_COORDINATOR_EPOCH = -1
_EPOCH_MAX = 32_767
_PUT_OFF_MAX = 1000
"""Of producers whose first batch is yet to come; beyond that, the first of them is forgotten."""
_EPOCH_RISES_SINCE = 2
"""The level of transaction.version."""


class NotedBatch(NamedTuple):
    first_sequence: int
    last_sequence: int
    first_offset: Offset
    last_offset: Offset
    timestamp: TimestampMs


class CompletedTxn(NamedTuple):
    txn: AbortedTxn
    """Its place, in the form of the transaction index."""
    aborted: bool


class Unverified:
    """A producer whose first batch of a transaction was not taken yet.

    The coordinator is asked whether the partition is in the transaction, and may refuse it for now. Batches that were
    sent after that one must not be taken before it, and what is known of the producer may not tell: it may be new here.
    """

    __slots__ = ("epoch", "lowest_sequence", "rises", "since_ms")

    def __init__(self, epoch: int, sequence: int, since_ms: TimestampMs, *, rises: bool) -> None:
        self.epoch = epoch
        self.lowest_sequence = sequence
        self.since_ms = since_ms
        self.rises = rises
        """Whether each transaction has an epoch of its own, and so begins with sequence 0."""

    def meet(self, epoch: int, sequence: int) -> None:
        if epoch > self.epoch:
            self.epoch, self.lowest_sequence = epoch, sequence
        elif epoch == self.epoch:
            self.lowest_sequence = min(self.lowest_sequence, sequence)


class PutOff:
    """The first batch of a producer, which was too large and comes again in smaller ones."""

    __slots__ = ("behind", "epoch", "sequence")

    def __init__(self, epoch: int, sequence: int) -> None:
        self.epoch = epoch
        self.sequence = sequence
        self.behind = BATCHES_KEPT - 1
        """How many may still be on the way: no producer has more than five there. Then it has given this one up."""


class Producer:
    """The state of one producer id."""

    __slots__ = ("batches", "coordinator_epoch", "epoch", "id", "last_timestamp", "txn_first_offset")

    def __init__(self, id: ProducerId) -> None:
        self.id = id
        self.epoch = NO_EPOCH
        self.coordinator_epoch = NO_COORDINATOR_EPOCH
        self.last_timestamp = NO_TIMESTAMP
        self.txn_first_offset = NO_OFFSET
        self.batches: tuple[NotedBatch, ...] = ()

    @property
    def last_sequence(self) -> int:
        return self.batches[-1].last_sequence if self.batches else NO_SEQUENCE


class ProducerState:
    """All producers of one partition, as of `end_offset`."""

    __slots__ = ("_open_txns", "_producers", "_put_off", "_unverified", "end_offset")

    def __init__(self, end_offset: Offset, producers: Iterable[Producer] = ()) -> None:
        self.end_offset = end_offset
        self._unverified: dict[ProducerId, Unverified] | None = None
        """Most of the time there are none."""
        self._put_off: dict[ProducerId, PutOff] = {}
        self._producers = {producer.id: producer for producer in producers}
        self._open_txns = {
            producer.txn_first_offset: producer.id
            for producer in sorted(self._producers.values(), key=lambda producer: producer.txn_first_offset)
            if producer.txn_first_offset >= 0
        }

    def __iter__(self) -> Iterator[Producer]:
        return iter(self._producers.values())

    def __len__(self) -> int:
        return len(self._producers)

    def get(self, id: ProducerId) -> Producer | None:
        return self._producers.get(id)

    @property
    def first_undecided_offset(self) -> Offset | None:
        """Where the oldest open transaction starts."""
        return next(iter(self._open_txns), None)

    def has_open_txn(self, id: ProducerId, epoch: int) -> bool:
        producer = self._producers.get(id)
        return producer is not None and producer.txn_first_offset >= 0 and producer.epoch == epoch

    def is_verification_due(self, id: ProducerId, epoch: int, sequence: int, now: TimestampMs, *, rises: bool) -> bool:
        """Whether the coordinator is to be asked before a transactional batch is taken: it would begin a transaction.

        Raises InvalidProducerEpoch.
        """
        producer = self._producers.get(id)
        if producer is not None and epoch < producer.epoch:
            raise InvalidProducerEpoch(id, epoch, producer.epoch)
        if self.has_open_txn(id, epoch):
            return False
        if self._unverified is None:
            self._unverified = {}
        known = self._unverified.get(id)
        if known is None:
            known = self._unverified[id] = Unverified(epoch, sequence, now, rises=rises)
        known.meet(epoch, sequence)
        return True

    def admit(self, head: BatchHead) -> NotedBatch | None:
        """May this batch of a client be appended? None for yes, the batch that it repeats for a repeat; else raises."""
        producer = self._producers.get(head.producer_id)
        if producer is not None and producer.batches and head.producer_epoch == producer.epoch:
            follows = head.base_sequence == producer.batches[-1].last_sequence + 1
            if follows and (producer.txn_first_offset < 0 or head.is_transactional):
                return None  # the way of nearly every batch
        known = self.find_duplicate(head)
        if known is None:
            self.check(head)
        return known

    def put_off(self, head: BatchHead) -> None:
        """A batch was too large. Producers in Java split it and send it again, while others are behind it on the way.

        What is known of a producer tells that these are too soon. Of one that is not known, one of them would be taken
        for the first, and what comes again be refused for as long as its producer tries.
        """
        if head.producer_id < 0 or head.count < 2 or head.producer_id in self._producers:
            return
        known, first = self._put_off.pop(head.producer_id, None), head.base_sequence
        if known is not None and known.epoch == head.producer_epoch:
            first = min(first, known.sequence)
        if len(self._put_off) == _PUT_OFF_MAX:
            del self._put_off[next(iter(self._put_off))]
        self._put_off[head.producer_id] = PutOff(head.producer_epoch, first)

    def find_duplicate(self, head: BatchHead) -> NotedBatch | None:
        """The batch that `head` repeats, if it is one of the last five of its producer and epoch."""
        producer = self._producers.get(head.producer_id)
        if producer is None or producer.epoch != head.producer_epoch:
            return None
        for noted in producer.batches:
            if noted.first_sequence == head.base_sequence and noted.last_sequence == head.last_sequence:
                return noted
        return None

    def check(self, head: BatchHead) -> None:
        """Refuse a data batch that is fenced, leaves a gap, or stands outside its producer's open transaction."""
        self.check_epoch(head)
        producer = self._producers.get(head.producer_id)
        unverified = self._unverified.get(head.producer_id) if self._unverified else None
        if unverified is not None:
            is_new = producer is None or not producer.batches
            first = 0 if unverified.rises and is_new else unverified.lowest_sequence
            if head.base_sequence > first:
                raise OutOfOrderSequence(head.producer_id, head.base_sequence, first)
        if producer is None:
            if self._put_off:
                self._check_first(head)
            return  # unknown or expired: any other sequence may be the first
        if head.producer_epoch > producer.epoch:
            if head.base_sequence != 0 and producer.epoch != NO_EPOCH:
                raise OutOfOrderSequence(head.producer_id, head.base_sequence, 0)
        else:
            last = producer.last_sequence
            expected = 0 if last == SEQUENCE_MAX else last + 1
            if head.base_sequence != expected:
                raise OutOfOrderSequence(head.producer_id, head.base_sequence, expected)
        if producer.txn_first_offset >= 0 and not head.is_transactional:
            raise InvalidTxnState(
                f"invalid state: producer {head.producer_id} has an open transaction and sent a batch outside it"
            )

    def _check_first(self, head: BatchHead) -> None:
        put_off = self._put_off.get(head.producer_id)
        if put_off is None or put_off.epoch != head.producer_epoch or put_off.sequence >= head.base_sequence:
            return
        put_off.behind -= 1
        if not put_off.behind:
            del self._put_off[head.producer_id]
        raise OutOfOrderSequence(head.producer_id, head.base_sequence, put_off.sequence)

    def check_epoch(self, head: BatchHead) -> None:
        """Refuse a batch of a fenced producer."""
        producer = self._producers.get(head.producer_id)
        if producer is not None and head.producer_epoch < producer.epoch:
            raise InvalidProducerEpoch(head.producer_id, head.producer_epoch, producer.epoch)

    def check_marker(self, head: BatchHead, marker: EndTxnMarker, level: int) -> None:
        """Refuse a marker of a fenced producer or coordinator.

        From level 2 of transaction.version on, the epoch of a marker is above that of the transaction that it ends. One
        with the same is late, and would end the next transaction; where none is open it is a repeat, and harmless.
        """
        self.check_epoch(head)
        producer = self._producers.get(head.producer_id)
        if producer is None:
            return
        is_same = head.producer_epoch == producer.epoch
        if level >= _EPOCH_RISES_SINCE and is_same and producer.txn_first_offset >= 0 and producer.epoch < _EPOCH_MAX:
            raise InvalidProducerEpoch(head.producer_id, head.producer_epoch, producer.epoch)
        if marker.coordinator_epoch < producer.coordinator_epoch:
            raise TransactionCoordinatorFenced(
                f"coordinator epoch {marker.coordinator_epoch} for producer {head.producer_id} is behind "
                f"{producer.coordinator_epoch}"
            )

    def note(self, head: BatchHead, first: Offset) -> None:
        """Take in a data batch that is in the log, at offset `first`."""
        producer = self._producers.get(head.producer_id)
        if producer is None:
            producer = self._producers[head.producer_id] = Producer(head.producer_id)
            self._put_off.pop(producer.id, None)
        last = Offset(first + head.last_offset_delta)
        noted = NotedBatch(head.base_sequence, head.last_sequence, first, last, head.max_timestamp)
        if producer.epoch == head.producer_epoch:
            producer.batches = (*producer.batches[1 - BATCHES_KEPT :], noted)
        else:
            producer.epoch = head.producer_epoch
            producer.batches = (noted,)
        producer.last_timestamp = head.max_timestamp
        if head.is_transactional:
            if self._unverified:
                self._unverified.pop(producer.id, None)
            if producer.txn_first_offset < 0:
                producer.txn_first_offset = first
                self._open_txns[first] = producer.id

    def note_marker(self, head: BatchHead, at: Offset, marker: EndTxnMarker) -> CompletedTxn | None:
        """Take in the end of a transaction, at offset `at`; None where its producer had none open."""
        producer = self._producers.get(head.producer_id)
        if producer is None:
            producer = self._producers[head.producer_id] = Producer(head.producer_id)
        if self._unverified:
            self._forget_unverified(head)
        first = producer.txn_first_offset
        if producer.epoch != head.producer_epoch:
            producer.epoch = head.producer_epoch
            producer.batches = ()
        producer.coordinator_epoch = marker.coordinator_epoch
        producer.last_timestamp = head.max_timestamp
        producer.txn_first_offset = NO_OFFSET
        if first < 0:
            return None
        self._open_txns.pop(first, None)  # a damaged snapshot may give two producers the same one
        stable = self.first_undecided_offset
        txn = AbortedTxn(head.producer_id, first, at, Offset(at + 1) if stable is None else stable)
        return CompletedTxn(txn, aborted=not marker.commit)

    def _forget_unverified(self, marker: BatchHead) -> None:
        assert self._unverified is not None
        known = self._unverified.get(marker.producer_id)
        # With the epoch of the marker it is of the transaction that comes next.
        if known is not None and not (known.rises and known.epoch == marker.producer_epoch):
            del self._unverified[marker.producer_id]

    def expire(self, now: TimestampMs, after_ms: int) -> int:
        """Forget producers that wrote nothing for `after_ms` and have no open transaction; returns how many."""
        gone = [
            producer.id
            for producer in self._producers.values()
            if producer.txn_first_offset < 0 and now - producer.last_timestamp >= after_ms
        ]
        for id in gone:
            del self._producers[id]
        for id, unverified in list((self._unverified or {}).items()):
            if self._unverified and now - unverified.since_ms >= after_ms:
                del self._unverified[id]
        return len(gone)
