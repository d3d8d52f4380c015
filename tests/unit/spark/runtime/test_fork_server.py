"""A process by a fork is as one that was started: what it is given, what it sees, how it ends."""

import json
import os
import select
import signal
import socket
import subprocess
import sys
from collections.abc import Iterator, Mapping
from contextlib import suppress
from pathlib import Path
from typing import Any

import pytest

from odradek.spark.runtime import fork_client
from odradek.spark.runtime.fork_server import PRESET, is_as_started
from odradek.spark.runtime.python import start_fork_server

pytestmark = [pytest.mark.slow, pytest.mark.skipif(sys.platform != "linux", reason="forks are made on Linux")]

WORKERS = {**os.environ, **PRESET}
"""The environment in which Spark starts its workers, as far as Python looks at it when it starts."""

PROBE = """
import json, os, resource, sys, time

if __name__ == "__main__":
    print(json.dumps({
        "argv": sys.argv[1:],
        "read": sys.stdin.read(),
        "directory": os.getcwd(),
        "first on path": sys.path[0],
        "environ": {name: value for name, value in os.environ.items() if name != "LC_CTYPE"},
        "zone": time.tzname[0],
        "files": resource.getrlimit(resource.RLIMIT_NOFILE),
        "main": sys.modules["__main__"].__spec__.name,
        "hash": hash("odradek"),
    }))
    print("loaded" if "pyspark" in sys.modules else "not loaded", file=sys.stderr)
    sys.exit(7)
"""
WAITING = """
import os, signal, sys, time

def told(*_):
    print("told", flush=True)
    sys.exit(3)

signal.signal(signal.SIGTERM, told)
print(os.getpid(), os.getppid(), "pyspark" in sys.modules, flush=True)
sys.stdin.read()
"""
SESSION = """
import sys, time
from pathlib import Path
from odradek.spark.runtime.python import start_fork_server

path = Path(sys.argv[1])
start_fork_server(Path(sys.executable), path)
print(path, flush=True)
sys.stdin.read()
"""


LET_GO = """
import socket

if __name__ == "__main__":
    here, there = socket.socketpair()
    file = here.makefile("rwb", 65536)
    there.close()
    try:
        file.write(b"an answer")
        file.flush()
    finally:
        file.close()
"""


@pytest.fixture(scope="module")
def server(tmp_path_factory: pytest.TempPathFactory) -> Path:
    path = tmp_path_factory.mktemp("server") / "socket"
    start_fork_server(Path(sys.executable), path)
    return path


@pytest.fixture
def work(tmp_path: Path) -> Path:
    (tmp_path / "probe.py").write_text(PROBE, encoding="utf-8")
    (tmp_path / "waiting.py").write_text(WAITING, encoding="utf-8")
    (tmp_path / "let_go.py").write_text(LET_GO, encoding="utf-8")
    return tmp_path


@pytest.fixture
def session(work: Path) -> Iterator[tuple["subprocess.Popen[str]", Path]]:
    """A process with a server of its own, and where that listens."""
    with subprocess.Popen(
        [sys.executable, "-c", SESSION, work / "socket"], stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True
    ) as process:
        assert process.stdout is not None
        yield process, Path(process.stdout.readline().strip())
        process.kill()


def client(server: Path, module: str, *arguments: str) -> list[str]:
    start = [sys.executable, "-I", "-S", fork_client.__file__]
    return [*start, str(server), sys.executable, "-m", module, *arguments]


def probe(
    command: list[str], work: Path, environ: Mapping[str, str] = WORKERS
) -> tuple[dict[str, Any], "subprocess.CompletedProcess[str]"]:
    done = subprocess.run(
        command, input="some lines", cwd=work, env={**environ}, capture_output=True, text=True, check=False
    )
    assert done.returncode == 7, done.stderr
    return json.loads(done.stdout), done


def start_waiting(server: Path, work: Path) -> tuple["subprocess.Popen[str]", int, int]:
    process = subprocess.Popen(
        client(server, "waiting"), cwd=work, env=WORKERS, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True
    )
    assert process.stdout is not None
    pid, parent, is_forked = process.stdout.readline().split()
    assert is_forked == "True"
    return process, int(pid), int(parent)


def test_a_fork_is_as_a_process_that_was_started(server: Path, work: Path) -> None:
    environ = {**WORKERS, "TZ": "Asia/Tokyo", "MINE": "line 1\nline 2"}
    forked, told = probe(client(server, "probe", "a b", "*"), work, environ)
    started, _ = probe([sys.executable, "-m", "probe", "a b", "*"], work, environ)
    assert forked == started
    assert forked["environ"]["MINE"] == "line 1\nline 2"
    assert told.stderr == "loaded\n"


def test_processes_that_plan_have_none_of_what_workers_have(server: Path, work: Path) -> None:
    environ = {name: value for name, value in os.environ.items() if name not in PRESET}
    forked, told = probe(client(server, "probe"), work, environ | {"PYTHONUNBUFFERED": "YES"})
    assert told.stderr == "loaded\n"
    assert not forked["environ"].keys() & {"PYTHONHASHSEED", "OMP_NUM_THREADS"}


@pytest.mark.parametrize(
    "other", [{"PYTHONPATH": "/elsewhere"}, {"PYTHONHASHSEED": "5"}, {"OMP_NUM_THREADS": "4"}, {"LC_ALL": "C"}]
)
def test_what_python_looks_at_when_it_starts_is_not_for_a_fork(server: Path, work: Path, other: dict[str, str]) -> None:
    got, told = probe(client(server, "probe"), work, WORKERS | other)
    assert told.stderr == "not loaded\n"
    assert got["environ"].items() >= other.items()
    assert got["read"] == "some lines"


