"""odradek and Apache Kafka take turns on one data directory and one port.

Each hand-over is checked as a user would do it: the directory is verified, and Kafka runs with the settings that
`odradek log handover` prints and nothing else.
"""

import contextlib
import io
import socket
from collections.abc import Iterator, Mapping
from pathlib import Path

from odradek.cli.main import main
from odradek.testing.apache_kafka import ApacheKafka, RunningKafka
from odradek.testing.broker import RunningBroker, running_broker

_HOST = "127.0.0.1"


class Relay:
    """Made by `relay`, with odradek at work."""

    def __init__(self, kafka: ApacheKafka, work: Path, odradek: RunningBroker, settings: Mapping[str, str]) -> None:
        self.port = odradek.port
        self._kafka = kafka
        self._work = work
        self._odradek = odradek
        self._settings = settings
        self._apache: RunningKafka | None = None

    @property
    def bootstrap(self) -> str:
        return f"{_HOST}:{self.port}"

    def to_kafka(self, *, kill: bool = False) -> None:
        """odradek ends, properly or by SIGKILL, and Kafka goes on. Returns when it listens."""
        self._odradek.kill() if kill else self._odradek.stop()
        config = self._work / "server.properties"
        lines = [self.handover(), *(f"{name}={value}\n" for name, value in self._settings.items())]
        config.write_text("".join(lines), encoding="utf-8")
        self._apache = self._kafka.launch(config, self.port, self._work / "kafka.log")
        self._apache.wait_until_up()

    def to_odradek(self, *, kill: bool = False) -> None:
        """The same the other way round."""
        self.end_kafka(kill=kill)
        self.verify()
        self._odradek.start()

    def end_kafka(self, *, kill: bool = False) -> None:
        """Nothing happens if it does not run."""
        apache, self._apache = self._apache, None
        if apache is not None:
            apache.kill() if kill else apache.stop()

    def handover(self) -> str:
        """The settings that Kafka needs. AssertionError, with all that was found, where it could not take over."""
        with socket.socket() as probe:
            probe.bind((_HOST, 0))
            controller = f"{_HOST}:{probe.getsockname()[1]}"
        out, err = io.StringIO(), io.StringIO()
        with contextlib.redirect_stdout(out), contextlib.redirect_stderr(err):
            status = main(["log", "handover", "--deep", "--controller", controller, str(self._odradek.directory)])
        assert status == 0, err.getvalue()
        return out.getvalue()

    def verify(self) -> None:
        """AssertionError, with all that was found, unless every file is in order."""
        out = io.StringIO()
        with contextlib.redirect_stdout(out):
            status = main(["log", "verify", "--deep", str(self._odradek.directory)])
        assert status == 0, out.getvalue()


@contextlib.contextmanager
def relay(kafka: ApacheKafka, work: Path, settings: Mapping[str, str]) -> Iterator[Relay]:
    """On a new directory within `work`. Both brokers have the settings."""
    with running_broker(settings, directory=work / "data") as odradek:
        made = Relay(kafka, work, odradek, settings)
        try:
            yield made
        finally:
            made.end_kafka()
