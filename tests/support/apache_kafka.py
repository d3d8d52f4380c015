"""Apache Kafka itself: the other side of interop tests and benchmarks.

It comes as jars through Maven and runs on the machine's Java; neither is needed for anything else. What is fetched
stays in the user's cache directory. Where it cannot be had, `Unavailable` says why in one line.
"""

import contextlib
import hashlib
import os
import re
import shutil
import signal
import subprocess
import tempfile
import time
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import NamedTuple

from odradek.metadata.uuids import to_text
from odradek.process.clock import SystemClock
from odradek.process.files import OsFiles
from odradek.quorum.formatting import Identity, format_directories
from odradek.testing.broker import BrokerFailed, free_ports
from odradek.testing.one_request import ask
from odradek.wire.messages.metadata import MetadataRequest, MetadataResponse
from support.ended import Ended
from support.maven import Artifact, Unavailable, Wanted, installed, only_one

__all__ = [
    "VERSION",
    "ApacheKafka",
    "Broker",
    "Ended",
    "RunningKafka",
    "Unavailable",
    "find",
    "find_streams",
    "format_new",
]

VERSION = "4.3.0"
JAVA_LEAST = 17
_START_S = 300
_STOP_S = 120
_POLL_S = 0.1

_KAFKA = Wanted(
    f"Apache Kafka {VERSION}",
    f"apache-kafka-{VERSION}",
    (
        Artifact("org.apache.kafka", "kafka-tools", VERSION),
        Artifact("org.apache.kafka", "kafka_2.13", VERSION),
        Artifact("org.apache.logging.log4j", "log4j-slf4j-impl", "2.24.3"),
        Artifact("org.apache.logging.log4j", "log4j-core", "2.24.3"),
    ),
)
_STREAMS = Wanted(
    f"Kafka Streams {VERSION}", f"kafka-streams-{VERSION}", (Artifact("org.apache.kafka", "kafka-streams", VERSION),)
)
"""For the few tests that need it: its store is large."""
_TOOL_OPTIONS = ("-Xmx256m", "-XX:TieredStopAtLevel=1", "-XX:+UseSerialGC", "-Xshare:auto")
# As tools: a broker of a test does not live long enough for what a better compiler makes of it.
_BROKER_OPTIONS = ("-Xmx1g", *_TOOL_OPTIONS[1:])
_UTF_8 = ("-Dfile.encoding=UTF-8", "-Dstdout.encoding=UTF-8", "-Dsun.stdout.encoding=UTF-8")


class Broker(NamedTuple):
    port: int
    pid: int
    output: Path

    @property
    def address(self) -> str:
        return f"127.0.0.1:{self.port}"


