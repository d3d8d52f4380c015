"""Jobs that `./run bench pipelines` runs: a process with Spark, and what it tells of their batches as they are done."""

import json
import os
import subprocess
import sys
import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import Any, NamedTuple

import harness

_TICKS_S = os.sysconf("SC_CLK_TCK")
_WAIT_S = 180
_LINES_TOLD = 40


class Batch(NamedTuple):
    """One that a job has done. Offsets are by topic and partition."""

    job: str
    batch: int
    rows: int
    starts: dict[str, int]
    ends: dict[str, int]
    done_ms: float
    durations_ms: dict[str, int]
    state_rows: int
    state_bytes: int

    @property
    def read(self) -> int:
        """Events that the job has read when this batch is done."""
        return sum(self.ends.values())


class Jobs:
    """Made by `spark_jobs`."""

    def __init__(self, process: "subprocess.Popen[str]", log: Path) -> None:
        self._process = process
        self._log = log
        self._changed = threading.Condition()
        self._done: list[str] = []
        self._is_over = False
        self.batches: dict[str, list[Batch]] = {}
        """Of those that run or ran last, by job."""
        self._listener = threading.Thread(target=self._listen, name="batches", daemon=True)
        self._listener.start()

    def start(self, jobs: list[str], bootstrap: str, checkpoint: Path, **setting: Any) -> None:
        with self._changed:
            self.batches = {job: [] for job in jobs}
        setting |= {"bootstrap": bootstrap, "checkpoint": str(checkpoint)}
        self._command({"start": jobs, "setting": setting}, "start")

    def stop(self) -> None:
        self._command({"stop": True}, "stop")

    def read(self) -> dict[str, int]:
        """Events that each job has read."""
        with self._changed:
            return {job: batches[-1].read if batches else 0 for job, batches in self.batches.items()}

    def wait_until_read(self, counts: dict[str, int], limit_s: float = _WAIT_S) -> None:
        """Until each job has read so many events."""
        deadline = time.perf_counter() + limit_s
        with self._changed:
            while any(not each or each[-1].read < counts[job] for job, each in self.batches.items()):
                self._wait(deadline, f"jobs did not read {counts}")

    def wait_for_batches(self, count: int, since_ms: float) -> None:
        """Until each job has done so many since then."""
        deadline = time.perf_counter() + _WAIT_S
        with self._changed:
            while any(sum(one.done_ms >= since_ms for one in each) < count for each in self.batches.values()):
                self._wait(deadline, f"jobs did not do {count} batches")

    def wait_for_session(self) -> None:
        self._await_done("session")

    def end(self) -> None:
        assert self._process.stdin is not None
        with suppress(BrokenPipeError):  # it may have failed, and that is told already
            self._process.stdin.close()  # at the end of its input it stops
        self._process.wait()
        self._listener.join()

    def cpu_s(self) -> float:
        """So far, of all its processes: Java, and Spark's Python."""
        return sum(map(_cpu_s, _tree(self._process.pid)))

    def _command(self, command: dict[str, Any], done: str) -> None:
        assert self._process.stdin is not None
        self._process.stdin.write(json.dumps(command) + "\n")
        self._process.stdin.flush()
        self._await_done(done)

    def _await_done(self, what: str) -> None:
        deadline = time.perf_counter() + _WAIT_S
        with self._changed:
            while what not in self._done:
                self._wait(deadline, f"no answer to {what}")
            self._done.remove(what)

    def _wait(self, deadline: float, otherwise: str) -> None:
        if self._is_over or not self._changed.wait(max(deadline - time.perf_counter(), 0)):
            lines = [
                line for line in self._log.read_text(errors="replace").splitlines() if not line.startswith("\tat ")
            ]
            raise RuntimeError("\n".join([otherwise, *lines[-_LINES_TOLD:]]))

    def _listen(self) -> None:
        assert self._process.stdout is not None
        for line in self._process.stdout:
            told = json.loads(line)
            with self._changed:
                if "done" in told:
                    self._done.append(told["done"])
                elif told["job"] in self.batches:
                    self.batches[told["job"]].append(Batch(**told))
                self._changed.notify_all()
        with self._changed:
            self._is_over = True
            self._changed.notify_all()


@contextmanager
def spark_jobs(work: Path) -> Iterator[Jobs]:
    """One Spark for all of them, which is warm after the first."""
    log = work / "spark.log"
    script = str(Path(__file__).with_name("pipelines_spark.py"))
    with log.open("wb") as errors:
        pipe, command = subprocess.PIPE, [sys.executable, script]
        process = subprocess.Popen(
            command, stdin=pipe, stdout=pipe, stderr=errors, text=True, env=harness.environment()
        )
    jobs = Jobs(process, log)
    try:
        jobs.wait_for_session()
        yield jobs
    finally:
        jobs.end()


def _tree(root: int) -> list[int]:
    children: dict[int, list[int]] = {}
    for entry in Path("/proc").iterdir():
        if entry.name.isdigit() and (fields := _stat(int(entry.name))):
            children.setdefault(int(fields[1]), []).append(int(entry.name))
    found = [root]
    for pid in found:
        found.extend(children.get(pid, []))
    return found


def _cpu_s(pid: int) -> float:
    """With that of children that ended."""
    fields = _stat(pid)
    return sum(map(int, fields[11:15])) / _TICKS_S if fields else 0.0


def _stat(pid: int) -> list[str]:
    """What follows the name; nothing for one that is gone."""
    try:
        return Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()
    except OSError:
        return []
