"""A real broker in a process of its own, for the length of a block.

Nothing is imported here that costs time: pytest loads this module in every run. The broker is attached to this process
(`odradek serve --attached`): its standard input is a pipe that nobody writes to and that ends when this process does,
however that happens, and on its standard output it says when it serves.
"""

import contextlib
import functools
import itertools
import os
import random
import selectors
import socket
import subprocess
import sys
import tempfile
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path

from odradek.model.errors import OdradekError
from odradek.testing.cache import user_cache

_HOST = "127.0.0.1"
# Below those that systems give to outgoing connections: a client that tries again while the broker is down would
# sooner or later be given the very port it connects to, and keep it from the broker.
_PORTS = range(20_000, 29_000)
_PORTS_TRIED = 4
_WORKERS = 4
_START_S = 60
_STOP_S = 60
_LINES_TOLD = 20
# Three seconds are good where many members start at once; a test waits for each of them.
_SETTINGS = {"group.initial.rebalance.delay.ms": "0"}


class BrokerFailed(OdradekError):
    """A broker did not start, or ended by itself."""


class RunningBroker:
    """Made by `running_broker`. Everything is still there after `restart`, also after `kill`."""

    def __init__(self, work: Path, directory: Path, settings: Mapping[str, str], options: Sequence[str] = ()) -> None:
        self.directory = directory
        """Its data directory."""
        self.port = 0
        """The same in its whole life."""
        self._settings = dict(settings)
        self._options = list(options)
        self._output = work / "broker.log"
        self._process: subprocess.Popen[bytes] | None = None

    @property
    def bootstrap(self) -> str:
        """For `bootstrap.servers`."""
        return f"{_HOST}:{self.port}"

    @property
    def is_running(self) -> bool:
        return self._process is not None and self._process.poll() is None

    @property
    def pid(self) -> int:
        """Raises BrokerFailed if it is not running."""
        if self._process is None or self._process.poll() is not None:
            raise BrokerFailed(self._told("the broker is not running"))
        return self._process.pid

    @property
    def log(self) -> list[str]:
        """The lines that it wrote so far, in all its starts."""
        return self._output.read_text(encoding="utf-8", errors="replace").splitlines()

    def start(self) -> None:
        """Serves when this returns. Raises BrokerFailed with what the broker said."""
        if self._process is not None:
            raise BrokerFailed("the broker was started already")
        ports = [self.port] if self.port else free_ports()
        for port in ports:
            self._launch(port)
            if self._is_up():
                self.port = port
                return
            status = self._end()
            # Somebody may have taken the port in between; any other reason is there again on the next port.
            if not self.port and _is_taken(port) and port != ports[-1]:
                continue
            raise BrokerFailed(self._told(f"the broker did not start: it ended with status {status}"))

    def stop(self) -> None:
        """A clean stop, which waits for the end. Nothing happens if it is stopped already.

        Raises BrokerFailed if the broker died before, or does not end properly.
        """
        if self._process is None:
            return
        self._process.terminate()
        try:
            self._process.wait(_STOP_S)
        except subprocess.TimeoutExpired:
            self._process.kill()
            self._end()
            raise BrokerFailed(self._told(f"the broker did not stop within {_STOP_S} s")) from None
        status = self._end()
        if status != 0:
            raise BrokerFailed(self._told(f"the broker ended with status {status}"))

    def kill(self) -> None:
        """SIGKILL: the broker cannot save anything any more. Returns when it is gone."""
        if self._process is not None:
            self._process.kill()
            self._end()

    def restart(self) -> None:
        """Start again on the same port and directory; a clean stop before, if it runs."""
        self.stop()
        self.start()

    def create_topic(self, name: str, partitions: int = 1, configs: Mapping[str, str] | None = None) -> None:
        """Raises BrokerFailed if the broker refuses."""
        from odradek.testing import topics  # reads the protocol, which only some tests need

        topics.create((_HOST, self.port), name, partitions, configs or {})

    def _launch(self, port: int) -> None:
        # -P: modules in the directory of the tests must not stand in for those of the broker.
        command = [sys.executable, "-P", "-m", "odradek", "serve", "--attached", "--data", str(self.directory)]
        command += ["--listen", f"{_HOST}:{port}"]
        for name, value in self._settings.items():
            command += ["--set", f"{name}={value}"]
        command += self._options
        with self._output.open("ab") as output:
            # A group of its own: Ctrl-C is for the tests, which then stop the broker.
            self._process = subprocess.Popen(
                command,
                stdin=subprocess.PIPE,
                stdout=subprocess.PIPE,
                stderr=output,
                env=environment(),
                process_group=0,
            )

    def _is_up(self) -> bool:
        """Waits until it says so, or ends."""
        assert self._process is not None
        assert self._process.stdout is not None
        with selectors.DefaultSelector() as selector:
            selector.register(self._process.stdout, selectors.EVENT_READ)
            if not selector.select(_START_S):
                self.kill()
                raise BrokerFailed(self._told(f"the broker did not serve within {_START_S} s"))
        return bool(self._process.stdout.readline())

    def _end(self) -> int:
        """Wait for the end of the process, and let go of it."""
        assert self._process is not None
        with self._process as process:  # closes the pipes, then waits
            self._process = None
        return process.returncode

    def _told(self, what: str) -> str:
        lines = self.log[-_LINES_TOLD:] if self._output.exists() else []
        return "\n  ".join([f"{what}; its last lines:", *lines]) if lines else f"{what}; it said nothing"


