"""Snapshots: written when it is time, whole or not at all, and what they make superfluous goes."""

import asyncio
from typing import TYPE_CHECKING, Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from odradek.metadata.bootstrap import feature_records
from odradek.metadata.image import Image
from odradek.metadata.voters import STATIC, Voters
from odradek.model.errors import CorruptFile, InvalidConfig, StorageFailed, UnsupportedVersion
from odradek.model.numbers import LeaderEpoch, Offset, TimestampMs
from odradek.quorum import batches, snapshot_file
from odradek.quorum.batches import BatchStamp
from odradek.quorum.snapshot_file import SnapshotId
from odradek.records.builder import BatchSpec, build_batch
from odradek.records.record import Record
from odradek.storage.log import Origin
from odradek.wire.records.control import (
    Endpoint,
    KRaftVersionFeature,
    KRaftVersionRecord,
    SnapshotFooterRecord,
    SnapshotHeaderRecord,
    Voter,
    VotersRecord,
)
from odradek.wire.records.metadata import BeginTransactionRecord, EndTransactionRecord, TopicRecord
from support.clock import ManualClock
from support.disk import Died, FaultyDisk, Op
from support.logs import append_batch
from support.metadata import commit_now
from support.pool import ManualPool
from support.waiting import until

if TYPE_CHECKING:
    from odradek.quorum.metadata_log import MetadataLog

DIRECTORY = "/data/__cluster_metadata-0"
BOOTSTRAP = snapshot_file.pack_bootstrap(feature_records(), 30, TimestampMs(1))


def topic(name: str) -> TopicRecord:
    return TopicRecord(name=name, topic_id=name.encode().ljust(16))


def names(image: Image) -> list[str]:
    return sorted(image.topics.names)


def checkpoints(disk: FaultyDisk) -> list[str]:
    return sorted(name for name in disk.tree(DIRECTORY) if ".checkpoint" in name)


def logs(disk: FaultyDisk) -> list[str]:
    return sorted(name for name in disk.tree(DIRECTORY) if name.endswith(".log"))


# --- writing and loading


def test_a_snapshot_is_what_the_next_start_begins_with(node: Any, disk: FaultyDisk) -> None:
    metadata: MetadataLog = node.open()
    commit_now(metadata, [topic("a")])
    snapshot = metadata.write_snapshot_now()
    assert snapshot == SnapshotId(metadata.image.end_offset, metadata.epoch)
    assert checkpoints(disk) == [f"{11:020d}-{1:010d}.checkpoint"]
    commit_now(metadata, [topic("b")])
    before = metadata.image
    node.close()
    metadata = node.open(log_max_record_bytes_between_snapshots=400)
    assert not metadata.snapshot_due, "only what comes after it was read from the log"
    assert metadata.image.topics == before.topics
    assert metadata.image.features == before.features
    assert metadata.events == []


def test_a_snapshot_that_is_not_whole_is_set_aside(node: Any, disk: FaultyDisk) -> None:
    metadata: MetadataLog = node.open()
    metadata.write_snapshot_now()
    commit_now(metadata, [topic("a")])
    metadata.write_snapshot_now()
    node.close()
    older, newer = checkpoints(disk)
    disk.put(f"{DIRECTORY}/{newer}", disk.read_whole(f"{DIRECTORY}/{newer}")[:-1])
    metadata = node.open()
    assert names(metadata.image) == ["a"]
    assert checkpoints(disk) == [older, f"{newer}.corrupt"]
    assert [event.text for event in metadata.events] == ["setting a damaged snapshot aside"]


def test_what_a_crash_left_unfinished_is_removed(node: Any, disk: FaultyDisk) -> None:
    node.open()
    node.close()
    for suffix in (".part", ".deleted"):
        disk.put(f"{DIRECTORY}/{5:020d}-{1:010d}.checkpoint{suffix}", b"half")
    node.open()
    assert checkpoints(disk) == []


