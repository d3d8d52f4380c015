"""Whether the records of the metadata log and of internal topics can be read: a starting broker needs them all."""

from collections.abc import Callable, Iterator

from odradek.model.errors import BadRequest, CorruptBatch, UnsupportedVersion
from odradek.records.batch import BatchHead
from odradek.records.control import (
    ControlType,
    control_type,
    read_kraft_version,
    read_leader_change,
    read_snapshot_footer,
    read_snapshot_header,
    read_voters,
)
from odradek.records.record import Record, read_records
from odradek.storage import names
from odradek.storage.verify.findings import Finding, error, note
from odradek.wire.records.transaction import TransactionLogValue
from odradek.wire.schema import Message
from odradek.wire.stored import (
    CONSUMER_OFFSETS,
    SHARE_GROUP_STATE,
    TRANSACTION_STATE,
    CoordinatorTopic,
    read_metadata_record,
)

_TRANSACTION_STATUSES = range(8)
_CONTROL: dict[int, Callable[[bytes], object]] = {
    ControlType.LEADER_CHANGE: read_leader_change,
    ControlType.SNAPSHOT_HEADER: read_snapshot_header,
    ControlType.SNAPSHOT_FOOTER: read_snapshot_footer,
    ControlType.KRAFT_VERSION: read_kraft_version,
    ControlType.KRAFT_VOTERS: read_voters,
}

RecordsCheck = Callable[[str, int, BatchHead, memoryview], Iterator[Finding]]
"""Looks at the records of a batch: of this file, at this position."""


def records_check(topic: str) -> RecordsCheck | None:
    """None for topics whose records are their users' own."""
    return _CHECKS.get(topic)


def check_metadata(path: str, position: int, head: BatchHead, batch: memoryview) -> Iterator[Finding]:
    """The records of the metadata log, and of its snapshots."""
    read = _read_control if head.is_control else _read_metadata
    for record in _records(batch, head):
        if isinstance(record, CorruptBatch):
            yield error(path, str(record), position)
            return
        try:
            read(record)
        except (BadRequest, CorruptBatch, UnsupportedVersion) as problem:
            yield error(path, f"the record at offset {record.offset}: {problem}", position)


def _read_metadata(record: Record) -> None:
    read_metadata_record(record.value or b"")


def _read_control(record: Record) -> None:
    read = _CONTROL.get(control_type(record.key))
    if read is not None:
        read(record.value or b"")


class _CoordinatorCheck:
    def __init__(self, topic: CoordinatorTopic) -> None:
        self._topic = topic

    def __call__(self, path: str, position: int, head: BatchHead, batch: memoryview) -> Iterator[Finding]:
        if head.is_control:
            return
        for record in _records(batch, head):
            if isinstance(record, CorruptBatch):
                yield error(path, str(record), position)
                return
            yield from self._look(path, position, record)

    def _look(self, path: str, position: int, record: Record) -> Iterator[Finding]:
        what = f"the record at offset {record.offset}"
        if record.key is None:
            yield error(path, f"{what} has no key", position)
            return
        try:
            key = self._topic.read_key(record.key)
        except BadRequest as problem:
            yield error(path, f"the key of {what}: {problem}", position)
            return
        except UnsupportedVersion as problem:
            yield note(path, f"{what}: {problem}; brokers pass over it", position)
            return
        if record.value is not None:
            try:
                value, _ = self._topic.read_value(key, record.value)
                _make_sense(value)
            except (BadRequest, UnsupportedVersion) as problem:
                yield error(path, f"the value of {what}: {problem}", position)


def _make_sense(value: Message) -> None:
    if isinstance(value, TransactionLogValue) and value.transaction_status not in _TRANSACTION_STATUSES:
        raise BadRequest(f"{value.transaction_status} is no state of a transaction")


def _records(batch: memoryview, head: BatchHead) -> Iterator[Record | CorruptBatch]:
    """Up to the first that cannot be read: then, why."""
    try:
        yield from read_records(batch, head)
    except CorruptBatch as corrupt:
        yield corrupt


_CHECKS: dict[str, RecordsCheck] = {
    names.METADATA_TOPIC: check_metadata,
    "__consumer_offsets": _CoordinatorCheck(CONSUMER_OFFSETS),
    "__transaction_state": _CoordinatorCheck(TRANSACTION_STATE),
    "__share_group_state": _CoordinatorCheck(SHARE_GROUP_STATE),
}
