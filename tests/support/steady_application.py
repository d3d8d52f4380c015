"""An application in a process of its own that passes records on in transactions, whatever becomes of its broker.

It is `Transformer.java` of the interop tests, with Apache Kafka's own clients, which go on by themselves where they can
and are made anew where they say that they cannot. Only here the process is killed.
"""

import signal
import subprocess
import threading
from collections import Counter
from collections.abc import Sequence
from pathlib import Path
from typing import IO

from support.steady_clients import SteadyClient

_HOLD = b"hold\n"


class SteadyApplication(SteadyClient):
    """`done` counts the transactions that it said were committed."""

    def __init__(self, command: Sequence[str], output: Path) -> None:
        """`output` gets what it has to complain of."""
        super().__init__("application")
        self.said: Counter[str] = Counter()
        """How often it said what, but for where it is."""
        self.kills = 0
        self._positions: dict[int, int] = {}
        self._command = command
        self._output = output
        self._process: subprocess.Popen[bytes] | None = None
        self._may_run = threading.Event()
        self._may_run.set()

    def kill(self, *, in_transaction: bool) -> None:
        """SIGKILL, at any moment or with a transaction open that has everything sent. Returns when it is gone."""
        self._wait_until(lambda: self._process is not None, "runs")
        if in_transaction:
            held = self.said["held"]
            self._tell(_HOLD)
            self._wait_until(lambda: self.said["held"] > held, "holds a transaction open")
        self._may_run.clear()
        with self._changed:
            assert self._process is not None
            self.kills += 1
            self._process.kill()
        self._wait_until(lambda: self._process is None, "is gone")

    def restart(self) -> None:
        """After a kill."""
        self._may_run.set()

    def ask_to_stop(self) -> None:
        super().ask_to_stop()
        self._may_run.set()
        with self._changed:
            self._end_input()

    def wait_until_at(self, positions: dict[int, int]) -> None:
        """Until it has committed these offsets, by partition."""
        self._wait_until(lambda: self._positions == positions, f"has committed {positions}")

    def _end_input(self) -> None:
        if self._process is not None and self._process.stdin is not None:
            self._process.stdin.close()

    def _tell(self, line: bytes) -> None:
        with self._changed:
            assert self._process is not None
            assert self._process.stdin is not None
            self._process.stdin.write(line)
            self._process.stdin.flush()

    def _work(self) -> None:
        while True:
            self._may_run.wait()
            if self._stopping.is_set():
                return
            kills = self.kills
            with self._output.open("ab") as sink:
                pipe = subprocess.PIPE
                process = subprocess.Popen(self._command, stdin=pipe, stdout=pipe, stderr=sink)
            self._follow(process)
            if self.kills == kills:
                assert self._stopping.is_set(), f"it ended by itself, with status {process.returncode}"
                assert process.returncode == 0
                return
            assert process.returncode == -signal.SIGKILL

    def _follow(self, process: "subprocess.Popen[bytes]") -> None:
        with process:
            try:
                self._set_process(process)
                assert process.stdout is not None
                self._listen(process.stdout)
                process.wait()
            finally:
                process.kill()  # else it would outlive one who cannot follow it
                self._set_process(None)

    def _set_process(self, process: "subprocess.Popen[bytes] | None") -> None:
        with self._changed:
            self._process = process
            if self._stopping.is_set():
                self._end_input()
            self._changed.notify_all()

    def _listen(self, lines: IO[bytes]) -> None:
        for line in lines:
            what, *numbers = line.decode().split()
            with self._changed:
                if what == "at":
                    partition, offset = map(int, numbers)
                    self._positions[partition] = offset
                else:
                    self.said[line.decode().strip()] += 1
                self._changed.notify_all()
            if what == "committed":
                self._get_on()
