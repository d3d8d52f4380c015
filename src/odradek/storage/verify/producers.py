"""Whether producer snapshots and transaction indexes say what the log says.

The log is replayed from its start, or from the snapshot there. Where that cannot be done (records were deleted,
compacted or damaged) only what a single file shows by itself is checked.
"""

from collections.abc import Iterator, Mapping, Sequence

from odradek.model.errors import CorruptBatch
from odradek.model.numbers import NO_OFFSET, Offset, ProducerId
from odradek.records.batch import BatchHead
from odradek.records.control import end_txn_marker
from odradek.storage import names
from odradek.storage.producer_state import NO_COORDINATOR_EPOCH, Producer, ProducerState
from odradek.storage.transaction_index import ENTRY_SIZE, AbortedTxn
from odradek.storage.verify.findings import Finding, Severity, error

_NEVER = 1 << 64


class ProducerCheck:
    """Goes along with the batches of a log, segment after segment."""

    def __init__(self, directory: str, snapshots: Mapping[Offset, Sequence[Producer]], replay: ProducerState | None):
        """`snapshots` past the start of the log; `replay` is the state there, or None where it is not known."""
        self._directory = directory
        self._snapshots = snapshots
        self._waiting = sorted(snapshots, reverse=True)
        self._replay = replay
        self._aborts: dict[Offset, ProducerId] = {}
        """The abort markers of this segment."""
        self._aborted: list[AbortedTxn] = []
        self.next_snapshot = self._waiting[-1] if self._waiting else _NEVER

    def lose_track(self) -> None:
        """Something between the batches is missing: from here on the state is not known."""
        self._replay = None

    def take(self, head: BatchHead) -> None:
        """A data batch of a producer."""
        if self._replay is not None:
            self._replay.note(head, head.base_offset)

    def take_control(self, path: str, position: int, head: BatchHead, batch: memoryview) -> Iterator[Finding]:
        """A control batch of a producer; its CRC is right."""
        try:
            marker = end_txn_marker(batch, head)
        except CorruptBatch as corrupt:
            yield error(path, str(corrupt), position)
            self.lose_track()
            return
        if marker is None:
            return
        if not marker.commit:
            self._aborts[head.base_offset] = head.producer_id
        if self._replay is not None:
            completed = self._replay.note_marker(head, head.base_offset, marker)
            if completed is not None and completed.aborted:
                self._aborted.append(completed.txn)

    # --- snapshots

    def reach(self, first: Offset, last: Offset) -> Iterator[Finding]:
        """Everything below `first` was taken in, and a batch comes that ends with `last`."""
        while self.next_snapshot <= last:
            if self.next_snapshot > first:
                yield error(self._path(self.next_snapshot), f"stands within a batch of offsets {first} to {last}")
            else:
                yield from self._compare()
            self._next()

    def end(self, end_offset: Offset, *, sure: bool) -> Iterator[Finding]:
        """The log ends here. Unless that is sure, a snapshot past it means nothing."""
        yield from self.reach(end_offset, end_offset)
        while self._waiting:
            if sure:
                text = f"stands past the end of the log, which is {end_offset}"
                yield error(self._path(self._waiting[-1]), text)
            self._next()

    def _next(self) -> None:
        self._waiting.pop()
        self.next_snapshot = self._waiting[-1] if self._waiting else _NEVER

    def _path(self, offset: int) -> str:
        return f"{self._directory}/{names.file_name(Offset(offset), names.SNAPSHOT)}"

    def _compare(self) -> Iterator[Finding]:
        replay, path = self._replay, self._path(self.next_snapshot)
        if replay is None:
            return
        stored = {producer.id: producer for producer in self._snapshots[Offset(self.next_snapshot)]}
        for producer in stored.values():
            known = replay.get(producer.id)
            if known is None:
                yield error(path, f"producer {producer.id} wrote nothing before offset {self.next_snapshot}")
            else:
                yield from (error(path, text) for text in _differences(producer, known))
        # Producers that wrote nothing for a day are left out, but not while they have a transaction open.
        for known in replay:
            if known.id not in stored and known.txn_first_offset != NO_OFFSET:
                text = f"producer {known.id} is missing; its transaction is open since offset {known.txn_first_offset}"
                yield error(path, text)

    # --- the transaction index

    def end_segment(
        self, path: str, entries: list[AbortedTxn], *, whole: bool, missing: Severity | None
    ) -> Iterator[Finding]:
        """`whole`: nothing of the segment was damaged or compacted; `missing`: what an entry too few amounts to."""
        aborted = {txn.last_offset: txn for txn in self._aborted}
        for number, entry in enumerate(entries):
            yield from self._check_entry(path, number * ENTRY_SIZE, entry, aborted.pop(entry.last_offset, None), whole)
        if self._replay is not None and missing is not None:
            for txn in aborted.values():
                text = f"no entry for the transaction of producer {txn.producer_id} aborted at {txn.last_offset}"
                yield Finding(missing, path, text, len(entries) * ENTRY_SIZE)
        self.forget_segment()

    def forget_segment(self) -> None:
        self._aborts, self._aborted = {}, []

    def _check_entry(
        self, path: str, at: int, entry: AbortedTxn, known: AbortedTxn | None, whole: bool
    ) -> Iterator[Finding]:
        if known is not None:
            yield from (error(path, text, at) for text in _entry_differences(entry, known))
        elif whole and self._aborts.get(entry.last_offset) != entry.producer_id:
            text = f"no transaction of producer {entry.producer_id} was aborted at offset {entry.last_offset}"
            yield error(path, text, at)
        elif self._replay is not None:
            yield error(path, f"the transaction aborted at offset {entry.last_offset} has no records", at)


