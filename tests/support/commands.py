"""The `odradek` command in a process of its own, for those who interrupt it or read what it prints line by line."""

import selectors
import subprocess
import sys
from typing import IO

_LIMIT_S = 60


def started(bootstrap: str, *arguments: str) -> "subprocess.Popen[bytes]":
    """A process group of its own, with pipes for all that it reads and says."""
    command = [sys.executable, "-m", "odradek", *arguments, "--bootstrap", bootstrap]
    pipe = subprocess.PIPE
    return subprocess.Popen(command, bufsize=0, stdin=pipe, stdout=pipe, stderr=pipe, process_group=0)


def next_line(stream: IO[bytes] | None) -> bytes:
    """Empty if none comes."""
    assert stream is not None
    with selectors.DefaultSelector() as selector:
        selector.register(stream, selectors.EVENT_READ)
        return stream.readline() if selector.select(_LIMIT_S) else b""
