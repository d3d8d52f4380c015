"""Any history of puts, deletes and transactions, cleaned at any time: the latest value of every key stays the same.

A reader that began before goes on after it: what it gets never contradicts what it had, and in the end it has what
every other reader has.
"""

from dataclasses import replace
from random import Random

from hypothesis import settings
from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, initialize, invariant, rule

from odradek.model.numbers import Offset, ProducerId
from odradek.records.batch import Codec
from odradek.records.builder import BatchSpec
from odradek.storage import batches, names
from odradek.storage.cleaning.choice import CleanerSetting
from odradek.storage.log import Log
from odradek.testing.clock import ManualClock
from odradek.testing.compaction import COMPACTED, close_segment, committed, compact, put
from odradek.testing.disk import FaultyDisk
from odradek.testing.examples import examples
from odradek.testing.logs import end_txn, log_of, open_dirs, setting

KEYS = st.sampled_from("abc")
PAIRS = st.lists(st.tuples(KEYS, st.sampled_from(["1", "2", None])), min_size=1, max_size=4)
PRODUCERS = st.sampled_from([1, 2])


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
    """`truth` is what was committed, batch by batch; `open` are the transactions that are not decided."""

    @initialize(segment_bytes=st.sampled_from([300, 2000]), interval=st.sampled_from([0, 100]))
    def begin(self, segment_bytes: int, interval: int) -> None:
        self.clock = ManualClock()
        self.disk = FaultyDisk("/data", clock=self.clock)
        self.config = replace(COMPACTED, segment_bytes=segment_bytes, index_interval_bytes=interval)
        self.written: list[tuple[int, str, str | None]] = []
        self.open: dict[int, list[tuple[int, str, str | None]]] = {}
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
        self.note(self.written, pairs, BatchSpec(codec=codec))
        self.readers[-1].read(self.log, count)

    @rule(pairs=PAIRS, producer=PRODUCERS)
    def put_in_transaction(self, pairs: list[tuple[str, str | None]], producer: int) -> None:
        sequence = self.sequences.get(producer, 0)
        self.sequences[producer] = sequence + len(pairs)
        id = ProducerId(producer)
        spec = BatchSpec(producer_id=id, producer_epoch=0, base_sequence=sequence, transactional=True)
        self.note(self.open.setdefault(producer, []), pairs, spec)

    def note(
        self, where: list[tuple[int, str, str | None]], pairs: list[tuple[str, str | None]], spec: BatchSpec
    ) -> None:
        # Values tell when they were written, so that an old one is never taken for a new one.
        end = self.log.end_offset
        told = [(key, None if value is None else f"{value} at {end}") for key, value in pairs]
        base = put(self.log, *told, spec=spec, at=self.clock.now_ms()).base_offset
        assert base == end
        where += ((base + number, key, value) for number, (key, value) in enumerate(told))

    @rule(producer=PRODUCERS, commit=st.booleans())
    def end(self, producer: int, commit: bool) -> None:
        if producer in self.open:
            end_txn(self.log, producer, 0, commit=commit)
            self.log.advance_high_watermark(self.log.end_offset)
            records = self.open.pop(producer)
            if commit:
                self.written += records

    @rule()
    def close(self) -> None:
        close_segment(self.log)

    @rule(later=st.sampled_from([0, 600, 1200]), keys=st.sampled_from([2, 1000]))
    def clean(self, later: int, keys: int) -> None:
        # A reader that is slower than delete.retention.ms may miss a deletion: that is what it is for.
        if later:
            for reader in self.readers:
                reader.read(self.log)
        self.clock.advance(later)
        close_segment(self.log)
        compact(self.log, self.clock.now_ms(), CleanerSetting(dedupe_buffer_size=24 * keys, io_buffer_load_factor=1.0))

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
