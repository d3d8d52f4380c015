"""What is known of a transactional id. A value: each step makes another one, which a record has or will have."""

from collections.abc import Iterable, Mapping
from types import MappingProxyType
from typing import NamedTuple

from odradek.coordinators.transactions.state import TransactionState, move
from odradek.model.numbers import NO_PRODUCER_ID, NO_TIMESTAMP, ProducerId, TimestampMs
from odradek.model.settings import INT_MAX
from odradek.model.topic_partition import TopicPartition

NO_EPOCH = -1
EPOCH_MAX = 32_767
EPOCH_LAST = EPOCH_MAX - 1
"""The last one that a producer is given. The one above it fences that producer."""
EPOCH_RISES_SINCE = 2
"""The level of transaction.version, or of what a client can, from which on each transaction has an epoch of its own."""
NO_TIMEOUT_MS = INT_MAX
"""Of transactions that a coordinator outside ends."""

_NO_PARTITIONS: Mapping[TopicPartition, None] = MappingProxyType({})


class Claim(NamedTuple):
    """Who a request says that it comes from."""

    transactional_id: str
    producer_id: ProducerId
    epoch: int

    def fenced_by(self, epoch: int) -> str:
        """The text of an error: the transactional id is at another epoch."""
        return (
            f"another producer with the same transactionalId {self.transactional_id} fences this one: "
            f"the epoch is {epoch}, not {self.epoch}"
        )


def is_last(epoch: int) -> bool:
    """Whether no producer can be given a higher one: the next has another producer id."""
    return epoch >= EPOCH_LAST


class Transaction(NamedTuple):
    transactional_id: str
    producer_id: ProducerId
    timeout_ms: int
    updated_ms: TimestampMs
    epoch: int = NO_EPOCH
    """-1 for one that is about to be given its first."""
    state: TransactionState = TransactionState.EMPTY
    partitions: Mapping[TopicPartition, None] = _NO_PARTITIONS
    """In the order that they joined in."""
    started_ms: TimestampMs = NO_TIMESTAMP
    previous_producer_id: ProducerId = NO_PRODUCER_ID
    """The one before the last step, which most of the time is the same."""
    next_producer_id: ProducerId = NO_PRODUCER_ID
    """Takes the place of the current one when the end is complete, where the epochs of that are used up."""
    client_level: int = 0
    """The level of transaction.version that the client showed to know."""

    # --- steps

    def restarted(self, timeout_ms: int, epoch: int, now: TimestampMs) -> "Transaction":
        """A producer begins, with this epoch."""
        return self._idle(self.producer_id, epoch, timeout_ms, now)

    def rotated(self, producer_id: ProducerId, timeout_ms: int, now: TimestampMs) -> "Transaction":
        """The epochs are used up: a producer begins with another id."""
        return self._idle(producer_id, 0, timeout_ms, now)

    def _idle(self, producer_id: ProducerId, epoch: int, timeout_ms: int, now: TimestampMs) -> "Transaction":
        return self._replace(
            producer_id=producer_id,
            previous_producer_id=self.producer_id,
            epoch=epoch,
            timeout_ms=timeout_ms,
            state=move(self.state, TransactionState.EMPTY),
            partitions=_NO_PARTITIONS,
            started_ms=NO_TIMESTAMP,
            updated_ms=now,
        )

    def joined(self, partitions: Iterable[TopicPartition], client_level: int, now: TimestampMs) -> "Transaction":
        """The first partitions begin a transaction."""
        return self._replace(
            previous_producer_id=self.producer_id,
            state=move(self.state, TransactionState.ONGOING),
            partitions={**self.partitions, **dict.fromkeys(partitions)},
            started_ms=self.started_ms if self.state is TransactionState.ONGOING else now,
            updated_ms=now,
            client_level=client_level,
        )

    def fenced(self) -> "Transaction":
        """With an epoch that its producer does not have. Only a step on the way to the end."""
        return self._replace(epoch=min(self.epoch + 1, EPOCH_MAX))

    def prepared(
        self, *, commit: bool, client_level: int, next_producer_id: ProducerId, now: TimestampMs
    ) -> "Transaction":
        """Decided. Without a transaction, which only some clients abort, it counts as begun just now."""
        rises = client_level >= EPOCH_RISES_SINCE
        to = TransactionState.PREPARE_COMMIT if commit else TransactionState.PREPARE_ABORT
        return self._replace(
            previous_producer_id=self.producer_id,
            next_producer_id=next_producer_id,
            epoch=min(self.epoch + 1, EPOCH_MAX) if rises else self.epoch,
            state=move(self.state, to),
            started_ms=self.started_ms if self.state is TransactionState.ONGOING else now,
            updated_ms=now,
            client_level=client_level,
        )

    def completed(self, now: TimestampMs) -> "Transaction":
        """All partitions have their markers."""
        commit = self.state is TransactionState.PREPARE_COMMIT
        to = TransactionState.COMPLETE_COMMIT if commit else TransactionState.COMPLETE_ABORT
        producer_id, epoch = self.next_producer
        return self._replace(
            producer_id=producer_id,
            epoch=epoch,
            previous_producer_id=self.producer_id,
            next_producer_id=NO_PRODUCER_ID,
            state=move(self.state, to),
            partitions=_NO_PARTITIONS,
            updated_ms=now,
        )

    # --- reading

    @property
    def next_producer(self) -> tuple[ProducerId, int]:
        """The id and the epoch that its producer has when the end is complete."""
        is_rotated = self.client_level >= EPOCH_RISES_SINCE and self.next_producer_id != NO_PRODUCER_ID
        return (self.next_producer_id, 0) if is_rotated else (self.producer_id, self.epoch)

    @property
    def is_ending(self) -> bool:
        return self.state in (TransactionState.PREPARE_COMMIT, TransactionState.PREPARE_ABORT)

    def is_overdue(self, now: TimestampMs) -> bool:
        """Whether it is open for longer than its producer wanted."""
        return (
            self.state is TransactionState.ONGOING
            and self.timeout_ms != NO_TIMEOUT_MS
            and self.started_ms + self.timeout_ms < now
        )
