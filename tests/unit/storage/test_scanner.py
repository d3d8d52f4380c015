"""Recovery in child processes: the same files and the same logs as in this one, also when children die."""

import shutil
import stat
import sys
from pathlib import Path

import pytest

from odradek.model.topic_partition import TopicPartition
from odradek.process.files import OsFiles
from odradek.storage import log_loader, scanner
from odradek.storage.log_dirs import LogDirs
from odradek.storage.log_loader import no_progress
from odradek.storage.open_files import OpenFiles
from odradek.storage.recovery import Situation
from support.logs import append, log_of, open_dirs, setting, values

pytestmark = pytest.mark.slow  # processes are started

COUNT = 5


@pytest.fixture
def crashed(tmp_path: Path) -> Path:
    """Two directories with five logs whose owner was killed; two of the logs are damaged."""
    top = tmp_path / "before"
    for name in ("a", "b"):
        (top / name).mkdir(parents=True)
    dirs = open_dirs(OsFiles(), str(top / "a"), str(top / "b"))
    for number in range(COUNT):
        log = log_of(dirs, TopicPartition("orders", number))
        for value in range(30 + number):
            append(log, f"{number}:{value}")
    for log_dir in dirs.dirs:
        for each in log_dir.logs.values():
            for segment in each.segments:
                segment.release()
    dirs.abandon()
    *_, torn = sorted(top.glob("*/orders-1/*.log"))
    torn.write_bytes(torn.read_bytes()[:-10])
    _, damaged, *_ = sorted(top.glob("*/orders-3/*.log"))
    content = bytearray(damaged.read_bytes())
    content[200] ^= 1
    damaged.write_bytes(content)
    return top


@pytest.fixture
def children(monkeypatch: pytest.MonkeyPatch) -> int:
    monkeypatch.setattr(log_loader, "SCAN_IN_CHILDREN_BYTES", 0)
    return 2


def open_copy(
    crashed: Path, name: str, children: int, progress: log_loader.Progress = no_progress
) -> tuple[LogDirs, Path]:
    top = crashed.parent / name
    shutil.copytree(crashed, top)
    given = setting(children=children)
    return LogDirs.open(OpenFiles(OsFiles()), [str(top / "a"), str(top / "b")], given, progress), top


def all_files(top: Path) -> dict[str, bytes]:
    return {str(path.relative_to(top)): path.read_bytes() for path in sorted(top.rglob("*")) if path.is_file()}


def facts(dirs: LogDirs) -> dict[str, object]:
    return {
        str(log.partition): (
            log.start_offset,
            log.end_offset,
            log.recovery_point,
            log.epochs.entries,
            values(log),
            [(segment.base_offset, segment.size) for segment in log.segments],
        )
        for log in dirs
    }


def said(dirs: LogDirs, top: Path) -> list[str]:
    return sorted(f"{event.text} {sorted(event.fields.items())}".replace(str(top), "") for event in dirs.events)


def test_children_leave_what_this_process_would(crashed: Path, children: int) -> None:
    here, here_top = open_copy(crashed, "here", 0)
    there, there_top = open_copy(crashed, "there", children)
    assert facts(there) == facts(here)
    assert len(facts(there)) == COUNT
    assert all_files(there_top) == all_files(here_top)
    assert said(there, there_top) == said(here, here_top)
    assert any(
        "cut a segment at its last whole batch" in text and "orders-1" in text for text in said(there, there_top)
    )
    here.close()
    there.close()
    assert all_files(there_top) == all_files(here_top)


def test_progress_is_told_in_bytes(crashed: Path, children: int) -> None:
    told: list[tuple[str, int, int]] = []
    dirs, _ = open_copy(crashed, "there", children, lambda *args: told.append(args))
    scanned = [(done, every) for _, done, every in told if every]
    assert len(scanned) == COUNT
    assert scanned == sorted(scanned)
    assert scanned[-1][0] == scanned[-1][1] > 0
    dirs.close()


def test_children_that_die_leave_their_share_to_the_parent(
    crashed: Path, children: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(sys, "executable", shutil.which("false"))
    here, _ = open_copy(crashed, "here", 0)
    there, _ = open_copy(crashed, "there", children)
    assert facts(there) == facts(here)


def test_a_child_that_answers_nonsense_is_not_believed(
    crashed: Path, children: int, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    nonsense = tmp_path / "nonsense"
    nonsense.write_text("#!/bin/sh\necho this is no report\n")
    nonsense.chmod(nonsense.stat().st_mode | stat.S_IXUSR)
    here, _ = open_copy(crashed, "here", 0)
    monkeypatch.setattr(sys, "executable", str(nonsense))
    there, _ = open_copy(crashed, "there", children)
    assert facts(there) == facts(here)


def test_a_child_that_cannot_be_started_is_done_without(
    crashed: Path, children: int, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    here, _ = open_copy(crashed, "here", 0)
    monkeypatch.setattr(sys, "executable", str(tmp_path / "none"))
    there, _ = open_copy(crashed, "there", children)
    assert facts(there) == facts(here)


def test_a_directory_that_cannot_be_mended_is_reported(tmp_path: Path) -> None:
    situation = Situation(
        directory=str(tmp_path / "none"),
        clean=False,
        repaired=False,
        recovery_point=0,  # type: ignore[arg-type]
        log_start=0,  # type: ignore[arg-type]
        dense=True,
        index_interval_bytes=100,
        producer_expiry_ms=1000,
        now=0,  # type: ignore[arg-type]
    )
    reports: list[scanner.Report] = []
    scanner.scan_all([situation], 2, reports.append)
    (report,) = reports
    assert report.directory == situation.directory
    assert report.error is not None
    assert "No such file or directory" in report.error
