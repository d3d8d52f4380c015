"""A process that has loaded what Spark's Python processes need, and becomes each of them by a fork.

Spark starts one for each kind of work: to look up a source, to make it, to plan, to run tasks, to write, to commit.
Each imports PySpark and what it needs besides, for half a second and more, one after the other in a first query. Here
that is done once, while Java starts. `fork_client.py` stands where Spark expects the process that it started.

A fork has all of its parent's memory and none of its threads, so nothing is loaded that starts any: of what is needed,
that leaves out pyarrow alone. What decides at the start of Python how it runs must be as it would be, or the client is
turned away and starts a Python of its own.
"""

import gc
import marshal
import os
import re
import resource
import runpy
import select
import signal
import socket
import sys
import time
from collections.abc import Mapping
from contextlib import suppress
from importlib import import_module
from pathlib import Path
from typing import NamedTuple

LOADED = (
    "pyspark",
    "pyspark.worker",
    "pyspark.sql.worker.create_data_source",
    "pyspark.sql.worker.lookup_data_sources",
    "numpy",
    "llvmlite.binding",
    "uvloop",
    "odradek.spark.batch_planning",
    "odradek.spark.batch_reader",
    "odradek.spark.reading.compiled",
    "odradek.spark.reading.fetching",
    "odradek.spark.runtime.repeated",
    "odradek.spark.streams.driver",
    "odradek.spark.streams.reader",
)
DAEMON = "odradek.spark.runtime.daemon"
"""Run in place of PySpark's own."""
ALWAYS = {"PYTHONUNBUFFERED": "YES", "OMP_NUM_THREADS": "1"}
PRESET = {"PYTHONHASHSEED": "0", **ALWAYS}
"""How Spark starts its workers. Processes that plan get none of it, and do not differ by it."""

_SPARKS_OWN = "_WORKER_|_UNIX_DOMAIN_|_DAEMON_|_FAULTHANDLER_|_TRACEBACK_|_UDF_"
_DECIDES_AT_START = re.compile(
    rf"PYTHON(?!{_SPARKS_OWN})|PYSPARK_ENABLE_|LANG|LC_|LD_|GLIBC_|MALLOC_|OMP_|OPENBLAS_|MKL_|NPY_"
)
_SHOWN = {DAEMON: "pyspark.daemon"}
"""Known to those who look for it by this name."""
_ANSWER_S = 1.0
"""How long a client may take for what it has ready."""
_PAUSE_S = 0.1
"""Where no connection can be taken, as when too many files are open."""
_REQUEST_MAX = 8 << 20
"""In bytes. An environment is a few KB; the system lets no program start with one of more than some MB."""


class Request(NamedTuple):
    """What a process is to be."""

    arguments: list[str]
    """Of Python: `-m`, a module, and its arguments."""
    environ: dict[str, str]
    directory: str
    files_limit: tuple[int, int]


def main(listening: socket.socket) -> None:
    for name in LOADED:
        with suppress(ImportError, OSError):  # then whoever needs it says so
            import_module(name)
    if _threads() > 1:
        return
    gc.collect()
    gc.freeze()  # shared by all, and not looked at by each when Spark collects garbage after a task
    request = _serve(listening)
    if request is not None:
        _become(request)


def _serve(listening: socket.socket) -> Request | None:
    """Until standard input, a pipe, ends. In a process that was forked, it returns what that is to be."""
    waiting: dict[int, tuple[int, socket.socket]] = {}
    poll = select.poll()
    poll.register(sys.stdin.fileno(), select.POLLIN)
    poll.register(listening, select.POLLIN)
    while True:
        for ready, _ in poll.poll():
            if ready == sys.stdin.fileno():
                return None
            if ready != listening.fileno():
                poll.unregister(ready)
                _tell_end(ready, *waiting.pop(ready))
                continue
            asked = _take(listening)
            if asked is None:
                continue
            connection, request, files = asked
            pid = _fork()
            if pid == 0:
                for other, (_, client) in waiting.items():
                    os.close(other)
                    client.close()
                connection.close()
                listening.close()
                _take_over(files)
                return request
            for file in files:
                os.close(file)
            end = None if pid is None else _watch(pid)
            if pid is None or end is None:
                connection.close()
                continue
            waiting[end] = pid, connection
            poll.register(end, select.POLLIN)
            with suppress(OSError):  # a client that was killed
                connection.sendall(pid.to_bytes(4, "big"))


