"""Stands for a Python process that Spark starts, while the fork server has made the real one.

Run by its path, with nothing of Python but itself: `python -I -S fork_client.py SOCKET PYTHON ARGUMENTS...`. It ends as
that process ends, and hands on the signal by which Spark ends it. Where the server does not answer, or turns it away,
it becomes the Python that Spark asked for.
"""

import marshal
import os
import resource
import select
import signal
import socket
import sys
from contextlib import suppress

_READY_S = 5.0
"""How long the server may take to load what it has to: a little less than to start without it, on a busy machine."""


def main(path: str, python: str, arguments: list[str]) -> int:
    server = socket.socket(socket.AF_UNIX)
    signal.pthread_sigmask(signal.SIG_BLOCK, [signal.SIGTERM])  # until there is somebody to hand it on to
    pid = _ask(server, path, arguments)
    if pid is None:
        signal.pthread_sigmask(signal.SIG_UNBLOCK, [signal.SIGTERM])
        os.execv(python, [python, *arguments])
    signal.signal(signal.SIGTERM, lambda _signal, _frame: _end(pid))
    signal.pthread_sigmask(signal.SIG_UNBLOCK, [signal.SIGTERM])
    try:
        ended = os.pidfd_open(pid)
    except ProcessLookupError:
        ended = -1
    nowhere = os.open(os.devnull, os.O_RDWR)
    for standard in (0, 1):  # whoever reads what the process writes is to see its end
        os.dup2(nowhere, standard)
    told = server.recv(1)
    if not told and ended >= 0:  # the server has gone, and the process goes on
        select.select([ended], [], [])
    return told[0] if told else 1


def _ask(server: socket.socket, path: str, arguments: list[str]) -> int | None:
    """The id of the new process. Nothing is handed over before the server is ready, and then it answers."""
    try:
        server.connect(path)
        server.settimeout(_READY_S)
        if server.recv(1) != b"+":
            return None
        server.settimeout(None)
        limit = resource.getrlimit(resource.RLIMIT_NOFILE)
        body = marshal.dumps((arguments, dict(os.environ), os.getcwd(), limit))
        socket.send_fds(server, [len(body).to_bytes(4, "big")], [0, 1, 2])
        server.sendall(body)
        answer = server.recv(4)
    except OSError:
        return None
    return int.from_bytes(answer, "big") if len(answer) == 4 else None


def _end(pid: int) -> None:
    with suppress(ProcessLookupError):
        os.kill(pid, signal.SIGTERM)


if __name__ == "__main__":
    sys.exit(main(sys.argv[1], sys.argv[2], sys.argv[3:]))
