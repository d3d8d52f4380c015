"""What verification says of directories that something happened to."""

import errno
from dataclasses import replace

import pytest

from odradek.model.numbers import Offset, ProducerId
from odradek.process.files import File
from odradek.records.batch import Codec
from odradek.records.builder import BatchSpec
from odradek.storage import meta_properties, names, producer_snapshot
from odradek.storage.meta_properties import MetaProperties
from odradek.storage.producer_state import Producer
from odradek.storage.verify import Finding, NotADataDirectory, Severity, Verification
from support.disk import CHANGES, Fault, FaultyDisk, Op
from support.logs import ORDERS, SMALL, append, end_txn, log_of, open_dirs, open_log, setting

ERROR, WARNING, NOTE = Severity.ERROR, Severity.WARNING, Severity.NOTE
DIR = "/data/orders-0"
LOG = f"{DIR}/00000000000000000000.log"
INDEX = f"{DIR}/00000000000000000000.index"
OWNER = MetaProperties("cluster", 1, "directory-1")


def verify(disk: FaultyDisk, *paths: str, deep: bool = False, held: bool = False) -> list[Finding]:
    verification = Verification(disk, deep=deep, is_held=lambda _lock: held)
    for path in paths or ("/data",):
        verification.add(path)
    return list(verification.run())


def told(findings: list[Finding]) -> list[tuple[Severity, str]]:
    return [(finding.severity, str(finding)) for finding in findings]


def formatted_disk(*directories: str) -> FaultyDisk:
    disk = FaultyDisk(*(directories or ("/data",)))
    for number, directory in enumerate(directories or ("/data",), start=1):
        meta_properties.write(disk, directory, OWNER._replace(directory_id=f"directory-{number}"))
    return disk


def producer(id: int, sequence: int, *, transactional: bool = False, codec: Codec = Codec.NONE) -> BatchSpec:
    return BatchSpec(
        producer_id=ProducerId(id), producer_epoch=0, base_sequence=sequence, transactional=transactional, codec=codec
    )


@pytest.fixture
def disk() -> FaultyDisk:
    """A log of some segments, stopped properly: plain, idempotent and transactional batches."""
    disk = formatted_disk()
    dirs = open_dirs(disk)
    log = log_of(dirs)
    for number in range(12):
        append(log, f"plain {number}", "x" * 50)
        append(log, "idempotent", spec=producer(1, number))
        append(log, "in a transaction", spec=producer(2, number, transactional=True))
        if number % 3 == 2:
            end_txn(log, 2, 0, commit=number % 2 == 0)
    assert len(log.segments) > 3
    log.advance_high_watermark(log.end_offset)
    dirs.close()
    return disk


def change(disk: FaultyDisk, path: str, position: int, data: bytes) -> None:
    content = bytearray(disk.read_whole(path))
    content[position : position + len(data)] = data
    disk.put(path, bytes(content))


def base_offsets(disk: FaultyDisk) -> list[int]:
    return [int(name[9:29]) for name in sorted(disk.tree("/data")) if name.endswith(".log")]


def segment_path(base: int, suffix: str) -> str:
    return f"{DIR}/{names.file_name(Offset(base), suffix)}"


def test_our_own_log_after_a_proper_stop(disk: FaultyDisk) -> None:
    assert verify(disk, deep=True) == []


def test_our_own_log_after_a_crash() -> None:
    disk = formatted_disk()
    log = open_log(disk)
    for number in range(30):
        append(log, f"value {number}")
    disk.crash()
    assert verify(disk, deep=True) == []


def test_nothing_is_changed_and_every_handle_closed(disk: FaultyDisk) -> None:
    tree, counts = disk.tree(), disk.counts.copy()
    change(disk, LOG, 70, b"\xff")
    damaged = disk.tree()
    verify(disk, deep=True)
    assert damaged == disk.tree() != tree
    done = disk.counts - counts
    assert {op: count for op, count in done.items() if op in (*CHANGES, Op.LOCK)} == {}
    assert disk.open_handles == 0


