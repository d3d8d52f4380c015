"""The record of a transaction, written by hand: a transaction of one batch has three of them.

Equal to what the codec makes of it. The value is of version 1, which older levels of transaction.version do not write.
"""

from struct import Struct

from odradek.records.varint import write_unsigned
from odradek.wire.records.transaction import PartitionsSchema, TransactionLogKey, TransactionLogValue

VERSION = 1
_KEY = Struct(">hh")
_BEGIN = Struct(">hqhib")
_INT32 = Struct(">i")
_TIMES = Struct(">qq")
_TYPE = 0
_TAGGED_ID = Struct(">BBq")
_TAGGED_NUMBER = Struct(">BBh")


def key(transaction: TransactionLogKey) -> bytes:
    name = transaction.transactional_id.encode()
    return _KEY.pack(_TYPE, len(name)) + name


def value(transaction: TransactionLogValue) -> bytes:
    begin = _BEGIN.pack(
        VERSION,
        transaction.producer_id,
        transaction.producer_epoch,
        transaction.transaction_timeout_ms,
        transaction.transaction_status,
    )
    times = _TIMES.pack(transaction.transaction_last_update_timestamp_ms, transaction.transaction_start_timestamp_ms)
    return b"".join((begin, _partitions(transaction.transaction_partitions), times, _tagged(transaction)))


def _partitions(topics: tuple[PartitionsSchema, ...] | None) -> bytes:
    if not topics:
        return b"\0" if topics is None else b"\1"
    parts = [write_unsigned(len(topics) + 1)]
    for each in topics:
        name = each.topic.encode()
        parts += (write_unsigned(len(name) + 1), name, write_unsigned(len(each.partition_ids) + 1))
        parts += map(_INT32.pack, each.partition_ids)
        parts.append(b"\0")
    return b"".join(parts)


def _tagged(transaction: TransactionLogValue) -> bytes:
    """The fields that are not as most of the time, behind how many they are."""
    parts = []
    if transaction.previous_producer_id != -1:
        parts.append(_TAGGED_ID.pack(0, 8, transaction.previous_producer_id))
    if transaction.next_producer_id != -1:
        parts.append(_TAGGED_ID.pack(1, 8, transaction.next_producer_id))
    if transaction.client_transaction_version:
        parts.append(_TAGGED_NUMBER.pack(2, 2, transaction.client_transaction_version))
    if transaction.next_producer_epoch != -1:
        parts.append(_TAGGED_NUMBER.pack(3, 2, transaction.next_producer_epoch))
    return b"".join((write_unsigned(len(parts)), *parts))
