"""A partition that this node leads: what clients and coordinators append to it, and how far it is settled.

What every in-sync replica has durably enough is settled: it lies below the high watermark. This node is the only
replica. Its own end counts, or its synced end where flush.messages asks for a sync. So readers see what was appended at
once, or when it is synced, and lost power takes nothing away that a reader saw and the topic was to keep.
"""

from collections import deque
from typing import TYPE_CHECKING, NamedTuple

from odradek.broker.partitions.log_validator import IN_THREAD, LogValidator
from odradek.model.clock import Clock
from odradek.model.errors import BrokerError, FencedLeaderEpoch, InvalidTxnState, UnknownLeaderEpoch
from odradek.model.numbers import NO_TIMESTAMP, LeaderEpoch, Offset, TimestampMs
from odradek.model.settings import LONG_MAX
from odradek.records.batch import BatchHead, parse_head
from odradek.records.batch import stamp_append_time as stamp_time
from odradek.records.control import build_end_txn_batch
from odradek.replication.waiters import Reader, Unsettled, Waiters
from odradek.storage.flush import Flusher
from odradek.storage.log import Log, Origin

if TYPE_CHECKING:
    import asyncio
    from collections.abc import Callable

    from odradek.broker.coordination.markers import Marker


_new = tuple.__new__
"""Of named tuples, in half the time."""


class Produced(NamedTuple):
    base_offset: Offset
    append_time: TimestampMs
    """-1 unless the topic has LogAppendTime. Of a batch that was there already, its largest timestamp."""
    next_offset: Offset
    """The batch counts once all below this is settled."""


class Validated(NamedTuple):
    """A client's batch that breaks no rule of its topic, with all that the topic changes about it but its time."""

    batch: memoryview
    head: BatchHead


