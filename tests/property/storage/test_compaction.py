"""Any history of puts, deletes and transactions, cleaned at any time: exactly those records are left that should be.

What should be is told by a plain model: lists of records, no files. So a deletion that goes too early or stays too long
shows as much as a value that is lost. A reader that began before goes on after it: what it gets never contradicts what
it had, and in the end it has what every other reader has.

Each fault of a kind that matters is planted, and must be found.
"""

from collections.abc import Callable
from dataclasses import dataclass, field, replace
from random import Random

import pytest
from hypothesis import HealthCheck, Phase, settings
from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, initialize, invariant, rule, run_state_machine_as_test

from odradek.model.numbers import Offset, ProducerId
from odradek.records.batch import BatchHead, Codec
from odradek.records.builder import BatchSpec
from odradek.records.spans import read_spans
from odradek.storage import batches, names
from odradek.storage.cleaning import batch_filter
from odradek.storage.cleaning.batch_filter import BatchFilter
from odradek.storage.cleaning.choice import CleanerSetting
from odradek.storage.cleaning.decided_txns import DecidedTxns
from odradek.storage.cleaning.job import Job
from odradek.storage.cleaning.last_places import LastPlaces
from odradek.storage.log import Log
from support.clock import ManualClock
from support.compaction import COMPACTED, close_segment, committed, compact, put
from support.disk import FaultyDisk
from support.examples import examples
from support.logs import end_txn, log_of, open_dirs, setting

KEYS = st.sampled_from("abc")
PAIRS = st.lists(st.tuples(KEYS, st.sampled_from(["1", "2", None])), min_size=1, max_size=4)
PRODUCERS = st.sampled_from([1, 2])
Entry = tuple[int, str, str | None]
"""Offset, key, value."""


@dataclass
class ModelBatch:
    records: list[Entry]
    next_offset: int
    is_aborted: bool = False
    horizon: int | None = None


@dataclass
class Model:
    """What the log should hold: the batches of records, in their order."""

    batches: list[ModelBatch] = field(default_factory=list)

    def clean(self, end: int, now: int) -> None:
        """The last of each key stays; a deletion stays for a time that begins when it is first cleaned."""
        cleaned = [batch for batch in self.batches if batch.next_offset <= end]
        last = {key: at for batch in cleaned if not batch.is_aborted for at, key, _ in batch.records}
        for batch in cleaned:
            is_over = batch.horizon is not None and batch.horizon <= now
            batch.records = [
                (at, key, value)
                for at, key, value in batch.records
                if not batch.is_aborted and last[key] == at and not (is_over and value is None)
            ]
            if batch.horizon is None and any(value is None for _, _, value in batch.records):
                batch.horizon = now + COMPACTED.delete_retention_ms

    def committed(self, end: int) -> list[Entry]:
        return [each for batch in self.batches if not batch.is_aborted for each in batch.records if each[0] < end]

    def horizons(self) -> dict[int, int]:
        """When the deletions may go, by their offsets."""
        return {
            at: batch.horizon
            for batch in self.batches
            for at, _, value in batch.records
            if value is None and batch.horizon is not None
        }


class Reader:
    """Reads committed records bit by bit, and holds what it knows of each key."""

    def __init__(self) -> None:
        self.next = 0
        self.known: dict[str, str] = {}

    def read(self, log: Log, count: int | None = None) -> None:
        for offset, key, value in committed(log, max(self.next, log.start_offset))[:count]:
            assert offset >= self.next
            self.next = offset + 1
            assert key is not None
            if value is None:
                self.known.pop(key, None)
            else:
                self.known[key] = value


