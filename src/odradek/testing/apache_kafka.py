"""Apache Kafka itself: the other side of interop tests and benchmarks.

It comes as jars through Maven and runs on the machine's Java; neither is needed for anything else. What is fetched
stays in the user's cache directory. Where it cannot be had, `Unavailable` says why in one line.
"""

import contextlib
import fcntl
import os
import re
import shutil
import signal
import socket
import subprocess
import tempfile
import time
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import NamedTuple

from odradek.model.errors import OdradekError
from odradek.testing.broker import BrokerFailed
from odradek.testing.cache import user_cache

VERSION = "4.3.0"
JAVA_LEAST = 17
_FETCH_S = 900
_START_S = 60
_STOP_S = 30
_POLL_S = 0.1

_Artifact = tuple[str, str, str]
"""Group, name and version."""
_ARTIFACTS = (
    ("org.apache.kafka", "kafka-tools", VERSION),
    ("org.apache.kafka", "kafka_2.13", VERSION),
    ("org.apache.logging.log4j", "log4j-slf4j-impl", "2.24.3"),
    ("org.apache.logging.log4j", "log4j-core", "2.24.3"),
)
_STREAMS = (("org.apache.kafka", "kafka-streams", VERSION),)
"""For the few tests that need it: its store is large."""
_COPY = "org.apache.maven.plugins:maven-dependency-plugin:3.6.1:copy-dependencies"
_LOGGING = """\
status=error
appender.c.type=Console
appender.c.name=c
appender.c.target=SYSTEM_ERR
appender.c.layout.type=PatternLayout
appender.c.layout.pattern=[%d] %p %m (%c)%n
rootLogger.level=warn
rootLogger.appenderRef.c.ref=c
"""
_TOOL_OPTIONS = ("-Xmx256m", "-XX:TieredStopAtLevel=1", "-XX:+UseSerialGC", "-Xshare:auto")
_BROKER_OPTIONS = ("-Xmx1g", "-Xms256m", "-XX:+UseG1GC")
_UTF_8 = ("-Dfile.encoding=UTF-8", "-Dstdout.encoding=UTF-8", "-Dsun.stdout.encoding=UTF-8")


class Unavailable(OdradekError):
    """Apache Kafka cannot be had on this machine."""


class Ended(NamedTuple):
    """A tool that ran to its end."""

    status: int
    out: str
    err: str


class Broker(NamedTuple):
    port: int
    pid: int
    output: Path

    @property
    def address(self) -> str:
        return f"127.0.0.1:{self.port}"