def test_death_while_a_snapshot_is_written(node: Any, disk: FaultyDisk) -> None:
    metadata: MetadataLog = node.open()
    commit_now(metadata, [topic("a")])
    node.close()
    whole = disk.copy()
    for number in range(1, 30):
        attempt = whole.copy()
        node.files = attempt
        metadata = node.open()
        attempt.die_at(number)
        try:
            metadata.write_snapshot_now()
        except Died:
            attempt.power_loss()
            metadata = node.open()
            assert names(metadata.image) == ["a"]
            metadata.write_snapshot_now()
            assert len(checkpoints(attempt)) == 1
        else:
            return
    raise AssertionError("a snapshot takes fewer changes than that")


def test_a_snapshot_past_the_end_of_the_log_replaces_it(node: Any, disk: FaultyDisk) -> None:
    metadata: MetadataLog = node.open()
    commit_now(metadata, [topic("a")])
    metadata.write_snapshot_now()
    node.close()
    log = f"{DIRECTORY}/{0:020d}.log"
    for name in disk.tree(DIRECTORY):
        if not name.endswith((".log", ".checkpoint", "quorum-state")):
            disk.remove(f"{DIRECTORY}/{name}")
    disk.remove("/data/.kafka_cleanshutdown")
    first_batch = next(batches.split(memoryview(disk.read_whole(log))))[0].size
    disk.put(log, disk.read_whole(log)[:first_batch])
    metadata = node.open()
    assert names(metadata.image) == ["a"]
    assert metadata.epoch == 2
    commit_now(metadata, [topic("b")])
    node.close()
    assert names(node.open().image) == ["a", "b"]
    assert logs(disk) == [f"{11:020d}.log"]


# --- when


def test_a_snapshot_is_due_by_size(node: Any) -> None:
    metadata: Any = node.open(log_max_record_bytes_between_snapshots=1000)
    assert not metadata.snapshot_due
    for number in range(12):
        commit_now(metadata, [topic(f"t{number}")])
    assert metadata.snapshot_due
    metadata.write_snapshot_now()
    assert not metadata.snapshot_due


def test_a_snapshot_is_due_by_age_if_there_is_anything_new(node: Any, clock: ManualClock) -> None:
    metadata: Any = node.open(log_max_snapshot_interval_ms=1000)
    assert not metadata.snapshot_due
    clock.advance(1000)
    assert metadata.snapshot_due
    metadata.write_snapshot_now()
    clock.advance(5000)
    assert not metadata.snapshot_due


def test_what_was_written_before_a_restart_counts(node: Any) -> None:
    metadata: MetadataLog = node.open()
    for number in range(12):
        commit_now(metadata, [topic(f"t{number}")])
    node.close()
    assert node.open(log_max_record_bytes_between_snapshots=1000).snapshot_due


def test_no_snapshot_within_a_transaction(node: Any) -> None:
    metadata: MetadataLog = node.open(log_max_record_bytes_between_snapshots=1)
    commit_now(metadata, [BeginTransactionRecord(), topic("a")])
    assert not metadata.snapshot_due


def test_no_snapshot_within_a_transaction_whose_end_is_not_committed(node: Any) -> None:
    pool = ManualPool()
    metadata: MetadataLog = node.open(pool, log_max_record_bytes_between_snapshots=1)
    commit_now(metadata, [BeginTransactionRecord(), topic("a")])

    async def story() -> None:
        waiting = asyncio.ensure_future(metadata.commit([EndTransactionRecord()]))
        await until(lambda: len(pool))
        assert names(metadata.latest) == ["a"]
        assert not metadata.snapshot_due, "what is committed does not say yet whether there is an a"
        pool.run_next()
        await waiting
        assert metadata.snapshot_due

    asyncio.run(asyncio.wait_for(story(), 10))