class Compaction(RuleBasedStateMachine):
    """`written` is all that was committed; `open` are the batches of transactions that are not decided."""

    @initialize(segment_bytes=st.sampled_from([300, 2000]), interval=st.sampled_from([0, 100]))
    def begin(self, segment_bytes: int, interval: int) -> None:
        self.clock = ManualClock()
        self.disk = FaultyDisk("/data", clock=self.clock)
        self.config = replace(COMPACTED, segment_bytes=segment_bytes, index_interval_bytes=interval)
        self.model = Model()
        self.written: list[Entry] = []
        self.open: dict[int, list[ModelBatch]] = {}
        self.sequences: dict[int, int] = {}
        self.readers = [Reader()]
        self.start()

    def start(self) -> None:
        given = replace(setting(self.config, self.clock), producer_expiry_ms=1 << 60)
        self.dirs = open_dirs(self.disk, given=given)
        self.log = log_of(self.dirs)
        self.log.advance_high_watermark(self.log.end_offset)

    @rule(pairs=PAIRS, codec=st.sampled_from([Codec.NONE, Codec.LZ4]), count=st.integers(0, 3))
    def put(self, pairs: list[tuple[str, str | None]], codec: Codec, count: int) -> None:
        self.written += self.note(pairs, BatchSpec(codec=codec)).records
        self.readers[-1].read(self.log, count)

    @rule(pairs=PAIRS, producer=PRODUCERS)
    def put_in_transaction(self, pairs: list[tuple[str, str | None]], producer: int) -> None:
        sequence = self.sequences.get(producer, 0)
        self.sequences[producer] = sequence + len(pairs)
        id = ProducerId(producer)
        spec = BatchSpec(producer_id=id, producer_epoch=0, base_sequence=sequence, transactional=True)
        self.open.setdefault(producer, []).append(self.note(pairs, spec))

    def note(self, pairs: list[tuple[str, str | None]], spec: BatchSpec) -> ModelBatch:
        # Values tell when they were written, so that an old one is never taken for a new one.
        end = self.log.end_offset
        told = [(key, None if value is None else f"{value} at {end}") for key, value in pairs]
        base = put(self.log, *told, spec=spec, at=self.clock.now_ms()).base_offset
        assert base == end
        records = [(base + number, key, value) for number, (key, value) in enumerate(told)]
        self.model.batches.append(ModelBatch(records, self.log.end_offset))
        return self.model.batches[-1]

    @rule(producer=PRODUCERS, commit=st.booleans())
    def end(self, producer: int, commit: bool) -> None:
        if producer in self.open:
            end_txn(self.log, producer, 0, commit=commit)
            self.log.advance_high_watermark(self.log.end_offset)
            for batch in self.open.pop(producer):
                batch.is_aborted = not commit
                self.written += batch.records if commit else []

    @rule()
    def close(self) -> None:
        close_segment(self.log)

    @rule(later=st.sampled_from([0, 600, 1200]), room=st.sampled_from([150, 1 << 20]))
    def clean(self, later: int, room: int) -> None:
        # A reader that is slower than delete.retention.ms may miss a deletion: that is what it is for.
        if later:
            for reader in self.readers:
                reader.read(self.log)
        self.clock.advance(later)
        close_segment(self.log)
        outcome = compact(self.log, self.clock.now_ms(), CleanerSetting(dedupe_buffer_size=room))
        if outcome is not None:
            self.model.clean(outcome.clean_to, self.clock.now_ms())

    @rule()
    def new_reader(self) -> None:
        self.readers = [*self.readers[-2:], Reader()]

    @rule(number=st.integers(0, 2), count=st.integers(1, 5))
    def read(self, number: int, count: int) -> None:
        self.readers[number % len(self.readers)].read(self.log, count)

    @rule(how=st.sampled_from(["stop", "kill", "power loss"]), seed=st.integers(0, 1 << 32), snapshots=st.booleans())
    def restart(self, how: str, seed: int, snapshots: bool) -> None:
        """Without snapshots, what is known of producers must come from the log alone."""
        self.log.sync()
        if how == "stop":
            self.dirs.close()
        else:
            self.dirs.abandon()
            self.disk.crash()
        if how == "power loss":
            self.disk.power_loss(Random(seed))
        for name in self.disk.tree(self.log.directory):
            if name.endswith(names.SNAPSHOT) and not snapshots:
                self.disk.remove(f"{self.log.directory}/{name}")
        self.start()

    @invariant()
    def exactly_what_should_be_is_left(self) -> None:
        assert committed(self.log) == self.model.committed(self.log.last_stable_offset)
        found: dict[int, int] = {}
        for head, record in self.log.records(self.log.start_offset, self.log.end_offset):
            if record.value is None and not head.is_control and head.delete_horizon_ms is not None:
                found[record.offset] = head.delete_horizon_ms
        assert found == self.model.horizons()

    @invariant()
    def every_reader_comes_to_the_same(self) -> None:
        stable = self.log.last_stable_offset
        truth: dict[str, str] = {}
        for _, key, value in sorted(each for each in self.written if each[0] < stable):
            truth.pop(key, None)
            if value is not None:
                truth[key] = value
        anew = Reader()
        anew.read(self.log)
        assert anew.known == truth
        for reader in self.readers:
            went_on = Reader()
            went_on.next, went_on.known = reader.next, dict(reader.known)
            went_on.read(self.log)
            assert went_on.known == truth

    @invariant()
    def offsets_rise_and_producers_are_known(self) -> None:
        last = -1
        for segment in self.log.segments:
            for _, head in batches.heads(segment.log.get(), segment.size):
                assert last < head.base_offset <= head.last_offset
                last = head.last_offset
        for producer, sequence in self.sequences.items():
            known = self.log.producers.get(ProducerId(producer))
            assert known is not None
            assert known.last_sequence == sequence - 1
        tree = self.disk.tree(self.log.directory)
        assert not [name for name in tree if name.endswith((names.CLEANED, names.SWAP))]
        assert Offset(0) <= self.log.start_offset <= self.log.end_offset