@contextlib.contextmanager
def running_broker(
    settings: Mapping[str, str] | None = None,
    *,
    directory: str | os.PathLike[str] | None = None,
    options: Sequence[str] = (),
) -> Iterator[RunningBroker]:
    """A broker on a free port of the loopback interface, from its readiness to the end of the block.

    `settings` are Kafka's, by their names in server.properties; what is not given has Kafka's default, but the first
    member of a group does not wait for more. Its data goes to `directory`, which stays; without one, to a temporary
    directory. `options` are more of what `odradek serve` takes.

    Raises BrokerFailed, with the broker's last lines, if it does not start, and in the end if it died or did not stop
    properly.
    """
    with tempfile.TemporaryDirectory(prefix="odradek-") as name:
        work = Path(name)
        place = work / "data" if directory is None else Path(directory)
        broker = RunningBroker(work, place, {**_SETTINGS, **(settings or {})}, options)
        broker.start()
        try:
            yield broker
        except BaseException as error:
            try:
                broker.stop()
            except BrokerFailed as failed:
                error.add_note(str(failed))  # it may be the reason
            raise
        broker.stop()


def environment() -> dict[str, str]:
    """This process's own. Where Python is told to leave no bytecode, the broker's is kept elsewhere: to compile it
    takes as long as all the rest of a start."""
    given = dict(os.environ)
    if given.pop("PYTHONDONTWRITEBYTECODE", None):
        given["PYTHONPYCACHEPREFIX"] = str(user_cache() / "bytecode")
    return given


def free_ports() -> list[int]:
    """Some that nobody has now, and none that this gave before, until all were given.

    A broker that was stopped for a moment has its port no more, and Apache Kafka takes long to get to its own: both
    find them free later only if nobody else is given them.
    """
    free = (port for port in _ports_in_turn() if not _is_taken(port))
    return list(itertools.islice(free, _PORTS_TRIED))


@functools.cache
def _ports_in_turn() -> Iterator[int]:
    """Of those that only this one of several workers of a run takes, again and again."""
    mine = _PORTS[int(os.environ.get("PYTEST_XDIST_WORKER", "gw0").removeprefix("gw")) % _WORKERS :: _WORKERS]
    # Not the shared source of chance: plugins seed it, and runs side by side would try the same ports.
    return itertools.cycle(random.SystemRandom().sample(mine, len(mine)))


def _is_taken(port: int) -> bool:
    with socket.socket() as probe:
        probe.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        try:
            probe.bind((_HOST, port))
        except OSError:
            return True
    return False