def test_a_snapshot_is_written_while_requests_are_served(node: Any, disk: FaultyDisk) -> None:
    pool = ManualPool()
    metadata: MetadataLog = node.open(pool, log_max_record_bytes_between_snapshots=1)

    async def story() -> None:
        writing = asyncio.ensure_future(metadata.maintain())
        await until(lambda: len(pool))
        end = metadata.image.end_offset
        waiting = asyncio.ensure_future(metadata.commit([topic("meanwhile")]))
        await asyncio.sleep(0)
        pool.run_next()
        await writing
        pool.run_next()
        await waiting
        assert checkpoints(disk) == [SnapshotId(end, metadata.epoch).name]
        assert metadata.snapshot_due, "what came meanwhile is not in it"

    asyncio.run(asyncio.wait_for(story(), 10))
    node.close()
    assert names(node.open().image) == ["meanwhile"]


def test_a_disk_that_fails_takes_the_directory_out_of_service(node: Any, disk: FaultyDisk) -> None:
    metadata: MetadataLog = node.open(log_max_record_bytes_between_snapshots=1)
    disk.fail_next(Op.WRITE, on=".part")
    with pytest.raises(StorageFailed):
        asyncio.run(metadata.maintain())
    with pytest.raises(StorageFailed):
        commit_now(metadata, [topic("a")])
    assert disk.handles[f"{DIRECTORY}/{10:020d}-{1:010d}.checkpoint.part"] == 0


# --- what goes


def grow(metadata: "MetadataLog", rounds: int) -> None:
    for number in range(rounds):
        commit_now(metadata, [topic(f"t{metadata.epoch}-{number}-{each}") for each in range(3)])
        metadata.write_snapshot_now()


def test_snapshots_and_log_go_by_size_but_for_the_newest(node: Any, disk: FaultyDisk) -> None:
    metadata: MetadataLog = node.open(log_segment_bytes=400, max_retention_bytes=0)
    grow(metadata, 5)
    assert len(checkpoints(disk)) == 5
    asyncio.run(metadata.maintain())
    (last,) = checkpoints(disk)
    assert snapshot_file.parse_name(last) == SnapshotId(metadata.image.end_offset, metadata.epoch)
    assert len(logs(disk)) == 1
    before = metadata.image
    node.close()
    metadata = node.open(log_segment_bytes=400)
    assert metadata.image.topics == before.topics
    assert logs(disk) != [f"{0:020d}.log"]


def test_snapshots_go_by_age(node: Any, disk: FaultyDisk, clock: ManualClock) -> None:
    metadata: MetadataLog = node.open(max_retention_ms=1000, log_max_snapshot_interval_ms=0)
    grow(metadata, 2)
    clock.advance(600)
    commit_now(metadata, [topic("later")])
    metadata.write_snapshot_now()
    asyncio.run(metadata.maintain())
    assert len(checkpoints(disk)) == 3
    clock.advance(600)
    asyncio.run(metadata.maintain())
    assert len(checkpoints(disk)) == 1


def test_without_limits_everything_stays(node: Any, disk: FaultyDisk, clock: ManualClock) -> None:
    metadata: MetadataLog = node.open(max_retention_bytes=-1, max_retention_ms=-1, log_max_snapshot_interval_ms=0)
    grow(metadata, 3)
    clock.advance(1 << 40)
    asyncio.run(metadata.maintain())
    assert len(checkpoints(disk)) == 3


# --- the file


@pytest.mark.parametrize("size", range(0, len(BOOTSTRAP), 7))
def test_a_file_that_ends_early_is_not_whole(size: int) -> None:
    with pytest.raises(CorruptFile):
        snapshot_file.parse(BOOTSTRAP[:size], "f")


@given(st.integers(0, len(BOOTSTRAP) - 1), st.integers(1, 255))
def test_a_changed_byte_is_noticed_or_changes_nothing(at: int, by: int) -> None:
    data = bytearray(BOOTSTRAP)
    data[at] ^= by
    try:
        content = snapshot_file.parse(bytes(data), "f")
    except (CorruptFile, UnsupportedVersion):
        return
    assert content.records == feature_records(), "offset and epoch are outside the checksum"


