"""A disk that is really full: a small file system of its own, filled to the last byte."""

import subprocess
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path

import pytest

from odradek.model.errors import StorageFailed
from odradek.model.topic_config import TopicConfig
from odradek.model.topic_partition import TopicPartition
from odradek.process.files import OsFiles
from odradek.storage.log import Log
from support.logs import TOPIC_ID, append, offsets_and_values, open_dirs, setting, values

CONFIG = replace(TopicConfig(), segment_bytes=200_000)
FULL, OTHER = TopicPartition("orders", 0), TopicPartition("orders", 1)


@pytest.fixture
def small(tmp_path: Path) -> Iterator[Path]:
    """A directory with room for four megabytes."""
    path = tmp_path / "small"
    path.mkdir()
    command = ["mount", "-t", "tmpfs", "-o", "size=4m", "tmpfs", str(path)]
    try:
        mounted = subprocess.run(command, capture_output=True, text=True, check=False)
    except FileNotFoundError:
        pytest.skip("this system has no mount command, and a full disk needs a file system of its own")
    if mounted.returncode != 0:
        pytest.skip(f"mounting a small file system is not permitted here: {mounted.stderr.strip()}")
    yield path
    subprocess.run(["umount", "--lazy", str(path)], check=True)  # also if a test failed and left files open


def fill(log: Log, acknowledged: list[tuple[int, str]]) -> None:
    for number in range(100_000):
        value = f"{number}:" + "x" * (number % 3000)
        answer = append(log, value)
        acknowledged.append((answer.base_offset, value))


@pytest.mark.slow
def test_a_full_disk_stops_its_directory_alone_and_loses_nothing(small: Path, tmp_path: Path) -> None:
    other = tmp_path / "other"
    other.mkdir()
    (small / "ballast").write_bytes(bytes(1_000_000))
    dirs = open_dirs(OsFiles(), str(small), str(other), given=setting(CONFIG))
    log = dirs.create(FULL, TOPIC_ID, path=str(small))
    healthy = dirs.create(OTHER, TOPIC_ID, path=str(other))
    acknowledged: list[tuple[int, str]] = []
    with pytest.raises(StorageFailed, match=f"log directory {small} failed: .*No space left on device"):
        fill(log, acknowledged)
    assert len(acknowledged) > 1000
    append(healthy, "goes on")
    with pytest.raises(StorageFailed, match="is offline"):
        append(log, "does not")
    dirs.close()
    assert (other / ".kafka_cleanshutdown").exists()
    assert not (small / ".kafka_cleanshutdown").exists()

    (small / "ballast").unlink()
    dirs = open_dirs(OsFiles(), str(small), str(other), given=setting(CONFIG))
    recovered, unharmed = dirs.get(FULL), dirs.get(OTHER)
    assert recovered is not None
    assert unharmed is not None
    assert offsets_and_values(recovered) == acknowledged
    assert values(unharmed) == ["goes on"]
    append(recovered, "goes on")
    dirs.close()
    dirs = open_dirs(OsFiles(), str(small), str(other), given=setting(CONFIG))
    assert dirs.events == []
    again = dirs.get(FULL)
    assert again is not None
    assert offsets_and_values(again) == [*acknowledged, (len(acknowledged), "goes on")]
    dirs.close()


def test_room_that_cannot_be_allocated_is_an_error_at_once(small: Path) -> None:
    config = replace(CONFIG, segment_bytes=3_800_000, preallocate=True)
    dirs = open_dirs(OsFiles(), str(small), given=setting(config))
    log = dirs.create(FULL, TOPIC_ID)
    append(log, "a")
    (small / "ballast").write_bytes(bytes(500_000))
    with pytest.raises(StorageFailed, match="No space left on device"):
        log.roll()
    dirs.close()
    (small / "ballast").unlink()
    dirs = open_dirs(OsFiles(), str(small), given=setting(config))
    log_again = dirs.get(FULL)
    assert log_again is not None
    assert values(log_again) == ["a"]
    log_again.roll()
    append(log_again, "b")
    dirs.close()
    assert sum(path.stat().st_size for path in small.rglob("*.log")) < 1000