# --- the log


def test_damage_in_the_middle_does_not_hide_what_follows(disk: FaultyDisk) -> None:
    bases = base_offsets(disk)
    path = segment_path(bases[1], ".log")
    size = len(disk.read_whole(path))
    change(disk, LOG, 70, b"\xff")
    change(disk, path, size - 1, b"\xff")
    findings = [finding for finding in verify(disk) if finding.severity is ERROR]
    assert [(finding.path, finding.position) for finding in findings[:1]] == [(LOG, 0)]
    assert findings[0].text.startswith("CRC is 0x")
    assert findings[1].path == path


def test_garbage_is_stepped_over_to_the_next_whole_batch(disk: FaultyDisk) -> None:
    verification = Verification(disk)
    verification.add("/data")
    list(verification.run())
    whole = verification.tally.batches
    change(disk, LOG, 0, b"\xde\xad\xbe\xef" * 20)
    verification = Verification(disk)
    verification.add("/data")
    findings = list(verification.run())
    assert verification.tally.batches == whole - 1
    first = findings[0]
    assert (first.severity, first.path, first.position) == (ERROR, LOG, 0)
    assert "unknown magic" in first.text


def test_a_length_that_is_wrong_is_told_from_a_file_that_was_cut() -> None:
    disk = formatted_disk()
    log = open_log(disk)
    append(log, "one")
    append(log, "two")
    disk.crash()
    second = len(disk.read_whole(LOG)) // 2
    change(disk, LOG, second + 9, b"\x01")  # now its length is 65536 more
    [finding] = verify(disk)
    assert (finding.severity, finding.position) == (ERROR, second)
    assert "its CRC fits" in finding.text


@pytest.mark.parametrize(("held", "severity"), [(False, WARNING), (True, NOTE)])
def test_a_batch_cut_at_the_end_after_a_crash_is_what_recovery_mends(held: bool, severity: Severity) -> None:
    disk = formatted_disk()
    log = open_log(disk)
    append(log, "one")
    append(log, "two")
    disk.crash()
    disk.put(LOG, disk.read_whole(LOG)[:-5])
    finding = verify(disk, held=held)[-1]
    assert (finding.severity, finding.path, finding.position) == (severity, LOG, 71)


def test_the_same_cut_after_a_proper_stop_is_an_error() -> None:
    disk = formatted_disk()
    dirs = open_dirs(disk)
    append(log_of(dirs), "one")
    append(log_of(dirs), "two")
    dirs.close()
    disk.put(LOG, disk.read_whole(LOG)[:-5])
    assert (ERROR, f"{LOG} at 71: the batch has 71 bytes, the file 66 more") in told(verify(disk))


@pytest.mark.parametrize("end", [b"\0" * 40, b"\0" * 3_000_000])
def test_zeros_at_the_end(disk: FaultyDisk, end: bytes) -> None:
    """Room that was allocated ahead, or that power loss left without its data."""
    path = segment_path(base_offsets(disk)[-1], ".log")
    size = len(disk.read_whole(path))
    disk.put(path, disk.read_whole(path) + end)
    assert told(verify(disk)) == [(ERROR, f"{path} at {size}: {len(end)} bytes, all zero")]
    disk.remove(f"/data/{names.CLEAN_SHUTDOWN}")
    cut = "a broker cuts the log here at its next start"
    assert told(verify(disk)) == [(WARNING, f"{path} at {size}: {len(end)} bytes, all zero; {cut}")]


def test_a_segment_without_content(disk: FaultyDisk) -> None:
    disk.put(segment_path(base_offsets(disk)[-1], ".log"), b"")
    errors = [str(finding) for finding in verify(disk) if finding.severity is ERROR]
    assert any("recovery-point-offset-checkpoint, line 3: orders-0: offset" in text for text in errors)


