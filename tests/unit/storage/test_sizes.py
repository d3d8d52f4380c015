"""Sizes of logs, told by their files."""

from pathlib import Path

import pytest

from odradek.model.topic_partition import TopicPartition
from odradek.process.files import OsFiles
from odradek.storage.names import Mark
from odradek.storage.sizes import LogSize, measure

FIRST, SECOND = "00000000000000000000", "00000000000000000042"


@pytest.fixture
def data(tmp_path: Path) -> Path:
    """Two log directories, with all that may lie around in them."""
    for name, files in {
        "d1/orders-0": {f"{FIRST}.log": 100, f"{SECOND}.log": 50, f"{FIRST}.index": 10, f"{FIRST}.log.deleted": 7},
        "d1/orders-10": {f"{FIRST}.log": 0},
        "d1/gone-0.0123456789abcdef0123456789abcdef-delete": {f"{FIRST}.log": 5},
        "d1/lost+found": {f"{FIRST}.log": 9},
        "d2/orders-0.0123456789abcdef0123456789abcdef-future": {f"{FIRST}.log": 60, f"{FIRST}.log.cleaned": 8},
        "d2/empty-0": {"partition.metadata": 40},
    }.items():
        (tmp_path / name).mkdir(parents=True)
        for file, size in files.items():
            (tmp_path / name / file).write_bytes(bytes(size))
    (tmp_path / "d1" / "meta.properties").write_text("version=1\n")
    return tmp_path


def test_a_log_directory(data: Path) -> None:
    log_dir = str(data / "d1")
    assert measure(OsFiles(), f"{log_dir}/") == [
        LogSize(log_dir, TopicPartition("gone", 0), 5, Mark.DELETE),
        LogSize(log_dir, TopicPartition("orders", 0), 150, Mark.NONE),
        LogSize(log_dir, TopicPartition("orders", 10), 0, Mark.NONE),
    ]


def test_all_log_directories_of_a_node(data: Path) -> None:
    assert [(each.log_dir, each.size, each.mark) for each in measure(OsFiles(), str(data))] == [
        (str(data / "d1"), 5, Mark.DELETE),
        (str(data / "d1"), 150, Mark.NONE),
        (str(data / "d1"), 0, Mark.NONE),
        (str(data / "d2"), 60, Mark.FUTURE),
    ]


def test_where_there_are_none(tmp_path: Path) -> None:
    assert measure(OsFiles(), str(tmp_path)) == []
    with pytest.raises(FileNotFoundError):
        measure(OsFiles(), str(tmp_path / "nowhere"))
