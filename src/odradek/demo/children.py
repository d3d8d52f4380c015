"""Processes of the demo. Each has a session of its own, so that Ctrl-C and a closed terminal reach the demo alone,
and ends when its standard input does: so none outlives the demo, however that ends."""

import contextlib
import os
import queue
import signal
import subprocess
import sys
import time
from collections.abc import Mapping, Sequence
from pathlib import Path
from threading import Thread

from odradek.model.errors import OdradekError

_OURS = "odradek: "
_LINE_MAX = 300


class ChildEnded(OdradekError):
    """One that should be running is not."""


class Child:
    """Started when it is made. What it prints are its messages; what it complains of goes to its log."""

    def __init__(self, name: str, command: Sequence[str], log: Path, environ: Mapping[str, str]) -> None:
        self.name, self.log = name, log
        self._said: queue.SimpleQueue[str] = queue.SimpleQueue()
        self.first_word: str | None = None
        """Its first message, when it has come."""
        with log.open("ab") as sink:
            self._process = subprocess.Popen(
                command,
                stdin=subprocess.PIPE,
                stdout=subprocess.PIPE,
                stderr=sink,
                env=dict(environ),
                start_new_session=True,
            )
        self._listener = Thread(target=self._listen, name=f"{name}-listener", daemon=True)
        self._listener.start()

    @property
    def pid(self) -> int:
        return self._process.pid

    def said(self) -> list[str]:
        """Its messages since the last call."""
        messages = []
        with contextlib.suppress(queue.Empty):
            while True:
                messages.append(self._said.get_nowait())
        return messages

    def tell(self, message: str) -> None:
        """Nothing happens if it has ended: `check` says so."""
        assert self._process.stdin is not None
        with contextlib.suppress(BrokenPipeError, ValueError):  # it has ended, or was told to
            self._process.stdin.write(f"{message}\n".encode())
            self._process.stdin.flush()

    def check(self) -> None:
        """Raises ChildEnded."""
        status = self._process.poll()
        if status is not None:
            raise ChildEnded(f"{self.name} {_how(status)}{self._why()} (its log is {self.log})")

    def begin_to_stop(self) -> None:
        assert self._process.stdin is not None
        with contextlib.suppress(BrokenPipeError):
            self._process.stdin.close()

    def stop(self, deadline_s: float) -> bool:
        """Gone when this returns, with all of its session. False if it had to be killed at the deadline."""
        self.begin_to_stop()
        try:
            self._process.wait(max(0.0, deadline_s - time.monotonic()))
            in_time = True
        except subprocess.TimeoutExpired:
            in_time = False
        with contextlib.suppress(ProcessLookupError, PermissionError):
            os.killpg(self._process.pid, signal.SIGKILL)
        self._process.wait()
        self._listener.join(1.0)
        return in_time

    def _listen(self) -> None:
        assert self._process.stdout is not None
        with self._process.stdout as lines:
            for line in lines:
                message = line.decode(errors="replace").rstrip("\n")
                self.first_word = self.first_word or message
                self._said.put(message)

    def _why(self) -> str:
        """The last of its lines that is for a person, else the last line."""
        lines = self.log.read_text(encoding="utf-8", errors="replace").splitlines()
        ours = [line.removeprefix(_OURS) for line in lines if line.startswith(_OURS)]
        told = (ours or [line for line in lines if line.strip()] or [""])[-1].strip()
        return f": {told[:_LINE_MAX]}" if told else ""


def python_command(module: str, *arguments: str) -> list[str]:
    # -P: modules in the directory of the user must not stand in for ours.
    return [sys.executable, "-P", "-m", module, *arguments]


def _how(status: int) -> str:
    return f"was killed by {signal.Signals(-status).name}" if status < 0 else f"ended with status {status}"