def test_a_segment_that_is_gone(disk: FaultyDisk) -> None:
    _, second, third, *_ = base_offsets(disk)
    disk.remove(segment_path(second, ".log"))
    findings = told(verify(disk))
    missing = f"offsets {second} to {third - 1} are missing, and the log was not compacted here"
    assert (ERROR, f"{segment_path(third, '.log')} at 0: {missing}") in findings
    assert (WARNING, f"{segment_path(second, '.index')}: has no segment beside it") in findings


def test_gaps_below_the_cleaner_s_checkpoint_are_compaction(disk: FaultyDisk) -> None:
    _, second, third, *_ = base_offsets(disk)
    for suffix in (".log", ".index", ".timeindex", ".txnindex", ".snapshot"):
        if disk.exists(segment_path(second, suffix)):
            disk.remove(segment_path(second, suffix))
    disk.put(f"/data/{names.CLEANER_OFFSETS}", f"0\n1\norders 0 {third}\n".encode())
    assert verify(disk) == []


def test_segments_that_overlap(disk: FaultyDisk) -> None:
    _, second, *_ = base_offsets(disk)
    disk.put(segment_path(second - 1, ".log"), disk.read_whole(segment_path(second, ".log")))
    findings = told(verify(disk))
    assert any("starts at offset" in text and severity is ERROR for severity, text in findings)


def test_attributes_of_the_future_and_unknown_codecs() -> None:
    disk = formatted_disk()
    dirs = open_dirs(disk)
    append(log_of(dirs), "one")
    dirs.close()
    data = bytearray(disk.read_whole(LOG))
    data[21:23] = (0x0205).to_bytes(2, "big")
    disk.put(LOG, reseal(data))
    assert told(verify(disk)) == [
        (ERROR, f"{LOG} at 0: compression codec 5 is not known"),
        (WARNING, f"{LOG} at 0: attributes 0x0205 have bits whose meaning is not known"),
    ]


def test_only_a_deep_look_reads_records() -> None:
    disk = formatted_disk()
    dirs = open_dirs(disk)
    append(log_of(dirs), "one" * 50, spec=BatchSpec(codec=Codec.ZSTD))
    dirs.close()
    data = bytearray(disk.read_whole(LOG))
    data[61:65] = b"none"
    disk.put(LOG, reseal(data))
    assert verify(disk) == []
    [finding] = verify(disk, deep=True)
    assert (finding.severity, finding.path, finding.position) == (ERROR, LOG, 0)
    assert "zstd" in finding.text


def reseal(batch: bytearray) -> bytes:
    from crc32c import crc32c

    batch[17:21] = crc32c(bytes(batch[21:])).to_bytes(4, "big")
    return bytes(batch)


# --- indexes


def test_an_index_that_is_missing_is_made_again(disk: FaultyDisk) -> None:
    disk.remove(INDEX)
    assert told(verify(disk)) == [(WARNING, f"{INDEX}: is missing; a broker makes it again at its next start")]


def test_entries_that_are_missing_are_no_fault(disk: FaultyDisk) -> None:
    for suffix, size in ((".index", 8), (".timeindex", 12)):
        path = segment_path(0, suffix)
        assert len(disk.read_whole(path)) >= 2 * size or suffix == ".timeindex"
        disk.put(path, disk.read_whole(path)[:-size])
    assert verify(disk) == []


def test_half_an_entry(disk: FaultyDisk) -> None:
    size = len(disk.read_whole(INDEX))
    disk.put(INDEX, disk.read_whole(INDEX)[:-3])
    assert told(verify(disk)) == [
        (ERROR, f"{INDEX} at {size - 8}: {size - 3} bytes is no whole number of entries of 8")
    ]


