"""ListTransactions: the transactional ids that a broker coordinates."""

from __future__ import annotations

from odradek.wire.schema import Message, Struct, field, int16, int32, int64


class ListTransactionsRequest(Message, key=66, versions=(0, 2), flexible=0):
    state_filters: tuple[str, ...]
    producer_id_filters: tuple[int64, ...]
    duration_filter: int64 = field(default=-1, since=1)
    transactional_id_pattern: str | None = field(default=None, since=2)


class ListTransactionsResponse(Message, key=66, versions=(0, 2), flexible=0):
    throttle_time_ms: int32 = 0
    error_code: int16 = 0
    unknown_state_filters: tuple[str, ...] = ()
    transaction_states: tuple[TransactionState, ...] = ()


class TransactionState(Struct):
    transactional_id: str
    producer_id: int64
    transaction_state: str
