"""A log against a plain list of batches, through appends, rolls, cuts, retention, kills, power loss and clean stops."""

from bisect import bisect_right
from dataclasses import dataclass, replace
from random import Random
from typing import TYPE_CHECKING, NamedTuple

import pytest
from hypothesis import settings
from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, initialize, invariant, rule

from odradek.model.errors import OffsetOutOfRange, OutOfOrderSequence, StorageFailed
from odradek.model.numbers import NO_PRODUCER_ID, NO_TIMESTAMP, LeaderEpoch, Offset, ProducerId, TimestampMs
from odradek.model.topic_config import TopicConfig
from odradek.records.batch import BatchHead, Codec, parse_head, stamp
from odradek.records.builder import BatchSpec
from odradek.records.record import Record, read_records
from odradek.storage import checkpoint, entry_file, names, partition_metadata, time_index, transaction_index
from odradek.storage.leader_epochs import LeaderEpochs
from odradek.storage.log import Appended, Log, Origin
from odradek.storage.producer_state import ProducerState
from odradek.storage.rebuild import note, rebuild
from odradek.storage.transaction_index import AbortedTxn
from support.clock import ManualClock
from support.disk import Died, Fault, FaultyDisk, Op
from support.examples import examples
from support.logs import NOW, TOPIC_ID, append_batch, log_of, marker, open_dirs, setting, timed_batch

if TYPE_CHECKING:
    from collections.abc import Callable

PRODUCERS = st.integers(1, 3)
TIMES = st.lists(st.integers(-50, 50), min_size=1, max_size=4)
SEEDS = st.integers(0, 1 << 32)
FRACTION = st.floats(0, 1)


class Batch(NamedTuple):
    """A batch as it lies in the log."""

    raw: bytes
    head: BatchHead

    @property
    def records(self) -> list[Record]:
        return list(read_records(memoryview(self.raw), self.head))


@dataclass(frozen=True, slots=True)
class State:
    """What the log held at some time. Batches below `start` are deleted, if not yet gone from the disk."""

    batches: tuple[Batch, ...]
    start: int
    end: int

    def with_batch(self, raw: bytes) -> "State":
        head = parse_head(raw)
        return State((*self.batches, Batch(raw, head)), self.start, head.next_offset)

    def cut(self, offset: int, first_base: int) -> "State":
        """Batches that reach `offset` go whole."""
        if offset >= self.end:
            return self
        if offset < first_base:
            return State((), offset, offset)
        kept = tuple(batch for batch in self.batches if batch.head.last_offset < offset)
        gone = self.batches[len(kept) :]
        end = min(offset, gone[0].head.base_offset) if gone else offset
        return State(kept, min(self.start, end), end)