def test_the_index_of_another_segment() -> None:
    disk = formatted_disk()
    config = replace(SMALL, segment_bytes=20_000, index_interval_bytes=0)
    dirs = open_dirs(disk, given=setting(config))
    log = log_of(dirs)
    for number in range(300):
        append(log, "x" * (50 + number % 7))
    for _ in range(300):
        append(log, "y" * 90)
    bases = [segment.base_offset for segment in log.segments]
    dirs.close()
    disk.put(INDEX, disk.read_whole(segment_path(bases[-2], ".index")))
    findings = verify(disk)
    assert {finding.path for finding in findings} == {INDEX}
    assert len(findings) == 21
    assert findings[-1].text.startswith("and ")
    assert findings[-1].text.endswith(" more like these")


def test_an_entry_for_the_end_of_a_later_batch_is_how_followers_wrote_it_once(disk: FaultyDisk) -> None:
    """Before Kafka 4 an entry was made for all that a follower fetched at once: a search finds its way by it."""
    data = disk.read_whole(INDEX)
    first, second = (int.from_bytes(data[at : at + 4], "big") for at in (0, 8))
    assert second > first + 1
    change(disk, INDEX, 0, (second - 1).to_bytes(4, "big"))
    assert [(finding.severity, finding.path, finding.position) for finding in verify(disk)] == [(NOTE, INDEX, 0)]


def test_an_index_that_is_out_of_order(disk: FaultyDisk) -> None:
    data = disk.read_whole(INDEX)
    disk.put(INDEX, data[8:16] + data[:8] + data[16:])
    assert any(" after offset " in finding.text for finding in verify(disk))


def test_a_timestamp_that_the_log_has_not(disk: FaultyDisk) -> None:
    path = segment_path(0, ".timeindex")
    change(disk, path, 7, b"\x7f")
    [finding] = verify(disk)
    assert (finding.severity, finding.path, finding.position) == (ERROR, path, 0)


def test_a_missing_entry_of_the_transaction_index(disk: FaultyDisk) -> None:
    path = next(f"/data/{name}" for name in disk.tree("/data") if name.endswith(".txnindex"))
    disk.put(path, b"")
    [finding] = verify(disk)
    assert (finding.severity, finding.path) == (ERROR, path)
    assert finding.text.startswith("no entry for the transaction of producer 2 aborted at")
    disk.remove(f"/data/{names.CLEAN_SHUTDOWN}")
    disk.remove(f"/data/{names.RECOVERY_POINTS}")
    assert [finding.severity for finding in verify(disk)] == [WARNING]


# --- what derives from the log


def test_a_snapshot_of_another_moment(disk: FaultyDisk) -> None:
    _, second, third, *_ = base_offsets(disk)
    disk.put(segment_path(third, ".snapshot"), disk.read_whole(segment_path(second, ".snapshot")))
    findings = verify(disk)
    assert {finding.path for finding in findings} == {segment_path(third, ".snapshot")}
    assert any("last sequence" in finding.text for finding in findings)


def test_a_snapshot_of_a_broker_that_was_killed_before_it_wrote_it(disk: FaultyDisk) -> None:
    """Either broker goes by the one before, so a directory may be handed over with it."""
    path = segment_path(base_offsets(disk)[2], ".snapshot")
    disk.put(path, b"")
    (finding,) = verify(disk)
    assert (finding.severity, finding.path) == (Severity.NOTE, path)


def test_a_snapshot_within_a_batch_and_one_past_the_end(disk: FaultyDisk) -> None:
    empty = producer_snapshot.pack([])
    disk.put(segment_path(1, ".snapshot"), empty)
    disk.put(segment_path(10**6, ".snapshot"), empty)
    texts = [finding.text for finding in verify(disk)]
    assert texts[0] == "stands within a batch of offsets 0 to 1"
    assert texts[1].startswith("stands past the end of the log")


