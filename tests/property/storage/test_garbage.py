"""Arbitrary bytes in any file: opening and reading raise only our own errors, and never yield a wrong record."""

import contextlib
from random import Random

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from odradek.model.errors import CorruptBatch, CorruptFile, OdradekError, OffsetOutOfRange
from odradek.model.numbers import Offset, ProducerId, TimestampMs
from odradek.records.batch import HEAD_SIZE, parse_head
from odradek.records.builder import BatchSpec
from odradek.storage import (
    checkpoint,
    clean_shutdown,
    leader_epochs,
    meta_properties,
    names,
    partition_metadata,
    producer_snapshot,
    transaction_index,
)
from odradek.storage.log import Log
from support.disk import FaultyDisk
from support.examples import examples
from support.logs import NOW, append, end_txn, log_of, open_dirs

PARSERS = {
    "checkpoint": lambda data: checkpoint.parse_offsets(data, "p"),
    "leader epochs": lambda data: leader_epochs.parse(data, "p"),
    "meta.properties": lambda data: meta_properties.parse(data, "p"),
    "partition.metadata": lambda data: partition_metadata.parse(data, "p"),
    "snapshot": lambda data: producer_snapshot.parse(data, "p"),
    "transaction index": lambda data: transaction_index.parse(data, "p", Offset(0)),
    "clean shutdown": clean_shutdown.parse,
}
TEXT = st.text(alphabet='0123456789 -\n\r\t=:.{}[]"\\abcdeé٣\x0b\x1c\u2028', max_size=60).map(str.encode)


@settings(max_examples=examples(300))
@given(data=st.binary(max_size=200) | TEXT)
@pytest.mark.parametrize("parser", PARSERS)
def test_parsers_raise_one_error(parser: str, data: bytes) -> None:
    said = None
    try:
        PARSERS[parser](data)
    except CorruptFile as error:
        said = str(error)
    assert said is None or said.startswith("p")


Known = dict[int, set[bytes | None]]
"""What was ever written at an offset."""


def build(seed: int, *, clean: bool) -> tuple[FaultyDisk, Known]:
    """A log with all kinds of batches in several segments, and the value of each offset."""
    rng = Random(seed)
    disk = FaultyDisk("/data")
    dirs = open_dirs(disk)
    log = log_of(dirs)
    sequence = 0
    for number in range(rng.randrange(5, 40)):
        size, spec = rng.randrange(1, 4), BatchSpec()
        if rng.random() < 0.4:
            transactional = rng.random() < 0.5 or log.producers.first_undecided_offset is not None
            spec = BatchSpec(
                producer_id=ProducerId(1), producer_epoch=0, base_sequence=sequence, transactional=transactional
            )
            sequence += size
        append(log, *(f"{number}:{each}" for each in range(size)), spec=spec, at=NOW + rng.randrange(50))
        if rng.random() < 0.2:
            end_txn(log, 1, 0, commit=rng.random() < 0.5)
    known = {int(record.offset): {record.value} for _, record in log.records(Offset(0))}
    if clean:
        dirs.close()
    else:
        disk.crash()
    return disk, known


def damage(disk: FaultyDisk, path: str, how: str, rng: Random) -> None:
    content = bytearray(disk.read_whole(path))
    if how == "garbage":
        content[:] = rng.randbytes(rng.randrange(200))
    elif how == "cut":
        del content[rng.randrange(len(content) + 1) :]
    elif how == "zeros":
        start = rng.randrange(len(content) + 1)
        content[start : start + rng.randrange(1, 100)] = bytes(rng.randrange(1, 100))
    elif how == "more":
        content += rng.randbytes(rng.randrange(1, 100))
    elif content:
        for _ in range(rng.randrange(1, 4)):
            content[rng.randrange(len(content))] = rng.randrange(256)
    disk.put(path, bytes(content))


def heads_are_intact(original: bytes, damaged: bytes) -> bool:
    """Whether base offsets and leader epochs, which no CRC covers, are as they were where the batch still is one."""
    at = 0
    while at + HEAD_SIZE <= len(original):
        size = parse_head(original, at).size
        if original[at + 16 : at + size] == damaged[at + 16 : at + size] and (
            original[at : at + 16] != damaged[at : at + 16]
        ):
            return False
        at += size
    return True


@settings(max_examples=examples(150))
@given(
    seed=st.integers(0, 1000),
    clean=st.booleans(),
    how=st.sampled_from(["garbage", "cut", "zeros", "more", "bytes"]),
    choice=st.integers(0, 1 << 32),
    files=st.integers(1, 3),
)
def test_a_damaged_directory_never_yields_a_wrong_record(
    seed: int, clean: bool, how: str, choice: int, files: int
) -> None:
    disk, known = build(seed, clean=clean)
    rng = Random(choice)
    before = disk.tree("/data/orders-0")
    for name in rng.sample(sorted(before), files):
        damage(disk, f"/data/orders-0/{name}", how, rng)
        if name.endswith(names.LOG) and not heads_are_intact(before[name], disk.read_whole(f"/data/orders-0/{name}")):
            return
    dirs = open_dirs(disk)
    found = dirs.dirs[0].logs
    if not found:  # out of service, and it said why
        assert dirs.dirs[0].offline_reason
        assert any(event.text == "a log directory failed" for event in dirs.events)
        return
    (log,) = found.values()
    use(log, known)
    dirs.close()
    dirs = open_dirs(disk)
    for log in dirs:
        use(log, known)


def use(log: Log, known: Known) -> None:
    """Everything that a reader can ask for. What is found must be what was written."""
    at = log.start_offset
    while at < log.end_offset:
        try:
            for _, record in log.records(at):
                assert record.value in known[record.offset]
        except OdradekError:
            pass
        at = Offset(at + 5)
    for offset in range(-1, log.end_offset + 2, 3):
        try:
            found = log.read(Offset(offset), 300)
            data = found.read() if found else b""
            if len(data) >= HEAD_SIZE:
                assert parse_head(data).last_offset >= offset
        except (OffsetOutOfRange, CorruptBatch):
            pass
    for attempt in (
        lambda: log.find_time(TimestampMs(NOW + 25)),
        lambda: log.find_max_time(),
        lambda: log.aborted_txns(log.start_offset, log.end_offset),
        lambda: log.last_stable_offset,
        lambda: log.truncate_to(Offset(log.end_offset - 1)),
        lambda: append_next(log, known),
        lambda: log.roll(),
        lambda: append_next(log, known),
        lambda: log.apply_retention(NOW),
    ):
        with contextlib.suppress(OdradekError):
            attempt()


def append_next(log: Log, known: Known) -> None:
    known.setdefault(append(log, "next").base_offset, set()).add(b"next")
