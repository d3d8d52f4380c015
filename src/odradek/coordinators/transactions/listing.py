"""DescribeTransactions and ListTransactions."""

from typing import Any

import re2  # type: ignore[import-untyped]

from odradek.coordinators.transactions.errors import InvalidPattern
from odradek.coordinators.transactions.record import by_topic
from odradek.coordinators.transactions.state import BY_LABEL
from odradek.coordinators.transactions.transaction import Transaction
from odradek.model.numbers import TimestampMs
from odradek.wire.messages import describe_transactions, list_transactions
from odradek.wire.messages.list_transactions import ListTransactionsRequest

_MEMORY_MAX = 1 << 20
"""That a compiled pattern may take; one that needs more is refused."""


def described(transaction: Transaction) -> describe_transactions.TransactionState:
    return describe_transactions.TransactionState(
        transactional_id=transaction.transactional_id,
        transaction_state=transaction.state.label,
        transaction_timeout_ms=transaction.timeout_ms,
        transaction_start_time_ms=transaction.started_ms,
        producer_id=transaction.producer_id,
        producer_epoch=transaction.epoch,
        topics=tuple(
            describe_transactions.TopicData(topic=topic, partitions=tuple(numbers))
            for topic, numbers in by_topic(transaction.partitions).items()
        ),
    )


def listed(transaction: Transaction) -> list_transactions.TransactionState:
    return list_transactions.TransactionState(
        transactional_id=transaction.transactional_id,
        producer_id=transaction.producer_id,
        transaction_state=transaction.state.label,
    )


class Filter:
    """Which transactions a request wants."""

    def __init__(self, request: ListTransactionsRequest, now: TimestampMs) -> None:
        """Raises InvalidPattern."""
        self.unknown_states = tuple(dict.fromkeys(each for each in request.state_filters if each not in BY_LABEL))
        self._states = frozenset(BY_LABEL[each] for each in request.state_filters if each in BY_LABEL)
        self._by_state = bool(request.state_filters)
        self._producer_ids = frozenset(request.producer_id_filters)
        self._duration_ms = request.duration_filter
        self._now = now
        self._pattern = _compile(request.transactional_id_pattern) if request.transactional_id_pattern else None

    def wants(self, transaction: Transaction) -> bool:
        if self._producer_ids and transaction.producer_id not in self._producer_ids:
            return False
        if self._by_state and transaction.state not in self._states:
            return False
        if self._duration_ms >= 0 and self._now - transaction.started_ms <= self._duration_ms:
            return False
        return self._pattern is None or bool(self._pattern.fullmatch(transaction.transactional_id.encode()))


def _compile(pattern: str) -> Any:
    options = re2.Options()
    options.log_errors = False
    options.max_mem = _MEMORY_MAX
    options.never_capture = True
    try:
        return re2.compile(pattern.encode(), options)
    except re2.error as error:
        reason = error.args[0].decode(errors="replace")
        raise InvalidPattern(f"{pattern!r} is no regular expression: {reason}") from None
