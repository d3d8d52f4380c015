"""odradek and Apache Kafka take turns on one data directory and one port.

Each hand-over is checked as a user would do it: the directory is verified, and Kafka runs with the settings that
`odradek log handover` prints and nothing else.
"""

import contextlib
import io
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import NamedTuple

from odradek.cli.main import main
from odradek.testing.broker import RunningBroker, free_ports, running_broker
from support.apache_kafka import ApacheKafka, RunningKafka

_HOST = "127.0.0.1"


class Where(NamedTuple):
    work: Path
    """Gets the configuration of Kafka and what it says."""
    directories: Sequence[Path]
    """The log directories; the first has the metadata log."""


class Relay:
    """Made by `relay`, with odradek at work."""

    def __init__(self, kafka: ApacheKafka, where: Where, odradek: RunningBroker, settings: Mapping[str, str]) -> None:
        self.port = odradek.port
        self._kafka = kafka
        self._where = where
        self._odradek = odradek
        self._settings = settings
        self._apache: RunningKafka | None = None

    @property
    def bootstrap(self) -> str:
        return f"{_HOST}:{self.port}"

    def to_kafka(self, *, kill: bool = False) -> None:
        """odradek ends, properly or by SIGKILL, and Kafka goes on. Returns when it serves."""
        self.end_odradek(kill=kill)
        config = self._where.work / "server.properties"
        lines = [self.handover(), *(f"{name}={value}\n" for name, value in self._settings.items())]
        config.write_text("".join(lines), encoding="utf-8")
        self._apache = self._kafka.launch(config, self.port, self._where.work / "kafka.log")
        self._apache.wait_until_up()

    def to_odradek(self, *, kill: bool = False) -> None:
        """The same the other way round."""
        self.end_kafka(kill=kill)
        self.verify()
        self._odradek.start()

    def end_odradek(self, *, kill: bool = False) -> None:
        """Nothing happens if it does not run."""
        self._odradek.kill() if kill else self._odradek.stop()

    def end_kafka(self, *, kill: bool = False) -> None:
        """Nothing happens if it does not run."""
        apache, self._apache = self._apache, None
        if apache is not None:
            apache.kill() if kill else apache.stop()

    def revive(self) -> None:
        """odradek is there afterwards if nobody was: for clients to end with, where something went wrong."""
        if not self._odradek.is_running:
            self.end_kafka(kill=True)
            self._odradek.kill()  # it may have ended by itself
            self._odradek.start()

    def handover(self) -> str:
        """The settings that Kafka needs. AssertionError, with all that was found, where it could not take over."""
        controller = f"{_HOST}:{free_ports()[0]}"
        out, err = io.StringIO(), io.StringIO()
        with contextlib.redirect_stdout(out), contextlib.redirect_stderr(err):
            status = main(["log", "handover", "--deep", "--controller", controller, *map(str, self._where.directories)])
        assert status == 0, err.getvalue()
        return out.getvalue()

    def verify(self) -> None:
        """AssertionError, with all that was found, unless every file is in order."""
        out = io.StringIO()
        with contextlib.redirect_stdout(out):
            status = main(["log", "verify", "--deep", *map(str, self._where.directories)])
        assert status == 0, out.getvalue()


@contextlib.contextmanager
def relay(
    kafka: ApacheKafka,
    where: Where,
    settings: Mapping[str, str],
    kafkas_own: Mapping[str, str] | None = None,
    options: Sequence[str] = (),
) -> Iterator[Relay]:
    """Directories that are not there yet are made. Both brokers have the settings; `options` are for ours."""
    first, *others = where.directories
    more = [word for path in others for word in ("--data", str(path))]
    with running_broker(settings, directory=first, options=[*more, *options]) as odradek:
        made = Relay(kafka, where, odradek, {**settings, **(kafkas_own or {})})
        try:
            yield made
        finally:
            made.end_kafka()
