"""Data directories of Apache Kafka have nothing wrong; whatever is changed in them is noticed."""

import random
from collections.abc import Iterator
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from odradek.process.files import OsFiles
from odradek.records.batch import parse_head
from odradek.storage.verify import Finding, Severity, Tally, Verification
from support.disk import FaultyDisk
from support.examples import examples

CHECKED_BY_THEMSELVES = (".log", ".snapshot", ".txnindex", ".checkpoint")


def verify(files: OsFiles | FaultyDisk, *paths: str, deep: bool = False) -> tuple[list[Finding], Tally]:
    verification = Verification(files, deep=deep)
    for path in paths:
        verification.add(path)
    return list(verification.run()), verification.tally


@pytest.mark.parametrize("deep", [False, True])
def test_nothing_is_wrong_after_a_proper_stop(golden_data: Path, deep: bool) -> None:
    findings, tally = verify(OsFiles(), str(golden_data / "clean"), deep=deep)
    assert findings == []
    assert (tally.log_dirs, tally.partitions, tally.segments) == (2, 22, 26)
    assert tally.bytes == tally.bytes_found > 4_000_000
    assert tally.files == sum(path.is_file() for path in (golden_data / "clean").rglob("*"))


def test_nothing_is_wrong_after_a_crash(golden_data: Path) -> None:
    findings, _ = verify(OsFiles(), str(golden_data / "crashed"), deep=True)
    assert {finding.severity for finding in findings} == {Severity.NOTE}
    texts = {finding.text for finding in findings if not finding.path.endswith(".deleted")}
    assert texts == {
        f"was not stopped properly: {count} indexes still end with the zeros of their room" for count in (20, 24)
    }


def test_a_partition_alone_is_seen_in_its_directory(golden_data: Path) -> None:
    """gzip-0 starts within a batch and compacted-0 has gaps: only checkpoints of the log directory tell."""
    gzip, compacted = str(golden_data / "clean/d1/gzip-0"), str(golden_data / "clean/d2/compacted-0")
    findings, tally = verify(OsFiles(), gzip, compacted)
    assert (findings, tally.partitions) == ([], 2)


@pytest.fixture(scope="module")
def partitions(golden_data: Path) -> dict[str, FaultyDisk]:
    """Each partition by itself in its log directory, `/data`, by a name that tells where it is from."""
    disks = {}
    for directory in sorted((golden_data / "clean").glob("*/*/")) + sorted((golden_data / "crashed").glob("*/*/")):
        disk = FaultyDisk("/data", f"/data/{directory.name}")
        for path in (*directory.parent.iterdir(), *directory.iterdir()):
            # The room that a crashed broker had allocated is ten megabytes for some, and all zeros.
            if path.is_file() and path.stat().st_size < 1_500_000:
                disk.put(f"/data/{path.relative_to(directory.parent)}", path.read_bytes())
        disks[f"{directory.parts[-3]}/{directory.name}"] = disk
    return disks


def heads(data: bytes) -> Iterator[int]:
    at = 0
    while at < len(data):
        yield at
        at += parse_head(data, at).size


def is_outside_the_crc(data: bytes, position: int) -> bool:
    """Base offset and leader epoch of a batch, which are stamped when it is written."""
    start = max(head for head in heads(data) if head <= position)
    return position - start < 8 or 12 <= position - start < 16


@pytest.mark.slow
@settings(max_examples=examples(150))
@given(seed=st.integers(0, 2**32))
def test_any_byte_that_changes_is_noticed(partitions: dict[str, FaultyDisk], seed: int) -> None:
    rng = random.Random(seed)
    name = rng.choice(sorted(partitions))
    disk = partitions[name]
    tree = {path: data for path, data in disk.tree("/data").items() if path.endswith(CHECKED_BY_THEMSELVES) and data}
    if not tree:
        return
    path = rng.choice(sorted(tree))
    data, position = tree[path], rng.randrange(len(tree[path]))
    if path.endswith((".log", ".checkpoint")) and rng.random() < 0.5:
        position = rng.choice(list(heads(data))) + rng.randrange(61)  # the heads are where it is not easy
    changed = bytearray(data)
    changed[position] ^= rng.randrange(1, 256)
    before = set(verify(disk, "/data")[0])
    disk.put(f"/data/{path}", bytes(changed))
    try:
        after = [finding for finding in verify(disk, "/data")[0] if finding not in before]
    finally:
        disk.put(f"/data/{path}", data)
    errors = {finding.path for finding in after if finding.severity is Severity.ERROR}
    if f"/data/{path}" not in errors:
        # Without a proper stop nothing vouches for the place and the epoch of a log's last batch, and in a compacted
        # log not for the place of any: these may look wrong elsewhere, or only odd.
        assert path.endswith(".log"), (name, path, position, after)
        assert is_outside_the_crc(data, position), (name, path, position, after)
        assert after, (name, path, position)
        unsure = name.startswith("crashed/") or "cluster_metadata" in name
        assert unsure or errors, (name, path, position, after)


@settings(max_examples=examples(60))
@given(seed=st.integers(0, 2**32))
def test_a_log_that_was_cut_is_noticed(partitions: dict[str, FaultyDisk], seed: int) -> None:
    rng = random.Random(seed)
    name = rng.choice([name for name in sorted(partitions) if name.startswith("clean/")])
    disk = partitions[name]
    logs = {path: data for path, data in disk.tree("/data").items() if path.endswith(".log") and data}
    if not logs or "cluster_metadata" in name:  # of that one, no checkpoint tells where it ends
        return
    path = rng.choice(sorted(logs))
    ends = [*heads(logs[path])]
    length = rng.choice(ends) if rng.random() < 0.5 else rng.randrange(len(logs[path]))
    before = set(verify(disk, "/data")[0])
    disk.put(f"/data/{path}", logs[path][:length])
    try:
        after = [finding for finding in verify(disk, "/data")[0] if finding not in before]
    finally:
        disk.put(f"/data/{path}", logs[path])
    assert any(finding.severity is Severity.ERROR for finding in after), (name, path, length, after)