def _take(listening: socket.socket) -> tuple[socket.socket, Request, list[int]] | None:
    """A client, what it asks for, and its standard files. None where nothing comes of it."""
    try:
        connection, _ = listening.accept()
    except OSError:
        time.sleep(_PAUSE_S)
        return None
    got = _receive(connection)
    if got is None:
        connection.close()
        return None
    return connection, *got


def _fork() -> int | None:
    """None where there are too many processes: who asked will hear of it when it starts one by itself."""
    try:
        return os.fork()
    except OSError:
        return None


def _watch(pid: int) -> int | None:
    """A file that is ready when the process ends. None where none can be had; then the process is no more."""
    try:
        return os.pidfd_open(pid)
    except OSError:
        os.kill(pid, signal.SIGKILL)
        os.waitpid(pid, 0)
        return None


def _receive(connection: socket.socket) -> tuple[Request, list[int]] | None:
    """A request, and the three standard files. None for one that is none, or is not to be had by a fork."""
    connection.settimeout(_ANSWER_S)
    files: list[int] = []
    try:
        connection.sendall(b"+")  # from now on the client waits for an answer, and starts nothing by itself
        head, files, _, _ = socket.recv_fds(connection, 4, 3)
        size = int.from_bytes(head, "big")
        body = b""
        while len(head) == 4 and len(body) < size <= _REQUEST_MAX:
            part = connection.recv(size - len(body))
            if not part:
                break
            body += part
        if len(files) == 3 and 0 < size == len(body):
            request = Request(*marshal.loads(body))
            if request.arguments[:1] == ["-m"] and is_as_started(request.environ, os.environ):
                return request, files
    except (OSError, EOFError, TypeError, ValueError):  # it has gone, or is no client of ours
        pass
    for file in files:
        os.close(file)
    return None


def is_as_started(environ: Mapping[str, str], own: Mapping[str, str]) -> bool:
    """Whether a Python that starts with this environment runs as one that was started with our own does."""
    names = filter(_DECIDES_AT_START.match, environ.keys() | own.keys())
    return all(_meant(name, environ.get(name, PRESET.get(name))) == _meant(name, own.get(name)) for name in names)


def _meant(name: str, value: str | None) -> list[str] | str | None:
    """Where a path names a place twice, the second is not looked at. Spark names all of PYTHONPATH twice to one of its
    processes: for who has it set, that was a second of each first query."""
    return list(dict.fromkeys(value.split(os.pathsep))) if name == "PYTHONPATH" and value is not None else value


def _tell_end(end: int, pid: int, client: socket.socket) -> None:
    os.close(end)
    _, status = os.waitpid(pid, 0)
    code = os.waitstatus_to_exitcode(status)
    with suppress(OSError):
        client.sendall(bytes([code if code >= 0 else 128 - code]))
    client.close()


# --- in the new process


def _take_over(files: list[int]) -> None:
    for standard, file in enumerate(files):
        os.dup2(file, standard)
        os.close(file)


def _become(request: Request) -> None:
    _, module, *arguments = request.arguments
    os.environ.clear()
    os.environ.update(request.environ)
    time.tzset()
    os.chdir(request.directory)
    with suppress(OSError, ValueError):
        resource.setrlimit(resource.RLIMIT_NOFILE, request.files_limit)
    if not sys.flags.safe_path:
        sys.path[0] = request.directory
    if sys.stderr is None:  # the server was started without one
        sys.stderr = os.fdopen(2, "w", encoding="utf-8", errors="backslashreplace", closefd=False)
    with suppress(OSError):  # as top shows it: the arguments stay ours
        Path("/proc/self/comm").write_text(_SHOWN.get(module, module)[-15:], encoding="utf-8")
    sys.argv = [module, *arguments]
    sys.modules.pop(module, None)  # it is run, not imported
    try:
        runpy.run_module(module, run_name="__main__", alter_sys=True)
    except ConnectionError:
        sys.exit(1)  # Spark has closed the other end, as where a query is stopped while its source answers


def _threads() -> int:
    return len(os.listdir("/proc/self/task"))


if __name__ == "__main__":
    main(socket.socket(fileno=int(sys.argv[1])))
