"""Control records: what brokers and controllers write into a log for each other, which clients never see.

The key is an int16 version and an int16 type. The value of a transaction marker is an int16 version and an int32
coordinator epoch. The other values belong to the quorum: they begin with an int16 version too, and go on in the
flexible encoding of Kafka's protocol, where arrays and strings have a length plus one as unsigned varint, and every
struct ends with tagged fields, of which none is defined so far.
"""

from collections.abc import Callable
from enum import IntEnum
from struct import Struct
from struct import error as StructError
from typing import NamedTuple, TypeVar
from uuid import UUID

from odradek.model.errors import CorruptBatch
from odradek.model.numbers import ProducerId, TimestampMs
from odradek.records.batch import CONTROL, HEAD_SIZE, TRANSACTIONAL, BatchHead, Codec, Sealed, seal
from odradek.records.record import read_records
from odradek.records.varint import read_unsigned

T = TypeVar("T")

_KEY = Struct(">hh")
_MARKER = Struct(">hi")
_INT16 = Struct(">h")
_UINT16 = Struct(">H")
_INT32 = Struct(">i")
_INT64 = Struct(">q")
_RECORD = Struct(">5shhBhiB")
"""A marker as a record: see `_BEFORE_KEY`, key, size of the value, value, no headers."""
_BEFORE_KEY = bytes((16 << 1, 0, 0, 0, 4 << 1))
"""Size of the record, no attributes, first time and first offset of the batch, size of the key."""
_VALUE_SIZE = 6 << 1


class ControlType(IntEnum):
    ABORT = 0
    COMMIT = 1
    LEADER_CHANGE = 2
    SNAPSHOT_HEADER = 3
    SNAPSHOT_FOOTER = 4
    KRAFT_VERSION = 5
    KRAFT_VOTERS = 6


_MARKERS = {int(kind): kind for kind in (ControlType.ABORT, ControlType.COMMIT)}


class EndTxnMarker(NamedTuple):
    kind: ControlType
    """ABORT or COMMIT."""
    coordinator_epoch: int

    @property
    def commit(self) -> bool:
        return self.kind is ControlType.COMMIT


class LeaderChangeVoter(NamedTuple):
    id: int
    directory_id: UUID | None
    """None in version 0."""


class LeaderChange(NamedTuple):
    version: int
    leader_id: int
    voters: tuple[LeaderChangeVoter, ...]
    granting_voters: tuple[LeaderChangeVoter, ...]


class SnapshotHeader(NamedTuple):
    version: int
    last_contained_log_timestamp: TimestampMs


class SnapshotFooter(NamedTuple):
    version: int


class KRaftVersion(NamedTuple):
    version: int
    kraft_version: int


class Endpoint(NamedTuple):
    name: str
    host: str
    port: int


class Voter(NamedTuple):
    id: int
    directory_id: UUID
    endpoints: tuple[Endpoint, ...]
    kraft_version_min: int
    kraft_version_max: int


class Voters(NamedTuple):
    version: int
    voters: tuple[Voter, ...]


def control_type(key: bytes | None) -> int:
    """The type in the key of a control record. One that ControlType has not is no error: it is newer than this code."""
    if key is None or len(key) < _KEY.size:
        raise CorruptBatch(f"control record with the key {key!r}")
    version, number = _KEY.unpack_from(key)
    if version < 0:
        raise CorruptBatch(f"control record with a key of version {version}")
    return int(number)


def control_key(kind: ControlType) -> bytes:
    return _KEY.pack(0, kind)


def end_txn_marker(batch: memoryview, head: BatchHead) -> EndTxnMarker | None:
    """The marker in a control batch.

    None if there is none: the batch has records for the quorum, or the cleaner emptied it because nothing else is left
    of the transaction.
    """
    if head.count == 1 and head.size == HEAD_SIZE + _RECORD.size and head.codec is Codec.NONE:
        before, key_version, number, size, version, epoch, headers = _RECORD.unpack_from(batch, HEAD_SIZE)
        is_known = number in _MARKERS and key_version == version == 0
        if is_known and (before, size, headers) == (_BEFORE_KEY, _VALUE_SIZE, 0):
            return EndTxnMarker(_MARKERS[number], epoch)  # as all are that brokers write
    record = next(read_records(batch, head), None)
    if record is None:
        return None
    kind = _MARKERS.get(control_type(record.key))
    return None if kind is None else EndTxnMarker(kind, read_coordinator_epoch(record.value))


