"""The record of a transaction that is written by hand is the one that the codec writes."""

from hypothesis import given
from hypothesis import strategies as st

from odradek.wire import transaction_record
from odradek.wire.records.transaction import PartitionsSchema, TransactionLogKey, TransactionLogValue
from odradek.wire.stored import write_coordinator_key, write_coordinator_value

TEXTS = st.text(st.characters(exclude_categories=["Cs"]), max_size=300)
INT16S = st.integers(-(1 << 15), (1 << 15) - 1)
INT32S = st.integers(-(1 << 31), (1 << 31) - 1)
INT64S = st.integers(-(1 << 63), (1 << 63) - 1)
PARTITIONS = st.builds(PartitionsSchema, topic=TEXTS, partition_ids=st.lists(INT32S, max_size=200).map(tuple))
VALUES = st.builds(
    TransactionLogValue,
    producer_id=INT64S,
    previous_producer_id=st.just(-1) | INT64S,
    next_producer_id=st.just(-1) | INT64S,
    producer_epoch=INT16S,
    next_producer_epoch=st.just(-1) | INT16S,
    transaction_timeout_ms=INT32S,
    transaction_status=st.integers(-128, 127),
    transaction_partitions=st.none() | st.lists(PARTITIONS, max_size=4).map(tuple),
    transaction_last_update_timestamp_ms=INT64S,
    transaction_start_timestamp_ms=INT64S,
    client_transaction_version=st.just(0) | INT16S,
)


@given(TEXTS)
def test_keys(transactional_id: str) -> None:
    key = TransactionLogKey(transactional_id=transactional_id)
    assert transaction_record.key(key) == write_coordinator_key(key)


@given(VALUES)
def test_values(value: TransactionLogValue) -> None:
    assert transaction_record.value(value) == write_coordinator_value(value, transaction_record.VERSION)