@given(st.binary(max_size=300))
def test_garbage_raises_one_error(data: bytes) -> None:
    with pytest.raises(CorruptFile):
        snapshot_file.parse(data, "f")


def test_parts_out_of_order() -> None:
    place = BatchStamp(TimestampMs(1))
    header = bytes(batches.build_control((SnapshotHeaderRecord(version=0, last_contained_log_timestamp=0),), place))
    footer = bytes(batches.build_control((SnapshotFooterRecord(version=0),), place))
    data = bytes(batches.build((topic("a"),), 30, place))
    assert len(snapshot_file.parse(header + data + footer, "f").records) == 1
    for wrong in (data + header + footer, header + footer + data, footer, header + data, footer + header):
        with pytest.raises(CorruptFile):
            snapshot_file.parse(wrong, "f")


def test_a_record_of_a_newer_kafka_is_named_by_its_offset(node: Any) -> None:
    metadata: MetadataLog = node.open()
    unknown = Record(Offset(0), TimestampMs(1), None, b"\x01\x7f\x00")
    data = memoryview(build_batch([unknown], BatchSpec()))
    append_batch(metadata._log, data, metadata.epoch, Origin.COORDINATOR)
    node.close()
    with pytest.raises(UnsupportedVersion, match=r"record at offset 10: .*key 127"):
        node.open()


@pytest.mark.parametrize(
    "name", ["x", f"{1:020d}-{1:010d}.checkpoint.part", f"{1 << 63}-{1:010d}.checkpoint", "1-1.checkpoint"]
)
def test_names_of_other_files(name: str) -> None:
    assert snapshot_file.parse_name(name) is None


# --- voters in the log


def voters(*ids: int) -> Voters:
    record = VotersRecord(
        version=0,
        voters=tuple(
            Voter(
                voter_id=each,
                voter_directory_id=b"d" * 16,
                endpoints=(Endpoint(name="CONTROLLER", host="h", port=1),),
                kraft_version_feature=KRaftVersionFeature(min_supported_version=0, max_supported_version=1),
            )
            for each in ids
        ),
    )
    return STATIC.after(KRaftVersionRecord(version=0, kraft_version=1)).after(record)


def put_first_voters(disk: FaultyDisk, *ids: int) -> None:
    """As formatting with --standalone does it."""
    place = BatchStamp(TimestampMs(1), epoch=LeaderEpoch(0))
    header = SnapshotHeaderRecord(version=0, last_contained_log_timestamp=5)
    data = bytes(batches.build_control((header, *voters(*ids).records()), place))
    data += bytes(batches.build_control((SnapshotFooterRecord(version=0),), place._replace(base_offset=Offset(3))))
    disk.make_dir(DIRECTORY)
    disk.put(f"{DIRECTORY}/{0:020d}-{0:010d}.checkpoint", data)


def test_voters_go_from_the_first_snapshot_into_the_log_and_into_later_ones(node: Any, disk: FaultyDisk) -> None:
    put_first_voters(disk, 1)
    metadata: MetadataLog = node.open()
    assert metadata.image.offset == 9 + 2
    assert b'"data_version":1' in disk.read_whole(f"{DIRECTORY}/quorum-state")
    snapshot = metadata.write_snapshot_now()
    content = snapshot_file.parse(disk.read_whole(f"{DIRECTORY}/{snapshot.name}"), "f")
    assert content.image(snapshot).voters == metadata.image.voters == voters(1)
    node.close()
    metadata = node.open()
    assert metadata.image.offset == 9 + 2 + 1, "they are not written again"


def test_a_quorum_of_a_newer_kafka_is_refused() -> None:
    with pytest.raises(UnsupportedVersion):
        STATIC.after(KRaftVersionRecord(version=0, kraft_version=2))


def test_more_voters_than_one_are_refused(node: Any, disk: FaultyDisk) -> None:
    put_first_voters(disk, 1, 2)
    with pytest.raises(InvalidConfig, match="the voters here are 1, 2"):
        node.open()