def read_coordinator_epoch(value: bytes | None) -> int:
    """From the value of an ABORT or COMMIT record. Newer versions only add to it."""
    if value is None or len(value) < _MARKER.size:
        raise CorruptBatch(f"transaction marker with the value {value!r}")
    version, epoch = _MARKER.unpack_from(value)
    if version < 0:
        raise CorruptBatch(f"transaction marker of version {version}")
    return int(epoch)


def build_end_txn_batch(
    producer_id: ProducerId, producer_epoch: int, *, commit: bool, coordinator_epoch: int, timestamp: TimestampMs
) -> Sealed:
    """The batch that ends a transaction, with no place in a log yet: stamp gives it one."""
    kind = ControlType.COMMIT if commit else ControlType.ABORT
    record = _RECORD.pack(_BEFORE_KEY, 0, kind, _VALUE_SIZE, 0, coordinator_epoch, 0)
    return seal(record, 1, timestamp, TRANSACTIONAL | CONTROL, producer_id, producer_epoch)


def read_leader_change(value: bytes, version: int | None = None) -> LeaderChange:
    """In the encoding of `version`, else of the version that the value begins with."""
    reader = _Reader(value)
    said = reader.int16()
    has_directories = (said if version is None else version) >= 1

    def voter() -> LeaderChangeVoter:
        return reader.close(LeaderChangeVoter(reader.int32(), reader.uuid() if has_directories else None))

    return reader.close(LeaderChange(said, reader.int32(), reader.array(voter), reader.array(voter)))


def read_snapshot_header(value: bytes) -> SnapshotHeader:
    reader = _Reader(value)
    return reader.close(SnapshotHeader(reader.int16(), TimestampMs(reader.int64())))


def read_snapshot_footer(value: bytes) -> SnapshotFooter:
    reader = _Reader(value)
    return reader.close(SnapshotFooter(reader.int16()))


def read_kraft_version(value: bytes) -> KRaftVersion:
    reader = _Reader(value)
    return reader.close(KRaftVersion(reader.int16(), reader.int16()))


def read_voters(value: bytes) -> Voters:
    reader = _Reader(value)

    def endpoint() -> Endpoint:
        return reader.close(Endpoint(reader.string(), reader.string(), reader.uint16()))

    def feature() -> tuple[int, int]:
        return reader.close((reader.int16(), reader.int16()))

    def voter() -> Voter:
        return reader.close(Voter(reader.int32(), reader.uuid(), reader.array(endpoint), *feature()))

    return reader.close(Voters(reader.int16(), reader.array(voter)))


class _Reader:
    """Reads the flexible encoding. Raises CorruptBatch where it makes no sense."""

    def __init__(self, data: bytes) -> None:
        self._data = data
        self._at = 0

    def int16(self) -> int:
        return self._number(_INT16)

    def uint16(self) -> int:
        return self._number(_UINT16)

    def int32(self) -> int:
        return self._number(_INT32)

    def int64(self) -> int:
        return self._number(_INT64)

    def uuid(self) -> UUID:
        return UUID(bytes=self._bytes(16))

    def string(self) -> str:
        size = self._unsigned() - 1
        try:
            return self._bytes(size).decode()
        except UnicodeDecodeError:
            raise CorruptBatch(f"string that ends at {self._at} is not UTF-8") from None

    def array(self, item: Callable[[], T]) -> tuple[T, ...]:
        count = self._unsigned() - 1
        if not 0 <= count <= len(self._data) - self._at:  # an item has a byte at least
            raise CorruptBatch(f"array of {count} items at {self._at}")
        return tuple(item() for _ in range(count))

    def close(self, struct: T) -> T:
        """Skip the tagged fields at the end of `struct`, which is already read."""
        for _ in range(self._unsigned()):
            self._unsigned()
            self._bytes(self._unsigned())
        return struct

    def _number(self, form: Struct) -> int:
        try:
            (value,) = form.unpack_from(self._data, self._at)
        except StructError:
            raise self._cut_off() from None
        self._at += form.size
        return int(value)

    def _unsigned(self) -> int:
        try:
            value, self._at = read_unsigned(self._data, self._at)
        except IndexError:
            raise self._cut_off() from None
        return value

    def _bytes(self, size: int) -> bytes:
        start = self._at
        if not 0 <= size <= len(self._data) - start:
            raise CorruptBatch(f"{size} bytes at {start}, where {len(self._data) - start} are left")
        self._at += size
        return self._data[start : self._at]

    def _cut_off(self) -> CorruptBatch:
        return CorruptBatch(f"control record is cut off at {self._at}")
