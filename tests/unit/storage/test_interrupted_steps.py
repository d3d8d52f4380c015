"""A process that dies in the middle of a step: whatever change it dies in, no record that counts is lost."""

from collections.abc import Callable, Iterator
from dataclasses import replace
from random import Random

import pytest

from odradek.model.numbers import LeaderEpoch, Offset, ProducerId
from odradek.process.files import write_file
from odradek.records.batch import parse_head, stamp
from odradek.records.builder import BatchSpec
from odradek.storage import names
from odradek.storage.leader_epochs import LeaderEpochs
from odradek.storage.log import Log
from odradek.storage.log_dirs import LogDirs
from odradek.storage.producer_state import ProducerState
from odradek.storage.rebuild import rebuild
from support.disk import FaultyDisk, disks_after_death
from support.logs import (
    NOW,
    SMALL,
    append,
    batch,
    log_of,
    offsets_and_values,
    open_dirs,
    open_log,
    setting,
    values,
)

pytestmark = pytest.mark.slow  # a log is opened after every change of a step

DIRECTORY = "/data/orders-0"
COUNT = 40
EVERYTHING = [(number, str(number)) for number in range(COUNT)]
Act = Callable[[LogDirs, Log], object]


@pytest.fixture
def disk() -> FaultyDisk:
    """A log of forty records in several segments, stopped cleanly."""
    disk = FaultyDisk("/data")
    dirs = open_dirs(disk)
    for number in range(COUNT):
        append(log_of(dirs), str(number), epoch=number // 10)
    log_of(dirs).advance_high_watermark(Offset(COUNT))
    dirs.close()
    return disk


def logs_after_death(disk: FaultyDisk, act: Act, *, power_loss: bool = False) -> Iterator[tuple[Log, FaultyDisk]]:
    """The log as it is found after its owner died in `act`, once for each change that this makes."""

    def open_and_act(tried: FaultyDisk) -> None:
        dirs = open_dirs(tried)
        act(dirs, log_of(dirs))

    for left in disks_after_death(disk, open_and_act):
        for seed in range(6 if power_loss else 1):
            tried = left.copy()
            if power_loss:
                tried.power_loss(Random(seed))
            dirs = open_dirs(tried)
            assert dirs.dirs[0].online
            log = log_of(dirs)
            yield log, tried
            append(log, "goes on", epoch=9)
            assert values(log)[-1] == "goes on"
            dirs.close()
            check_files(tried)


def check_files(disk: FaultyDisk) -> None:
    """After a clean stop nothing is left over, and the indexes are what the log alone gives."""
    tree = disk.tree(DIRECTORY)
    parsed = {name: names.parse_file_name(name) for name in tree}
    assert not [name for name, each in parsed.items() if name.endswith(names.TEMP) or (each and each[2])]
    producers = ProducerState(Offset(0))
    for name, each in parsed.items():
        if each and each[1] == names.LOG:
            stem = name.removesuffix(names.LOG)
            file = disk.open_to_read(f"{DIRECTORY}/{name}")
            found = rebuild(file, file.size(), each[0], SMALL.index_interval_bytes, (producers, LeaderEpochs()))
            file.close()
            assert found.corruption is None
            assert tree[stem + names.INDEX] == bytes(found.index)
            assert tree[stem + names.TIME_INDEX] == bytes(found.time_index)


both = pytest.mark.parametrize("power_loss", [False, True], ids=["killed", "power loss"])


@both
def test_while_opening_and_closing(disk: FaultyDisk, power_loss: bool) -> None:
    def act(dirs: LogDirs, _log: Log) -> None:
        dirs.close()

    for log, _ in logs_after_death(disk, act, power_loss=power_loss):
        assert offsets_and_values(log) == EVERYTHING


@both
def test_while_appending_and_closing(disk: FaultyDisk, power_loss: bool) -> None:
    acknowledged: list[int] = []

    def act(dirs: LogDirs, log: Log) -> None:
        acknowledged.clear()
        for number in range(COUNT, COUNT + 15):
            append(log, str(number), epoch=4)
            acknowledged.append(number)
        dirs.close()

    whole = [*EVERYTHING, *((number, str(number)) for number in range(COUNT, COUNT + 15))]
    for log, _ in logs_after_death(disk, act, power_loss=power_loss):
        found = offsets_and_values(log)
        assert found == whole[: len(found)]
        assert len(found) >= COUNT + (0 if power_loss else len(acknowledged))


@both
def test_while_appending_and_syncing(disk: FaultyDisk, power_loss: bool) -> None:
    synced: list[int] = []

    def act(dirs: LogDirs, log: Log) -> None:
        synced.clear()
        for number in range(COUNT, COUNT + 8):
            append(log, str(number), epoch=4)
            log.sync()
            synced.append(number)
            if number % 3 == 0:
                log.roll()
            if number % 4 == 0:
                dirs.write_checkpoints()

    whole = [*EVERYTHING, *((number, str(number)) for number in range(COUNT, COUNT + 8))]
    for log, _ in logs_after_death(disk, act, power_loss=power_loss):
        found = offsets_and_values(log)
        assert found == whole[: len(found)]
        assert len(found) >= COUNT + len(synced)


@both
def test_while_rolling(disk: FaultyDisk, power_loss: bool) -> None:
    for log, _ in logs_after_death(disk, lambda _, log: log.roll(), power_loss=power_loss):
        assert offsets_and_values(log) == EVERYTHING


@both
@pytest.mark.parametrize("offset", [39, 20, 5, 0])
def test_while_truncating(disk: FaultyDisk, offset: int, power_loss: bool) -> None:
    ends = set()
    for log, _ in logs_after_death(disk, lambda _, log: log.truncate_to(Offset(offset)), power_loss=power_loss):
        found = offsets_and_values(log)
        assert found == EVERYTHING[: len(found)]
        assert len(found) >= offset
        epochs = [log.epochs.epoch_of(Offset(number)) for number, _ in found]
        assert epochs == [number // 10 for number, _ in found]
        ends.add(len(found))
    assert {offset, COUNT} <= ends


@both
def test_while_retention_deletes(disk: FaultyDisk, power_loss: bool) -> None:
    def act(dirs: LogDirs, log: Log) -> None:
        log.config = replace(log.config, retention_bytes=200)
        log.apply_retention(NOW)
        dirs.write_checkpoints()
        dirs.remove_due(NOW + 100_000)  # type: ignore[arg-type]

    starts = set()
    for log, _ in logs_after_death(disk, act, power_loss=power_loss):
        found = offsets_and_values(log)
        assert found == EVERYTHING[log.start_offset :]
        starts.add(log.start_offset)
    assert min(starts) == 0
    assert len(starts) >= 3


@both
def test_while_all_segments_are_too_old(disk: FaultyDisk, power_loss: bool) -> None:
    def act(_: LogDirs, log: Log) -> None:
        log.config = replace(log.config, retention_ms=1)
        log.apply_retention(NOW + 100_000)  # type: ignore[arg-type]

    for log, _ in logs_after_death(disk, act, power_loss=power_loss):
        assert log.end_offset == COUNT
        assert offsets_and_values(log) == EVERYTHING[log.start_offset :]


@both
def test_while_the_start_is_moved(disk: FaultyDisk, power_loss: bool) -> None:
    def act(dirs: LogDirs, log: Log) -> None:
        log.advance_start(Offset(17))
        dirs.write_checkpoints()

    starts = set()
    for log, _ in logs_after_death(disk, act, power_loss=power_loss):
        assert offsets_and_values(log) == EVERYTHING[log.start_offset :]
        starts.add(log.start_offset)
    assert starts == {0, 17}


def test_while_starting_anew(disk: FaultyDisk) -> None:
    for log, _ in logs_after_death(disk, lambda _, log: log.start_anew(Offset(1000))):
        found = offsets_and_values(log)
        assert found == EVERYTHING[: len(found)]
        assert log.end_offset in (len(found), 1000)


# --- the swap of cleaned segments

COMPACTED = replace(SMALL, cleanup_policy=("compact",))
OLD = [(number, f"old {number}") for number in range(20)]
CLEANED = [(offset, f"old {offset}") for offset in (1, 4, 9, 13, 19)]
ACTIVE = [(number, f"active {number}") for number in range(20, 25)]


def compacted_disk() -> FaultyDisk:
    """Four closed segments of five records, and an active one."""
    disk = FaultyDisk("/data")
    dirs = open_dirs(disk, given=setting(COMPACTED))
    log = log_of(dirs)
    for offset, value in OLD:
        append(log, value)
        if offset % 5 == 4:
            log.roll()
    for _, value in ACTIVE:
        append(log, value)
    dirs.close()
    return disk


def cleaned_files(bases: dict[int, list[int]]) -> dict[str, bytes]:
    """The files of cleaned segments: for each base the offsets that are left."""
    disk = FaultyDisk("/data")
    found = {}
    for base, offsets in bases.items():
        content = b""
        for offset in offsets:
            left = batch(f"old {offset}")
            stamp(left, Offset(offset), LeaderEpoch(0))
            content += left
        disk.put("/data/log", content)
        state = (ProducerState(Offset(base)), LeaderEpochs())
        file = disk.open_to_read("/data/log")
        built = rebuild(file, len(content), Offset(base), SMALL.index_interval_bytes, state)
        found[names.file_name(Offset(base), names.LOG)] = content
        found[names.file_name(Offset(base), names.INDEX)] = bytes(built.index)
        found[names.file_name(Offset(base), names.TIME_INDEX)] = bytes(built.time_index)
    return found


def swap(disk: FaultyDisk, cleaned: dict[str, bytes], old: list[int]) -> None:
    """What Apache Kafka's cleaner does when it replaces segments, in its order."""
    stems = sorted({name.split(".")[0] for name in cleaned})

    def rename_all(stem: str, before: str, after: str) -> None:
        for suffix in (names.LOG, names.INDEX, names.TIME_INDEX, names.TXN_INDEX):
            path = f"{DIRECTORY}/{stem}{suffix}"
            if disk.exists(path + before):
                disk.rename(path + before, path + after)

    for name, content in cleaned.items():
        write_file(disk, f"{DIRECTORY}/{name}{names.CLEANED}", content, sync=True)
    for stem in reversed(stems):
        rename_all(stem, names.CLEANED, names.SWAP)
    for base in old:
        rename_all(f"{base:020d}", "", names.DELETED)
    for stem in stems:
        rename_all(stem, names.SWAP, "")
    disk.sync_dir(DIRECTORY)


@both
@pytest.mark.parametrize(
    ("bases", "old"),
    [({0: [1, 4, 9, 13, 19]}, [0, 5, 10, 15]), ({0: [1, 4, 9], 10: [13, 19]}, [0, 5, 10, 15])],
    ids=["one segment", "two segments"],
)
@pytest.mark.parametrize("clean", [True, False], ids=["clean", "crashed"])
def test_while_cleaned_segments_are_swapped_in(
    bases: dict[int, list[int]], old: list[int], clean: bool, power_loss: bool
) -> None:
    disk = compacted_disk()
    if not clean:
        disk.remove("/data/.kafka_cleanshutdown")
        disk.sync_dir("/data")
    cleaned = cleaned_files(bases)
    outcomes = []
    for left in disks_after_death(disk, lambda tried: swap(tried, cleaned, old)):
        for seed in range(6 if power_loss else 1):
            tried = left.copy()
            if power_loss:
                tried.power_loss(Random(seed))
            dirs = open_dirs(tried, given=setting(COMPACTED))
            found = offsets_and_values(log_of(dirs))
            assert found in ([*OLD, *ACTIVE], [*CLEANED, *ACTIVE])
            outcomes.append(len(found))
            append(log_of(dirs), "goes on")
            dirs.close()
            check_files(tried)
    assert set(outcomes) == {25, 10}


def test_a_crash_in_finishing_a_swap_is_met_by_finishing_it() -> None:
    cleaned = cleaned_files({0: [1, 4, 9], 10: [13, 19]})
    for left in disks_after_death(compacted_disk(), lambda tried: swap(tried, cleaned, [0, 5, 10, 15])):
        straight = left.copy()
        expected = offsets_and_values(open_log(straight, COMPACTED))
        for again in disks_after_death(left, lambda tried: open_log(tried, COMPACTED)):
            assert offsets_and_values(open_log(again, COMPACTED)) == expected


def test_leftovers_of_every_kind_are_removed(disk: FaultyDisk) -> None:
    stem = names.file_name(Offset(7), "")
    leftovers = [
        f"{stem}{suffix}{mark}" for suffix in names.SEGMENT_SUFFIXES for mark in (names.DELETED, names.CLEANED)
    ]
    leftovers += ["leader-epoch-checkpoint.tmp", "partition.metadata.tmp", f"{stem}.snapshot.deleted"]
    for name in leftovers:
        disk.put(f"{DIRECTORY}/{name}", b"left over")
    for log, tried in logs_after_death(disk, lambda dirs, _: dirs.close()):
        assert offsets_and_values(log) == EVERYTHING
        assert not set(leftovers) & set(tried.tree(DIRECTORY))


def test_idempotent_producers_never_see_a_batch_twice(disk: FaultyDisk) -> None:
    """They send again what was not acknowledged; what was in the log all the same is answered, not written."""
    spec = BatchSpec(producer_id=ProducerId(7), producer_epoch=0)

    def send(log: Log, number: int) -> None:
        append(log, f"mine {number}", spec=replace(spec, base_sequence=number), epoch=4)

    acknowledged: list[int] = []

    def act(_: LogDirs, log: Log) -> None:
        acknowledged.clear()
        for number in range(30):
            send(log, number)
            acknowledged.append(number)

    for log, _ in logs_after_death(disk, act):
        for number in range(len(acknowledged), 30):
            send(log, number)
        assert [value for value in values(log) if value.startswith("mine")] == [
            f"mine {number}" for number in range(30)
        ]


def test_the_first_batch_of_a_recovered_segment_is_where_its_name_says(disk: FaultyDisk) -> None:
    def act(_: LogDirs, log: Log) -> None:
        for _number in range(12):
            append(log, "x" * 100, epoch=4)

    for log, tried in logs_after_death(disk, act):
        for segment in log.segments:
            if segment.size:
                head = parse_head(tried.read_whole(segment.path(names.LOG)))
                assert head.base_offset == segment.base_offset
