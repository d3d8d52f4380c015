"""Kafka's tool reads what odradek writes: no complaint, and the same facts as ours."""

from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from odradek.model.numbers import LeaderEpoch, Offset, ProducerId, TimestampMs
from odradek.model.topic_config import TopicConfig
from odradek.model.topic_partition import TopicPartition
from odradek.process.files import OsFiles
from odradek.records.batch import Codec, stamp_append_time
from odradek.records.builder import BatchSpec, build_batch
from odradek.records.record import Record
from odradek.storage.log import Log
from support.logs import NOW, TOPIC_ID, append, append_batch, end_txn, open_dirs, setting

SUFFIXES = (".log", ".index", ".timeindex", ".txnindex", ".snapshot")
SMALL = replace(TopicConfig(), segment_bytes=20_000, index_interval_bytes=1000)

Dump = Callable[..., Any]


def records(count: int, time: int) -> list[Record]:
    """With null keys, null and empty values, and headers."""
    made = []
    for number in range(count):
        key = None if number % 3 == 0 else f"key {number}".encode()
        value = (
            None if number % 5 == 0 else (b"" if number % 7 == 0 else f"Wert {number} äöü ".encode() * (number % 11))
        )
        headers = (("h", b"1"), ("h", None), ("ü", b"")) if number % 4 == 0 else ()
        made.append(Record(Offset(number), TimestampMs(time + number * 7), key, value, headers))
    return made


def write_codecs(log: Log) -> None:
    for number in range(60):
        for codec in Codec:
            batch = build_batch(records(1 + number % 9, NOW + number * 1000), BatchSpec(codec=codec))
            append_batch(log, memoryview(batch), LeaderEpoch(number // 20))


def write_append_time(log: Log) -> None:
    for number in range(100):
        batch = memoryview(build_batch(records(5, 0), BatchSpec(codec=Codec.LZ4 if number % 2 else Codec.NONE)))
        stamp_append_time(batch, TimestampMs(NOW + number))
        append_batch(log, batch, LeaderEpoch(0))


def write_old_times(log: Log) -> None:
    """Timestamps that fall, and some that are missing."""
    for number in range(100):
        time = -1 if number % 10 == 0 else NOW - number * 500 + (number % 3) * 2000
        append(log, "x" * 300, at=time)


def write_idempotent(log: Log) -> None:
    for number in range(200):
        for producer in range(3):
            spec = BatchSpec(producer_id=ProducerId(producer), producer_epoch=2, base_sequence=number * 2)
            append(log, f"a {number}", "b" * 20, spec=spec, at=NOW + number)


def write_transactions(log: Log) -> None:
    """Committed and aborted, side by side, over several segments; the last of producer 4 stays open."""
    sequences = dict.fromkeys(range(5), 0)
    for number in range(150):
        producer = number % 5
        spec = BatchSpec(
            producer_id=ProducerId(producer),
            producer_epoch=0,
            base_sequence=sequences[producer],
            transactional=True,
            codec=list(Codec)[producer],
        )
        append(log, "in a transaction", "x" * 200, spec=spec, at=NOW + number)
        sequences[producer] += 2
        if number % 7 == 6 and producer != 4:
            end_txn(log, producer, 0, commit=number % 2 == 0, coordinator_epoch=number // 50)


def write_nothing(_log: Log) -> None:
    return


WRITERS: dict[str, Callable[[Log], None]] = {
    "codecs": write_codecs,
    "append-time": write_append_time,
    "old-times": write_old_times,
    "idempotent": write_idempotent,
    "transactions": write_transactions,
    "empty": write_nothing,
}


@pytest.fixture(scope="module", params=["once", "after restarts"])
def written(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A directory of ours; in one variant closed, opened again and written on."""
    directory = tmp_path_factory.mktemp("written")
    for _ in range(1 if request.param == "once" else 3):
        dirs = open_dirs(OsFiles(), str(directory), given=setting(SMALL))
        for topic, write in WRITERS.items():
            partition = TopicPartition(topic, 0)
            log = dirs.get(partition) or dirs.create(partition, TOPIC_ID)
            if topic not in ("idempotent", "transactions") or log.end_offset == 0:  # sequences go on only once
                write(log)
        dirs.close()
    return directory


def files_of(directory: Path) -> list[Path]:
    return sorted(path for path in directory.rglob("*") if path.suffix in SUFFIXES)


def test_the_facts_are_the_same(written: Path, dump_with_kafka: Dump, dump_with_odradek: Dump) -> None:
    files = files_of(written)
    assert {path.suffix for path in files} == set(SUFFIXES)
    assert sum(path.suffix == ".log" for path in files) > 10
    theirs, ours = (dump(files, "--print-data-log") for dump in (dump_with_kafka, dump_with_odradek))
    assert ours.out == theirs.out
    assert (theirs.status, ours.status, ours.err) == (0, 0, [])
    assert [line for line in theirs.err if not line.startswith("Non-consecutive offsets in ")] == []
    assert not any("isvalid: false" in line or "invalid bytes" in line for line in theirs.out)


def test_a_starting_broker_would_take_every_index(written: Path, dump_with_kafka: Dump) -> None:
    files = [path for path in files_of(written) if path.suffix in (".index", ".timeindex")]
    checked = dump_with_kafka(files, "--index-sanity-check")
    assert (checked.status, checked.err) == (0, [])
    passed = [line for line in checked.out if line.endswith((" passed sanity check.", " is empty."))]
    assert len(passed) == len(files)
