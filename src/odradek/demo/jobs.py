"""The process that runs all jobs on Spark: `python -m odradek.demo.jobs SETTING`.

It says `up` when Spark is, and `drained` when it was told to `drain` and all jobs have read what is there. At the end
of its standard input it stops, and leaves no Java behind.
"""

import contextlib
import faulthandler
import logging
import os
import signal
import subprocess
import sys
import time
from collections.abc import Iterator
from dataclasses import replace
from threading import Event, Thread, Timer
from typing import TextIO

from py4j.protocol import Py4JError
from pyspark import SparkContext
from pyspark.sql import SparkSession

import odradek.spark
from odradek.demo.jobs_setting import DRAIN, DRAINED, UP, JobsSetting
from odradek.model.errors import OdradekError
from odradek.pipelines.queries import Setting
from odradek.pipelines.registry import JOBS
from odradek.pipelines.runner import run_all
from odradek.process.log_lines import LineFormat

_JAVA_END_S = 5.0
_JAVA_TELLS_S = 10.0
"""Who has waited for minutes waits for this too, and nobody says when Java has told all."""
_EXIT_FAILED = 1


class Orders:
    """What is said on standard input."""

    def __init__(self, lines: TextIO) -> None:
        self._lines = lines
        self.is_up = False
        self.is_draining = False
        # Two, since whoever runs jobs sets what it was given when they have ended.
        self.stop_running, self.stop_draining = Event(), Event()
        self.over = Event()

    def start(self) -> None:
        Thread(target=self._read, name="orders", daemon=True).start()

    def _read(self) -> None:
        for line in self._lines:
            if line.strip() == DRAIN:
                self.is_draining = True
                self.stop_running.set()
        for each in (self.over, self.stop_running, self.stop_draining):
            each.set()
        if not self.is_up:
            # Spark takes seconds to start and cannot be told to stop before: it has done nothing that would be lost.
            os.killpg(0, signal.SIGKILL)


def main(argument: str) -> int:
    messages = _messages()
    handler = logging.StreamHandler()
    handler.setFormatter(LineFormat())
    logging.basicConfig(level=logging.WARNING, handlers=[handler])
    logging.getLogger("py4j").setLevel(logging.CRITICAL)  # a traceback of what the runner tells in a line
    orders = Orders(sys.stdin)
    orders.start()
    setting = JobsSetting.of_argument(argument)
    try:
        spark = odradek.spark.session("odradek-demo", setting.master, **setting.configs)
        java = _java()
        orders.is_up = True
        _say(messages, UP)
        try:
            _run(spark, setting, orders, messages, java)
        except (Py4JError, OSError, EOFError):
            java.check()
            raise
        finally:
            java.end(spark)
    except OdradekError as error:
        _say(sys.stderr, f"odradek: {error}")
        return _EXIT_FAILED
    return 0


def _run(spark: SparkSession, setting: JobsSetting, orders: Orders, messages: TextIO, java: "_Java") -> None:
    jobs = list(JOBS.values())
    running = Setting(
        setting.bootstrap, setting.checkpoint, starts_max=setting.starts_max, interval_s=setting.interval_s
    )
    run_all(spark, jobs, running, orders.stop_running)
    if orders.is_draining:
        # From their checkpoints, as after any other stop, to the end of what is there.
        with _no_longer_than(setting.drain_s, java):
            run_all(spark, jobs, replace(running, once=True), orders.stop_draining)
        if not orders.over.is_set():
            _say(messages, DRAINED)
            orders.over.wait()


@contextlib.contextmanager
def _no_longer_than(seconds: float, java: "_Java") -> Iterator[None]:
    """Else the process ends, and its log has what each of its threads and those of Java were at."""

    def give_up() -> None:
        faulthandler.dump_traceback()
        java.tell_threads()
        _say(sys.stderr, f"odradek: the jobs have not read what is left within {seconds:g} s")
        os._exit(_EXIT_FAILED)

    timer = Timer(seconds, give_up)
    timer.daemon = True
    timer.start()
    try:
        yield
    finally:
        timer.cancel()


class JavaEnded(OdradekError):
    def __init__(self, status: int) -> None:
        super().__init__(f"the Java process of Spark ended with status {status}")


class _Java:
    """The process that Spark runs in. If it dies, not every call to it notices: so this process dies with it."""

    def __init__(self, process: "subprocess.Popen[bytes]") -> None:
        self._process = process
        self._may_end = Event()
        Thread(target=self._watch, name="java", daemon=True).start()

    def check(self) -> None:
        """For who has lost the connection to it. Raises JavaEnded."""
        with contextlib.suppress(subprocess.TimeoutExpired):
            raise JavaEnded(self._process.wait(_JAVA_END_S))

    def tell_threads(self) -> None:
        """To standard error. Java does so beside all else, and ends when we do."""
        self._process.send_signal(signal.SIGQUIT)
        time.sleep(_JAVA_TELLS_S)

    def end(self, spark: SparkSession) -> None:
        self._may_end.set()
        with contextlib.suppress(Py4JError, OSError):
            spark.stop()
        if self._process.stdin is not None:
            self._process.stdin.close()  # which is what it waits for
        try:
            self._process.wait(_JAVA_END_S)
        except subprocess.TimeoutExpired:
            self._process.kill()

    def _watch(self) -> None:
        status = self._process.wait()
        if not self._may_end.is_set():
            _say(sys.stderr, f"odradek: {JavaEnded(status)}")
            os._exit(_EXIT_FAILED)


def _java() -> _Java:
    gateway = SparkContext._gateway
    assert gateway is not None
    return _Java(gateway.proc)


def _messages() -> TextIO:
    """Standard output as it was; what Spark and its processes print goes to standard error from now on."""
    said = os.fdopen(os.dup(1), "w", encoding="utf-8")
    os.dup2(2, 1)
    return said


def _say(stream: TextIO, message: str) -> None:
    stream.write(f"{message}\n")
    stream.flush()


if __name__ == "__main__":
    sys.exit(main(sys.argv[1]))
