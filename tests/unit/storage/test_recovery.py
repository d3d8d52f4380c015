"""Directories in every bad state that a crash, a disk or a person can leave, and what opening makes of them."""

from collections.abc import Callable
from dataclasses import replace
from random import Random

import pytest

from odradek.model.errors import CorruptBatch
from odradek.model.numbers import LeaderEpoch, Offset, ProducerId
from odradek.records.batch import stamp
from odradek.records.builder import BatchSpec
from odradek.storage import names, producer_snapshot
from odradek.storage.log import Log
from odradek.storage.log_dirs import LogDirs
from support.disk import Fault, FaultyDisk, Op, disks_after_death
from support.logs import (
    NOW,
    SMALL,
    append,
    batch,
    end_txn,
    log_of,
    offsets_and_values,
    open_dirs,
    open_log,
    setting,
    values,
)

DIRECTORY = "/data/orders-0"


def write_story(log: Log, count: int = 80) -> None:
    """Plain, idempotent and transactional batches, some aborted, under several leaders, in several segments."""
    for number in range(count):
        spec = BatchSpec()
        if number % 4 == 1:
            spec = BatchSpec(producer_id=ProducerId(1), producer_epoch=0, base_sequence=number // 4)
        elif number % 4 == 2:
            spec = BatchSpec(producer_id=ProducerId(2), producer_epoch=0, base_sequence=number // 4, transactional=True)
        append(log, f"{number}", spec=spec, at=NOW + number * 7 % 30, epoch=number // 15)
        if number % 4 == 3:
            end_txn(log, 2, 0, commit=number % 8 == 3)


def story_disk(*, clean: bool, count: int = 80) -> FaultyDisk:
    disk = FaultyDisk("/data")
    dirs = open_dirs(disk)
    write_story(log_of(dirs), count)
    log_of(dirs).sync()  # but no recovery point is stored
    if clean:
        dirs.close()
    else:
        disk.crash()
    return disk


def last_log(disk: FaultyDisk) -> str:
    return max(name for name in disk.tree(DIRECTORY) if name.endswith(".log"))


def open_and_close(disk: FaultyDisk) -> LogDirs:
    dirs = open_dirs(disk)
    dirs.close()
    return dirs


def said(dirs: LogDirs) -> str:
    return "\n".join(f"{event.text}: {event.fields}" for event in dirs.events)


def segment_files(disk: FaultyDisk) -> dict[str, bytes]:
    """All that a log's directory holds, except snapshots, whose entries have no order."""
    return {name: data for name, data in disk.tree(DIRECTORY).items() if not name.endswith(names.SNAPSHOT)}


def producers_of(log: Log) -> dict[int, tuple[object, ...]]:
    return {
        each.id: (each.epoch, each.last_sequence, each.coordinator_epoch, each.txn_first_offset)
        for each in log.producers
    }


# --- the end of the log


@pytest.mark.slow
def test_a_torn_tail_is_cut_at_the_last_whole_batch_wherever_it_is_torn() -> None:
    disk = FaultyDisk("/data")
    ends = []
    log = open_log(disk, replace(SMALL, segment_bytes=100_000))
    for number in range(10):
        append(log, f"{number}", at=NOW + number)
        ends.append(log.segments[0].size)
    disk.crash()
    path = f"{DIRECTORY}/{last_log(disk)}"
    content = disk.read_whole(path)
    for size in range(ends[5], ends[9]):
        tried = disk.copy()
        tried.put(path, content[:size])
        whole = sum(end <= size for end in ends)
        dirs = open_and_close(tried)
        if size in ends:
            assert dirs.events == []
        else:
            (event,) = dirs.events
            assert event.text == "cut a segment at its last whole batch"
            assert event.fields["file"] == path
            assert event.fields["position"] == ends[whole - 1]
            assert event.fields["bytes_cut"] == size - ends[whole - 1]
            assert event.fields["end_offset"] == whole
            assert f"{path} at {ends[whole - 1]}" in str(event.fields["reason"])
        plain = FaultyDisk("/data")
        plain_dirs = open_dirs(plain, given=setting(log.config))
        for number in range(whole):
            append(log_of(plain_dirs), f"{number}", at=NOW + number)
        plain_dirs.close()
        assert segment_files(tried) == segment_files(plain)


@pytest.mark.parametrize("seed", range(20))
def test_garbage_behind_the_last_batch_is_cut(seed: int) -> None:
    disk = story_disk(clean=False)
    path = f"{DIRECTORY}/{last_log(disk)}"
    content = disk.read_whole(path)
    rng = Random(seed)
    disk.put(path, content + rng.randbytes(rng.randrange(1, 300)))
    log = open_log(disk)
    assert disk.read_whole(path) == content
    append(log, "next")
    assert values(log) == [*map(str, range(80)), "next"]


@pytest.mark.parametrize("size", [1, 11, 12, 16, 17, 60, 61, 62, 5000, 2_000_000])
def test_zeros_behind_the_last_batch_are_cut(size: int) -> None:
    disk = story_disk(clean=False)
    path = f"{DIRECTORY}/{last_log(disk)}"
    content = disk.read_whole(path)
    disk.put(path, content + bytes(size))
    assert values(open_log(disk)) == [*map(str, range(80))]
    assert disk.read_whole(path) == content


def test_a_batch_that_stands_there_again_is_cut() -> None:
    disk = story_disk(clean=False)
    path = f"{DIRECTORY}/{last_log(disk)}"
    content = disk.read_whole(path)
    disk.put(path, content + content)
    dirs = open_dirs(disk)
    assert values(log_of(dirs)) == [*map(str, range(80))]
    assert "is next" in said(dirs)
    assert disk.read_whole(path) == content


def test_a_changed_byte_in_the_last_batch_cuts_it() -> None:
    disk = FaultyDisk("/data")
    log = open_log(disk)
    append(log, "a")
    size = log.segments[0].size
    append(log, "b")
    disk.crash()
    path = f"{DIRECTORY}/{last_log(disk)}"
    content = disk.read_whole(path)
    for position in range(size, len(content)):
        if 0 <= position - size < 8 or 12 <= position - size < 16:
            continue  # the base offset and the leader epoch are not under the CRC
        tried = disk.copy()
        changed = bytearray(content)
        changed[position] ^= 0x80
        tried.put(path, bytes(changed))
        assert values(open_log(tried)) == ["a"], position


def test_a_zeroed_block_in_the_middle_cuts_all_that_follows() -> None:
    disk = FaultyDisk("/data")
    log = open_log(disk, replace(SMALL, segment_bytes=100_000))
    for number in range(200):
        append(log, f"{number}")
    disk.crash()
    path = f"{DIRECTORY}/{last_log(disk)}"
    content = bytearray(disk.read_whole(path))
    content[4096:8192] = bytes(4096)
    disk.put(path, bytes(content))
    found = values(open_log(disk))
    assert found == [str(number) for number in range(len(found))]
    assert 50 < len(found) < 60


# --- indexes and the files beside them


def remove(disk: FaultyDisk, path: str) -> None:
    disk.remove(path)
    disk.sync_dir(DIRECTORY)


DAMAGES: dict[str, Callable[[FaultyDisk, str, bytes], None]] = {
    "missing": lambda disk, path, content: remove(disk, path),
    "empty": lambda disk, path, content: disk.put(path, b""),
    "short": lambda disk, path, content: disk.put(path, content[:-1]),
    "an entry less": lambda disk, path, content: disk.put(path, content[: -len(content) // 3]),
    "zeros": lambda disk, path, content: disk.put(path, bytes(len(content))),
    "preallocated": lambda disk, path, content: disk.put(path, content + bytes(8 * 12 * 34)),
    "garbage": lambda disk, path, content: disk.put(path, Random(1).randbytes(len(content))),
    "large garbage": lambda disk, path, content: disk.put(path, Random(2).randbytes(8 * 12 * 34 * 5)),
    "foreign": lambda disk, path, content: disk.put(path, bytes(reversed(content))),
}


@pytest.mark.parametrize("clean", [True, False], ids=["clean", "crashed"])
@pytest.mark.parametrize("damage", DAMAGES)
@pytest.mark.parametrize("suffix", [names.INDEX, names.TIME_INDEX])
def test_damaged_indexes_are_made_again_as_they_were(suffix: str, damage: str, clean: bool) -> None:
    whole = segment_files(story_disk(clean=True))
    paths = sorted(name for name in whole if name.endswith(suffix))
    assert len(paths) > 4
    for name in (paths[0], paths[2], paths[-1]):
        disk = story_disk(clean=clean)
        DAMAGES[damage](disk, f"{DIRECTORY}/{name}", whole[name])
        dirs = open_dirs(disk)
        if clean and disk.tree(DIRECTORY)[name] != whole[name]:
            # One that lost entries at its end, but ends in a good one, is only noticed where it matters.
            assert damage in ("empty", "an entry less", "missing"), name
        log = log_of(dirs)
        assert values(log) == [*map(str, range(80))]
        for offset, _ in offsets_and_values(log):
            found = log.read(Offset(offset), 1)
            assert found is not None
            assert found.position == dict(positions(log))[offset][1]
        if damage not in ("an entry less", "empty"):
            dirs.close()
            assert segment_files(disk) == whole, (name, said(dirs))


def positions(log: Log) -> list[tuple[int, tuple[int, int]]]:
    """Of each offset, the base of its segment and the position of its batch."""
    return [
        (head.base_offset, (segment.base_offset, position))
        for segment in log.segments
        for position, head in segment.heads(segment.base_offset)
    ]


@pytest.mark.parametrize("damage", DAMAGES)
def test_after_a_crash_any_damaged_index_is_made_again_as_it_was(damage: str) -> None:
    whole = segment_files(story_disk(clean=True))
    for name in whole:
        if name.endswith((names.INDEX, names.TIME_INDEX, names.TXN_INDEX)):
            disk = story_disk(clean=False)
            if disk.exists(f"{DIRECTORY}/{name}"):
                DAMAGES[damage](disk, f"{DIRECTORY}/{name}", whole[name])
            open_and_close(disk)
            assert segment_files(disk) == whole, name


@pytest.mark.parametrize(
    "damage", [damage for damage in DAMAGES if damage not in ("missing", "empty", "an entry less")]
)
def test_a_damaged_transaction_index_is_made_again_after_a_clean_stop(damage: str) -> None:
    whole = segment_files(story_disk(clean=True))
    paths = [name for name in whole if name.endswith(names.TXN_INDEX)]
    assert len(paths) > 2
    for name in paths:
        disk = story_disk(clean=True)
        before = log_of(open_dirs(disk.copy())).aborted_txns(Offset(0), Offset(100))
        DAMAGES[damage](disk, f"{DIRECTORY}/{name}", whole[name])
        dirs = open_dirs(disk)
        assert log_of(dirs).aborted_txns(Offset(0), Offset(100)) == before
        assert name.removesuffix(names.TXN_INDEX) in said(dirs)
        dirs.close()
        assert segment_files(disk) == whole


@pytest.mark.parametrize("clean", [True, False], ids=["clean", "crashed"])
@pytest.mark.parametrize("damage", DAMAGES)
def test_damaged_leader_epochs_are_collected_from_the_log(damage: str, clean: bool) -> None:
    disk = story_disk(clean=clean)
    path = f"{DIRECTORY}/{names.LEADER_EPOCHS}"
    content = disk.read_whole(path)
    DAMAGES[damage](disk, path, content)
    dirs = open_dirs(disk)
    assert list(log_of(dirs).epochs.entries) == [(number, 15 * number + (15 * number) // 4) for number in range(6)]
    dirs.close()
    assert disk.read_whole(path) == content
    assert open_dirs(disk).events == []


@pytest.mark.parametrize("clean", [True, False], ids=["clean", "crashed"])
@pytest.mark.parametrize("damage", DAMAGES)
def test_damaged_snapshots_are_made_again_from_the_log(damage: str, clean: bool) -> None:
    disk = story_disk(clean=clean)
    expected = producers_of(log_of(open_dirs(disk.copy())))
    assert set(expected) == {1, 2}
    snapshots = [name for name in disk.tree(DIRECTORY) if name.endswith(names.SNAPSHOT)]
    for name in snapshots:
        tried = disk.copy()
        DAMAGES[damage](tried, f"{DIRECTORY}/{name}", disk.read_whole(f"{DIRECTORY}/{name}"))
        dirs = open_dirs(tried)
        assert producers_of(log_of(dirs)) == expected, name
        dirs.close()
        *_, last = sorted(name for name in tried.tree(DIRECTORY) if name.endswith(names.SNAPSHOT))
        read = producer_snapshot.parse(tried.read_whole(f"{DIRECTORY}/{last}"), last)
        assert {each.id: each.last_sequence for each in read} == {id: known[1] for id, known in expected.items()}


def test_without_any_snapshot_producers_are_those_of_the_log() -> None:
    for clean in (True, False):
        disk = story_disk(clean=clean)
        expected = producers_of(log_of(open_dirs(disk.copy())))
        for name in disk.tree(DIRECTORY):
            if name.endswith(names.SNAPSHOT):
                remove(disk, f"{DIRECTORY}/{name}")
        assert producers_of(log_of(open_dirs(disk))) == expected


def test_an_index_without_its_segment_is_removed() -> None:
    for clean in (True, False):
        disk = story_disk(clean=clean)
        for suffix in (names.INDEX, names.TIME_INDEX, names.TXN_INDEX):
            disk.put(f"{DIRECTORY}/{names.file_name(Offset(5000), suffix)}", bytes(34 * 12))
        dirs = open_dirs(disk)
        assert values(log_of(dirs)) == [*map(str, range(80))]
        assert not any("5000" in name for name in disk.tree(DIRECTORY))
        assert said(dirs).count("removed an index without a segment") == 3


# --- segments


@pytest.mark.parametrize("clean", [True, False], ids=["clean", "crashed"])
def test_an_empty_last_segment_is_the_active_one(clean: bool) -> None:
    disk = FaultyDisk("/data")
    dirs = open_dirs(disk)
    append(log_of(dirs), "a")
    log_of(dirs).roll()
    if clean:
        dirs.close()
    else:
        disk.crash()
    log = open_log(disk)
    assert [segment.base_offset for segment in log.segments] == [0, 1]
    append(log, "b")
    assert values(log) == ["a", "b"]


def test_a_directory_with_nothing_in_it_is_an_empty_log() -> None:
    disk = FaultyDisk("/data", DIRECTORY)
    log = open_log(disk)
    append(log, "a")
    assert offsets_and_values(log) == [(0, "a")]


def test_several_segments_of_no_length_end_with_the_first() -> None:
    disk = story_disk(clean=False)
    whole = disk.tree(DIRECTORY)
    logs = sorted(name for name in whole if name.endswith(names.LOG))
    for name in logs[2:4]:
        disk.put(f"{DIRECTORY}/{name}", b"")
    log = open_log(disk)
    base = int(logs[2].removesuffix(names.LOG))
    assert log.end_offset == base
    assert [segment.base_offset for segment in log.segments] == [int(name.removesuffix(names.LOG)) for name in logs[:3]]
    append(log, "next")
    assert offsets_and_values(log)[-1] == (base, "next")


def damaged_disk(position: int = 150, segment: int = 2) -> FaultyDisk:
    """Crashed, with a changed byte in one of its segments, none of which was ever synced."""
    disk = story_disk(clean=False)
    name = sorted(name for name in disk.tree(DIRECTORY) if name.endswith(names.LOG))[segment]
    content = bytearray(disk.read_whole(f"{DIRECTORY}/{name}"))
    content[position] ^= 1
    disk.put(f"{DIRECTORY}/{name}", bytes(content))
    return disk


def test_damage_ends_the_log_and_later_segments_go() -> None:
    disk = damaged_disk()
    everything = offsets_and_values(log_of(open_dirs(story_disk(clean=False))))
    dirs = open_dirs(disk)
    log = log_of(dirs)
    found = offsets_and_values(log)
    assert found == everything[: len(found)]
    assert log.segments[2].base_offset < log.end_offset < log.segments[2].base_offset + 5
    assert len(log.segments) == 3
    assert said(dirs).count("removed a segment past the end of the log") == 5
    assert "cut a segment at its last whole batch" in said(dirs)
    dirs.close()
    names_left = {int(name[:20]) for name in disk.tree(DIRECTORY) if name.endswith(names.LOG)}
    assert names_left == {segment.base_offset for segment in log.segments}


@pytest.mark.slow
def test_a_crash_anywhere_in_recovery_is_met_by_recovery() -> None:
    disk = damaged_disk()
    straight = disk.copy()
    open_and_close(straight)
    expected = segment_files(straight)
    count = 0
    for left in disks_after_death(disk, open_dirs):
        count += 1
        again = left.copy()
        open_and_close(again)
        assert segment_files(again) == expected, count
        for seed in range(3):
            lost = left.copy()
            lost.power_loss(Random(seed))
            open_and_close(lost)
            assert segment_files(lost) == expected, (count, seed)
    assert count > 20


def test_a_segment_that_is_missing_ends_the_log_before_it() -> None:
    disk = story_disk(clean=False)
    name = sorted(name for name in disk.tree(DIRECTORY) if name.endswith(names.LOG))[2]
    remove(disk, f"{DIRECTORY}/{name}")
    log = open_log(disk)
    assert log.end_offset == int(name.removesuffix(names.LOG))
    assert len(log.segments) == 2
    append(log, "next")


def test_what_lies_below_the_recovery_point_is_never_cut() -> None:
    disk = FaultyDisk("/data")
    dirs = open_dirs(disk)
    write_story(log_of(dirs))
    log_of(dirs).sync()
    log_of(dirs).roll()
    append(log_of(dirs), "last")
    dirs.write_checkpoints()
    disk.crash()
    logs = sorted(name for name in disk.tree(DIRECTORY) if name.endswith(names.LOG))
    for damage in (lambda content: content[:-10], lambda content: content[:100] + b"\xff" + content[101:], bytes.upper):
        for name in logs[:-1]:
            tried = disk.copy()
            content = damage(tried.read_whole(f"{DIRECTORY}/{name}"))
            tried.put(f"{DIRECTORY}/{name}", content)
            dirs = open_dirs(tried)
            log = log_of(dirs)
            assert log.end_offset == 101
            assert tried.read_whole(f"{DIRECTORY}/{name}") == content
            assert sorted(each for each in tried.tree(DIRECTORY) if each.endswith(names.LOG)) == logs
            append(log, "next")
            assert [value for _, value in offsets_and_values(log, 100)] == ["last", "next"]
            with pytest.raises(CorruptBatch, match=f"{DIRECTORY}/{name} at "):
                values(log)


@pytest.mark.parametrize("position", [8, 9, 10, 11, 16, 23, 24, 25, 26])
def test_a_damaged_head_at_the_end_of_a_clean_log_does_not_move_its_end(position: int) -> None:
    """Length, magic and last offset delta tell where the log ends, and no batch is checked after a proper stop."""
    disk = story_disk(clean=True)
    end = log_of(open_dirs(disk.copy())).end_offset
    path = f"{DIRECTORY}/{last_log(disk)}"
    content = bytearray(disk.read_whole(path))
    log = log_of(open_dirs(disk.copy()))
    *_, (last, _) = log.segments[-1].heads(log.segments[-1].base_offset)
    content[last + position] ^= 0x01
    disk.put(path, bytes(content))
    dirs = open_dirs(disk)
    log = log_of(dirs)
    assert log.end_offset == end
    assert f"{path} at {last}" in said(dirs)
    assert append(log, "next").base_offset == end
    assert disk.read_whole(path) == bytes(content)
    assert offsets_and_values(log, end) == [(end, "next")]


def test_a_hole_between_segments_that_were_not_synced_ends_the_log() -> None:
    disk = FaultyDisk("/data")
    log = open_log(disk)
    for number in range(4):
        append(log, f"{number}a")
        append(log, f"{number}b")
        log.roll()
    disk.crash()
    path = f"{DIRECTORY}/{names.file_name(Offset(2), names.LOG)}"
    content = disk.read_whole(path)
    disk.put(path, content[: len(content) // 2])  # exactly one batch less
    dirs = open_dirs(disk)
    assert values(log_of(dirs)) == ["0a", "0b", "1a"]
    append(log_of(dirs), "next")
    assert offsets_and_values(log_of(dirs))[-1] == (3, "next")


def test_gaps_that_cleaning_left_are_no_holes() -> None:
    for policy in ("compact", "delete"):  # of a topic that was compacted once
        disk = FaultyDisk("/data")
        config = replace(SMALL, cleanup_policy=(policy,))
        log = open_log(disk, config)
        for base in (0, 3, 7, 20):
            sent = batch(str(base))
            stamp(sent, Offset(base), LeaderEpoch(0))
            log.replicate(sent)
            if base in (3, 7):
                log.roll()
        disk.crash()
        assert offsets_and_values(open_log(disk, config)) == [(0, "0"), (3, "3"), (7, "7"), (20, "20")], policy


def test_a_log_that_ends_before_its_start_begins_there() -> None:
    disk = FaultyDisk("/data")
    dirs = open_dirs(disk)
    append(log_of(dirs), "a", "b", "c")
    log_of(dirs).advance_high_watermark(Offset(3))
    log_of(dirs).advance_start(Offset(3))
    dirs.write_checkpoints()
    disk.crash()
    path = f"{DIRECTORY}/{last_log(disk)}"
    disk.put(path, b"")
    dirs = open_dirs(disk)
    log = log_of(dirs)
    assert (log.start_offset, log.end_offset) == (3, 3)
    assert "log ends before its start" in said(dirs)
    append(log, "d")
    assert offsets_and_values(log) == [(3, "d")]


def test_subdirectories_and_other_files_are_left_alone() -> None:
    disk = story_disk(clean=False)
    disk.make_dir(f"{DIRECTORY}/00000000000000000000.log.d")
    disk.put(f"{DIRECTORY}/notes.txt", b"precious")
    disk.put(f"{DIRECTORY}/99999999999999999999.log", b"no segment")
    assert values(open_log(disk)) == [*map(str, range(80))]
    assert disk.tree(DIRECTORY)["notes.txt"] == b"precious"
    assert disk.tree(DIRECTORY)["99999999999999999999.log"] == b"no segment"


def test_a_disk_that_fails_in_recovery_is_said_and_nothing_is_lost() -> None:
    disk = damaged_disk()
    everything = offsets_and_values(log_of(open_dirs(disk.copy())))
    for op in (Op.LIST, Op.OPEN, Op.READ, Op.WRITE, Op.TRUNCATE, Op.REMOVE, Op.SYNC_DIR, Op.CREATE):
        for number in range(4):
            tried = disk.copy()
            tried.inject(Fault(op, on="orders-0", after=3 * number))
            dirs = open_dirs(tried)
            if not dirs.dirs[0].online:
                assert "Input/output error" in said(dirs)
            dirs.abandon()
            assert tried.open_handles == 0
            tried.heal()
            assert offsets_and_values(log_of(open_dirs(tried))) == everything