class ApacheKafka:
    """An installation: where the jars are, and the Java to run them with."""

    def __init__(self, java: str, directory: Path, more: Sequence[str] = ()) -> None:
        """`more` options are for all that runs."""
        self._java = java
        self._directory = directory
        self._more = more

    @property
    def classes(self) -> str:
        """The class path of all its jars."""
        return str(self._directory / "libs" / "*")

    def command(
        self, main_class: str, *arguments: str, options: Sequence[str] = _TOOL_OPTIONS, classes: Sequence[Path] = ()
    ) -> list[str]:
        """To run one of its classes, or one that is under `classes`."""
        logging = f"-Dlog4j2.configurationFile={self._directory / 'log4j2.properties'}"
        path = os.pathsep.join([self.classes, *map(str, classes)])  # an archive of classes wants Kafka's first
        return [self._java, *options, *self._more, *_UTF_8, logging, "-cp", path, main_class, *arguments]

    def quick(self) -> "ApacheKafka":
        """The same, for those who start it often: a start takes a third of the time.

        Java maps the classes from an archive. The first call on a machine makes it, which takes some seconds.
        """
        archive = self._directory / f"classes-{self._version()}.jsa"
        with only_one(archive.with_suffix(".lock")):
            if not archive.exists():
                self._archive_classes(archive)
        # Where the archive does not fit, Java would say so on standard output, and go on without.
        return ApacheKafka(self._java, self._directory, (f"-XX:SharedArchiveFile={archive}", "-Xlog:disable"))

    def _version(self) -> str:
        said = subprocess.run([self._java, "-version"], capture_output=True, timeout=60, check=True).stderr
        return hashlib.sha256(said).hexdigest()[:16]

    def _archive_classes(self, archive: Path) -> None:
        """Those that a broker has loaded between its start and its end."""
        with tempfile.TemporaryDirectory(dir=self._directory) as name:
            made = Path(name) / archive.name
            recording = ApacheKafka(self._java, self._directory, [f"-XX:ArchiveClassesAtExit={made}"])
            with recording.new_broker(Path(name), {}):
                pass
            made.rename(archive)

    def run(self, main_class: str, *arguments: str, timeout_s: float = 120) -> "Ended":
        """One of Kafka's command-line tools, to its end."""
        command = self.command(main_class, *arguments)
        result = subprocess.run(command, capture_output=True, timeout=timeout_s, check=False)
        # Not as text: records may hold line ends of any kind, which must stay as they are.
        return Ended(result.returncode, result.stdout.decode(errors="replace"), result.stderr.decode(errors="replace"))

    def compile(self, sources: Sequence[Path], into: Path, classes: Sequence[str] = ()) -> None:
        """Programs in Java that use its jars, and what else is in the class path `classes`."""
        path = os.pathsep.join([*classes, self.classes])
        subprocess.run(["javac", "-d", str(into), "-cp", path, *map(str, sources)], check=True)

    @contextlib.contextmanager
    def new_broker(self, work: Path, settings: Mapping[str, str]) -> Iterator[Broker]:
        """As `broker`, of a new cluster, with its data in `work`."""
        format_new(work / "data")
        with self.broker(work, [work / "data"], settings) as running:
            yield running

    @contextlib.contextmanager
    def broker(self, work: Path, log_dirs: Sequence[Path], settings: Mapping[str, str]) -> Iterator[Broker]:
        """A broker and controller in one, on directories that are formatted already, until the block is left.

        `work` gets its configuration and its output. It listens on loopback only and is stopped properly.
        """
        port, controller_port = free_ports()[:2]
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
        """It serves then. Raises BrokerFailed, with its last lines, if it does not come to that."""
        _wait_until_up(self._process, self.port, self._output)

    def stop(self) -> None:
        """Properly, if it has the time for it."""
        _stop(self._process)

    def kill(self) -> None:
        """SIGKILL. Returns when it is gone."""
        self._process.kill()
        self._process.wait()


def format_new(*directories: Path) -> None:
    """All directories of a new cluster, for either broker."""
    identity = Identity(to_text(os.urandom(16)), 1)
    format_directories(OsFiles(), list(map(str, directories)), identity, lambda: os.urandom(16), SystemClock())


def find() -> ApacheKafka:
    """The installation in the user's cache, fetched if it is not there yet. Raises Unavailable."""
    java = _find_java()
    return ApacheKafka(java, installed(_KAFKA))


def find_streams() -> str:
    """The class path of Kafka Streams, fetched as the rest is. Raises Unavailable."""
    return str(installed(_STREAMS) / "libs" / "*")


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


# --- a broker's life


def _wait_until_up(process: subprocess.Popen[bytes], port: int, output: Path) -> None:
    deadline = time.monotonic() + _START_S
    while time.monotonic() < deadline:
        if process.poll() is not None:
            raise BrokerFailed(f"the broker ended with status {process.returncode}: {_tail(output)}")
        if _knows_itself(port):
            return
        time.sleep(_POLL_S)
    raise BrokerFailed(f"the broker did not serve within {_START_S} s: {_tail(output)}")


def _knows_itself(port: int) -> bool:
    """It listens when its controller has let it into the cluster, and hears of that a moment later: until then it
    tells of no broker, and leads nothing."""
    try:
        return bool(ask(("127.0.0.1", port), MetadataRequest(topics=()), MetadataResponse, 9).brokers)
    except OSError:
        return False


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