class ApacheKafka:
    """An installation: where the jars are, and the Java to run them with."""

    def __init__(self, java: str, directory: Path) -> None:
        self._java = java
        self._directory = directory

    @property
    def classes(self) -> str:
        """The class path of all its jars."""
        return str(self._directory / "libs" / "*")

    def command(
        self, main_class: str, *arguments: str, options: Sequence[str] = _TOOL_OPTIONS, classes: Sequence[Path] = ()
    ) -> list[str]:
        """To run one of its classes, or one that is under `classes`."""
        logging = f"-Dlog4j2.configurationFile={self._directory / 'log4j2.properties'}"
        path = os.pathsep.join([*map(str, classes), self.classes])
        return [self._java, *options, *_UTF_8, logging, "-cp", path, main_class, *arguments]

    def run(self, main_class: str, *arguments: str, timeout_s: float = 120) -> "Ended":
        """One of Kafka's command-line tools, to its end."""
        command = self.command(main_class, *arguments)
        result = subprocess.run(command, capture_output=True, timeout=timeout_s, check=False)
        # Not as text: records may hold line ends of any kind, which must stay as they are.
        return Ended(result.returncode, result.stdout.decode(errors="replace"), result.stderr.decode(errors="replace"))

    @contextlib.contextmanager
    def broker(self, work: Path, log_dirs: Sequence[Path], settings: Mapping[str, str]) -> Iterator[Broker]:
        """A broker and controller in one, on directories that are formatted already, until the block is left.

        `work` gets its configuration and its output. It listens on loopback only and is stopped properly.
        """
        port, controller_port = _free_ports(2)
        properties = {
            "process.roles": "broker,controller",
            "controller.quorum.voters": f"{settings.get('node.id', '1')}@127.0.0.1:{controller_port}",
            "listeners": f"PLAINTEXT://127.0.0.1:{port},CONTROLLER://127.0.0.1:{controller_port}",
            "controller.listener.names": "CONTROLLER",
            "node.id": "1",
            "log.dirs": ",".join(map(str, log_dirs)),
            **settings,
        }
        config, output = work / "server.properties", work / "broker.log"
        config.write_text("".join(f"{name}={value}\n" for name, value in properties.items()), encoding="utf-8")
        running = self.launch(config, port, output)
        try:
            running.wait_until_up()
            yield Broker(port, running.pid, output)
        finally:
            running.stop()

    def launch(self, config: Path, port: int, output: Path) -> "RunningKafka":
        """A broker with this server.properties, which says that it listens on `port`. It is not up yet."""
        command = self.command("kafka.Kafka", str(config), options=_BROKER_OPTIONS)
        with output.open("ab") as sink:
            process = subprocess.Popen(command, cwd=config.parent, stdin=subprocess.DEVNULL, stdout=sink, stderr=sink)
        return RunningKafka(process, port, output)


class RunningKafka:
    """Made by `ApacheKafka.launch`. It must be stopped or killed in the end."""

    def __init__(self, process: "subprocess.Popen[bytes]", port: int, output: Path) -> None:
        self.port = port
        self._process = process
        self._output = output

    @property
    def pid(self) -> int:
        return self._process.pid

    def wait_until_up(self) -> None:
        """Raises BrokerFailed, with its last lines, if it does not come to that."""
        _wait_until_up(self._process, self.port, self._output)

    def stop(self) -> None:
        """Properly, if it has the time for it."""
        _stop(self._process)

    def kill(self) -> None:
        """SIGKILL. Returns when it is gone."""
        self._process.kill()
        self._process.wait()


def find() -> ApacheKafka:
    """The installation in the user's cache, fetched if it is not there yet. Raises Unavailable."""
    java = _find_java()
    return ApacheKafka(java, _installed("apache-kafka", _ARTIFACTS))


def find_streams() -> str:
    """The class path of Kafka Streams, fetched as the rest is. Raises Unavailable."""
    return str(_installed("kafka-streams", _STREAMS) / "libs" / "*")


def _find_java() -> str:
    home = os.environ.get("JAVA_HOME")
    java = shutil.which("java", path=os.path.join(home, "bin")) if home else None
    java = java or shutil.which("java")
    if java is None:
        raise Unavailable(f"Apache Kafka needs Java {JAVA_LEAST} or later, and there is none on PATH")
    try:
        said = subprocess.run([java, "-version"], capture_output=True, text=True, timeout=60, check=False).stderr
    except (OSError, subprocess.TimeoutExpired) as error:
        raise Unavailable(f"{java} does not run: {error}") from None
    version = re.search(r'version "(\d+)', said)
    if version is None or int(version[1]) < JAVA_LEAST:
        found = said.partition("\n")[0] or "says nothing of its version"
        raise Unavailable(f"Apache Kafka needs Java {JAVA_LEAST} or later; {java}: {found}")
    return java


# --- fetching


def _installed(name: str, artifacts: Sequence[_Artifact]) -> Path:
    target = user_cache() / f"{name}-{VERSION}"
    if not target.is_dir():  # it gets this name only when it is complete
        _fetch(target, artifacts)
    return target


