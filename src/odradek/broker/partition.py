"""A partition that this node leads: the rules of its topic before the log, and those who wait for it behind.

Readers see what was appended at once, or where flush.messages asks for a sync when that is done: Kafka syncs within the
append. So a lost power takes nothing away that a reader saw and the topic was to keep.
"""

from collections import deque
from typing import TYPE_CHECKING, NamedTuple

from odradek.model.clock import Clock
from odradek.model.errors import (
    CorruptBatch,
    FencedLeaderEpoch,
    InvalidRecord,
    InvalidTimestamp,
    InvalidTxnState,
    UnknownLeaderEpoch,
    UnreadableRecords,
)
from odradek.model.numbers import NO_TIMESTAMP, LeaderEpoch, Offset, TimestampMs
from odradek.model.settings import LONG_MAX
from odradek.model.topic_config import TopicConfig
from odradek.records.batch import (
    CODEC_MASK,
    HEAD_SIZE,
    BatchHead,
    Codec,
    TimestampType,
    check_crc,
    check_produced,
    is_plain,
    parse_head,
)
from odradek.records.batch import stamp_append_time as stamp_time
from odradek.records.compression import is_lz4_for_java
from odradek.records.control import build_end_txn_batch
from odradek.records.recompress import recompress
from odradek.records.record import read_records, scan
from odradek.storage.flush import Flusher
from odradek.storage.log import Log, Origin

if TYPE_CHECKING:
    from odradek.broker.markers import Marker
    from odradek.broker.waiting import WaitingFetch

_CODECS = {name: Codec[name.upper()] for name in ("gzip", "snappy", "lz4", "zstd")} | {"uncompressed": Codec.NONE}

_AS_IT_IS = {int(codec): ("producer", name) for name, codec in _CODECS.items()}
"""Settings of a topic that leave a batch as it is, by how that is compressed."""


class Produced(NamedTuple):
    base_offset: Offset
    append_time: TimestampMs
    """-1 unless the topic has LogAppendTime. Of a batch that was there already, its largest timestamp."""


class Partition:
    __slots__ = ("_clock", "_flusher", "_held_back", "_rules", "_stable", "epoch", "log", "waiting")

    def __init__(self, log: Log, epoch: LeaderEpoch, clock: Clock, flusher: Flusher) -> None:
        self.log = log
        self.epoch = epoch
        self.waiting: dict[WaitingFetch, None] = {}
        """Fetches that are woken when something is appended here."""
        self._stable: StableEnd | None = None
        self._held_back: deque[tuple[Offset, int]] | None = None
        """Batches that readers do not see yet: where they end, and their sizes."""
        self._clock = clock
        self._flusher = flusher
        self._rules = Rules(log.config)

    @property
    def stable(self) -> "StableEnd":
        """What fetches of committed records wait for."""
        if self._stable is None:
            self._stable = StableEnd(self.log)
        return self._stable

    def check_epoch(self, known: int) -> None:
        """Refuse a client whose idea of the leader is another one; -1 is none."""
        if known >= 0 and known != self.epoch:
            said = f"{self.log.partition} has leader epoch {self.epoch}, the client knows {known}"
            raise FencedLeaderEpoch(said) if known < self.epoch else UnknownLeaderEpoch(said)

    def produce(self, batch: memoryview, *, is_joined: bool = False) -> Produced:
        """Append a client's batch, brought in line with the topic's settings. It is stamped in place.

        `is_joined` says that its coordinator has this partition in the transaction, which begins here with this batch.
        """
        log = self.log
        head = parse_head(batch)
        config = log.config
        if len(batch) > config.max_message_bytes:  # as it came; the log looks at what is made of it
            log.refuse_size(head)
        check_crc(batch, head)
        check_produced(head)
        if head.base_offset != 0:
            raise InvalidRecord(f"a batch that begins at offset {head.base_offset}: where it is to be is ours to say")
        if self._rules.config is not config:
            self._rules = Rules(config)
        if head.is_transactional and not (
            is_joined or log.producers.has_open_txn(head.producer_id, head.producer_epoch)
        ):
            raise InvalidTxnState(f"{log.partition} was not added to the transaction")
        batch, head, append_time = self._rules.apply(batch, head, self._clock.now_ms())
        appended = log.append_checked(batch, head, self.epoch)
        if appended.duplicate:
            return Produced(appended.base_offset, appended.timestamp)
        self._advance(len(batch), log.end_offset)
        return Produced(appended.base_offset, append_time)

    def append(self, batch: memoryview, head: BatchHead) -> Offset:
        """Append a batch of our own making; returns the offset that its first record has. It is stamped in place.

        Of the topic's settings those count that say how batches are written, and not what clients may send.
        """
        config = self.log.config
        kept = _AS_IT_IS[head.attributes & CODEC_MASK]
        if config.message_timestamp_type != "CreateTime" or config.compression_type not in kept:
            batch, head, _ = _fit(batch, head, config, self._clock.now_ms())
        base_offset = self.log.append_checked(batch, head, self.epoch, Origin.COORDINATOR).base_offset
        self._advance(len(batch), self.log.end_offset)
        return base_offset

    def end_transaction(self, marker: "Marker") -> None:
        """Append the marker. One that comes too late raises InvalidProducerEpoch or TransactionCoordinatorFenced."""
        now = self._clock.now_ms()
        sealed, head = build_end_txn_batch(
            marker.producer_id,
            marker.epoch,
            commit=marker.commit,
            coordinator_epoch=marker.coordinator_epoch,
            timestamp=now,
        )
        batch = memoryview(sealed)
        if self.log.config.message_timestamp_type == "LogAppendTime":
            stamp_time(batch, now)
            head = parse_head(batch)
        self.log.append_checked(batch, head, self.epoch, Origin.COORDINATOR, marker.level)
        self._advance(len(batch), self.log.end_offset)

    def _advance(self, size: int, end: Offset) -> None:
        """Let readers see what lies below `end`, unless it is to be synced first; `size` is how much that is."""
        log = self.log
        if log.config.flush_messages != LONG_MAX and end - log.recovery_point >= log.config.flush_messages:
            self._hold_back(size, end)
            return
        log.advance_high_watermark(end)
        if self.waiting:
            for fetch in tuple(self.waiting):
                fetch.arrived(size)
        if self._stable is not None:
            self._stable.arrived(size)

    def _hold_back(self, size: int, end: Offset) -> None:
        """Until it is synced, whether the one who appended it waits for that or not: readers do."""
        if self._held_back is None:
            self._held_back = deque()
        self._held_back.append((end, size))
        self.log.when_synced = self._synced
        self._flusher.request(self.log)

    def _synced(self) -> None:
        """Readers see what was synced; and what came meanwhile, unless another sync is due for that."""
        log, size = self.log, 0
        end = log.recovery_point if log.is_sync_due else log.end_offset
        while self._held_back and self._held_back[0][0] <= end:
            size += self._held_back.popleft()[1]
        self._advance(size, end)
        if end < log.end_offset:
            self._flusher.request(log)  # asked for already, unless the log was cut, and the sync did not count


