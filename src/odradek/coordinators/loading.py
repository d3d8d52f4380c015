"""Reads the log of a partition into a shard, a slice at a time, while the loop goes on with other things.

Of the records with one key the last alone counts. A log that was not compacted for long has many of each key, so what
is kept at first are bytes, by key; those that are left in the end are decoded, and replayed in the order of the log.

Records of a transaction wait for its marker: with a commit they count if nothing newer is stored under their key, with
an abort they are gone. Those whose transaction is still open are replayed as such. A record that deletes what is stored
under its key does so in open transactions, too.
"""

import asyncio
from collections import Counter
from collections.abc import Awaitable, Callable, Sequence
from dataclasses import dataclass, field
from operator import itemgetter

from odradek.coordinators.shard import Shard
from odradek.model.clock import Clock
from odradek.model.errors import BadRequest, CorruptBatch, UnsupportedVersion
from odradek.model.numbers import NO_PRODUCER_ID, Offset, ProducerId
from odradek.process.files import NotCached
from odradek.records.alone import read_alone
from odradek.records.batch import BatchHead, check_crc, parse_head
from odradek.records.control import end_txn_marker
from odradek.records.record import read_records
from odradek.storage.log import Log
from odradek.wire.stored import CoordinatorTopic

ReadAhead = Callable[[Sequence[NotCached]], Awaitable[None]]
"""Brings what is not in memory into it."""

_READ_BYTES = 1 << 20
_SLICE_S = 0.004
_ALONE_MAX = 100
"""Batches that are read before the time is looked at."""
_READ_AHEAD_MAX = 20
"""After so many tries for one read, with memory so short that what was read is forgotten at once, the loop waits."""

_Found = tuple[Offset, bytes | None]
"""A record's offset and its value."""


@dataclass(slots=True)
class Summary:
    records: int = 0
    """All that were read, whatever became of them."""
    skipped: Counter[str] = field(default_factory=Counter)
    """Why some were left out, and how many."""


async def load(log: Log, topic: CoordinatorTopic, shard: Shard, read_ahead: ReadAhead, clock: Clock) -> Summary:
    """Raises StorageFailed; or CorruptBatch or UnsupportedVersion, which name the file and the offset."""
    pace = _Pace(clock)
    found = _Records()
    offset = log.start_offset
    while offset < log.end_offset:
        data = await _read(log, offset, read_ahead)
        view = memoryview(data)
        at = 0
        try:
            while True:
                at, offset = found.add_alone(data, at, offset)
                head = _head_at(data, at)
                if head is None:
                    break
                batch = view[at : at + head.size]
                check_crc(batch, head)
                found.add(batch, head)
                at += head.size
                offset = head.next_offset
                if pace.is_over:
                    await pace.rest()
        except CorruptBatch as error:
            raise CorruptBatch(f"{_position(log, offset)}: {error}") from None
        if at == 0:
            break  # nothing whole is left: what follows was deleted
    await _replay(found, topic, shard, log, pace)
    return found.summary


def _position(log: Log, offset: Offset) -> str:
    segment = next(each for each in reversed(log.segments) if each.base_offset <= offset)
    return f"{segment.log.path}, offset {offset}"


async def _read(log: Log, offset: Offset, read_ahead: ReadAhead) -> bytes:
    for _ in range(_READ_AHEAD_MAX):
        try:
            part = log.read(offset, _READ_BYTES, cached=True)
            return b"" if part is None else part.read()
        except NotCached as cold:
            await read_ahead([cold])
    part = log.read(offset, _READ_BYTES)
    return b"" if part is None else part.read()


def _head_at(data: bytes, at: int) -> BatchHead | None:
    """None where there is no whole batch."""
    if at == len(data):
        return None
    try:
        head = parse_head(data, at)
    except CorruptBatch:
        if at == 0:
            raise
        return None  # the head itself may be cut
    return head if at + head.size <= len(data) else None


class _Records:
    """What is stored under each key, as far as the log was read."""

    def __init__(self) -> None:
        self.last: dict[bytes, _Found] = {}
        self.open: dict[ProducerId, dict[bytes, _Found]] = {}
        """Of transactions that are not decided yet."""
        self.summary = Summary()

    def add(self, batch: memoryview, head: BatchHead) -> None:
        self.summary.records += head.count
        if head.is_control:
            marker = end_txn_marker(batch, head)
            if marker is not None:
                self._end(head.producer_id, commit=marker.commit)
            return
        stored = self.last if head.producer_id == NO_PRODUCER_ID else self.open.setdefault(head.producer_id, {})
        for offset, _, key, value, _ in read_records(batch, head):
            if key is None:
                raise CorruptBatch(f"record {offset} has no key")
            if value is None:
                self._delete(key, offset)
            else:
                stored[key] = offset, value

    def add_alone(self, data: bytes, at: int, next_offset: Offset) -> tuple[int, Offset]:
        """The same for batches from `at` on with a single record, as most are, up to one that is not as simple as that.

        Some of them, so as not to take too long. Returns where to go on, and the offset behind the last of them.
        """
        last = self.last
        for _ in range(_ALONE_MAX):
            found = read_alone(data, at)
            if found is None:
                break
            offset, key, value, at = found
            self.summary.records += 1
            if value is None:
                self._delete(key, offset)
            else:
                last[key] = offset, value
            next_offset = Offset(offset + 1)
        return at, next_offset

    def _delete(self, key: bytes, offset: Offset) -> None:
        self.last[key] = offset, None
        for pending in self.open.values():
            pending.pop(key, None)

    def _end(self, producer_id: ProducerId, *, commit: bool) -> None:
        pending = self.open.pop(producer_id, {})
        if commit:
            for key, (offset, value) in pending.items():
                stored = self.last.get(key)
                if stored is None or offset > stored[0]:
                    self.last[key] = offset, value


async def _replay(found: _Records, topic: CoordinatorTopic, shard: Shard, log: Log, pace: "_Pace") -> None:
    records = [(offset, NO_PRODUCER_ID, key, value) for key, (offset, value) in found.last.items()]
    for producer_id, pending in found.open.items():
        records += ((offset, producer_id, key, value) for key, (offset, value) in pending.items())
    for offset, producer_id, raw_key, raw_value in sorted(records, key=itemgetter(0)):
        try:
            key = topic.read_key(raw_key)
        except UnsupportedVersion as error:
            # Of a newer Kafka, which was here once and is so no more.
            found.summary.skipped[str(error)] += 1
            continue
        except BadRequest as error:
            raise CorruptBatch(f"{_position(log, offset)}: the key: {error}") from None
        try:
            value = None if raw_value is None else topic.read_value(key, raw_value)[0]
            shard.replay(offset, key, value, producer_id)
        except BadRequest as error:
            raise CorruptBatch(f"{_position(log, offset)}: the value: {error}") from None
        except (CorruptBatch, UnsupportedVersion) as error:
            kind = UnsupportedVersion if isinstance(error, UnsupportedVersion) else CorruptBatch
            raise kind(f"{_position(log, offset)}: {error}") from None
        if pace.is_over:
            await pace.rest()


class _Pace:
    """Lets the loop have its turn every few milliseconds."""

    def __init__(self, clock: Clock) -> None:
        self._monotonic_s = clock.monotonic_s
        self._until = self._monotonic_s() + _SLICE_S

    @property
    def is_over(self) -> bool:
        return self._monotonic_s() > self._until  # the loop's own time may stand still until it has its turn

    async def rest(self) -> None:
        await asyncio.sleep(0)
        self._until = self._monotonic_s() + _SLICE_S