def test_a_snapshot_that_contradicts_itself(disk: FaultyDisk) -> None:
    first, second, *_ = base_offsets(disk)
    disk.remove(segment_path(first, ".log"))
    twins = [Producer(ProducerId(number)) for number in (1, 1, 2, 3)]
    twins[2].txn_first_offset = twins[3].txn_first_offset = Offset(1)
    twins[0].txn_first_offset = Offset(second)
    path = segment_path(second, ".snapshot")
    disk.put(path, producer_snapshot.pack(twins))
    assert [finding.text for finding in verify(disk) if finding.path == path] == [
        f"producer 1 has offset {second}, past the snapshot's own",
        "producer 1 is there twice",
        "two transactions begin at offset 1",
    ]


def test_where_the_log_begins_later_it_is_replayed_from_the_snapshot_there(disk: FaultyDisk) -> None:
    first, second, third, *_ = base_offsets(disk)
    for suffix in (".log", ".index", ".timeindex", ".txnindex"):
        if disk.exists(segment_path(first, suffix)):
            disk.remove(segment_path(first, suffix))
    assert verify(disk) == []
    disk.put(segment_path(third, ".snapshot"), disk.read_whole(segment_path(second, ".snapshot")))
    assert {finding.path for finding in verify(disk)} == {segment_path(third, ".snapshot")}


def test_leader_epochs_that_disagree(disk: FaultyDisk) -> None:
    path = f"{DIR}/{names.LEADER_EPOCHS}"
    disk.put(path, b"0\n2\n0 0\n3 20\n")
    [finding] = verify(disk)
    assert finding.severity is ERROR
    assert finding.text == "leader epoch 0, where leader-epoch-checkpoint has 3"
    disk.put(path, b"0\n2\n0 0\n3 9999\n")
    [finding] = verify(disk)
    assert (finding.path, finding.severity) == (path, ERROR)
    disk.put(path, b"0\n1\n0\n")
    assert told(verify(disk)) == [(ERROR, f"{path}, line 3: 1 fields where 2 belong")]


# --- files of the log directory


def test_checkpoints_beyond_the_log(disk: FaultyDisk) -> None:
    for name in (names.RECOVERY_POINTS, names.HIGH_WATERMARKS, names.LOG_STARTS):
        disk.put(f"/data/{name}", b"0\n1\norders 0 9999\n")
    findings = verify(disk)
    assert {(finding.severity, finding.line) for finding in findings} == {(ERROR, 3)}
    assert len(findings) == 3


def test_a_checkpoint_of_a_partition_that_is_not_there(disk: FaultyDisk) -> None:
    path = f"/data/{names.HIGH_WATERMARKS}"
    disk.put(path, disk.read_whole(path).replace(b"0\n1\n", b"0\n2\n") + b"gone 7 5\n")
    assert told(verify(disk)) == [(WARNING, f"{path}, line 4: gone-7: there is no such partition here")]


def test_versions_and_fields_of_a_newer_kafka(disk: FaultyDisk) -> None:
    meta = f"/data/{names.META_PROPERTIES}"
    disk.put(meta, disk.read_whole(meta) + b"rack.colour=blue\n")
    assert told(verify(disk)) == [(NOTE, f"{meta}: fields that are not known: rack.colour")]
    disk.put(meta, disk.read_whole(meta).replace(b"version=1", b"version=2"))
    checkpoint = f"/data/{names.RECOVERY_POINTS}"
    disk.put(checkpoint, b"1\n0\n")
    disk.put(f"{DIR}/{names.PARTITION_METADATA}", b"version: 1\ntopic_id: Kq6pOCYTQtqkJn4sW6DLcw\n")
    assert told(verify(disk)) == [
        (ERROR, f"{meta}: version 2 of meta.properties is not known"),
        (ERROR, f"{checkpoint}, line 1: version 1 of a checkpoint is not known"),
        (ERROR, f"{DIR}/{names.PARTITION_METADATA}: version 1 of partition.metadata is not known"),
    ]


