"""Batches of the metadata log and of snapshots: from records to bytes and back.

A record's key is null, its value a metadata record. Control records of the quorum stand in batches of their own.
"""

from collections.abc import Iterable, Iterator, Sequence
from typing import NamedTuple

from odradek.metadata.features import record_version
from odradek.metadata.replay import Batch
from odradek.model.errors import BadRequest, CorruptBatch, UnsupportedVersion
from odradek.model.numbers import NO_LEADER_EPOCH, LeaderEpoch, Offset, TimestampMs
from odradek.records.batch import BatchHead, check_crc, parse_head
from odradek.records.builder import BatchSpec, build_batch
from odradek.records.control import ControlType, control_key, control_type
from odradek.records.record import Record, read_records
from odradek.storage.log import Log
from odradek.wire.codec import decode, encode
from odradek.wire.records.control import (
    KRaftVersionRecord,
    LeaderChangeMessage,
    SnapshotFooterRecord,
    SnapshotHeaderRecord,
    VotersRecord,
)
from odradek.wire.schema import Message
from odradek.wire.stored import read_metadata_record, write_metadata_record

_READ_BYTES = 1 << 20
_CONTROL_KINDS: dict[int, type[Message]] = {
    ControlType.LEADER_CHANGE: LeaderChangeMessage,
    ControlType.SNAPSHOT_HEADER: SnapshotHeaderRecord,
    ControlType.SNAPSHOT_FOOTER: SnapshotFooterRecord,
    ControlType.KRAFT_VERSION: KRaftVersionRecord,
    ControlType.KRAFT_VOTERS: VotersRecord,
}
_CONTROL_TYPES = {kind: ControlType(number) for number, kind in _CONTROL_KINDS.items()}


class BatchStamp(NamedTuple):
    """Where a batch goes. In the log, appending stamps offset and epoch."""

    timestamp: TimestampMs
    base_offset: Offset = Offset(0)
    epoch: LeaderEpoch = NO_LEADER_EPOCH


def build(records: Iterable[Message], metadata_version: int, place: BatchStamp) -> bytearray:
    """A batch of metadata records, in the versions that the cluster's level asks for."""
    values = (write_metadata_record(record, record_version(record, metadata_version)) for record in records)
    numbered = [
        Record(Offset(offset), place.timestamp, None, value)
        for offset, value in enumerate(values, start=place.base_offset)
    ]
    return build_batch(numbered, BatchSpec(base_offset=place.base_offset, leader_epoch=place.epoch))


def build_control(records: Sequence[Message], place: BatchStamp) -> bytearray:
    """A batch of control records. All that Kafka 4.3 writes are of version 0."""
    numbered = [
        Record(Offset(offset), place.timestamp, control_key(_CONTROL_TYPES[type(record)]), encode(record, 0))
        for offset, record in enumerate(records, start=place.base_offset)
    ]
    return build_batch(numbered, BatchSpec(base_offset=place.base_offset, leader_epoch=place.epoch, control=True))


def read_control(view: memoryview, head: BatchHead) -> Iterator[Message]:
    """The control records of a batch. Types that came after us are left out, as Kafka does."""
    for record in read_records(view, head):
        kind = _CONTROL_KINDS.get(control_type(record.key))
        if kind is not None:
            try:
                yield decode(kind, 0, record.value or b"")
            except BadRequest as error:
                raise CorruptBatch(f"control record at offset {record.offset}: {error}") from None


def read(view: memoryview, head: BatchHead, start: Offset) -> Batch:
    """The records of a batch from offset `start` on. Of a batch of control records all count.

    Raises UnsupportedVersion for a record that came after us and CorruptBatch for one that is none.
    """
    records = () if head.is_control else tuple(_metadata_records(view, head, start))
    control = tuple(read_control(view, head)) if head.is_control else ()
    base = max(head.base_offset, start)
    return Batch(base, head.last_offset, head.leader_epoch, head.max_timestamp, records, control)


def _metadata_records(view: memoryview, head: BatchHead, start: Offset) -> Iterator[Message]:
    for record in read_records(view, head):
        if record.offset < start:
            continue
        try:
            yield read_metadata_record(record.value or b"")[0]
        except UnsupportedVersion as error:
            raise UnsupportedVersion(f"record at offset {record.offset}: {error}") from None
        except BadRequest as error:
            raise CorruptBatch(f"metadata record at offset {record.offset}: {error}") from None


def in_log(log: Log, start: Offset) -> Iterator[tuple[BatchHead, memoryview]]:
    """The batches of a log from the one that holds `start` on, their CRCs checked."""
    offset = start
    while offset < log.end_offset:
        part = log.read(offset, _READ_BYTES)
        if part is None:
            return
        for head, view in split(memoryview(part.read())):
            yield head, view
            offset = head.next_offset


def split(data: memoryview) -> Iterator[tuple[BatchHead, memoryview]]:
    """The whole batches at the start of `data`, their CRCs checked."""
    at = 0
    while at < len(data):
        try:
            head = parse_head(data, at)
        except CorruptBatch:
            if at == 0:
                raise
            return  # the head itself may be cut
        if at + head.size > len(data):
            return
        view = data[at : at + head.size]
        check_crc(view, head)
        yield head, view
        at += head.size