def test_a_process_that_spark_lets_go_ends_without_a_word(server: Path, work: Path) -> None:
    done = subprocess.run(client(server, "let_go"), cwd=work, env=WORKERS, capture_output=True, text=True)
    assert (done.returncode, done.stderr) == (1, "")


def test_what_decides_at_the_start_of_python() -> None:
    own = {**PRESET, "LANG": "C.UTF-8", "HOME": "/root"}
    assert is_as_started({**own, "HOME": "/tmp", "PYTHON_WORKER_FACTORY_SECRET": "x"}, own)
    assert is_as_started({"LANG": "C.UTF-8"}, own)
    for name in ("LD_PRELOAD", "PYTHONPATH", "PYTHON_GIL", "PYSPARK_ENABLE_NAMEDTUPLE_PATCH"):
        assert not is_as_started({**own, name: "1"}, own)
    assert not is_as_started({}, own)


def test_a_path_that_spark_has_named_twice_is_the_same() -> None:
    own = {**PRESET, "PYTHONPATH": "/a:/b"}
    assert is_as_started({**own, "PYTHONPATH": "/a:/b:/a:/b"}, own)
    for other in ("/b:/a", "/a", "/a:/b:", "/a:/c:/b", ""):
        assert not is_as_started({**own, "PYTHONPATH": other}, own)
    assert not is_as_started(PRESET, own)


def test_without_a_server_python_is_started(tmp_path: Path, work: Path) -> None:
    _, told = probe(client(tmp_path / "none", "probe"), work)
    assert told.stderr == "not loaded\n"


def test_nothing_is_loaded_that_starts_threads_or_draws_numbers() -> None:
    look = (
        "import os, sys\nfrom importlib import import_module\nfrom odradek.spark.runtime.fork_server import LOADED\n"
        "for name in LOADED: import_module(name)\n"
        "print(len(os.listdir('/proc/self/task')), *({'pyarrow', 'numpy.random', 'pandas'} & sys.modules.keys()))"
    )
    told = subprocess.run([sys.executable, "-c", look], env=WORKERS, capture_output=True, text=True, check=True)
    assert told.stdout == "1\n"


def test_a_driver_without_standard_files_has_processes_with_them(work: Path) -> None:
    os.mkfifo(work / "told")
    script = f"import os; os.close(1); os.close(2)\n{SESSION.replace('flush=True', 'file=open(sys.argv[2], chr(119))')}"
    with subprocess.Popen(
        [sys.executable, "-c", script, work / "socket", work / "told"], stdin=subprocess.PIPE
    ) as driver:
        path = Path((work / "told").read_text(encoding="utf-8").strip())
        got, told = probe(client(path, "probe"), work)
        assert got["read"] == "some lines"
        assert told.stderr.endswith("loaded\n")
        driver.kill()


def test_a_signal_to_end_is_handed_on(server: Path, work: Path) -> None:
    process, _, _ = start_waiting(server, work)
    process.terminate()
    process.wait()  # its input goes on: that would end it, too
    printed, _ = process.communicate()
    assert printed == "told\n"
    assert process.returncode == 3


def test_a_process_that_is_killed_is_told_as_that(server: Path, work: Path) -> None:
    process, pid, _ = start_waiting(server, work)
    os.kill(pid, signal.SIGKILL)
    process.communicate()
    assert process.returncode == 128 + signal.SIGKILL


def test_the_end_of_its_input_ends_it(server: Path, work: Path) -> None:
    process, _, _ = start_waiting(server, work)
    process.communicate("")
    assert process.returncode == 0


def test_a_server_that_is_killed_takes_nothing_with_it(
    session: tuple["subprocess.Popen[str]", Path], work: Path
) -> None:
    process, _, server_pid = start_waiting(session[1], work)
    os.kill(server_pid, signal.SIGKILL)
    _, told = probe(client(session[1], "probe"), work)
    assert told.stderr == "not loaded\n"
    assert process.poll() is None
    process.terminate()
    process.wait()  # its input goes on: that would end it, too
    printed, _ = process.communicate()
    assert printed == "told\n"


def test_a_server_ends_with_whoever_started_it(session: tuple["subprocess.Popen[str]", Path], work: Path) -> None:
    driver, path = session
    process, _, server_pid = start_waiting(path, work)
    end = os.pidfd_open(server_pid)
    driver.kill()
    driver.wait()
    assert select.select([end], [], [], 30)[0]
    os.close(end)
    assert process.poll() is None
    process.communicate("")


def test_bytes_that_are_no_request_stop_nothing(server: Path, work: Path) -> None:
    for sent in (b"", b"\x00\x00", b"\xff" * 64, b"\x00\x00\x00\x05hello", b"\x00\x00\x00\x01N"):
        with socket.socket(socket.AF_UNIX) as connection, suppress(ConnectionError):
            connection.connect(str(server))
            assert connection.recv(1) == b"+"
            socket.send_fds(connection, [sent[:4] or b"\x00"], [0, 1, 2])
            connection.sendall(sent[4:])
            connection.shutdown(socket.SHUT_WR)
            assert connection.recv(1) == b""  # unless it has not even read all of it
    _, told = probe(client(server, "probe"), work)
    assert told.stderr == "loaded\n"