def test_what_does_not_belong_there_is_noted(disk: FaultyDisk) -> None:
    disk.make_dir("/data/lost+found")
    disk.put("/data/notes.txt", b"")
    disk.put(f"/data/{names.HIGH_WATERMARKS}.tmp", b"")
    disk.put(f"{LOG}.deleted", b"")
    disk.put(f"{LOG}.swap", b"")
    disk.put(f"{LOG}.cleaned", b"")
    disk.put(f"{DIR}/readme", b"")
    assert {(finding.severity, finding.path) for finding in verify(disk)} == {
        (NOTE, "/data/lost+found"),
        (NOTE, "/data/notes.txt"),
        (NOTE, f"/data/{names.HIGH_WATERMARKS}.tmp"),
        (NOTE, f"{LOG}.deleted"),
        (NOTE, f"{LOG}.swap"),
        (NOTE, f"{LOG}.cleaned"),
        (NOTE, f"{DIR}/readme"),
    }


def test_a_record_from_the_beginning_of_time_is_in_order() -> None:
    disk = formatted_disk()
    dirs = open_dirs(disk)
    append(log_of(dirs), "1970", at=0)
    dirs.close()
    assert disk.read_whole(f"{DIR}/00000000000000000000.timeindex") == bytes(12)
    assert verify(disk) == []


def test_a_directory_that_is_being_deleted_need_not_be_in_order(disk: FaultyDisk) -> None:
    directory = f"/data/orders-0.{1:032x}-delete"
    disk.rename(DIR, directory)
    disk.remove(f"/data/{names.RECOVERY_POINTS}")
    disk.remove(f"/data/{names.HIGH_WATERMARKS}")
    change(disk, f"{directory}/00000000000000000000.log", 70, b"\xff")
    assert [(finding.severity, finding.path) for finding in verify(disk)] == [(NOTE, directory)]


@pytest.mark.parametrize("mark", ["stray", "future"])
def test_a_directory_with_a_mark_is_checked_too(disk: FaultyDisk, mark: str) -> None:
    directory = f"/data/orders-0.{1:032x}-{mark}"
    disk.rename(DIR, directory)
    disk.remove(f"/data/{names.RECOVERY_POINTS}")
    disk.remove(f"/data/{names.HIGH_WATERMARKS}")
    assert [(finding.severity, finding.path) for finding in verify(disk)] == [(NOTE, directory)]
    change(disk, f"{directory}/00000000000000000000.log", 70, b"\xff")
    assert ERROR in {finding.severity for finding in verify(disk)}


def test_a_directory_in_use(disk: FaultyDisk) -> None:
    disk.remove(f"/data/{names.CLEAN_SHUTDOWN}")
    assert told(verify(disk, held=True)) == [
        (NOTE, "/data: is in use: what is written meanwhile may look unfinished"),
    ]


# --- what cannot be read


@pytest.mark.parametrize("number", [errno.EACCES, errno.EIO])
def test_files_that_cannot_be_read_are_told_and_the_rest_checked(disk: FaultyDisk, number: int) -> None:
    paths = [f"/data/{name}" for name in disk.tree("/data") if not name.startswith(".")]
    for path in paths:
        disk.inject(Fault(Op.OPEN, path, number))
        findings = [finding for finding in verify(disk) if finding.path == path]
        disk.heal()
        assert [(finding.severity, finding.text[:14]) for finding in findings] == [(ERROR, "cannot be read")], path


def test_a_partition_that_cannot_be_listed(disk: FaultyDisk) -> None:
    disk.inject(Fault(Op.LIST, DIR, errno.EACCES, times=None))
    assert told(verify(disk))[0] == (ERROR, f"{DIR}: cannot be read: Permission denied")


def test_a_disk_that_fails_in_the_middle_of_a_segment(disk: FaultyDisk) -> None:
    disk.inject(Fault(Op.READ, LOG))
    assert told(verify(disk))[0] == (ERROR, f"{LOG}: cannot be read: Input/output error")


