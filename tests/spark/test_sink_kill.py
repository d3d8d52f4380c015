"""kill -9 of a task, of the driver wherever it stands in its commits, and of the broker: each record is there once."""

import os
import subprocess
import sys
from pathlib import Path
from threading import Thread

from confluent_kafka import Producer

from odradek.testing.broker import RunningBroker, running_broker
from support.committed_values import committed_values

CHILD = Path(__file__).with_name("sink_child.py")
COUNT = 300
DRIVER_DIES = ("before-commits", "between-commits", "behind-commits")
OTHERS_DIE = ("first-rows", "prepared-task", "broker")
STARTS_MAX = 10


class Job:
    """One driver after the other, on the same checkpoint."""

    def __init__(self, bootstrap: str, directory: Path) -> None:
        self.points = directory / "points"
        self.points.mkdir()
        self._log = directory / "log"
        self._command = [sys.executable, str(CHILD), bootstrap, "source", "target"]
        self._command += [str(directory / "checkpoint"), str(self.points)]

    def run(self) -> int:
        """Its status; below 0 where it was killed."""
        with self._log.open("ab") as log:
            return subprocess.run(
                self._command, stdin=subprocess.DEVNULL, stdout=log, stderr=log, check=False, start_new_session=True
            ).returncode

    def run_to_its_end(self) -> None:
        """Spark gives a Python process ten seconds to start, so a slow machine may end a job: it is started again."""
        for _ in range(STARTS_MAX):
            if self.run() == 0:
                return
        raise AssertionError(self._log.read_text()[-5000:])

    def die_at(self, point: str) -> None:
        (self.points / point).touch()
        for _ in range(STARTS_MAX):
            status = self.run()
            if not (self.points / point).exists():
                assert status < 0, self._log.read_text()[-5000:]
                return
        raise AssertionError(self._log.read_text()[-5000:])


def feed(broker: RunningBroker) -> list[bytes]:
    broker.create_topic("source", 3)
    broker.create_topic("target", 2)
    producer = Producer({"bootstrap.servers": broker.bootstrap, "linger.ms": 5})
    values = [f"{number:04}".encode() for number in range(COUNT)]
    for number, value in enumerate(values):
        producer.produce("source", key=value, value=value, partition=number % 3)
    assert producer.flush() == 0
    return values


def restart_when_asked(broker: RunningBroker, points: Path) -> Thread:
    """The driver stands right before its commits then."""
    for name in ("ask", "told"):
        os.mkfifo(points / name)

    def work() -> None:
        (points / "ask").read_text()
        broker.kill()
        broker.start()
        (points / "told").write_text("done")

    thread = Thread(target=work, daemon=True)
    thread.start()
    return thread


def test_each_record_is_there_once_whatever_dies(tmp_path: Path) -> None:
    with running_broker(directory=tmp_path / "data") as broker:
        values = feed(broker)
        job = Job(broker.bootstrap, tmp_path)
        for point in DRIVER_DIES:
            job.die_at(point)
            found = committed_values(broker.bootstrap, "target")
            assert len(found) == len(set(found)), f"repeated where the driver dies {point}"
        for point in OTHERS_DIE:
            (job.points / point).touch()
        restarting = restart_when_asked(broker, job.points)
        job.run_to_its_end()
        restarting.join()
        assert [point for point in OTHERS_DIE if (job.points / point).exists()] == []
        assert sorted(committed_values(broker.bootstrap, "target")) == values