TestCompaction = Compaction.TestCase
TestCompaction.settings = settings(max_examples=examples(60), stateful_step_count=40, deadline=None)


# --- planted faults


def shift_clock(patch: pytest.MonkeyPatch, by_ms: int) -> None:
    begin = BatchFilter.__init__

    def shifted(self: BatchFilter, job: Job, last: LastPlaces) -> None:
        begin(self, job, last)
        self._now += by_ms  # type: ignore[assignment]

    patch.setattr(BatchFilter, "__init__", shifted)


def deletions_go_too_early(patch: pytest.MonkeyPatch) -> None:
    shift_clock(patch, 5000)


def deletions_stay_too_long(patch: pytest.MonkeyPatch) -> None:
    shift_clock(patch, -5000)


def a_horizon_is_not_written(patch: pytest.MonkeyPatch) -> None:
    patch.setattr(
        batch_filter, "_with_horizon", lambda head, data, kept, _horizon: batch_filter._with_spans(head, data, kept)
    )


def a_deleted_key_comes_back(patch: pytest.MonkeyPatch) -> None:
    """The clean part keeps what was replaced since, so that a value outlives its deletion."""

    def all_of_them(_self: LastPlaces, data: bytes, count: int) -> list[int]:
        starts = [0]
        for _ in range(count - 1):
            starts.append(read_spans(data, starts[-1:])[0][3])
        return starts[:count]

    patch.setattr(LastPlaces, "unreplaced", all_of_them)


def older_blocks_count_for_newer_ones(patch: pytest.MonkeyPatch) -> None:
    """The same where keys did not fit into memory: the clean part is noted last, and taken for what came last."""
    patch.setattr(LastPlaces, "begin_older", LastPlaces._put_aside)


def aborted_records_count(patch: pytest.MonkeyPatch) -> None:
    meet = DecidedTxns.meet_batch

    def forget(self: DecidedTxns, head: BatchHead) -> bool:
        meet(self, head)
        return False

    patch.setattr(DecidedTxns, "meet_batch", forget)


FAULTS: list[Callable[[pytest.MonkeyPatch], None]] = [
    deletions_go_too_early,
    deletions_stay_too_long,
    a_horizon_is_not_written,
    a_deleted_key_comes_back,
    older_blocks_count_for_newer_ones,
    aborted_records_count,
]
HUNT = settings(
    max_examples=400,
    stateful_step_count=40,
    deadline=None,
    derandomize=True,
    database=None,
    phases=[Phase.generate],
    suppress_health_check=list(HealthCheck),
)


@pytest.mark.slow
@pytest.mark.parametrize("fault", FAULTS)
def test_a_planted_fault_is_found(monkeypatch: pytest.MonkeyPatch, fault: Callable[[pytest.MonkeyPatch], None]) -> None:
    fault(monkeypatch)
    with pytest.raises(AssertionError):
        run_state_machine_as_test(Compaction, settings=HUNT)