class StableEnd:
    """The end of what readers of committed records may read: fetches that wait hear of bytes when it has moved."""

    __slots__ = ("_log", "_offset", "_unstable", "waiting")

    def __init__(self, log: Log) -> None:
        self.waiting: dict[WaitingFetch, None] = {}
        self._log = log
        self._offset = log.last_stable_offset
        self._unstable = 0
        """Bytes that came since it moved."""

    def arrived(self, size: int) -> None:
        self._unstable += size
        offset = self._log.last_stable_offset
        if offset > self._offset:
            arrived, self._unstable, self._offset = self._unstable, 0, offset
            for fetch in tuple(self.waiting):
                fetch.arrived(arrived)


class Rules:
    """What the settings of a topic ask of every batch that a client sends."""

    __slots__ = ("_after_max_ms", "_is_lenient", "config")

    def __init__(self, config: TopicConfig) -> None:
        self.config = config
        self._after_max_ms = config.message_timestamp_after_max_ms
        self._is_lenient = (
            not config.is_compacted
            and config.message_timestamp_type == "CreateTime"
            and config.message_timestamp_before_max_ms == LONG_MAX
            and config.compression_type == "producer"
        )
        """As most topics are: its head alone tells that a batch is taken as it comes."""

    def apply(self, batch: memoryview, head: BatchHead, now: TimestampMs) -> tuple[memoryview, BatchHead, TimestampMs]:
        """The batch as it goes into the log, and the time of LogAppendTime, which is -1 for other topics."""
        if self._is_lenient and head.max_timestamp <= now + self._after_max_ms and is_plain(head):
            return batch, head, NO_TIMESTAMP
        if head.timestamp_type is TimestampType.LOG_APPEND_TIME:
            raise InvalidTimestamp(
                "rejected due to invalid timestamp: producers do not set LogAppendTime", range(head.count)
            )
        if head.codec is Codec.LZ4 and not is_lz4_for_java(batch[HEAD_SIZE:]):  # some libraries write only such
            raise UnreadableRecords("not an lz4 frame of independent blocks")
        try:
            return _fit(batch, head, self.config, now)
        except CorruptBatch as error:
            # Its CRC is right, so it came as it was sent. A client that hears of a corrupt batch sends it again.
            raise InvalidRecord(str(error)) from None


def _fit(
    batch: memoryview, head: BatchHead, config: TopicConfig, now: TimestampMs
) -> tuple[memoryview, BatchHead, TimestampMs]:
    """The batch as its topic wants it, and its time of -1 unless the topic has LogAppendTime."""
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
    return batch, head, append_time


def _check_keys(batch: memoryview, head: BatchHead) -> None:
    keyless = [at for at, record in enumerate(scan(batch, head)) if record.key is None]
    if keyless:
        raise InvalidRecord("Compacted topic cannot accept message without key: rejected", keyless)


def _check_times(batch: memoryview, head: BatchHead, config: TopicConfig, now: TimestampMs) -> None:
    before = config.message_timestamp_before_max_ms
    last = now + config.message_timestamp_after_max_ms
    if head.max_timestamp <= last and before == LONG_MAX:
        return  # the head tells it of all records
    first = now - before
    outside = [
        at
        for at, record in enumerate(read_records(batch, head))
        if record.timestamp != NO_TIMESTAMP and not first <= record.timestamp <= last
    ]
    if outside:
        text = f"rejected due to invalid timestamp: it is out of range, and should be within [{first}, {last}]"
        raise InvalidTimestamp(text, outside)


def _level_of(config: TopicConfig, codec: Codec) -> int | None:
    levels = {
        Codec.GZIP: config.compression_gzip_level,
        Codec.LZ4: config.compression_lz4_level,
        Codec.ZSTD: config.compression_zstd_level,
    }
    return levels.get(codec)