def _fetch(target: Path, artifacts: Sequence[_Artifact]) -> None:
    maven = shutil.which("mvn")
    if maven is None:
        raise Unavailable(f"Apache Kafka {VERSION} is not fetched yet, and there is no Maven (mvn) to fetch it with")
    try:
        target.parent.mkdir(parents=True, exist_ok=True)
        with (target.parent / f"{target.name}.lock").open("w") as lock:
            fcntl.flock(lock, fcntl.LOCK_EX)  # the second of two waits, and finds it done
            if not target.is_dir():
                _fetch_alone(maven, target, artifacts)
    except OSError as error:
        raise Unavailable(f"Apache Kafka {VERSION} cannot be kept in {target.parent}: {error.strerror}") from None


def _fetch_alone(maven: str, target: Path, artifacts: Sequence[_Artifact]) -> None:
    with tempfile.TemporaryDirectory(prefix=f"{target.name}.", dir=target.parent) as unfinished:
        work = Path(unfinished) / "work"
        work.mkdir()
        (work / "pom.xml").write_text(_pom(artifacts), encoding="utf-8")
        installed = Path(unfinished) / target.name
        command = [
            maven,
            "-q",
            "-B",
            "-ntp",
            _COPY,
            f"-DoutputDirectory={installed / 'libs'}",
            "-DincludeScope=runtime",
        ]
        try:
            result = subprocess.run(command, cwd=work, capture_output=True, text=True, timeout=_FETCH_S, check=False)
        except subprocess.TimeoutExpired:
            raise Unavailable(f"Maven did not fetch Apache Kafka {VERSION} within {_FETCH_S} s") from None
        _, first, version = artifacts[0]
        if result.returncode != 0 or not (installed / "libs" / f"{first}-{version}.jar").exists():
            lines = (result.stdout + result.stderr).splitlines()
            why = next((line for line in lines if "ERROR" in line), "it says nothing of why")
            raise Unavailable(f"Maven could not fetch Apache Kafka {VERSION}: {why}")
        (installed / "log4j2.properties").write_text(_LOGGING, encoding="utf-8")
        installed.rename(target)  # killed before here: the half-done one has another name, and is fetched anew


def _pom(artifacts: Sequence[_Artifact]) -> str:
    dependencies = "".join(
        f"<dependency><groupId>{group}</groupId><artifactId>{artifact}</artifactId><version>{version}</version>"
        "</dependency>"
        for group, artifact, version in artifacts
    )
    return (
        "<project><modelVersion>4.0.0</modelVersion><groupId>odradek</groupId><artifactId>apache-kafka</artifactId>"
        f"<version>1</version><dependencies>{dependencies}</dependencies></project>"
    )


# --- a broker's life


def _free_ports(count: int) -> list[int]:
    """Nobody else has them now; the broker takes them a moment later."""
    with contextlib.ExitStack() as stack:
        sockets = [stack.enter_context(socket.socket()) for _ in range(count)]
        for each in sockets:
            each.bind(("127.0.0.1", 0))
        return [each.getsockname()[1] for each in sockets]


def _wait_until_up(process: subprocess.Popen[bytes], port: int, output: Path) -> None:
    deadline = time.monotonic() + _START_S
    while time.monotonic() < deadline:
        if process.poll() is not None:
            raise BrokerFailed(f"the broker ended with status {process.returncode}: {_tail(output)}")
        with contextlib.suppress(OSError), socket.create_connection(("127.0.0.1", port), timeout=1):
            return
        time.sleep(_POLL_S)
    raise BrokerFailed(f"the broker did not listen within {_START_S} s: {_tail(output)}")


def _tail(output: Path) -> str:
    return " / ".join(output.read_text(encoding="utf-8", errors="replace").splitlines()[-5:])


def _stop(process: subprocess.Popen[bytes]) -> None:
    if process.poll() is None:
        process.send_signal(signal.SIGTERM)
    try:
        process.wait(_STOP_S)
    except subprocess.TimeoutExpired:
        process.kill()
        process.wait()
