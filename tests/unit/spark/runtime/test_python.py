import os
import subprocess
from pathlib import Path

import pytest

from odradek.spark.runtime.python import quick_python

JAR = "/spark 1/jars/spark-core_2.13-4.3.0.jar"


@pytest.mark.parametrize(
    ("given", "left"),
    [
        (None, "none"),
        ("", ""),
        (JAR, "none"),
        (f"{JAR}:{JAR}", "none"),
        (f"{JAR}:{JAR}:/mine", "/mine"),
        (f"{JAR}:/my own:/more", "/my own:/more"),
        (f"/mine:{JAR}", f"/mine:{JAR}"),
        ("/mine/other.jar", "/mine/other.jar"),
    ],
)
def test_sparks_jar_is_left_out_where_it_comes_first(tmp_path: Path, given: str | None, left: str) -> None:
    python = tmp_path / "my python"
    python.write_text('#!/bin/sh\necho "${PYTHONPATH-none}"\nfor each do echo "$each"; done\n', encoding="utf-8")
    python.chmod(0o755)
    environ = {key: value for key, value in os.environ.items() if key != "PYTHONPATH"}
    if given is not None:
        environ["PYTHONPATH"] = given
    command = [str(quick_python(python)), "-m", "a b", "*"]
    printed = subprocess.run(command, env=environ, capture_output=True, text=True, check=True).stdout
    assert printed.splitlines() == [left, "-m", "a b", "*"]


def test_the_daemon_that_is_run_is_ours(tmp_path: Path) -> None:
    python = tmp_path / "python"
    python.write_text('#!/bin/sh\nfor each do echo "$each"; done\n', encoding="utf-8")
    python.chmod(0o755)
    command = [str(quick_python(python)), "-m", "pyspark.daemon", "pyspark.worker"]
    printed = subprocess.run(command, capture_output=True, text=True, check=True).stdout.splitlines()
    assert printed[-3:] == ["-m", "odradek.spark.runtime.daemon", "pyspark.worker"]


def test_where_no_script_can_be_run_python_runs_as_it_is(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("odradek.spark.runtime.shims.os.access", lambda path, mode: False)
    assert quick_python(tmp_path / "python") == tmp_path / "python"
