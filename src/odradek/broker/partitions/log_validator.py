"""What is asked of every batch that a client sends, whatever log it is for: all checks of its bytes are here.

    one_batch -> size -> CRC, head -> timestamps, keys -> compression of the topic        (its place: storage.log)

Most batches pass by their heads alone. Others have their records inflated, walked or compressed anew, which may take
seconds for a batch of a megabyte: only small ones are done on the event loop.
"""

from collections.abc import Iterable
from itertools import islice
from struct import Struct
from typing import NamedTuple

from odradek.model.buffer import Buffer
from odradek.model.errors import CorruptBatch, InvalidRecord, InvalidTimestamp, UnreadableRecords, UnsupportedCodec
from odradek.model.numbers import NO_TIMESTAMP, TimestampMs
from odradek.model.settings import INT_MAX, LONG_MAX
from odradek.model.topic_config import TopicConfig
from odradek.records.batch import (
    CODEC_MASK,
    HEAD_SIZE,
    LOG_OVERHEAD,
    MAGIC_AT,
    BatchHead,
    Codec,
    TimestampType,
    check_crc,
    check_produced,
    is_plain,
    parse_head,
)
from odradek.records.compression import INFLATED_MAX, is_lz4_for_java
from odradek.records.recompress import recompress
from odradek.records.record import read_records, scan

RECORD_ERRORS_MAX = 1_000
"""So many records of a batch are named that break a rule. It may have millions."""

_CODECS = {name: Codec[name.upper()] for name in ("gzip", "snappy", "lz4", "zstd")} | {"uncompressed": Codec.NONE}
_LENGTH = Struct(">i")
_LENGTH_AT = 8
_LENGTH_LEAST = 14
"""That of a record in the oldest format."""
_CODEC_AT = 22
"""Where a batch says how it is compressed."""


class TooLongForLoop(Exception):
    """To validate this batch would hold the event loop: nothing has happened, and it is to be done in a thread."""


class Bounds(NamedTuple):
    """How much of a batch is looked at."""

    records: int
    """As the head announces them: no more are read."""
    inflated_bytes: int
    """Of its records."""


ON_LOOP = Bounds(1_000, 32 << 10)
"""Some two milliseconds at most: a record takes about a microsecond."""
IN_THREAD = Bounds(INT_MAX, INFLATED_MAX)


class NotOneBatch(InvalidRecord):
    """What came for a partition is not one whole batch: none of it is looked at."""


def one_batch(records: Buffer) -> memoryview:
    """The single batch that a client sends for a partition, as a view that can be stamped.

    What follows it and is no batch is left out, as by Kafka.
    """
    view = records if isinstance(records, memoryview) else memoryview(records)
    size = _size_of_batch(view)
    if size is None:
        raise NotOneBatch("no whole batch for a partition")
    if len(view) != size:
        if _size_of_batch(view[size:]) is not None:
            raise NotOneBatch("more than one batch for a partition")
        view = view[:size]
    if view.readonly:
        raise CorruptBatch("a batch that cannot be stamped")
    return view


def refuse_zstd(batch: memoryview) -> None:
    """For a version of the request that is older than zstd."""
    if len(batch) > _CODEC_AT and batch[_CODEC_AT] & CODEC_MASK == Codec.ZSTD:
        raise UnsupportedCodec("zstd comes with version 7 of the request")


def _size_of_batch(view: memoryview) -> int | None:
    """None where it is not all there."""
    if len(view) < MAGIC_AT + 1:
        return None
    (length,) = _LENGTH.unpack_from(view, _LENGTH_AT)
    if length < _LENGTH_LEAST:
        raise CorruptBatch(f"record size {length} is less than the head of a batch")
    return length + LOG_OVERHEAD if length + LOG_OVERHEAD <= len(view) else None