def faults(offset: Offset, producers: Sequence[Producer]) -> Iterator[str]:
    """What is wrong with a snapshot at `offset` by itself."""
    ids: set[ProducerId] = set()
    open_at: set[Offset] = set()
    for producer in producers:
        last = producer.batches[-1].last_offset if producer.batches else NO_OFFSET
        if producer.id < 0 or producer.id in ids:
            yield f"producer {producer.id} is there twice" if producer.id >= 0 else f"producer id {producer.id}"
        if max(last, producer.txn_first_offset) >= offset:
            yield f"producer {producer.id} has offset {max(last, producer.txn_first_offset)}, past the snapshot's own"
        if producer.txn_first_offset in open_at:
            yield f"two transactions begin at offset {producer.txn_first_offset}"
        ids.add(producer.id)
        if producer.txn_first_offset != NO_OFFSET:
            open_at.add(producer.txn_first_offset)


def _differences(stored: Producer, known: Producer) -> Iterator[str]:
    """What a snapshot says of a producer, against what the log says."""
    pairs = [
        ("epoch", stored.epoch, known.epoch),
        ("timestamp", stored.last_timestamp, known.last_timestamp),
        ("first offset of its transaction", stored.txn_first_offset, known.txn_first_offset),
    ]
    # A producer that was forgotten for a while comes back without what was known of it before.
    if stored.coordinator_epoch != NO_COORDINATOR_EPOCH:
        pairs.append(("coordinator epoch", stored.coordinator_epoch, known.coordinator_epoch))
    if stored.batches:
        mine, last = stored.batches[-1], known.batches[-1] if known.batches else None
        pairs += [
            ("last sequence", mine.last_sequence, last.last_sequence if last else -1),
            ("first offset", mine.first_offset, last.first_offset if last else NO_OFFSET),
            ("last offset", mine.last_offset, last.last_offset if last else NO_OFFSET),
        ]
    for name, mine_is, log_is in pairs:
        if mine_is != log_is:
            yield f"producer {stored.id} has {name} {mine_is}, by the log it is {log_is}"


def _entry_differences(entry: AbortedTxn, known: AbortedTxn) -> Iterator[str]:
    for name, mine, log in zip(AbortedTxn._fields, entry, known, strict=True):
        if mine != log:
            what = name.replace("_", " ")
            yield f"the transaction aborted at {known.last_offset} has {what} {mine}, by the log it is {log}"
