"""The head of a record batch (format v2), read from a view and stamped in place.

    0  base offset int64         21  attributes int16         43  producer id int64
    8  length int32              23  last offset delta int32  51  producer epoch int16
   12  leader epoch int32        27  base timestamp int64     53  base sequence int32
   16  magic int8                35  max timestamp int64      57  record count int32
   17  CRC-32C uint32                                         61  records

The length counts what follows it; the CRC covers everything from the attributes on. So the base offset and the
leader epoch can be stamped without touching the CRC.
"""

from enum import IntEnum
from struct import Struct
from typing import NamedTuple

from crc32c import crc32c

from odradek.model.buffer import Buffer
from odradek.model.errors import CorruptBatch, InvalidRecord, UnsupportedMagic
from odradek.model.numbers import LeaderEpoch, Offset, ProducerId, TimestampMs

HEAD_SIZE = 61
LOG_OVERHEAD = 12
"""Bytes before those that the length field counts: base offset and length."""
CRC_START = 21
"""Where the CRC's range starts."""
MAGIC_AT = 16
MAGIC = 2
SEQUENCE_MAX = 0x7FFF_FFFF
LENGTH_MIN = HEAD_SIZE - LOG_OVERHEAD
_RECORD_LEAST = 7
"""Bytes of a record without key, value and headers."""

_HEAD = Struct(">qiibIhiqqqhii")
_UNSEALED = Struct(">qiibI")
_SEALED = Struct(">hiqqqhii")
_INT64 = Struct(">q")
_INT32 = Struct(">i")
_UINT32 = Struct(">I")
_TIMES = Struct(">qq")

CODEC_MASK = 0x07
"""Of the attributes."""
_LOG_APPEND_TIME = 0x08
TRANSACTIONAL = 0x10
"""The bit of the attributes."""
CONTROL = 0x20
_DELETE_HORIZON = 0x40
_NOT_PRODUCED = CONTROL | _DELETE_HORIZON


class Codec(IntEnum):
    NONE = 0
    GZIP = 1
    SNAPPY = 2
    LZ4 = 3
    ZSTD = 4


_new = tuple.__new__
"""Of the named tuples here, made from as many items as they have."""

_CODEC_LAST = int(Codec.ZSTD)


class TimestampType(IntEnum):
    CREATE_TIME = 0
    LOG_APPEND_TIME = 1


class BatchHead(NamedTuple):
    base_offset: Offset
    length: int
    leader_epoch: LeaderEpoch
    magic: int
    crc: int
    attributes: int
    last_offset_delta: int
    base_timestamp: TimestampMs
    max_timestamp: TimestampMs
    producer_id: ProducerId
    producer_epoch: int
    base_sequence: int
    count: int  # type: ignore[assignment]  # hides tuple.count, which nobody misses here

    @property
    def size(self) -> int:
        """Bytes of the whole batch."""
        return self.length + LOG_OVERHEAD

    @property
    def last_offset(self) -> Offset:
        return Offset(self.base_offset + self.last_offset_delta)

    @property
    def next_offset(self) -> Offset:
        return Offset(self.base_offset + self.last_offset_delta + 1)

    @property
    def last_sequence(self) -> int:
        """-1 where the batch has no sequence, as those have that a coordinator writes for a producer."""
        if self.base_sequence < 0:
            return self.base_sequence
        return add_sequence(self.base_sequence, self.last_offset_delta)

    @property
    def codec(self) -> Codec:
        code = self.attributes & CODEC_MASK
        if code > Codec.ZSTD:
            raise CorruptBatch(f"unknown compression codec {code}")
        return Codec(code)

    @property
    def timestamp_type(self) -> TimestampType:
        return TimestampType.LOG_APPEND_TIME if self.attributes & _LOG_APPEND_TIME else TimestampType.CREATE_TIME

    @property
    def is_transactional(self) -> bool:
        return self.attributes & TRANSACTIONAL != 0

    @property
    def is_control(self) -> bool:
        return self.attributes & CONTROL != 0

    @property
    def delete_horizon_ms(self) -> TimestampMs | None:
        """When tombstones in this batch may go; the cleaner keeps it in place of the base timestamp."""
        return self.base_timestamp if self.attributes & _DELETE_HORIZON else None


class Sealed(NamedTuple):
    """A batch of our own making."""

    batch: bytearray
    head: BatchHead


def add_sequence(sequence: int, increment: int) -> int:
    """Sequence numbers count to 2^31 - 1 and go on at 0."""
    total = sequence + increment
    return total if total <= SEQUENCE_MAX else total - SEQUENCE_MAX - 1


def parse_head(view: Buffer, at: int = 0) -> BatchHead:
    """Read the head of the batch at `at`. Raises CorruptBatch or UnsupportedMagic; the CRC is not looked at."""
    if len(view) - at < HEAD_SIZE:
        _refuse_short(view, at)
    head = _new(BatchHead, _HEAD.unpack_from(view, at))
    if head.magic != MAGIC or head.length < LENGTH_MIN:
        _refuse(head)
    return head


