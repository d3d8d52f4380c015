"""The demo as a process of its own: it checks its results, ends when it is told to, and leaves nothing."""

import os
import re
import signal
import subprocess
import sys
import time
from collections.abc import Iterator
from pathlib import Path

import pytest

from odradek.demo.children import Child, ChildEnded, python_command
from odradek.demo.jobs_setting import DRAIN, JobsSetting, spark_configs
from odradek.pipelines.registry import JOBS

COMMAND = [sys.executable, "-m", "odradek", "demo", "--no-browser", "--events-per-second", "60"]


class Demo:
    """Its temporary directory is one of its own, and all its processes have that in their environment."""

    def __init__(self, temporary: Path, *arguments: str) -> None:
        self._temporary = temporary
        self.process = subprocess.Popen(
            [*COMMAND, *arguments],
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            env={**os.environ, "TMPDIR": str(temporary)},
            text=True,
        )

    def wait_for(self, beginning: str) -> None:
        """A line that begins so."""
        assert self.process.stdout is not None
        for line in self.process.stdout:
            if line.startswith(beginning):
                return
        raise AssertionError(self.process.communicate()[1])

    def kill(self, argument: str) -> None:
        """That of its processes which has this argument."""
        (found,) = (each for each in self.processes() if argument.encode() in read(each / "cmdline").split(b"\0"))
        os.kill(int(found.name), signal.SIGKILL)

    def end(self) -> tuple[int, str]:
        """Its status and its complaints. None of its processes is there any more."""
        assert self.process.stdout is not None
        assert self.process.stderr is not None
        with self.process:  # closes what is open and waits
            if not self.process.stdout.closed:
                self.process.stdout.read()
            complaints = self.process.stderr.read()
        # Workers of Spark end when they see that Java has: they need not be first.
        while self.processes():
            os.sched_yield()
        return self.process.returncode, complaints

    def processes(self) -> list[Path]:
        """Also those that have not yet replaced the demo itself, from which they are made."""
        mark = os.fsencode(f"TMPDIR={self._temporary}")
        return [each for each in Path("/proc").glob("[0-9]*") if mark in read(each / "environ")]


def read(path: Path) -> bytes:
    try:
        return path.read_bytes()
    except OSError:
        return b""  # it has ended


@pytest.fixture
def temporary(tmp_path: Path) -> Iterator[Path]:
    made = tmp_path / "tmp"
    made.mkdir()
    yield made
    assert list(made.iterdir()) == []


def test_results_are_what_the_truth_says_and_nothing_is_left(temporary: Path) -> None:
    demo = Demo(temporary, "--seconds", "3")
    assert demo.process.stdout is not None
    lines = demo.process.stdout.read().splitlines()
    assert demo.end() == (0, ""), lines
    table = [line.split() for line in lines[lines.index("job                     expected     found  differences") :]]
    found = {row[0]: row[1:] for row in table[1 : 1 + len(JOBS)]}
    assert list(found) == list(JOBS)
    for job, (expected, seen, differences) in found.items():
        assert (expected, differences) == (seen, "0"), job
        assert expected != "0", job


@pytest.mark.parametrize(
    ("number", "line"), [(signal.SIGHUP, "topics: "), (signal.SIGTERM, "history: "), (signal.SIGINT, "Spark: ")]
)
def test_a_signal_ends_all_of_it_whenever_it_comes(temporary: Path, number: signal.Signals, line: str) -> None:
    demo = Demo(temporary)
    demo.wait_for(line)
    demo.process.send_signal(number)
    demo.process.send_signal(number)
    assert demo.end() == (0, "")


def test_a_reader_that_goes_away_ends_all_of_it(temporary: Path) -> None:
    demo = Demo(temporary)
    demo.wait_for("broker: ")
    assert demo.process.stdout is not None
    demo.process.stdout.close()
    assert demo.end() == (0, "")


@pytest.mark.parametrize(
    ("line", "argument", "said"),
    [
        ("topics: ", "serve", r"the broker was killed by SIGKILL"),
        ("Spark: ", "org.apache.spark.deploy.SparkSubmit", r"Spark .* the Java process of Spark ended with status -9"),
    ],
)
def test_where_a_part_dies_one_line_says_so(tmp_path: Path, line: str, argument: str, said: str) -> None:
    demo = Demo(tmp_path)
    demo.wait_for(line)
    demo.kill(argument)
    status, complaint = demo.end()
    assert status == 1
    told = re.fullmatch(rf"odradek: {said}.* \(its log is (.*)\)\n", complaint)
    assert told is not None, complaint
    log = Path(told[1])
    assert log.is_file()
    assert list(tmp_path.iterdir()) == [log.parent.parent]
    assert list(log.parent.parent.iterdir()) == [log.parent]


def test_jobs_that_do_not_end_are_given_up_and_the_log_has_what_they_were_at(tmp_path: Path) -> None:
    no_broker, master = "127.0.0.1:1", "local[1]"
    configs = spark_configs(tmp_path, master, 60)
    setting = JobsSetting(no_broker, str(tmp_path / "checkpoints"), master, configs, drain_s=1)
    jobs = Child("the jobs", python_command("odradek.demo.jobs", setting.as_argument()), tmp_path / "log", os.environ)
    jobs.tell(DRAIN)
    os.waitid(os.P_PID, jobs.pid, os.WEXITED | os.WNOWAIT)
    with pytest.raises(ChildEnded, match="status 1: the jobs have not read what is left within 1 s"):
        jobs.check()
    jobs.stop(time.monotonic())
    told = (tmp_path / "log").read_text()
    assert "in run_all" in told
    assert "Full thread dump" in told
