"""The two brokers of `./run bench broker`, each a process of its own on loopback, with what the system says of it."""

import os
import signal
import socket
import subprocess
import sys
import tarfile
import time
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from io import BytesIO
from pathlib import Path
from types import MappingProxyType
from typing import NamedTuple, Protocol

import harness
from raw import Raw, batch_of

from support import apache_kafka

ROOT = Path(__file__).parents[1]
_TICKS_S = os.sysconf("SC_CLK_TCK")
_CPUCLOCK_SCHED = 2
"""The kind of a process's CPU clock that counts nanoseconds, as clock_getcpuclockid(3) gives it on Linux."""
_PAUSE_S = 0.002
_START_S = 120
_STOP_S = 60
_OPTIONS = (
    # What kafka-server-start.sh gives the JVM.
    *("-Xmx1G", "-Xms1G", "-server", "-XX:+UseG1GC", "-XX:MaxGCPauseMillis=20"),
    *("-XX:InitiatingHeapOccupancyPercent=35", "-XX:+ExplicitGCInvokesConcurrent", "-Djava.awt.headless=true"),
)


SETTINGS = {"log.segment.delete.delay.ms": "0"}
"""Of both. The topics of a round would be deleted a minute later, in the middle of the next one."""
NO_SETTINGS: Mapping[str, str] = MappingProxyType({})


class Running(NamedTuple):
    """A broker that has acknowledged a record."""

    pid: int
    address: str
    start_s: float
    """From the start of the process to the first acknowledged record."""

    def cpu_s(self) -> float:
        """So far, of all its threads, those that ended too, and of child processes that ended."""
        fields = Path(f"/proc/{self.pid}/stat").read_text().rpartition(")")[2].split()
        return time.clock_gettime(~self.pid << 3 | _CPUCLOCK_SCHED) + sum(map(int, fields[13:15])) / _TICKS_S

    def resident_mb(self) -> float:
        lines = Path(f"/proc/{self.pid}/status").read_text().splitlines()
        return int(next(line for line in lines if line.startswith("VmRSS")).split()[1]) / 1024


class Contender(Protocol):
    name: str

    def prepare(self, directory: Path) -> None:
        """What is done once before the first start, and not timed."""
        ...

    def command(self, directory: Path, port: int) -> list[str]: ...


class Odradek:
    name = "odradek"

    def __init__(self, settings: Mapping[str, str] = NO_SETTINGS, source: Path | None = None, name: str = name) -> None:
        """`source` is the src directory of another checkout, which then runs with the packages of this one."""
        self.name = name
        self._settings = {**SETTINGS, **settings}
        self._source = source

    def prepare(self, directory: Path) -> None:
        """It formats an empty directory itself."""

    def command(self, directory: Path, port: int) -> list[str]:
        listen = f"127.0.0.1:{port}"
        source = ["env", f"PYTHONPATH={self._source}"] if self._source else []
        settings = [word for name, value in self._settings.items() for word in ("--set", f"{name}={value}")]
        serve = [sys.executable, "-m", "odradek", "serve", "--data", str(directory), "--listen", listen]
        return [*source, *serve, *settings]


def other_source(where: str) -> Path:
    """The src directory of odradek at a commit, or of a checkout in another directory."""
    if (Path(where) / "src" / "odradek").is_dir():
        return (Path(where) / "src").resolve()
    git = ["git", "-C", str(ROOT)]
    asked = [*git, "rev-parse", "--verify", f"{where}^{{commit}}"]
    found = subprocess.run(asked, capture_output=True, text=True, check=False)
    if found.returncode != 0:
        sys.exit(f"{where} is neither a directory with odradek nor a commit of it")
    checkout = ROOT / ".cache" / "bench" / found.stdout.strip()
    if not checkout.exists():
        archive = subprocess.run([*git, "archive", checkout.name, "src"], capture_output=True, check=True).stdout
        fresh = checkout.with_name(f"{checkout.name}.{os.getpid()}")
        with tarfile.open(fileobj=BytesIO(archive)) as files:
            files.extractall(fresh, filter="data")
        fresh.rename(checkout)
    return checkout / "src"


class ApacheKafka:
    name = "Apache Kafka"

    def __init__(self, settings: Mapping[str, str] = NO_SETTINGS) -> None:
        self._kafka = apache_kafka.find()
        self._settings = {**SETTINGS, **settings}

    def prepare(self, directory: Path) -> None:
        properties = self._properties(directory, *_free_ports(2))
        done = self._kafka.run(
            "kafka.tools.StorageTool", "format", "-t", "AAAAAAAAAAAAAAAAAAAAAQ", "-c", str(properties)
        )
        if done.status != 0:
            raise RuntimeError(f"kafka-storage format failed: {done.out}{done.err}")

    def command(self, directory: Path, port: int) -> list[str]:
        properties = self._properties(directory, port, _free_ports(1)[0])
        return self._kafka.command("kafka.Kafka", str(properties), options=_OPTIONS)

    def _properties(self, directory: Path, port: int, controller_port: int) -> Path:
        settings = {
            "process.roles": "broker,controller",
            "node.id": "1",
            "controller.quorum.voters": f"1@127.0.0.1:{controller_port}",
            "listeners": f"PLAINTEXT://127.0.0.1:{port},CONTROLLER://127.0.0.1:{controller_port}",
            "controller.listener.names": "CONTROLLER",
            "log.dirs": str(directory),
            "offsets.topic.replication.factor": "1",
            **self._settings,
        }
        path = directory.with_name(directory.name + ".properties")
        path.write_text("".join(f"{name}={value}\n" for name, value in settings.items()))
        return path


@contextmanager
def running(contender: Contender, directory: Path, ending: signal.Signals = signal.SIGTERM) -> Iterator[Running]:
    """Started on `directory`, up to its first acknowledged record; stopped properly in the end, if not killed."""
    (port,) = _free_ports(1)
    output = directory.with_name(directory.name + ".log")
    with output.open("ab") as sink:
        command = contender.command(directory, port)
        begin = time.perf_counter()
        process = subprocess.Popen(
            command, stdin=subprocess.DEVNULL, stdout=sink, stderr=sink, env=harness.environment()
        )
    try:
        address = f"127.0.0.1:{port}"
        _await_first_record(process, address, output)
        yield Running(process.pid, address, time.perf_counter() - begin)
    finally:
        process.send_signal(ending)
        try:
            process.wait(_STOP_S)
        except subprocess.TimeoutExpired:
            process.kill()
            process.wait()


def _await_first_record(process: subprocess.Popen[bytes], address: str, output: Path) -> None:
    batch, _ = batch_of(1, 100)
    deadline = time.perf_counter() + _START_S
    while time.perf_counter() < deadline:
        if process.poll() is not None:
            raise RuntimeError(f"the broker ended: {output.read_text(errors='replace')[-2000:]}")
        try:
            raw = Raw(address)
        except OSError:
            time.sleep(_PAUSE_S)
            continue
        try:
            while raw.produce("first", batch) != 0:
                try:
                    raw.create_topics(["first"], 1)
                except RuntimeError:  # it exists and has no leader yet, or the broker is not ready
                    time.sleep(_PAUSE_S)
        finally:
            raw.close()
        return
    raise RuntimeError(f"no record was acknowledged within {_START_S} s: {output}")


def _free_ports(count: int) -> list[int]:
    sockets = [socket.create_server(("127.0.0.1", 0)) for _ in range(count)]
    ports = [each.getsockname()[1] for each in sockets]
    for each in sockets:
        each.close()
    return ports
