"""Data directories that Apache Kafka 4.3.0 wrote, opened as ours."""

import shutil
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from odradek.model.numbers import Offset, TimestampMs
from odradek.model.topic_config import TopicConfig
from odradek.process.files import OsFiles
from odradek.records.batch import BatchHead
from odradek.records.record import Record
from odradek.storage import leader_epochs, names, producer_snapshot
from odradek.storage.log import Log
from odradek.storage.log_dirs import LogDirs, Setting
from odradek.storage.open_files import OpenFiles
from support.clock import ManualClock

WRITTEN_MS = 1_794_771_400_000
"""Some seconds after the last record, so that no producer has expired."""
DERIVED = (names.INDEX, names.TIME_INDEX, names.TXN_INDEX)


def open_dirs(root: Path) -> LogDirs:
    setting = Setting(
        ManualClock(WRITTEN_MS), lambda _topic: TopicConfig(cleanup_policy=("compact",)), lambda: "0" * 32
    )
    return LogDirs.open(OpenFiles(OsFiles(), capacity=16), [str(root / "d1"), str(root / "d2")], setting)


@pytest.fixture(params=["clean", "crashed"])
def logs(request: pytest.FixtureRequest, golden_data: Path, tmp_path: Path) -> Iterator[LogDirs]:
    shutil.copytree(golden_data / request.param, tmp_path / "data")
    opened = open_dirs(tmp_path / "data")
    yield opened
    opened.close()


def as_consumed(head: BatchHead, record: Record) -> list[Any]:
    def text(data: bytes | None) -> str | None:
        return None if data is None else data.decode()

    headers = [[key, text(value)] for key, value in record.headers]
    return [record.offset, head.timestamp_type + 1, record.timestamp, text(record.key), text(record.value), headers]


def read_uncommitted(log: Log) -> list[Any]:
    return [as_consumed(head, record) for head, record in log.records(log.start_offset) if not head.is_control]


def read_committed(log: Log) -> list[Any]:
    """As a consumer does it: up to the last stable offset, without the records of aborted transactions."""
    aborted = log.aborted_txns(log.start_offset, log.last_stable_offset)

    def is_aborted(head: BatchHead) -> bool:
        return head.is_transactional and any(
            txn.producer_id == head.producer_id and txn.first_offset <= head.base_offset <= txn.last_offset
            for txn in aborted
        )

    every = log.records(log.start_offset, log.last_stable_offset)
    return [as_consumed(head, record) for head, record in every if not (head.is_control or is_aborted(head))]


def test_every_partition_reads_as_it_does_from_kafka(logs: LogDirs, golden_expected: Any) -> None:
    seen = {str(log.partition): log for log in logs}
    for name, expected in golden_expected["topics"].items():
        log = seen[name]
        assert log.start_offset == expected["log_start"], name
        assert log.end_offset == log.high_watermark == expected["high_watermark"], name
        assert log.last_stable_offset == expected["last_stable_offset"], name
        assert read_uncommitted(log) == expected.get("records", expected.get("read_uncommitted")), name
        assert read_committed(log) == expected.get("records", expected.get("read_committed")), name


def test_some_transactions_were_aborted(golden_expected: Any) -> None:
    differing = [name for name, topic in golden_expected["topics"].items() if "read_committed" in topic]
    assert differing, "the test above would not have looked at aborted transactions"


def test_topic_ids_and_identity_are_taken_over(logs: LogDirs) -> None:
    assert {each.meta.cluster_id for each in logs.dirs if each.meta} == {"abcdefghijklmnopqrstuQ"}
    assert {each.meta.node_id for each in logs.dirs if each.meta} == {1}
    assert len({each.meta.directory_id for each in logs.dirs if each.meta}) == 2
    assert all(log.topic_id and len(log.topic_id) == 22 for log in logs)