class LogValidator:
    """The rules that one version of a topic's settings makes for its batches. Immutable: threads may use it."""

    __slots__ = ("_after_max_ms", "_codec", "_is_lenient", "config", "stamps_append_time")

    def __init__(self, config: TopicConfig) -> None:
        self.config = config
        self.stamps_append_time = config.message_timestamp_type == "LogAppendTime"
        self._codec = None if config.compression_type == "producer" else _CODECS[config.compression_type]
        self._after_max_ms = config.message_timestamp_after_max_ms
        self._is_lenient = (
            not config.is_compacted
            and not self.stamps_append_time
            and config.message_timestamp_before_max_ms == LONG_MAX
            and self._codec is None
        )
        """As most topics are: its head alone tells that a batch is taken as it comes."""

    def validate(
        self, batch: memoryview, head: BatchHead, now: TimestampMs, bounds: Bounds = ON_LOOP
    ) -> tuple[memoryview, BatchHead]:
        """The batch as it goes into the log, its time of LogAppendTime aside. Raises a BrokerError, or TooLongForLoop.

        Pure, but for the batch, which nobody else may change meanwhile.
        """
        check_crc(batch, head)
        check_produced(head)
        if head.base_offset != 0:
            raise InvalidRecord(f"a batch that begins at offset {head.base_offset}: the broker gives offsets")
        if self._is_lenient and head.max_timestamp <= now + self._after_max_ms and is_plain(head):
            return batch, head
        if head.timestamp_type is TimestampType.LOG_APPEND_TIME:
            text = "rejected due to invalid timestamp: producers do not set LogAppendTime"
            raise InvalidTimestamp(text, range(min(head.count, RECORD_ERRORS_MAX)))
        if head.codec is Codec.LZ4 and not is_lz4_for_java(batch[HEAD_SIZE:]):  # some libraries write only such
            raise UnreadableRecords("not an lz4 frame of independent blocks")
        if not self._reads_records(head, now):
            return batch, head
        if head.count > bounds.records or len(batch) > bounds.inflated_bytes:
            raise TooLongForLoop
        try:
            return self._validate_records(batch, head, now, bounds.inflated_bytes)
        except CorruptBatch as error:
            if bounds is ON_LOOP and head.codec is not Codec.NONE:
                raise TooLongForLoop from None  # it may only be larger than this
            # Its CRC is right, so it came as it was sent. A client that hears of a corrupt batch sends it again.
            raise InvalidRecord(str(error)) from None

    def compress(self, batch: memoryview, head: BatchHead, limit: int = INFLATED_MAX) -> tuple[memoryview, BatchHead]:
        """With the topic's compression, if it is to have another one."""
        if self._codec is None or self._codec == head.attributes & CODEC_MASK:
            return batch, head
        batch = memoryview(recompress(batch, head, self._codec, _level_of(self.config, self._codec), limit))
        return batch, parse_head(batch)

    def _reads_records(self, head: BatchHead, now: TimestampMs) -> bool:
        """Whether the head leaves anything open."""
        return self.config.is_compacted or self._codec not in (None, head.codec) or not self._has_good_times(head, now)

    def _has_good_times(self, head: BatchHead, now: TimestampMs) -> bool:
        """The head tells it of all records."""
        return self.stamps_append_time or (
            head.max_timestamp <= now + self._after_max_ms and self.config.message_timestamp_before_max_ms == LONG_MAX
        )

    def _validate_records(
        self, batch: memoryview, head: BatchHead, now: TimestampMs, limit: int
    ) -> tuple[memoryview, BatchHead]:
        if self.config.is_compacted:
            keyless = _first(at for at, record in enumerate(scan(batch, head, limit)) if record.key is None)
            if keyless:
                raise InvalidRecord("Compacted topic cannot accept message without key: rejected", keyless)
        if not self._has_good_times(head, now):
            self._check_times(batch, head, now, limit)
        return self.compress(batch, head, limit)

    def _check_times(self, batch: memoryview, head: BatchHead, now: TimestampMs, limit: int) -> None:
        first, last = now - self.config.message_timestamp_before_max_ms, now + self._after_max_ms
        outside = _first(
            at
            for at, record in enumerate(read_records(batch, head, limit))
            if record.timestamp != NO_TIMESTAMP and not first <= record.timestamp <= last
        )
        if outside:
            text = f"rejected due to invalid timestamp: it is out of range, and should be within [{first}, {last}]"
            raise InvalidTimestamp(text, outside)


def _first(indexes: Iterable[int]) -> list[int]:
    return list(islice(indexes, RECORD_ERRORS_MAX))


def _level_of(config: TopicConfig, codec: Codec) -> int | None:
    levels = {
        Codec.GZIP: config.compression_gzip_level,
        Codec.LZ4: config.compression_lz4_level,
        Codec.ZSTD: config.compression_zstd_level,
    }
    return levels.get(codec)
