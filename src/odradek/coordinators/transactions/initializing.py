"""InitProducerId: a producer takes a transactional id, and whoever had it before is fenced."""

from collections.abc import Callable
from typing import NamedTuple

from odradek.coordinators.transactions.errors import (
    ConcurrentTransactions,
    InvalidTransactionRequest,
    InvalidTransactionTimeout,
    KeepPreparedUnsupported,
    ProducerFenced,
    TwoPhaseCommitRefused,
)
from odradek.coordinators.transactions.transaction import NO_EPOCH, NO_TIMEOUT_MS, Transaction, is_last
from odradek.model.broker_config import BrokerConfig
from odradek.model.numbers import NO_PRODUCER_ID, ProducerId, TimestampMs
from odradek.wire.messages.init_producer_id import InitProducerIdRequest


class Identity(NamedTuple):
    """A producer id with an epoch."""

    producer_id: ProducerId
    epoch: int


def check_request(request: InitProducerIdRequest, config: BrokerConfig) -> None:
    """Raises what is refused whatever is known of the transactional id."""
    if not request.transactional_id:
        raise InvalidTransactionRequest("an empty transactional id")
    if request.enable_2pc and not config.transaction_two_phase_commit_enable:
        raise TwoPhaseCommitRefused("transaction.two.phase.commit.enable is false")
    if request.keep_prepared_txn:
        raise KeepPreparedUnsupported("prepared transactions cannot be kept")
    if not request.enable_2pc and not 0 < request.transaction_timeout_ms <= config.transaction_max_timeout_ms:
        raise InvalidTransactionTimeout(
            f"transaction timeout of {request.transaction_timeout_ms} ms: "
            f"it must be above 0 and not larger than transaction.max.timeout.ms, {config.transaction_max_timeout_ms}"
        )


def timeout_of(request: InitProducerIdRequest) -> int:
    return NO_TIMEOUT_MS if request.enable_2pc else request.transaction_timeout_ms


def expected_in(request: InitProducerIdRequest) -> Identity | None:
    """Who the producer was so far, if it says so: nobody else may have taken the id since."""
    if request.producer_id == NO_PRODUCER_ID:
        return None
    return Identity(ProducerId(request.producer_id), request.producer_epoch)


def check_expected(transaction: Transaction, expected: Identity | None) -> None:
    """Raises if another producer has taken over, or if the last transaction is just being ended."""
    if expected is not None and not _is_of(transaction, expected):
        raise ProducerFenced(
            f"another producer with the same transactionalId {transaction.transactional_id} fences {expected}"
        )
    if transaction.is_ending:
        raise ConcurrentTransactions(f"{transaction.transactional_id!r} is in state {transaction.state.label}")


class Begun(NamedTuple):
    transaction: Transaction
    epoch_before: int
    """That the producer had, and may still say in a repeat of the request; -1 where it did not say it."""


def begin(
    transaction: Transaction,
    expected: Identity | None,
    epoch_before: int,
    new_producer_id: Callable[[], ProducerId],
    timeout_ms: int,
    now: TimestampMs,
) -> Begun:
    """A producer begins under an id that has nothing open. `epoch_before` is what `Begun` said the last time."""
    if is_last(transaction.epoch) and (expected is None or expected.epoch == transaction.epoch):
        rotated = transaction.rotated(new_producer_id(), timeout_ms, now)
        return Begun(rotated, NO_EPOCH if expected is None else transaction.epoch)
    if expected is None:
        return Begun(transaction.restarted(timeout_ms, transaction.epoch + 1, now), NO_EPOCH)
    if transaction.epoch == NO_EPOCH or expected.epoch == transaction.epoch:
        return Begun(transaction.restarted(timeout_ms, transaction.epoch + 1, now), transaction.epoch)
    if expected.epoch == epoch_before:
        return Begun(transaction.restarted(timeout_ms, transaction.epoch, now), epoch_before)  # the answer was lost
    raise ProducerFenced(f"epoch {expected.epoch} is neither {transaction.epoch} nor the one before")


def _is_of(transaction: Transaction, expected: Identity) -> bool:
    """The epoch of the same producer id is looked at when it is raised."""
    if transaction.epoch == NO_EPOCH or expected.producer_id == transaction.producer_id:
        return True
    return expected.producer_id == transaction.previous_producer_id and is_last(expected.epoch)
