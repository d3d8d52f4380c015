"""Records of a coordinator as the batches that hold them."""

from collections.abc import Iterator, Sequence

from odradek.coordinators.decision import Stored
from odradek.model.errors import MessageTooLarge
from odradek.model.numbers import Offset, TimestampMs
from odradek.records.batch import HEAD_SIZE, Codec
from odradek.records.builder import BatchSpec, build_batch
from odradek.records.record import Record
from odradek.wire.stored import write_coordinator_key, write_coordinator_value

_RECORD_OVERHEAD_MAX = 36
"""Bytes of a record beside its key and its value: all its numbers at their longest."""


def batches_of(
    records: Sequence[Stored], timestamp: TimestampMs, codec: Codec, bytes_max: int, *, is_atomic: bool
) -> Iterator[tuple[bytearray, Sequence[Stored]]]:
    """Batches of at most `bytes_max` with the records that each holds: one batch if they are atomic.

    Raises MessageTooLarge, before the first batch, if they do not fit.
    """
    encoded = [_encode(record) for record in records]
    ends = [len(encoded)] if is_atomic else _ends(encoded, bytes_max)
    start = 0
    for end in ends:
        numbered = [
            Record(Offset(number), timestamp, key, value) for number, (key, value) in enumerate(encoded[start:end])
        ]
        yield build_batch(numbered, BatchSpec(codec=codec)), records[start:end]
        start = end


def _encode(record: Stored) -> tuple[bytes, bytes | None]:
    value = None if record.value is None else write_coordinator_value(record.value, record.version)
    return write_coordinator_key(record.key), value


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
