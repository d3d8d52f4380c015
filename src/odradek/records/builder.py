"""Building batches from records: for the log's own writers (markers, coordinators, the cleaner), tools and tests."""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace

from odradek.model.numbers import (
    NO_LEADER_EPOCH,
    NO_PRODUCER_ID,
    NO_TIMESTAMP,
    LeaderEpoch,
    Offset,
    ProducerId,
    TimestampMs,
)
from odradek.records.batch import (
    HEAD_SIZE,
    LOG_OVERHEAD,
    MAGIC,
    TRANSACTIONAL,
    BatchHead,
    Codec,
    Sealed,
    TimestampType,
    attributes_of,
    seal,
    with_delete_horizon,
    write_head,
)
from odradek.records.compression import compress
from odradek.records.record import Record
from odradek.records.varint import SIGNED, write_signed

_NULL = write_signed(-1)
_ZERO = Offset(0)


@dataclass(frozen=True, slots=True, kw_only=True)
class BatchSpec:
    """Everything about a batch that its records do not say."""

    base_offset: Offset = _ZERO
    leader_epoch: LeaderEpoch = NO_LEADER_EPOCH
    producer_id: ProducerId = NO_PRODUCER_ID
    producer_epoch: int = -1
    base_sequence: int = -1
    transactional: bool = False
    control: bool = False
    codec: Codec = Codec.NONE
    level: int | None = None
    timestamp_type: TimestampType = TimestampType.CREATE_TIME
    max_timestamp: TimestampMs | None = None
    """The largest of the records if not given. For LogAppendTime it is the time of every record."""
    last_offset_delta: int | None = None
    """That of the last record if not given. The cleaner keeps the old one where it dropped the last records."""
    delete_horizon_ms: TimestampMs | None = None

    @classmethod
    def like(cls, head: BatchHead, level: int | None = None) -> "BatchSpec":
        """For a batch that takes the place of the one with this head: same offsets, same flags, other records.

        The largest timestamp is that of the new records, except for LogAppendTime.
        """
        append_time = head.max_timestamp if head.timestamp_type is TimestampType.LOG_APPEND_TIME else None
        return cls(
            base_offset=head.base_offset,
            leader_epoch=head.leader_epoch,
            producer_id=head.producer_id,
            producer_epoch=head.producer_epoch,
            base_sequence=head.base_sequence,
            transactional=head.is_transactional,
            control=head.is_control,
            codec=head.codec,
            level=level,
            timestamp_type=head.timestamp_type,
            max_timestamp=append_time,
            last_offset_delta=head.last_offset_delta,
            delete_horizon_ms=head.delete_horizon_ms,
        )


PLAIN = BatchSpec()
"""From no idempotent producer, uncompressed, at offset 0."""


def build_batch(records: Iterable[Record], spec: BatchSpec = PLAIN) -> bytearray:
    """A whole batch, sealed. Offsets of records are absolute, at least spec.base_offset, and rise; gaps are allowed.

    Without records it is a head alone, which needs spec.last_offset_delta; see build_emptied.
    """
    records = list(records)
    base_timestamp, max_timestamp = _timestamps(records, spec)
    batch = bytearray(HEAD_SIZE)
    if records:
        batch += compress(spec.codec, _encode(records, spec.base_offset, base_timestamp), spec.level)
    write_head(
        batch,
        BatchHead(
            spec.base_offset,
            len(batch) - LOG_OVERHEAD,
            spec.leader_epoch,
            MAGIC,
            0,
            _attributes(spec, bool(records)),
            _last_offset_delta(records, spec),
            base_timestamp,
            max_timestamp,
            spec.producer_id,
            spec.producer_epoch,
            spec.base_sequence,
            len(records),
        ),
    )
    return batch


def build_run(
    entries: Sequence[tuple[bytes, bytes | None]],
    timestamp: TimestampMs,
    codec: Codec,
    writer: tuple[ProducerId, int] | None = None,
) -> Sealed:
    """What build_batch makes of keys and values at offsets from 0 on, all of one time, in a fifth of its own time.

    For what coordinators write, which most of the time is a single record. `writer` is the producer, with its epoch, in
    whose transaction they are.
    """
    parts: list[bytes] = []
    for number, (key, value) in enumerate(entries):
        tail = _NULL if value is None else SIGNED[len(value)] + value
        record = b"".join((b"\0\0", SIGNED[number], SIGNED[len(key)], key, tail, b"\0"))
        parts += (SIGNED[len(record)], record)
    records = b"".join(parts)
    if codec:
        records = compress(codec, records, None)
    if writer is not None:
        return seal(records, len(entries), timestamp, codec | TRANSACTIONAL, *writer)
    return seal(records, len(entries), timestamp, codec, NO_PRODUCER_ID, -1)


def build_emptied(head: BatchHead) -> bytearray:
    """What the cleaner leaves of a batch when all of its records go, but its place or its producer must be kept."""
    return build_batch([], replace(BatchSpec.like(head), max_timestamp=head.max_timestamp))


def _timestamps(records: list[Record], spec: BatchSpec) -> tuple[TimestampMs, TimestampMs]:
    """The base timestamp, which deltas count from, and the largest."""
    largest = spec.max_timestamp
    if not records:
        return NO_TIMESTAMP, NO_TIMESTAMP if largest is None else largest
    base = records[0].timestamp if spec.delete_horizon_ms is None else spec.delete_horizon_ms
    return base, max(record.timestamp for record in records) if largest is None else largest


def _attributes(spec: BatchSpec, has_records: bool) -> int:
    """Without records, there is nothing that is compressed, nor a tombstone to be deleted."""
    attributes = attributes_of(
        spec.codec if has_records else Codec.NONE,
        spec.timestamp_type,
        transactional=spec.transactional,
        control=spec.control,
    )
    return with_delete_horizon(attributes) if has_records and spec.delete_horizon_ms is not None else attributes


def _last_offset_delta(records: list[Record], spec: BatchSpec) -> int:
    offsets = [record.offset for record in records]
    if any(after <= before for before, after in zip([spec.base_offset - 1, *offsets], offsets, strict=False)):
        raise ValueError(f"offsets {offsets} do not rise from {spec.base_offset}")
    last = offsets[-1] - spec.base_offset if offsets else -1
    if spec.last_offset_delta is None:
        if not records:
            raise ValueError("a batch without records needs a last offset delta")
        return last
    if spec.last_offset_delta < last:
        raise ValueError(f"last offset delta of {spec.last_offset_delta}, below the last record's {last}")
    return spec.last_offset_delta


def _encode(records: list[Record], base_offset: Offset, base_timestamp: TimestampMs) -> bytes:
    parts: list[bytes] = []
    for offset, timestamp, key, value, headers in records:
        body = [b"\x00", write_signed(timestamp - base_timestamp), write_signed(offset - base_offset)]
        body += (_NULL,) if key is None else (write_signed(len(key)), key)
        body += (_NULL,) if value is None else (write_signed(len(value)), value)
        body.append(write_signed(len(headers)))
        for name, content in headers:
            encoded = name.encode("utf-8", "surrogateescape")
            body += (write_signed(len(encoded)), encoded)
            body += (_NULL,) if content is None else (write_signed(len(content)), content)
        parts.append(write_signed(sum(map(len, body))))
        parts += body
    return b"".join(parts)
