"""Where Java listens, as a driver tells it, and as the processes that its Java starts find it."""

import json
import os
import stat
import subprocess
import sys
from collections.abc import Iterator, Mapping
from pathlib import Path
from types import SimpleNamespace

import pytest
from py4j.protocol import Py4JError
from pyspark import SparkContext

from odradek.spark.runtime import gateway
from odradek.spark.runtime.gateway import find_gateway, name_gateway, tell_gateway

JAVA, OTHER = 5_000_001, 5_000_002
"""No process has these: there are 4,194,304 at most."""
LISTENING = {"address": "127.0.0.1", "port": 25333, "auth_token": "secret"}


@pytest.fixture(autouse=True)
def root(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Path]:
    """Where temporary directories are made."""
    monkeypatch.setattr("tempfile.tempdir", str(tmp_path))
    gateway._file.cache_clear()
    yield tmp_path
    gateway._file.cache_clear()


def driving(monkeypatch: pytest.MonkeyPatch, java: int | None) -> None:
    """From here on, this process is a driver of the Java with this id, or of one that does not tell it."""

    def pid() -> int:
        if java is None:
            raise Py4JError("not on the list of what may be called")
        return java

    handle = SimpleNamespace(current=lambda: SimpleNamespace(pid=pid))
    jvm = SimpleNamespace(java=SimpleNamespace(lang=SimpleNamespace(ProcessHandle=handle)))
    told = SimpleNamespace(gateway_parameters=SimpleNamespace(**LISTENING), jvm=jvm)
    monkeypatch.setattr(SparkContext, "_gateway", told)


def test_processes_that_nobody_told_do_not_know() -> None:
    assert find_gateway({}, JAVA) is None


def test_where_java_listens_is_told_to_this_user_alone(monkeypatch: pytest.MonkeyPatch) -> None:
    driving(monkeypatch, JAVA)
    with name_gateway():
        file = Path(os.environ["ODRADEK_SPARK_GATEWAY"])
    assert "ODRADEK_SPARK_GATEWAY" not in os.environ
    tell_gateway()
    assert json.loads(file.read_text()) == {**LISTENING, "java": JAVA}
    assert stat.S_IMODE(file.stat().st_mode) == 0o600
    assert stat.S_IMODE(file.parent.stat().st_mode) == 0o700


def test_the_name_of_the_file_counts_whichever_process_is_the_parent(monkeypatch: pytest.MonkeyPatch) -> None:
    driving(monkeypatch, JAVA)
    with name_gateway():
        environ = dict(os.environ)
    tell_gateway()
    assert find_gateway(environ, OTHER) == LISTENING


def test_without_a_name_a_driver_of_the_java_that_is_the_parent_is_looked_for(monkeypatch: pytest.MonkeyPatch) -> None:
    driving(monkeypatch, JAVA)
    tell_gateway()
    assert find_gateway({}, JAVA) == LISTENING
    assert find_gateway({}, OTHER) is None


@pytest.mark.parametrize("written", [b"", b"{", b"[]", b"7", b"\xff"])
def test_a_file_that_makes_no_sense_is_passed_by(monkeypatch: pytest.MonkeyPatch, root: Path, written: bytes) -> None:
    for number in range(3):
        home = root / f"odradek-home-gateway-{number}"
        home.mkdir()
        (home / "gateway").write_bytes(written)
    driving(monkeypatch, JAVA)
    tell_gateway()
    assert find_gateway({}, JAVA) == LISTENING


def test_what_another_user_tells_is_not_believed(monkeypatch: pytest.MonkeyPatch) -> None:
    driving(monkeypatch, JAVA)
    tell_gateway()
    monkeypatch.setattr("os.getuid", lambda: 12345)
    assert find_gateway({}, JAVA) is None


def test_a_driver_that_cannot_write_goes_on(
    monkeypatch: pytest.MonkeyPatch, root: Path, caplog: pytest.LogCaptureFixture
) -> None:
    driving(monkeypatch, JAVA)
    monkeypatch.setattr("tempfile.tempdir", str(root / "none"))
    tell_gateway()
    assert "at their next trigger" in caplog.text


def test_a_driver_whose_java_does_not_tell_goes_on(
    monkeypatch: pytest.MonkeyPatch, root: Path, caplog: pytest.LogCaptureFixture
) -> None:
    driving(monkeypatch, None)
    tell_gateway()
    assert "at their next trigger" in caplog.text
    assert list(root.iterdir()) == []


def test_without_a_java_there_is_nothing_to_tell(monkeypatch: pytest.MonkeyPatch, root: Path) -> None:
    monkeypatch.setattr(SparkContext, "_gateway", None)
    tell_gateway()
    assert list(root.iterdir()) == []


submitted = pytest.mark.skipif(not Path("/proc/self/environ").exists(), reason="only Linux shows what a process knows")


@pytest.fixture
def child() -> Iterator[subprocess.Popen[str]]:
    """A driver, as spark-submit starts it. Its parent is this process."""
    told = {**os.environ, "PYSPARK_GATEWAY_PORT": "25333", "PYSPARK_GATEWAY_SECRET": "secret"}
    waits = [sys.executable, "-c", "print(flush=True); input()"]
    with subprocess.Popen(waits, env=told, text=True, stdin=subprocess.PIPE, stdout=subprocess.PIPE) as process:
        assert process.stdout is not None
        process.stdout.readline()
        yield process
        process.kill()


@submitted
@pytest.mark.usefixtures("child")
@pytest.mark.parametrize(
    ("environ", "found"),
    [
        ({}, LISTENING),
        ({"PYSPARK_GATEWAY_SECRET": "of another"}, LISTENING),
        ({"PYSPARK_GATEWAY_SECRET": "secret"}, None),  # it is handed on by a Java that it is not of
        ({"ODRADEK_SPARK_GATEWAY": "/not/there"}, LISTENING),
    ],
)
def test_a_driver_of_spark_submit_has_been_told_by_its_java(
    environ: Mapping[str, str], found: Mapping[str, object] | None
) -> None:
    assert find_gateway(environ, os.getpid()) == found


@submitted
def test_a_process_with_other_children_is_no_spark_submit() -> None:
    with subprocess.Popen([sys.executable, "-c", "input()"], stdin=subprocess.PIPE) as process:
        assert find_gateway({}, os.getpid()) is None
        process.kill()
