"""`odradek log verify` on real files: what it prints, and the status it ends with."""

import json
import os
import re
import shutil
import subprocess
import sys
from io import StringIO
from pathlib import Path

import pytest

from odradek.cli.log_verify import Progress
from odradek.cli.main import main
from odradek.process.files import OsFiles
from odradek.storage.verify import Tally
from support.logs import append, log_of, open_dirs

SUMMARY = re.compile(
    r"checked 22 partitions, 26 segments, 528 batches, 12,423 records, 4\.4 MB in [0-9.]+ s "
    r"\([0-9.]+ [kMG]B/s\): 0 errors, 0 warnings, 0 notes\n"
)


@pytest.fixture
def data(tmp_path: Path) -> Path:
    """A directory of ours, stopped properly."""
    (tmp_path / "data").mkdir()
    dirs = open_dirs(OsFiles(), str(tmp_path / "data"))
    append(log_of(dirs), "one")
    append(log_of(dirs), "two")
    dirs.close()
    return tmp_path / "data"


def test_a_directory_of_kafka_s(golden_data: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["log", "verify", str(golden_data / "clean")]) == 0
    printed = capsys.readouterr()
    assert SUMMARY.fullmatch(printed.out)
    assert printed.err == ""  # no terminal, no progress


def test_errors_are_lines_and_status_1(data: Path, capsys: pytest.CaptureFixture[str]) -> None:
    log = data / "orders-0" / "00000000000000000000.log"
    log.write_bytes(log.read_bytes()[:-1] + b"!")
    assert main(["log", "verify", "--deep", str(data)]) == 1
    first, *_, last = capsys.readouterr().out.splitlines()
    assert first.startswith(f"error    {log} at 71: CRC is 0x")
    assert re.search(r"1 partition, 1 segment, 1 batch, 1 record, .*: 1 error, 0 warnings, 0 notes$", last)


def test_notes_alone_are_status_0(golden_data: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["log", "verify", str(golden_data / "crashed/d1")]) == 0
    assert capsys.readouterr().out.startswith(f"note     {golden_data}/crashed/d1: was not stopped properly")


def test_json_lines(data: Path, capsys: pytest.CaptureFixture[str]) -> None:
    checkpoint = data / "replication-offset-checkpoint"
    checkpoint.write_text("0\n1\norders 0 99\n")
    (data / "orders-0" / "00000000000000000000.index").unlink()
    assert main(["log", "verify", "--json", str(data)]) == 1
    missing, wrong, summary = map(json.loads, capsys.readouterr().out.splitlines())
    assert missing["severity"] == "warning"
    assert wrong == {
        "type": "finding",
        "severity": "error",
        "path": str(checkpoint),
        "line": 3,
        "text": "orders-0: offset 99 lies past the end of the log, which is 2",
    }
    assert summary["type"] == "summary"
    assert summary["seconds"] >= 0
    expected = {"errors": 1, "warnings": 1, "notes": 0, "partitions": 1, "segments": 1, "batches": 2, "records": 2}
    assert {name: summary[name] for name in expected} == expected


def test_what_is_no_data_directory_is_one_line_and_status_2(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    (tmp_path / "file").write_text("")
    for path, text in (
        (tmp_path, f"{tmp_path} holds no log directory and is no partition's"),
        (tmp_path / "file", f"{tmp_path}/file is a file; `odradek log dump` prints files"),
        (tmp_path / "gone", f"{tmp_path}/gone does not exist"),
    ):
        assert main(["log", "verify", str(path)]) == 2
        assert capsys.readouterr() == ("", f"odradek: {text}\n")
    with pytest.raises(SystemExit) as stopped:
        main(["log", "verify"])
    assert stopped.value.code == 2


def test_a_directory_that_a_broker_holds(data: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """Held by another process: locks of our own are not seen."""
    hold = (
        "import sys; from odradek.process.files import OsFiles\n"
        "lock = OsFiles().lock(sys.argv[1]); print('held', flush=True); sys.stdin.read(); lock.release()"
    )
    command = [sys.executable, "-c", hold, str(data / ".lock")]
    with subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE) as broker:
        assert broker.stdout is not None
        assert broker.stdout.readline() == b"held\n"
        assert main(["log", "verify", str(data)]) == 0
        assert main(["log", "verify", str(data / "orders-0")]) == 0
        assert broker.poll() is None
        second = subprocess.run(command, stdin=subprocess.DEVNULL, capture_output=True, check=False)
        assert b"DirectoryInUse" in second.stderr  # the lock was not let go of by looking at it
        broker.communicate()
    assert main(["log", "verify", str(data)]) == 0
    *held, summary = capsys.readouterr().out.splitlines()
    assert [line for line in held if line.startswith("note")] == [
        f"note     {data}: is in use: what is written meanwhile may look unfinished",
        f"note     {data}/orders-0: is in use: what is written meanwhile may look unfinished",
    ]
    assert summary.endswith("0 notes")


def test_read_only_media(data: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    copy = tmp_path / "copy"
    shutil.copytree(data, copy)
    for path in (*copy.rglob("*"), copy):
        path.chmod(0o500 if path.is_dir() else 0o400)
    times = {path: path.stat().st_mtime_ns for path in copy.rglob("*")}
    try:
        assert main(["log", "verify", str(copy)]) == 0
        assert {path: path.stat().st_mtime_ns for path in copy.rglob("*")} == times
    finally:
        for path in (copy, *copy.rglob("*")):
            path.chmod(0o700)
    assert capsys.readouterr().out.endswith("0 errors, 0 warnings, 0 notes\n")


def test_names_that_are_no_text(data: Path) -> None:
    odd = os.fsencode(data) + b"/\xff\xfe"
    try:
        Path(os.fsdecode(odd)).write_text("")
    except OSError:
        pytest.skip("this file system takes only names that are text")
    command = [sys.executable, "-m", "odradek", "log", "verify", str(data)]
    result = subprocess.run(command, capture_output=True, check=False, env={**os.environ, "PYTHONIOENCODING": "ascii"})
    assert (result.returncode, result.stderr) == (0, b"")
    assert b"/\\udcff\\udcfe: an unknown file" in result.stdout


def test_progress_is_one_line_that_is_taken_away(monkeypatch: pytest.MonkeyPatch) -> None:
    seconds = [0.0]
    monkeypatch.setattr("time.monotonic", lambda: seconds[0])
    stream = StringIO()
    progress = Progress(stream, shown=True)
    progress.tally = Tally(bytes_found=4_000_000_000, bytes=1_000_000_000, files=7)
    progress.update()
    assert stream.getvalue() == ""  # too early
    seconds[0] = 2.0
    progress.update()
    line = " 25%  1.0 GB of 4.0 GB, 7 files, 500.0 MB/s"
    assert stream.getvalue() == f"\r{line}"
    progress.clear()
    progress.clear()
    assert stream.getvalue() == f"\r{line}\r{' ' * len(line)}\r"


def test_progress_when_asked_for(
    data: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setattr("odradek.cli.log_verify._REDRAW_S", 0.0)
    assert main(["log", "verify", "--progress", str(data)]) == 0
    printed = capsys.readouterr()
    assert "100%  142 B of 142 B" in printed.err
    assert printed.out.startswith("checked ")
