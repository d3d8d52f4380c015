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
    "odradek.spark.batch_planning",
    "odradek.spark.batch_reader",
    "odradek.spark.reading.compiled",
    "odradek.spark.reading.fetching",
    "odradek.spark.stream_driver",
    "odradek.spark.stream_reader",
)
PRESET = {
    "PYTHONHASHSEED": "0",
    "PYTHONUNBUFFERED": "YES",
    "OMP_NUM_THREADS": "1",
}
"""How Spark starts its workers. Processes that plan get none of it, and do not differ by it."""

_DECIDES_AT_START = re.compile(r"PYTHON[A-Z]|LANG|LC_|LD_|MALLOC_|OMP_|OPENBLAS_|MKL_")
_ANSWER_S = 1.0
"""How long a client may take for what it has ready."""
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
        with suppress(ImportError):  # then whoever needs it says so
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
            connection, _ = listening.accept()
            got = _receive(connection)
            if got is None:
                connection.close()
                continue
            request, files = got
            try:
                pid = os.fork()
            except OSError:  # too many processes: whoever asked will hear of it by itself
                connection.close()
                continue
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
            end = os.pidfd_open(pid)
            waiting[end] = pid, connection
            poll.register(end, select.POLLIN)
            with suppress(OSError):  # a client that was killed
                connection.sendall(pid.to_bytes(4, "big"))


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
    except OSError:
        pass
    for file in files:
        os.close(file)
    return None


def is_as_started(environ: Mapping[str, str], own: Mapping[str, str]) -> bool:
    """Whether a Python that starts with this environment runs as one that was started with our own does."""
    names = filter(_DECIDES_AT_START.match, environ.keys() | own.keys())
    return all(environ.get(name, PRESET.get(name)) == own.get(name) for name in names)


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
    resource.setrlimit(resource.RLIMIT_NOFILE, request.files_limit)
    if not sys.flags.safe_path:
        sys.path[0] = request.directory
    Path("/proc/self/comm").write_text(module[-15:], encoding="utf-8")  # as top shows it: the arguments stay ours
    sys.argv = [module, *arguments]
    sys.modules.pop(module, None)  # it is run, not imported
    runpy.run_module(module, run_name="__main__", alter_sys=True)


def _threads() -> int:
    return len(os.listdir("/proc/self/task"))


if __name__ == "__main__":
    main(socket.socket(fileno=int(sys.argv[1])))