def test_a_file_that_goes_away_while_a_broker_is_at_work(disk: FaultyDisk) -> None:
    disk.inject(Fault(Op.OPEN, LOG, errno.ENOENT))
    assert (NOTE, f"{LOG}: went away while the directory was read") in told(verify(disk, held=True))


def test_a_segment_that_compaction_replaces_while_it_is_read(disk: FaultyDisk) -> None:
    class Busy(FaultyDisk):
        def open_to_read(self, path: str) -> File:
            if path == LOG:  # its index was read already
                disk.put(LOG, disk.read_whole(segment_path(base_offsets(disk)[1], ".log"))[:100])
            return disk.open_to_read(path)

    busy = Busy()
    busy._root = disk._root
    assert (NOTE, f"{LOG}: was replaced while it was read") in told(verify(busy, held=True))


# --- several directories


def test_directories_under_one_parent() -> None:
    disk = formatted_disk("/data", "/data/d1", "/data/d2")
    disk.remove("/data/meta.properties")
    dirs = open_dirs(disk, "/data/d1", "/data/d2")
    append(log_of(dirs), "one")
    append(log_of(dirs, ORDERS._replace(partition=1)), "two")
    dirs.close()
    verification = Verification(disk)
    verification.add("/data/")
    verification.add("/data/d1")  # it is there already
    assert list(verification.run()) == []
    assert (verification.tally.log_dirs, verification.tally.partitions) == (2, 2)
    meta_properties.write(disk, "/data/d2", OWNER._replace(node_id=2))
    [finding] = verify(disk)
    assert (finding.severity, finding.path) == (ERROR, "/data/d2/meta.properties")
    assert "node 2 of cluster cluster, while /data/d1 is of node 1" in finding.text


def test_a_partition_in_two_places() -> None:
    disk = formatted_disk("/data", "/data/d1", "/data/d2")
    disk.remove("/data/meta.properties")
    for path in ("/data/d1", "/data/d2"):
        dirs = open_dirs(disk, path)
        append(log_of(dirs), "one")
        dirs.close()
    assert told(verify(disk)) == [(ERROR, "/data/d2/orders-0: orders-0 is also at /data/d1/orders-0")]
    disk.put("/data/d2/orders-0/partition.metadata", b"version: 0\ntopic_id: AAAAAAAAAAAAAAAAAAAAAA")
    assert WARNING in {finding.severity for finding in verify(disk)}


def test_an_unreadable_directory_among_others(disk: FaultyDisk) -> None:
    outer = FaultyDisk("/all", "/all/d1", "/all/d2")
    for name in ("d1", "d2"):
        meta_properties.write(outer, f"/all/{name}", OWNER._replace(directory_id=name))
    outer.inject(Fault(Op.LIST, "/all/d2", errno.EACCES, times=None))
    assert told(verify(outer, "/all")) == [(ERROR, "/all/d2: cannot be read: Permission denied")]


def test_partitions_without_the_files_of_their_log_directory(disk: FaultyDisk) -> None:
    for name in list(disk.tree("/data")):
        if "/" not in name:
            disk.remove(f"/data/{name}")
    assert verify(disk) == []


def test_a_directory_that_was_only_formatted() -> None:
    assert verify(formatted_disk()) == []


def test_a_partition_without_any_segment() -> None:
    disk = formatted_disk()
    disk.make_dir("/data/orders-0")
    said = "/data/orders-0: has no segment; a broker makes one at its next start"
    assert told(verify(disk)) == [(WARNING, said)]


def test_paths_that_are_no_data_directories(disk: FaultyDisk) -> None:
    disk.make_dir("/empty")
    for path, text in (
        ("/empty", "/empty holds no log directory and is no partition's"),
        (LOG, f"{LOG} is a file; `odradek log dump` prints files"),
        ("/nowhere", "/nowhere does not exist"),
    ):
        with pytest.raises(NotADataDirectory) as refused:
            verify(disk, path)
        assert str(refused.value) == text
