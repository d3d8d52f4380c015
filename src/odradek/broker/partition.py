"""A partition that this node leads: the rules of its topic before the log, and those who wait for it behind."""

from typing import TYPE_CHECKING, NamedTuple

from odradek.model.clock import Clock
from odradek.model.errors import FencedLeaderEpoch, InvalidRecord, InvalidTimestamp, UnknownLeaderEpoch
from odradek.model.numbers import NO_TIMESTAMP, LeaderEpoch, Offset, TimestampMs
from odradek.model.settings import LONG_MAX
from odradek.model.topic_config import TopicConfig
from odradek.records.batch import BatchHead, Codec, TimestampType, check_crc, check_produced, parse_head
from odradek.records.batch import stamp_append_time as stamp_time
from odradek.records.recompress import recompress
from odradek.records.record import read_records, scan
from odradek.storage.log import Log

if TYPE_CHECKING:
    from odradek.broker.waiting import WaitingFetch

_CODECS = {name: Codec[name.upper()] for name in ("gzip", "snappy", "lz4", "zstd")} | {"uncompressed": Codec.NONE}


class Produced(NamedTuple):
    base_offset: Offset
    append_time: TimestampMs
    """-1 unless the topic has LogAppendTime."""


class Partition:
    __slots__ = ("_clock", "epoch", "log", "waiting")

    def __init__(self, log: Log, epoch: LeaderEpoch, clock: Clock) -> None:
        self.log = log
        self.epoch = epoch
        self.waiting: dict[WaitingFetch, None] = {}
        """Fetches that are woken when something is appended here."""
        self._clock = clock

    def check_epoch(self, known: int) -> None:
        """Refuse a client whose idea of the leader is another one; -1 is none."""
        if known >= 0 and known != self.epoch:
            said = f"{self.log.partition} has leader epoch {self.epoch}, the client knows {known}"
            raise FencedLeaderEpoch(said) if known < self.epoch else UnknownLeaderEpoch(said)

    def produce(self, batch: memoryview) -> Produced:
        """Append a client's batch, brought in line with the topic's settings. It is stamped in place."""
        now = self._clock.now_ms()
        head = parse_head(batch)
        check_crc(batch, head)
        check_produced(head)
        config = self.log.config
        append_time = NO_TIMESTAMP
        if config.is_compacted:
            _check_keys(batch, head)
        if config.message_timestamp_type == "LogAppendTime":
            stamp_time(batch, now)
            append_time = now
            head = parse_head(batch)
        else:
            _check_times(batch, head, config, now)
        if config.compression_type != "producer" and _CODECS[config.compression_type] != head.codec:
            codec = _CODECS[config.compression_type]
            batch = memoryview(recompress(batch, head, codec, _level_of(config, codec)))
            head = parse_head(batch)
        appended = self.log.append_checked(batch, head, self.epoch)
        if not appended.duplicate:
            self.log.advance_high_watermark(self.log.end_offset)
            for fetch in tuple(self.waiting):
                fetch.arrived(len(batch))
        return Produced(appended.base_offset, append_time)


def _check_keys(batch: memoryview, head: BatchHead) -> None:
    for record in scan(batch, head):
        if record.key is None:
            raise InvalidRecord("a record without a key, for a compacted topic")


def _check_times(batch: memoryview, head: BatchHead, config: TopicConfig, now: TimestampMs) -> None:
    if head.timestamp_type is TimestampType.LOG_APPEND_TIME:
        raise InvalidTimestamp("producers do not set LogAppendTime")
    if head.max_timestamp > now + config.message_timestamp_after_max_ms:
        raise InvalidTimestamp(f"timestamp {head.max_timestamp} is too far ahead of {now}")
    before = config.message_timestamp_before_max_ms
    if before != LONG_MAX:
        for record in read_records(batch, head):
            if record.timestamp >= 0 and record.timestamp < now - before:
                raise InvalidTimestamp(f"timestamp {record.timestamp} is too far behind {now}")


def _level_of(config: TopicConfig, codec: Codec) -> int | None:
    levels = {
        Codec.GZIP: config.compression_gzip_level,
        Codec.LZ4: config.compression_lz4_level,
        Codec.ZSTD: config.compression_zstd_level,
    }
    return levels.get(codec)
