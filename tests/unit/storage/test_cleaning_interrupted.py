"""A process that dies in the middle of a compaction: whatever it dies in, the latest value of every key stays."""

from random import Random

import pytest

from odradek.model.numbers import ProducerId
from odradek.records.builder import BatchSpec
from odradek.storage import names
from odradek.storage.cleaning.choice import CleanerSetting
from support.compaction import COMPACTED, close_segment, committed, compact, latest, put
from support.disk import FaultyDisk, disks_after_death
from support.logs import NOW, end_txn, log_of, open_dirs, setting

pytestmark = pytest.mark.slow  # a log is opened after every change of a compaction

LATER = NOW + 5000


def dirty_disk() -> FaultyDisk:
    """Segments that stay apart when they are cleaned, tombstones whose time is over, an aborted transaction."""
    disk = FaultyDisk("/data")
    dirs = open_dirs(disk, given=setting(COMPACTED))
    log = log_of(dirs)
    for number in range(8):
        put(log, (f"key {number % 4}", "x" * 50 + str(number)), ("deleted", str(number)))
    put(log, ("deleted", None), ("first", "1"))
    close_segment(log)
    compact(log)
    spec = BatchSpec(producer_id=ProducerId(7), producer_epoch=0, base_sequence=0, transactional=True)
    put(log, ("key 0", "aborted"), spec=spec)
    end_txn(log, 7, 0, commit=False)
    for number in range(8, 16):
        put(log, (f"key {number % 4}", "y" * 80 + str(number)))
    close_segment(log)
    put(log, ("first", "2"), ("key 3", None))
    dirs.close()
    return disk


def act(disk: FaultyDisk, room: int) -> None:
    dirs = open_dirs(disk, given=setting(COMPACTED))
    outcome = compact(log_of(dirs), LATER, CleanerSetting(dedupe_buffer_size=room))
    assert outcome is not None
    assert len(outcome.made) == 3
    dirs.write_checkpoints()
    dirs.remove_due(LATER + 100_000)  # type: ignore[arg-type]
    dirs.close()


@pytest.mark.parametrize(
    ("power_loss", "room"),
    [(False, 1 << 20), (False, 500), (True, 1 << 20)],
    ids=["killed", "keys aside", "power loss"],
)
def test_dying_at_every_change(power_loss: bool, room: int) -> None:
    disk = dirty_disk()
    before = open_dirs(disk.copy(), given=setting(COMPACTED))
    expected, uncleaned = latest(log_of(before)), committed(log_of(before))
    assert "deleted" not in expected
    done = disk.copy()
    act(done, room)
    cleaned = committed(log_of(open_dirs(done, given=setting(COMPACTED))))
    assert cleaned != uncleaned
    seen = []
    for left in disks_after_death(disk, lambda tried: act(tried, room)):
        for seed in range(4 if power_loss else 1):
            tried = left.copy()
            if power_loss:
                tried.power_loss(Random(seed))
            dirs = open_dirs(tried, given=setting(COMPACTED))
            log = log_of(dirs)
            found = committed(log)
            assert found in (uncleaned, cleaned)
            seen.append(found == cleaned)
            assert latest(log) == expected
            if log.cleaned_to is not None and log.cleaned_to > 20:
                assert found == cleaned  # a checkpoint may say so only then
            put(log, ("goes on", "1"))
            close_segment(log)
            compact(log, LATER)
            assert latest(log) == {**expected, "goes on": "1"}
            dirs.close()
            marks = [each[2] for name in tried.tree("/data/orders-0") if (each := names.parse_file_name(name))]
            assert not {names.CLEANED, names.SWAP} & set(marks)
    assert set(seen) == {True, False}