class LogMachine(RuleBasedStateMachine):
    """`history` are the states since the last sync: power loss may bring back any of them, or a part of it."""

    def __init__(self) -> None:
        super().__init__()
        self._patch = pytest.MonkeyPatch()
        self._patch.setattr(entry_file, "_SPILL_ENTRIES", 4)
        self._patch.setattr(entry_file, "_PAGE_ENTRIES", 3)
        self.clock = ManualClock()
        self.disk = FaultyDisk("/data", clock=self.clock)
        self.history = [State((), 0, 0)]
        self.high_watermark = 0
        self.reopened_end = 0
        """The log forgets, when it is closed, that a transaction below this was decided above the high watermark."""
        self.epoch = 0
        self.start_most = 0
        """The largest log start ever: below it, leader epochs are not known any more."""
        self.known_from = 0
        """Where the log started when it was opened or cut: of producers before it nothing may be known."""

    @initialize(
        segment_bytes=st.sampled_from([400, 1500, 20_000]),
        index_interval_bytes=st.sampled_from([0, 100, 1000]),
        segment_index_bytes=st.sampled_from([48, 4096]),
        preallocate=st.booleans(),
        retention_bytes=st.sampled_from([-1, 2000]),
    )
    def begin(self, **config: int) -> None:
        self.config = replace(TopicConfig(), **config, retention_ms=3_600_000)  # type: ignore[arg-type]
        self.open()

    def teardown(self) -> None:
        self._patch.undo()

    def open(self) -> None:
        given = replace(setting(self.config, self.clock), producer_expiry_ms=1 << 60)
        self.dirs = open_dirs(self.disk, given=given)
        self.log: Log = log_of(self.dirs)
        if self.log.topic_id is None:  # lost before the first sync; the one who knows it would write it again
            self.disk.put(f"{self.log.directory}/{names.PARTITION_METADATA}", partition_metadata.pack(TOPIC_ID))

    @property
    def now(self) -> State:
        return self.history[-1]

    @property
    def first_base(self) -> int:
        return self.log.segments[0].base_offset

    # --- appending

    def make_batch(self, times: list[int], codec: Codec, size: int, spec: BatchSpec = BatchSpec()) -> memoryview:  # noqa: B008
        values = [(f"{self.now.end}:{number}:" + "x" * size, NOW + time) for number, time in enumerate(times)]
        return timed_batch(values, replace(spec, codec=codec))

    def append(self, batch: memoryview, origin: Origin = Origin.CLIENT) -> None:
        at = append_batch(self.log, batch, LeaderEpoch(self.epoch), origin)
        assert at.base_offset == self.now.end
        assert not at.duplicate
        self.history.append(self.now.with_batch(bytes(batch)))
        assert at.last_offset + 1 == self.now.end

    @rule(times=TIMES, codec=st.sampled_from([Codec.NONE, Codec.ZSTD]), size=st.integers(0, 30))
    def append_plain(self, times: list[int], codec: Codec, size: int) -> None:
        self.append(self.make_batch(times, codec, size))

    @rule(times=TIMES, producer=PRODUCERS, transactional=st.booleans(), new_epoch=st.booleans())
    def append_as_producer(self, times: list[int], producer: int, transactional: bool, new_epoch: bool) -> None:
        self.append(self.next_batch_of(producer, times, transactional=transactional, new_epoch=new_epoch))

    def next_batch_of(self, producer: int, times: list[int], *, transactional: bool, new_epoch: bool) -> memoryview:
        id = ProducerId(producer)
        state = self.log.producers.get(id) or self.producers().get(id)  # the log may have forgotten some of it
        epoch, sequence = 0, 0
        if state is not None:
            epoch, sequence = (state.epoch + 1, 0) if new_epoch else (state.epoch, state.last_sequence + 1)
            transactional = transactional or state.txn_first_offset >= 0
        spec = BatchSpec(
            producer_id=ProducerId(producer), producer_epoch=epoch, base_sequence=sequence, transactional=transactional
        )
        return self.make_batch(times, Codec.NONE, 5, spec)

    @rule(producer=PRODUCERS, commit=st.booleans(), bump=st.booleans(), time=st.integers(-50, 50))
    def end_txn(self, producer: int, commit: bool, bump: bool, time: int) -> None:
        state = self.producers().get(ProducerId(producer))
        if state is not None:
            ending = marker(producer, state.epoch + bump, commit=commit, at=NOW + time)
            self.append(ending, Origin.COORDINATOR)

    @rule(counts=st.lists(TIMES, min_size=1, max_size=3), rises=st.booleans())
    def replicate(self, counts: list[list[int]], rises: bool) -> None:
        self.epoch += rises
        data, end = b"", self.now.end
        for times in counts:
            batch = self.make_batch(times, Codec.NONE, 3)
            stamp(batch, Offset(end), LeaderEpoch(self.epoch))
            data += batch
            end += len(times)
            self.history.append(self.now.with_batch(bytes(batch)))
        assert self.log.replicate(memoryview(bytearray(data))) == end

    @rule()
    def get_new_leader(self) -> None:
        self.epoch += 1

    @rule(producer=PRODUCERS)
    def repeat_last(self, producer: int) -> None:
        sent = [batch for batch in self.now.batches if batch.head.producer_id == producer and not batch.head.is_control]
        state = self.producers().get(ProducerId(producer))
        if sent and state is not None and state.batches and sent[-1].head.base_offset >= self.known_from:
            again = append_batch(self.log, memoryview(bytearray(sent[-1].raw)), LeaderEpoch(self.epoch))
            head = sent[-1].head
            markers = (batch.head for batch in self.now.batches if batch.head.is_control)
            # A snapshot has one timestamp for the batch and for the marker after it.
            after = [
                each.max_timestamp
                for each in markers
                if each.producer_id == producer and each.base_offset > head.base_offset
            ]
            assert again._replace(timestamp=NO_TIMESTAMP) == Appended(
                head.base_offset, head.last_offset, duplicate=True
            )
            assert again.timestamp in (head.max_timestamp, *after)

    @rule(producer=PRODUCERS, skip=st.integers(1, 5))
    def leave_a_gap(self, producer: int, skip: int) -> None:
        state = self.log.producers.get(ProducerId(producer))
        if state is not None:
            spec = BatchSpec(
                producer_id=ProducerId(producer),
                producer_epoch=state.epoch,
                base_sequence=state.last_sequence + 1 + skip,
                transactional=True,
            )
            with pytest.raises(OutOfOrderSequence):
                append_batch(self.log, self.make_batch([0], Codec.NONE, 0, spec), LeaderEpoch(self.epoch))

    # --- rolling, cutting, deleting

    @rule()
    def roll(self) -> None:
        self.log.roll()

    @rule(behind=st.integers(0, 20))
    def advance_high_watermark(self, behind: int) -> None:
        self.high_watermark = max(self.high_watermark, self.now.end - behind)
        self.log.advance_high_watermark(Offset(self.now.end - behind))

    @rule(behind=st.integers(0, 20))
    def truncate(self, behind: int) -> None:
        offset = max(self.now.end - behind, 0)
        first_base = self.first_base
        self.log.truncate_to(Offset(offset))
        self.note_cut(offset, first_base)

    def note_cut(self, offset: int, first_base: int) -> None:
        if offset < self.now.end:
            self.known_from = max(self.known_from, self.now.start)
        self.history.append(self.now.cut(offset, first_base))
        self.high_watermark = min(self.high_watermark, self.now.end)
        self.reopened_end = min(self.reopened_end, self.now.end)

    @rule(share=FRACTION)
    def advance_start(self, share: float) -> None:
        start, most = self.now.start, self.high_watermark
        if most >= start:
            offset = start + round((most - start) * share)
            assert self.log.advance_start(Offset(offset)) == (offset > start)
            self.note_start(offset)

    def note_start(self, start: int) -> None:
        self.history.append(replace(self.now, start=start))
        self.start_most = max(self.start_most, start)

    @rule(hours=st.floats(0, 2))
    def apply_retention(self, hours: float) -> None:
        self.clock.advance(round(hours * 3_600_000))
        first = self.naive_retention()
        count, reason = self.log.apply_retention(self.clock.now_ms())
        assert (count > 0) == (reason is not None)
        assert self.first_base == first
        self.note_start(max(self.now.start, first))

    def naive_retention(self) -> int:
        """The base of the first segment that stays."""
        bases = [segment.base_offset for segment in self.log.segments]
        ends = [*bases[1:], self.now.end]
        held = [self.batches_within(base, end) for base, end in zip(bases, ends, strict=True)]
        left = sum(len(batch.raw) for batches in held for batch in batches)
        gone_by_size = gone_by_start = True
        for number, batches in enumerate(held):
            last = number == len(held) - 1
            gone_by_start = gone_by_start and not last and ends[number] <= self.now.start
            if gone_by_start:
                left -= sum(len(batch.raw) for batch in batches)
                continue
            if ends[number] > self.high_watermark or (last and not batches):
                return bases[number]
            size = sum(len(batch.raw) for batch in batches)
            excess = left - self.config.retention_bytes
            gone_by_size = gone_by_size and self.config.retention_bytes >= 0 and excess >= size
            newest = max((batch.head.max_timestamp for batch in batches), default=self.clock.now_ms())
            if not gone_by_size and self.clock.now_ms() - newest <= self.config.retention_ms:
                return bases[number]
            left -= size
        return self.now.end

    def batches_within(self, base: int, end: int) -> list[Batch]:
        return [batch for batch in self.now.batches if base <= batch.head.base_offset < end]

    @rule()
    def remove_files_that_are_due(self) -> None:
        self.clock.advance(60_000)
        self.dirs.remove_due(self.clock.now_ms())

    # --- syncing, stopping, dying

    @rule()
    def sync(self) -> None:
        self.log.sync()
        self.note_synced()

    def note_synced(self) -> None:
        self.history = self.history[-1:]

    @rule()
    def checkpoint(self) -> None:
        self.dirs.write_checkpoints()

    @rule()
    def die(self) -> None:
        self.disk.crash()
        self.reopen(self.history[-1:])

    @rule(seed=st.none() | SEEDS)
    def lose_power(self, seed: int | None) -> None:
        self.disk.power_loss(None if seed is None else Random(seed))
        self.reopen(self.history)
        self.note_synced()

    @rule(seed=st.none() | SEEDS)
    def stop(self, seed: int | None) -> None:
        """A clean stop, perhaps followed by power loss."""
        self.dirs.close()
        assert self.disk.open_handles == 0
        self.note_synced()
        self.check_index_files()
        if seed is not None:
            self.disk.power_loss(Random(seed))
        self.reopen(self.history)
        assert self.log.start_offset == self.now.start
        if seed is None:
            # An older snapshot may be torn since an earlier power loss, and is only looked at when the newest is gone.
            assert [event for event in self.dirs.events if "producers' state" not in event.text] == []

    @rule(
        number=st.integers(1, 12),
        seed=st.none() | SEEDS,
        what=st.sampled_from(["append", "roll", "cut", "retain", "stop"]),
    )
    def die_in_the_middle(self, number: int, seed: int | None, what: str) -> None:
        acts: dict[str, Callable[[], None]] = {
            "append": lambda: self.append_plain([0], Codec.NONE, 10),
            "roll": self.roll,
            "cut": lambda: self.truncate(number * 2),
            "retain": lambda: self.apply_retention(2),
            "stop": self.dirs.close,
        }
        before, first_base, epoch = self.now, self.first_base, self.epoch
        self.disk.die_at(number)
        try:
            acts[what]()
        except Died:
            after = {
                "append": lambda: before.with_batch(self.dying_batch(before.end)),
                "cut": lambda: before.cut(max(before.end - number * 2, 0), first_base),
                "retain": lambda: replace(before, start=before.end),
            }.get(what, lambda: before)()
            self.epoch = epoch
            self.history.append(after)
            self.start_most = max(self.start_most, after.start)
            if what == "cut" and after.end < first_base:
                # All was to go. With no file left, the log starts where the checkpoint says, or at 0.
                self.history.append(State((), 0, 0))
        if seed is None:
            self.disk.crash()
            self.reopen(self.history[self.history.index(before) :])
        else:
            self.disk.power_loss(Random(seed))
            self.reopen(self.history)
            self.note_synced()

    def dying_batch(self, base: int) -> bytes:
        batch = timed_batch([(f"{base}:0:" + "x" * 10, NOW)])
        stamp(batch, Offset(base), LeaderEpoch(self.epoch))
        return bytes(batch)

    @rule(
        op=st.sampled_from([Op.WRITE, Op.CREATE, Op.OPEN, Op.TRUNCATE]),
        after=st.integers(0, 3),
        written=st.integers(0, 70),
    )
    def fail(self, op: Op, after: int, written: int) -> None:
        """An append meets an error, and the directory is opened again by the same process."""
        before = self.now
        self.disk.inject(Fault(op, after=after, written=written))
        try:
            self.log.roll()
            self.append_plain([0, 1], Codec.NONE, 10)
        except StorageFailed:
            with pytest.raises(StorageFailed):
                self.log.read(Offset(0), 1)
            batch = timed_batch([(f"{before.end}:{number}:" + "x" * 10, NOW + number) for number in (0, 1)])
            stamp(batch, Offset(before.end), LeaderEpoch(self.epoch))
            self.history.append(before.with_batch(bytes(batch)))
        self.disk.heal()
        self.dirs.abandon()
        assert self.disk.open_handles == 0
        self.reopen([before, self.now])

    def reopen(self, allowed: list[State]) -> None:
        """The log must be one of the `allowed` states, or what is left of it, but not end before any of them does."""
        # After a cut below the stored start, and a death before the new one is stored, the log starts where that says.
        stored_start = self.stored_start()
        stored_high_watermark = self.stored(names.HIGH_WATERMARKS)
        self.open()
        log = self.log
        found = [batch for segment in log.segments for batch in self.batches_of(segment.path(names.LOG), segment.size)]
        assert log.end_offset >= min(state.end for state in allowed)
        assert log.start_offset <= max(state.start for state in allowed)
        end = found[-1].head.next_offset if found else self.first_base
        assert log.end_offset == end
        for state in reversed(allowed):
            kept = [
                batch
                for batch in state.batches
                if self.first_base <= batch.head.base_offset and batch.head.last_offset < end
            ]
            if kept == found and (
                found
                or end in {stored_start, state.start, state.end, *(each.head.base_offset for each in state.batches)}
            ):
                break
        else:
            raise AssertionError(f"the log holds {[batch.head[:3] for batch in found]}, which it never held")
        whole = tuple(batch for batch in state.batches if batch.head.last_offset < end)
        self.history.append(State(whole, log.start_offset, end))
        self.high_watermark = max(log.start_offset, min(stored_high_watermark, end))
        self.reopened_end = end
        self.known_from = log.start_offset

    def stored_start(self) -> int:
        return self.stored(names.LOG_STARTS)

    def stored(self, file: str) -> Offset:
        """What a checkpoint says of the log."""
        return next(iter(checkpoint.read_offsets(self.disk, f"/data/{file}").values()), Offset(0))

    def batches_of(self, path: str, size: int) -> list[Batch]:
        content = self.disk.read_whole(path)[:size]
        found = []
        at = 0
        while at < len(content):
            head = parse_head(content, at)
            found.append(Batch(content[at : at + head.size], head))
            at += head.size
        return found

    # --- what must hold

    @invariant()
    def offsets_are_right(self) -> None:
        log, now = self.log, self.now
        assert (log.start_offset, log.end_offset) == (now.start, now.end)
        assert log.high_watermark == self.high_watermark
        assert log.recovery_point <= log.end_offset
        assert log.start_offset <= log.last_stable_offset <= log.high_watermark

    @rule()
    def read_everything(self) -> None:
        expected = [
            (record.offset, record.value)
            for batch in self.now.batches
            for record in batch.records
            if record.offset >= self.now.start
        ]
        assert [(record.offset, record.value) for _, record in self.log.records(Offset(self.now.start))] == expected

    @rule(share=FRACTION, bytes_max=st.integers(1, 2000), until_share=FRACTION, one_batch=st.booleans())
    def read(self, share: float, bytes_max: int, until_share: float, one_batch: bool) -> None:
        now = self.now
        offset = now.start + round((now.end - now.start) * share)
        until = offset + round((now.end - offset) * until_share)
        found = self.log.read(Offset(offset), bytes_max, Offset(until), one_batch=one_batch)
        bases = [segment.base_offset for segment in self.log.segments]
        within = bisect_right(bases, offset)
        segment_end = bases[within] if within < len(bases) else now.end
        readable = [
            batch.raw
            for batch in self.batches_within(bases[within - 1], segment_end)
            if batch.head.last_offset >= offset and batch.head.last_offset < until
        ]
        if not readable:
            assert found is None
            return
        if bytes_max < len(readable[0]) and not one_batch:
            assert found is None
            return
        assert found is not None
        size = min(max(bytes_max, len(readable[0])), sum(map(len, readable)))
        assert found.read() == b"".join(readable)[:size]

    @rule(beyond=st.integers(1, 5))
    def read_out_of_range(self, beyond: int) -> None:
        for offset in (self.now.start - beyond, self.now.end + beyond):
            with pytest.raises(OffsetOutOfRange):
                self.log.read(Offset(offset), 100)

    @rule(time=st.integers(-60, 60))
    def find_time(self, time: int) -> None:
        found = self.log.find_time(TimestampMs(NOW + time))
        records = [record for batch in self.now.batches for record in batch.records if record.offset >= self.now.start]
        expected = next(((each.offset, each.timestamp) for each in records if each.timestamp >= NOW + time), None)
        assert (found and found[:2]) == expected

    @rule()
    def find_max_time(self) -> None:
        found = self.log.find_max_time()
        records = [record for batch in self.batches_within(self.first_base, self.now.end) for record in batch.records]
        newest = max((record.timestamp for record in records), default=None)
        expected = next(((each.offset, each.timestamp) for each in records if each.timestamp == newest), None)
        assert (found and found[:2]) == expected

    @rule()
    def find_epochs(self) -> None:
        for batch in self.now.batches:
            if batch.head.base_offset >= self.start_most:
                assert self.log.epochs.epoch_of(batch.head.base_offset) == batch.head.leader_epoch
        if self.now.batches and self.now.end > self.start_most:
            assert self.log.epochs.latest == max(batch.head.leader_epoch for batch in self.now.batches)

    # --- producers and transactions

    def producers(self, until: int | None = None) -> ProducerState:
        return self.replay(until)[0]

    def replay(self, until: int | None = None) -> tuple[ProducerState, list[AbortedTxn]]:
        state = ProducerState(Offset(0))
        aborted: list[AbortedTxn] = []
        for batch in self.now.batches:
            if batch.head.producer_id != NO_PRODUCER_ID and (until is None or batch.head.base_offset < until):
                note(state, batch.head, memoryview(batch.raw), aborted)
        return state, aborted

    @rule()
    def know_the_producers(self) -> None:
        for expected in self.producers():
            found = self.log.producers.get(expected.id)
            batches = [batch for batch in self.now.batches if batch.head.producer_id == expected.id]
            if found is None:
                assert batches[-1].head.base_offset < self.known_from
            elif all(batch.head.base_offset >= self.known_from for batch in batches):
                assert (found.epoch, found.txn_first_offset) == (expected.epoch, expected.txn_first_offset)
                assert (found.last_sequence, found.coordinator_epoch) == (
                    expected.last_sequence,
                    expected.coordinator_epoch,
                )
                # A snapshot has one timestamp for the batch and for the marker after it.
                assert [batch[:4] for batch in found.batches[-1:]] == [batch[:4] for batch in expected.batches[-1:]]

    def txns_known(self) -> bool:
        """No batch of a producer lies before the place from which on producers are known for sure."""
        return all(batch.head.producer_id < 0 for batch in self.now.batches if batch.head.base_offset < self.known_from)

    @rule()
    def find_last_stable_offset(self) -> None:
        if not self.txns_known():
            return
        undecided = []
        open_txns: dict[int, int] = {}
        for batch in self.now.batches:
            head = batch.head
            if head.is_control:
                first = open_txns.pop(head.producer_id, None)
                if first is not None and head.last_offset >= max(self.high_watermark, self.reopened_end):
                    undecided.append(first)
            elif head.is_transactional:
                open_txns.setdefault(head.producer_id, head.base_offset)
        stable = min([self.high_watermark, *undecided, *open_txns.values()])
        assert self.log.last_stable_offset == max(stable, self.now.start)

    @rule(share=FRACTION, until_share=FRACTION)
    def find_aborted(self, share: float, until_share: float) -> None:
        if not self.txns_known():
            return
        now = self.now
        start = now.start + round((now.end - now.start) * share)
        end = start + round((now.end - start) * until_share)
        expected = [txn for txn in self.replay()[1] if txn.last_offset >= start and txn.first_offset < end]
        assert self.log.aborted_txns(Offset(start), Offset(end)) == expected

    # --- files

    def check_index_files(self) -> None:
        """After a stop, every index is what its log alone gives."""
        tree = self.disk.tree("/data/orders-0")
        logs = sorted(name for name in tree if name.endswith(names.LOG))
        producers = self.producers(until=int(logs[0].removesuffix(names.LOG)))
        for name in logs:
            stem = name.removesuffix(names.LOG)
            file = self.disk.open_to_read(f"/data/orders-0/{name}")
            state, base = (producers, LeaderEpochs()), Offset(int(stem))
            result = rebuild(file, file.size(), base, self.config.index_interval_bytes, state)
            file.close()
            assert result.corruption is None
            assert tree[stem + names.INDEX] == bytes(result.index)
            assert self.batches_at(tree[stem + names.TIME_INDEX], base) == self.batches_at(result.time_index, base)
            if self.txns_known():
                assert tree.get(stem + names.TXN_INDEX, b"") == transaction_index.pack(result.aborted)

    def batches_at(self, times: bytes | bytearray, base: int) -> list[tuple[int, int]]:
        """The entries of a time index, each with the batch that its offset lies in.

        One that is torn in its last bytes, so that it names another offset of its batch, is as good as the whole.
        """
        bases = [batch.head.base_offset for batch in self.now.batches]
        return [
            (timestamp, bisect_right(bases, base + offset)) for timestamp, offset in time_index.ENTRY.iter_unpack(times)
        ]


TestLogMachine = LogMachine.TestCase
TestLogMachine.settings = settings(max_examples=examples(200), stateful_step_count=40, report_multiple_bugs=False)
