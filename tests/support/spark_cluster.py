"""A standalone cluster of Spark on this machine, from the installed PySpark: a master, and workers that can be killed.

Executors run on the same machine in the same environment: `PYSPARK_PYTHON` of the driver is theirs too.
"""

import os
import re
import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from importlib.util import find_spec
from pathlib import Path
from threading import Event, Thread

from odradek.model.errors import OdradekError
from odradek.spark.runtime.java import find_java_home

_HOST = "127.0.0.1"
_START_S = 900
"""A process that ends is known at once: this is only for one that hangs."""
_STOP_S = 60
LIGHT_JAVA = "-XX:TieredStopAtLevel=1 -XX:+UseSerialGC"
"""For processes that live for a minute: what is compiled well would not pay."""
_LINES_TOLD = 20
_MASTER = "org.apache.spark.deploy.master.Master"
_WORKER = "org.apache.spark.deploy.worker.Worker"
_MASTER_UP = re.compile(r"Starting Spark master at (spark://\S+)")
_WORKER_UP = re.compile(r"Successfully registered with master (spark://\S+)")


class ClusterFailed(OdradekError):
    """A process of the cluster did not start."""


class _Daemon:
    """A process of Spark's that says in a line of its log when it is up."""

    def __init__(self, work: Path, name: str, up: re.Pattern[str], *arguments: str) -> None:
        self._name = name
        self._up = up
        self._log = work / f"{name}.log"
        self._ready = Event()
        self._told = ""
        command = [str(spark_home() / "bin" / "spark-class"), *arguments, "--host", _HOST, "--webui-port", "0"]
        # spark-class becomes the Java process that it starts, so this is the one to signal.
        self._process = subprocess.Popen(
            command,
            stdin=subprocess.DEVNULL,
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
            env=environment(work),
            process_group=0,  # Ctrl-C is for the tests
        )
        self._reader = Thread(target=self._read, name=f"log of {name}", daemon=True)
        self._reader.start()

    def wait_until_up(self) -> str:
        """What its line names. Raises ClusterFailed."""
        if not self._ready.wait(_START_S) or not self._told:
            lines = self._log.read_text(errors="replace").splitlines()[-_LINES_TOLD:]
            raise ClusterFailed("\n  ".join([f"the {self._name} of Spark did not start; its last lines:", *lines]))
        return self._told

    def stop(self) -> None:
        self._process.terminate()
        try:
            self._process.wait(_STOP_S)
        except subprocess.TimeoutExpired:
            self._process.kill()
        self._end()

    def kill(self) -> None:
        """SIGKILL; returns when it is gone."""
        self._process.kill()
        self._end()

    def _end(self) -> None:
        self._process.wait()
        self._reader.join()

    def _read(self) -> None:
        assert self._process.stdout is not None
        with self._process.stdout as lines, self._log.open("w", encoding="utf-8") as log:
            for line in lines:
                text = line.decode(errors="replace")
                log.write(text)
                log.flush()
                if found := self._up.search(text):
                    self._told = found[1]
                    self._ready.set()
        self._ready.set()  # it ended: nobody waits any longer


class SparkCluster:
    """Made by `spark_cluster`."""

    def __init__(self, url: str, workers: list[_Daemon]) -> None:
        self.url = url
        """For `master`."""
        self._workers = workers

    def kill_worker(self) -> None:
        """SIGKILL to one of those that are left. Its executors see that it is gone, and end."""
        self._workers.pop().kill()


@contextmanager
def spark_cluster(work: Path, workers: int = 2) -> Iterator[SparkCluster]:
    """Up when the block begins; each worker has one core. `work` gets logs, and what executors keep on disk.

    Raises ClusterFailed, and NoJava.
    """
    running: list[_Daemon] = []
    try:
        master = _Daemon(work, "master", _MASTER_UP, _MASTER, "--port", "0")
        running.append(master)
        url = master.wait_until_up()
        for number in range(workers):
            name = f"worker-{number}"
            given = ("--cores", "1", "--memory", "1g", "--work-dir", str(work / name), url)
            running.append(_Daemon(work, name, _WORKER_UP, _WORKER, *given))
        for each in running[1:]:
            each.wait_until_up()
        cluster = SparkCluster(url, running[1:])
        yield cluster
    finally:
        for each in reversed(running):
            each.stop()


def spark_home() -> Path:
    """Where the installed PySpark is, which has all of Spark."""
    found = find_spec("pyspark")
    if found is None or found.origin is None:
        raise ClusterFailed("pyspark is not installed: pip install 'odradek[spark]'")
    return Path(found.origin).parent


def environment(work: Path) -> dict[str, str]:
    """For processes of the cluster, and for drivers that work on it: all on loopback, with this Python."""
    return {
        **os.environ,
        "JAVA_HOME": str(find_java_home(os.environ)),
        "PYSPARK_PYTHON": sys.executable,
        "SPARK_DAEMON_JAVA_OPTS": LIGHT_JAVA,
        "SPARK_DAEMON_MEMORY": "256m",
        "SPARK_HOME": str(spark_home()),
        "SPARK_LOCAL_DIRS": str(work / "local"),
        "SPARK_LOCAL_IP": _HOST,
    }
