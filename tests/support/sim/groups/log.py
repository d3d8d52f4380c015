"""The log of a coordinator in memory: batches as they would lie on disk. An append is whole or not at all."""

from collections.abc import Iterator, Sequence

from odradek.coordinators.batches import batches_of
from odradek.coordinators.result import CoordinatorResult, Stored
from odradek.model.numbers import Offset, TimestampMs
from odradek.records.batch import Codec, parse_head, stamp
from odradek.records.record import Record, read_records
from odradek.wire.schema import Message
from odradek.wire.stored import CONSUMER_OFFSETS

_BATCH_BYTES_MAX = 1 << 20


class GroupLog:
    def __init__(self) -> None:
        self._batches: list[bytearray] = []
        self.end_offset = Offset(0)

    def append(
        self, records: Sequence[Stored], now: TimestampMs, *, is_atomic: bool
    ) -> Iterator[tuple[Offset, Sequence[Stored]]]:
        """Gives the batches one after the other, with the offset of their first record, when they are written."""
        if not records:
            return
        decision = CoordinatorResult(tuple(records), is_atomic=is_atomic)
        for (batch, head), held in batches_of(decision, now, Codec.NONE, _BATCH_BYTES_MAX):
            start = self.end_offset
            stamp(memoryview(batch), start, head.leader_epoch)
            self._batches.append(batch)
            self.end_offset = Offset(start + len(held))
            yield start, held

    def read(self, *, compacted: bool) -> Iterator[tuple[Offset, Message, Message | None]]:
        """All records, or of each key the last, as compaction would leave it or a coordinator reads it."""
        records = list(self._records())
        if compacted:
            records = sorted({record.key: record for record in records}.values())
        for offset, _, raw_key, raw_value, _ in records:
            assert raw_key is not None
            key = CONSUMER_OFFSETS.read_key(raw_key)
            yield offset, key, None if raw_value is None else CONSUMER_OFFSETS.read_value(key, raw_value)[0]

    def _records(self) -> Iterator[Record]:
        for batch in self._batches:
            view = memoryview(batch)
            yield from read_records(view, parse_head(view))
