import os
import subprocess
import sys
from pathlib import Path

import pytest

from odradek.spark.reading import compiled

LOAD = """
import sys
from odradek.spark.reading.compiled import load_kernel
load_kernel()
print("numba" in sys.modules)
"""
PLAN = """
import sys
import odradek.spark.reading, odradek.spark.reading.range, odradek.spark.reading.errors
print(sorted({"numba", "llvmlite", "numpy", "pyarrow", "asyncio"} & set(sys.modules)))
"""


def start(script: str, **env: str) -> "subprocess.Popen[str]":
    command = [sys.executable, "-c", script]
    return subprocess.Popen(command, env={**os.environ, **env}, stdout=subprocess.PIPE, text=True)


def said(child: "subprocess.Popen[str]") -> str:
    output, _ = child.communicate()
    assert child.returncode == 0
    return output.strip()


@pytest.mark.slow
def test_workers_that_start_together_compile_once_and_later_ones_need_no_numba(tmp_path: Path) -> None:
    workers = [start(LOAD, ODRADEK_CACHE_DIR=str(tmp_path)) for _ in range(3)]
    assert sorted(map(said, workers)) == ["False", "False", "True"]
    (kept,) = tmp_path.glob("*.o")
    before = kept.stat()
    assert said(start(LOAD, ODRADEK_CACHE_DIR=str(tmp_path))) == "False"
    assert kept.stat().st_mtime_ns == before.st_mtime_ns
    assert not list(tmp_path.glob("*.tmp"))


def test_whoever_plans_loads_nothing_that_takes_long() -> None:
    assert said(start(PLAN)) == "[]"


def test_code_is_kept_where_the_user_says(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("ODRADEK_CACHE_DIR", str(tmp_path / "here"))
    assert compiled.cache_folder() == tmp_path / "here"
    assert (tmp_path / "here").stat().st_mode & 0o777 == 0o700


def test_code_is_kept_in_the_cache_of_the_user_else_in_a_temporary_directory(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.delenv("ODRADEK_CACHE_DIR", raising=False)
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "cache"))
    monkeypatch.setattr("tempfile.tempdir", str(tmp_path))
    assert compiled.cache_folder() == tmp_path / "cache" / "odradek"
    (tmp_path / "file").touch()
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "file"))  # nothing can be made below a file
    assert compiled.cache_folder() == tmp_path / f"odradek-{os.getuid()}"


def test_a_directory_that_others_can_write_to_is_not_trusted(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    shared = tmp_path / "shared"
    shared.mkdir()
    shared.chmod(0o770)
    monkeypatch.setenv("ODRADEK_CACHE_DIR", str(shared))
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path))
    assert compiled.cache_folder() == tmp_path / "odradek"
    assert f"not in {shared}: others may write to {shared}; chmod go-w makes it fit" in caplog.text


def test_without_any_directory_nothing_is_kept_and_the_first_reason_is_told(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    (tmp_path / "file").touch()
    monkeypatch.setenv("ODRADEK_CACHE_DIR", str(tmp_path / "file" / "here"))
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "file"))
    monkeypatch.setattr("tempfile.tempdir", str(tmp_path / "file"))
    assert compiled.cache_folder() is None
    assert f"takes seconds to compile it: [Errno 20] Not a directory: '{tmp_path}/file/here'" in caplog.text


@pytest.mark.slow
def test_code_that_was_damaged_is_compiled_anew(tmp_path: Path) -> None:
    """LLVM would end the process."""
    said(start(LOAD, ODRADEK_CACHE_DIR=str(tmp_path)))
    (kept,) = tmp_path.glob("*.o")
    whole = kept.read_bytes()
    for damaged in (b"", bytes(len(whole)), whole[:-1]):
        kept.write_bytes(damaged)
        assert said(start(LOAD, ODRADEK_CACHE_DIR=str(tmp_path))) == "True"
        assert kept.read_bytes() == whole


def test_code_that_cannot_be_kept_is_used_all_the_same(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    monkeypatch.setattr(compiled, "_compile", lambda _: b"code")
    gone = tmp_path / "gone"
    assert compiled._code(compiled.DECODE, gone) == b"code"
    assert f"compiled code cannot be kept in {gone}: [Errno 2] No such file or directory" in caplog.text