def _refuse_short(view: Buffer, at: int) -> None:
    have = len(view) - at
    # The magic byte lies at the same place in every format, and the old ones have shorter heads.
    if have > MAGIC_AT and view[at + MAGIC_AT] in (0, 1):
        raise UnsupportedMagic(view[at + MAGIC_AT])
    raise CorruptBatch(f"{have} bytes is shorter than a batch head of {HEAD_SIZE}")


def _refuse(head: BatchHead) -> None:
    if head.magic in (0, 1):
        raise UnsupportedMagic(head.magic)
    if head.magic != MAGIC:
        raise CorruptBatch(f"unknown magic {head.magic}")
    raise CorruptBatch(f"batch length {head.length} is shorter than a batch head")


def check_crc(view: memoryview, head: BatchHead) -> None:
    """`view` is exactly the batch."""
    if len(view) != head.length + LOG_OVERHEAD:
        raise CorruptBatch(f"batch of {head.size} bytes given as {len(view)}")
    found = crc32c(view[CRC_START:])
    if found != head.crc:
        raise CorruptBatch(f"CRC is {found:#010x}, the batch says {head.crc:#010x}")


def is_plain(head: BatchHead) -> bool:
    """Nothing compressed, no LogAppendTime, and whatever else the attributes could say: most batches are like this."""
    return head.attributes & ~TRANSACTIONAL == 0


def check_produced(head: BatchHead) -> None:
    """A batch from a producer: offsets dense, no control bits of the log's own. The cleaner's batches are not so."""
    if head.count <= 0 or head.count != head.last_offset_delta + 1:
        raise InvalidRecord(f"{head.count} records with a last offset delta of {head.last_offset_delta}")
    if not head.attributes & CODEC_MASK and head.count * _RECORD_LEAST > head.length - LENGTH_MIN:
        raise InvalidRecord(f"{head.count} records in {head.length - LENGTH_MIN} bytes")
    if head.attributes & _NOT_PRODUCED:
        raise InvalidRecord("control batches and delete horizons do not come from producers")
    if head.attributes & CODEC_MASK > _CODEC_LAST:
        raise InvalidRecord(f"unknown compression codec {head.attributes & CODEC_MASK}")
    if head.producer_id >= 0 and (head.base_sequence < 0 or head.producer_epoch < 0):
        raise InvalidRecord(
            f"producer {head.producer_id} with sequence {head.base_sequence} and epoch {head.producer_epoch}"
        )


def attributes_of(codec: Codec, timestamp_type: TimestampType, *, transactional: bool, control: bool) -> int:
    """The attributes of a batch without a delete horizon."""
    return (
        codec
        | (_LOG_APPEND_TIME if timestamp_type is TimestampType.LOG_APPEND_TIME else 0)
        | (TRANSACTIONAL if transactional else 0)
        | (CONTROL if control else 0)
    )


def with_delete_horizon(attributes: int) -> int:
    return attributes | _DELETE_HORIZON


def write_head(batch: bytearray | memoryview, head: BatchHead) -> None:
    """Put the head in front of the records that `batch` already holds behind it, and seal it. head.crc is not used."""
    _HEAD.pack_into(batch, 0, *head)
    _seal(memoryview(batch))


def seal(
    records: bytes, count: int, timestamp: TimestampMs, attributes: int, producer_id: ProducerId, epoch: int
) -> Sealed:
    """A batch of records at offsets from 0 on, all of one time, without sequences."""
    last, length = count - 1, LENGTH_MIN + len(records)
    sealed = _SEALED.pack(attributes, last, timestamp, timestamp, producer_id, epoch, -1, count)
    crc = crc32c(records, crc32c(sealed))
    batch = bytearray(_UNSEALED.pack(0, length, -1, MAGIC, crc))
    batch += sealed
    batch += records
    numbers = (0, length, -1, MAGIC, crc, attributes, last, timestamp, timestamp, producer_id, epoch, -1, count)
    return _new(Sealed, (batch, _new(BatchHead, numbers)))


def stamp(batch: memoryview, base: Offset, epoch: LeaderEpoch, at: int = 0) -> None:
    """Give the batch at `at` its place in the log. Both fields lie before the CRC's range, which stays valid."""
    _INT64.pack_into(batch, at, base)
    _INT32.pack_into(batch, at + 12, epoch)


def stamp_append_time(batch: memoryview, now: TimestampMs) -> None:
    """Turn the batch into one of type LogAppendTime with `now` as the time of every record; the CRC is made anew."""
    attributes = int.from_bytes(batch[21:23], "big") | _LOG_APPEND_TIME
    batch[21:23] = attributes.to_bytes(2, "big")
    _INT64.pack_into(batch, 35, now)
    _seal(batch)


def _seal(batch: memoryview) -> None:
    _UINT32.pack_into(batch, 17, crc32c(batch[CRC_START:]))