class Partition:
    __slots__ = (
        "_clock",
        "_flusher",
        "_is_over",
        "_stable",
        "_syncing",
        "_unsettled",
        "_validator",
        "epoch",
        "log",
        "waiters",
    )

    def __init__(self, log: Log, epoch: LeaderEpoch, clock: Clock, flusher: Flusher) -> None:
        """This node leads it from now on."""
        self.log = log
        self.epoch = epoch
        self.waiters = Waiters()
        self._is_over = False
        self._stable: StableEnd | None = None
        self._unsettled: deque[tuple[Offset, int]] | None = None
        """Where each batch ends that is not settled, and its size."""
        self._syncing: asyncio.Future[None] | None = None
        self._clock = clock
        self._flusher = flusher
        self._validator = LogValidator(log.config)
        log.advance_high_watermark(self._settled_end())
        self.waiters.settled = log.high_watermark
        if log.is_held and log.high_watermark < log.end_offset:
            self._unsettled = deque([(log.end_offset, 1)])  # how many bytes, nobody knows: readers look anew
            self._sync()

    @property
    def stable(self) -> "StableEnd":
        """What fetches of committed records wait for."""
        if self._stable is None:
            self._stable = StableEnd(self.log)
            self.waiters.readers[self._stable] = None
        return self._stable

    def check_epoch(self, known: int) -> None:
        """Refuse a client whose idea of the leader is another one; -1 is none."""
        if known >= 0 and known != self.epoch:
            said = f"{self.log.partition} has leader epoch {self.epoch}, the client knows {known}"
            raise FencedLeaderEpoch(said) if known < self.epoch else UnknownLeaderEpoch(said)

    # --- appending

    def produce(self, batch: memoryview, *, is_joined: bool = False) -> Produced:
        """Append a client's batch, brought in line with the topic's settings. It is stamped in place.

        `is_joined` says that its coordinator has this partition in the transaction, which begins here with this batch.
        Raises TooLongForLoop, with nothing done, for one that `validation` has to be run for first, in a thread.
        """
        log = self.log
        config = log.config
        head = parse_head(batch)
        if len(batch) > config.max_message_bytes:  # as it came; the log looks at what is made of it
            log.refuse_size(head)
        validator = self._validator
        if validator.config is not config:
            validator = self._current_validator()
        batch, head = validator.validate(batch, head, self._clock.now_ms())
        return self.append_validated(batch, head, is_joined)

    def validation(self, batch: memoryview) -> "Callable[[], Validated]":
        """What a thread is to run for a batch that is TooLongForLoop. It raises a BrokerError."""
        validator, now = self._current_validator(), self._clock.now_ms()
        return lambda: Validated(*validator.validate(batch, parse_head(batch), now, IN_THREAD))

    def append_validated(self, batch: memoryview, head: BatchHead, is_joined: bool) -> Produced:
        """The second half of `produce`."""
        log = self.log
        if head.is_transactional and not (
            is_joined or log.producers.has_open_txn(head.producer_id, head.producer_epoch)
        ):
            raise InvalidTxnState(f"{log.partition} was not added to the transaction")
        append_time = NO_TIMESTAMP
        if self._validator.stamps_append_time:
            append_time = self._clock.now_ms()
            stamp_time(batch, append_time)
            head = parse_head(batch)
        base_offset, last_offset, is_duplicate, timestamp = log.append_checked(batch, head, self.epoch)
        if is_duplicate:
            return Produced(base_offset, timestamp, Offset(last_offset + 1))
        self._appended(len(batch))
        return _new(Produced, (base_offset, append_time, log.end_offset))

    def append(self, batch: memoryview, head: BatchHead) -> Offset:
        """Append a batch of our own making; returns the offset that its first record has. It is stamped in place.

        Of the topic's settings those count that say how batches are written, and not what clients may send.
        """
        validator = self._current_validator()
        batch, head = validator.compress(batch, head)
        if validator.stamps_append_time:
            stamp_time(batch, self._clock.now_ms())
            head = parse_head(batch)
        base_offset = self.log.append_checked(batch, head, self.epoch, Origin.COORDINATOR).base_offset
        self._appended(len(batch))
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
        if self._current_validator().stamps_append_time:
            stamp_time(batch, now)
            head = parse_head(batch)
        self.log.append_checked(batch, head, self.epoch, Origin.COORDINATOR, marker.level)
        self._appended(len(batch))

    def _current_validator(self) -> LogValidator:
        if self._validator.config is not self.log.config:
            self._validator = LogValidator(self.log.config)
        return self._validator

    # --- what is settled

    @property
    def settles_at_once(self) -> bool:
        """Whether all that is appended is settled when the append returns: nobody ever waits here."""
        return self.log.config.flush_messages == LONG_MAX

    @property
    def unsettled(self) -> Unsettled | None:
        """All that is appended up to now, to be waited for by one who relies on it; None if it is settled."""
        log = self.log
        return None if log.high_watermark == log.end_offset else Unsettled(self.waiters, log.end_offset)

    def fail(self, error: BrokerError) -> None:
        """The disk failed, or another broker leads the partition: nothing settles any more, and who waits is told."""
        self._is_over = True
        self._unsettled = None
        self.waiters.fail(error)

    def _settled_end(self) -> Offset:
        """The smallest end that an in-sync replica has, and the only one is here."""
        return self.log.durable_end

    def _appended(self, size: int) -> None:
        """`size` bytes are at the end of the log."""
        log = self.log
        end = log.end_offset
        if self._unsettled is None:
            if self.settles_at_once or self._settled_end() == end:
                log.advance_high_watermark(end)
                waiters = self.waiters
                if waiters.readers or waiters.offsets:
                    waiters.settle(end, size)
                else:
                    waiters.settled = end
                return
            self._unsettled = deque()
        self._unsettled.append((end, size))
        self._advance()

    def _advance(self) -> None:
        """Settle as much as can be, and have the rest synced."""
        log, size = self.log, 0
        end = self._settled_end()
        while self._unsettled and self._unsettled[0][0] <= end:
            size += self._unsettled.popleft()[1]
        if not self._unsettled:
            self._unsettled = None
        if end > log.high_watermark:
            log.advance_high_watermark(end)
            self.waiters.settle(end, size)
        if end < log.end_offset:
            self._sync()

    def _sync(self) -> None:
        """Once for all that is appended now, whether anybody waits for it or not: readers do."""
        syncing = self._flusher.request(self.log)
        if syncing is not self._syncing:
            self._syncing = syncing
            syncing.add_done_callback(self._synced)

    def _synced(self, syncing: "asyncio.Future[None]") -> None:
        if syncing is self._syncing:
            self._syncing = None
        error = None if syncing.cancelled() else syncing.exception()
        if isinstance(error, BrokerError):
            self.fail(error)
        elif not (self._is_over or self.log.is_abandoned):
            self._advance()  # of what came meanwhile, and of a log that was cut, the next sync tells


class StableEnd:
    """The end of what readers of committed records may read: fetches that wait hear of bytes when it has moved."""

    __slots__ = ("_log", "_offset", "_unstable", "readers")

    def __init__(self, log: Log) -> None:
        self.readers: dict[Reader, None] = {}
        self._log = log
        self._offset = log.last_stable_offset
        self._unstable = 0
        """Bytes that were settled since it moved."""

    def arrived(self, size: int) -> None:
        self._unstable += size
        offset = self._log.last_stable_offset
        if offset > self._offset:
            arrived, self._unstable, self._offset = self._unstable, 0, offset
            for reader in tuple(self.readers):
                reader.arrived(arrived)

    def end(self) -> None:
        for reader in tuple(self.readers):
            reader.end()
