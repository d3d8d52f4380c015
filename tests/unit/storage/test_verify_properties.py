"""Whatever a log went through, verification finds nothing wrong with what it left on disk."""

from dataclasses import replace
from random import Random

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from odradek.model.numbers import LeaderEpoch, Offset, ProducerId
from odradek.records.batch import Codec
from odradek.records.builder import BatchSpec
from odradek.storage import meta_properties, names
from odradek.storage.log import Log, Origin
from odradek.storage.meta_properties import MetaProperties
from odradek.storage.verify import Finding, Severity, Verification
from support.clock import ManualClock
from support.disk import FaultyDisk
from support.examples import examples
from support.logs import SMALL, append_batch, batch, log_of, marker, open_dirs, setting

PRODUCERS = 4


class Life:
    """A log, and the clients and the leader that use it."""

    def __init__(self, rng: Random) -> None:
        self._rng = rng
        self.disk = FaultyDisk("/data")
        meta_properties.write(self.disk, "/data", MetaProperties("cluster", 1, "directory"))
        self._clock = ManualClock()
        config = replace(SMALL, segment_bytes=rng.choice([600, 1000, 5000]), index_interval_bytes=rng.choice([0, 200]))
        self._setting = setting(replace(config, retention_bytes=rng.choice([-1, 2000])), self._clock)
        self._epoch = 0
        self.dirs = open_dirs(self.disk, given=self._setting)

    def open_again(self) -> None:
        self.dirs = open_dirs(self.disk, given=self._setting)

    def step(self) -> None:
        log = log_of(self.dirs)
        self._clock.advance(self._rng.randrange(1000))
        self._rng.choice([self._append, self._append, self._append, self._transact, self._end, self._other])(log)

    def _append(self, log: Log) -> None:
        rng = self._rng
        spec = BatchSpec(codec=rng.choice(list(Codec)))
        if rng.random() < 0.5:
            spec = self._of_producer(log, rng.randrange(PRODUCERS), codec=spec.codec)
        self._write(log, spec)

    def _transact(self, log: Log) -> None:
        self._write(log, self._of_producer(log, PRODUCERS + self._rng.randrange(PRODUCERS), transactional=True))

    def _of_producer(
        self, log: Log, number: int, codec: Codec = Codec.NONE, *, transactional: bool = False
    ) -> BatchSpec:
        known = log.producers.get(ProducerId(number))
        return BatchSpec(
            producer_id=ProducerId(number),
            producer_epoch=known.epoch if known else 0,
            base_sequence=known.last_sequence + 1 if known else 0,
            transactional=transactional,
            codec=codec,
        )

    def _write(self, log: Log, spec: BatchSpec) -> None:
        values = ["x" * self._rng.randrange(80) for _ in range(self._rng.randint(1, 4))]
        time = self._clock.now_ms() - self._rng.randrange(2000)
        append_batch(log, batch(*values, spec=spec, at=time), LeaderEpoch(self._epoch))

    def _end(self, log: Log) -> None:
        number = PRODUCERS + self._rng.randrange(PRODUCERS)
        known = log.producers.get(ProducerId(number))
        ending = marker(number, known.epoch if known else 0, commit=self._rng.random() < 0.5, at=self._clock.now_ms())
        append_batch(log, ending, LeaderEpoch(self._epoch), Origin.COORDINATOR)

    def _other(self, log: Log) -> None:
        log.advance_high_watermark(log.end_offset)
        what = self._rng.randrange(7)
        if what == 0:
            log.roll()
        elif what == 1:
            log.truncate_to(Offset(self._rng.randint(log.start_offset, log.end_offset)))
        elif what == 2:
            log.apply_retention(self._clock.now_ms())
        elif what == 3:
            log.advance_start(Offset(self._rng.randint(log.start_offset, log.end_offset)))
        elif what == 4:
            self._epoch += 1
            log.assign_epoch(LeaderEpoch(self._epoch), log.end_offset)
        elif what == 5:
            log.sync()
        else:
            self.dirs.write_checkpoints()


def verify(disk: FaultyDisk) -> list[Finding]:
    verification = Verification(disk, deep=True)
    verification.add("/data")
    return [finding for finding in verification.run() if finding.severity is not Severity.NOTE]


@pytest.mark.slow
@settings(max_examples=examples(60))
@given(seed=st.integers(0, 2**32))
def test_a_log_is_right_after_stops_and_kills(seed: int) -> None:
    rng = Random(seed)
    life = Life(rng)
    for _ in range(rng.randint(1, 4)):
        for _ in range(rng.randrange(60)):
            life.step()
        if rng.random() < 0.6:
            life.dirs.close()
        else:
            life.disk.crash()
        assert verify(life.disk) == []
        life.open_again()
    life.dirs.close()
    assert verify(life.disk) == []


@settings(max_examples=examples(40))
@given(seed=st.integers(0, 2**32))
def test_after_power_loss_there_is_nothing_that_recovery_does_not_mend(seed: int) -> None:
    rng = Random(seed)
    life = Life(rng)
    for _ in range(rng.randrange(80)):
        life.step()
    life.disk.power_loss(rng)
    life.open_again()
    life.dirs.close()
    # Snapshots are written without a sync: a broker takes the last good one and replays what follows.
    assert [finding for finding in verify(life.disk) if not finding.path.endswith(names.SNAPSHOT)] == []
