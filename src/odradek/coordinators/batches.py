"""Records of a coordinator as the batches that hold them."""

from collections.abc import Sequence
from itertools import pairwise
from struct import error as StructError

from odradek.coordinators.result import CoordinatorResult, Stored
from odradek.model.errors import MessageTooLarge
from odradek.model.numbers import TimestampMs
from odradek.records.batch import HEAD_SIZE, Codec, Sealed
from odradek.records.builder import build_run
from odradek.wire import offset_commit_record, transaction_record
from odradek.wire.records.offsets import OffsetCommitKey, OffsetCommitValue
from odradek.wire.records.transaction import TransactionLogKey, TransactionLogValue
from odradek.wire.stored import write_coordinator_key, write_coordinator_value

_RECORD_OVERHEAD_MAX = 36
"""Bytes of a record beside its key and its value: all its numbers at their longest."""


def batches_of(
    result: CoordinatorResult, timestamp: TimestampMs, codec: Codec, bytes_max: int
) -> list[tuple[Sealed, Sequence[Stored]]]:
    """Batches with the records that each holds: one if they are atomic, however large, else of `bytes_max` at most.

    Raises MessageTooLarge for a record that does not fit into a batch of its own, or whose strings are too long.
    """
    records, writer = result.records, result.writer
    try:
        encoded = [_encode(record) for record in records]
    except StructError:
        # A client's bytes that were no text have grown: each was read as a mark, which is written with three.
        raise MessageTooLarge("a string with more bytes than a record can tell of") from None
    if result.is_atomic or len(encoded) == 1:
        return [(build_run(encoded, timestamp, codec, writer), records)]
    ends = _ends(encoded, bytes_max)
    return [
        (build_run(encoded[start:end], timestamp, codec, writer), records[start:end])
        for start, end in pairwise((0, *ends))
    ]


def _encode(record: Stored) -> tuple[bytes, bytes | None]:
    key, value, version = record
    if isinstance(value, OffsetCommitValue) and version == offset_commit_record.VERSION:
        assert isinstance(key, OffsetCommitKey)
        return offset_commit_record.key(key), offset_commit_record.value(value)
    if isinstance(value, TransactionLogValue) and version == transaction_record.VERSION:
        assert isinstance(key, TransactionLogKey)
        return transaction_record.key(key), transaction_record.value(value)
    return write_coordinator_key(key), None if value is None else write_coordinator_value(value, version)


def _ends(encoded: Sequence[tuple[bytes, bytes | None]], bytes_max: int) -> list[int]:
    """Behind the last record of each batch, as if nothing was compressed."""
    ends = []
    room = bytes_max - HEAD_SIZE
    for number, (key, value) in enumerate(encoded):
        size = len(key) + len(value or b"") + _RECORD_OVERHEAD_MAX
        if HEAD_SIZE + size > bytes_max:
            raise MessageTooLarge(f"a record of {size} bytes, where a batch takes {bytes_max}")
        if size > room:
            ends.append(number)
            room = bytes_max - HEAD_SIZE
        room -= size
    return [*ends, len(encoded)]