def test_records_are_found_by_time(logs: LogDirs) -> None:
    for log in logs:
        records = [record for _, record in log.records(log.start_offset)]
        times = sorted({record.timestamp for record in records})
        for wanted in times[:: max(len(times) // 20, 1)]:
            first = next(record for record in records if record.timestamp >= wanted)
            found = log.find_time(wanted)
            assert found is not None
            assert (found.offset, found.timestamp) == (first.offset, first.timestamp), (log, wanted)
        if times:
            assert log.find_time(TimestampMs(times[-1] + 3_600_000)) is None


def test_every_offset_is_found_through_the_indexes(logs: LogDirs) -> None:
    for log in logs:
        offsets = [record.offset for _, record in log.records(log.start_offset)]
        for offset in offsets[:: max(len(offsets) // 50, 1)]:
            part = log.read(offset, 1)
            assert part is not None
            data = part.read()
            head_base = int.from_bytes(data[:8], "big")
            head_delta = int.from_bytes(data[23:27], "big")
            assert head_base <= offset <= head_base + head_delta


def test_a_clean_directory_needs_no_scan(golden_data: Path, tmp_path: Path) -> None:
    shutil.copytree(golden_data / "clean", tmp_path / "data")
    opened = open_dirs(tmp_path / "data")
    assert opened.events == []
    opened.close()


def test_what_recovery_leaves_equals_what_kafka_left(golden_data: Path, tmp_path: Path) -> None:
    """The crashed directory, recovered and closed by us, against the same one recovered and closed by Kafka."""
    shutil.copytree(golden_data / "crashed", tmp_path / "data")
    opened = open_dirs(tmp_path / "data")
    compared = 0
    expectations = []
    for log in opened:
        ours = Path(log.directory)
        theirs = golden_data / "clean" / ours.parent.name / ours.name
        assert _logs_of(ours) == _logs_of(theirs), ours.name
        _lead_as_kafka_did(log, theirs)
        expectations.append((ours, theirs))
    opened.close()
    for ours, theirs in expectations:
        assert sorted(file.name for file in ours.iterdir()) == sorted(file.name for file in theirs.iterdir())
        for file in theirs.iterdir():
            if file.suffix in DERIVED or file.name in (names.LEADER_EPOCHS, names.PARTITION_METADATA):
                assert (ours / file.name).read_bytes() == file.read_bytes(), file
                compared += 1
            elif file.suffix == names.SNAPSHOT:
                assert _entries(ours / file.name) == _entries(file), file
                compared += 1
    assert compared > 100


def test_the_checkpoints_that_a_clean_close_leaves_equal_kafkas(golden_data: Path, tmp_path: Path) -> None:
    shutil.copytree(golden_data / "crashed", tmp_path / "data")
    open_dirs(tmp_path / "data").close(broker_epoch=300)
    for name in ("d1", "d2"):
        ours, theirs = tmp_path / "data" / name, golden_data / "clean" / name
        for file in (names.RECOVERY_POINTS, names.HIGH_WATERMARKS, names.LOG_STARTS):
            assert sorted((ours / file).read_text().splitlines()) == sorted((theirs / file).read_text().splitlines())
        assert (ours / names.CLEAN_SHUTDOWN).read_bytes() == (theirs / names.CLEAN_SHUTDOWN).read_bytes()


def _logs_of(directory: Path) -> dict[str, bytes]:
    return {file.name: file.read_bytes() for file in directory.iterdir() if file.suffix == names.LOG}


def _lead_as_kafka_did(log: Log, theirs: Path) -> None:
    """After its recovery Kafka became the leader once more; that epoch starts at the end of the log."""
    path = theirs / names.LEADER_EPOCHS
    stored = leader_epochs.parse(path.read_bytes(), str(path))
    assert stored.entries[: len(log.epochs.entries)] == log.epochs.entries
    for entry in stored.entries[len(log.epochs.entries) :]:
        assert entry.start == log.end_offset
        log.assign_epoch(entry.epoch, entry.start)


def _entries(path: Path) -> set[bytes]:
    producers = producer_snapshot.parse(path.read_bytes(), str(path))
    return {producer_snapshot.pack([producer]) for producer in producers}


def test_a_snapshot_with_producers_is_among_them(golden_data: Path) -> None:
    sizes = {len(_entries(file)) for file in (golden_data / "clean").rglob(f"*{names.SNAPSHOT}")}
    assert max(sizes) >= 2


def test_the_open_transaction_is_still_open(logs: LogDirs) -> None:
    (log,) = (log for log in logs if log.partition.topic == "opentxn")
    assert log.producers.first_undecided_offset == Offset(0)
    assert log.end_offset == Offset(12)
