"""kill -9 of a driver in the middle of its batches: the next one goes on, and every result is there once."""

import json
import os
import signal
import subprocess
import sys
from pathlib import Path

from odradek.testing import RunningBroker
from support.job_stage import JobStage

CHILD = Path(__file__).with_name("jobs_child.py")
JOBS = ("driver-alerts", "dead-letters", "truck-positions")
BATCHES = 8


def start(given: str, log: Path) -> subprocess.Popen[bytes]:
    with log.open("ab") as output:
        return subprocess.Popen(
            [sys.executable, str(CHILD), given],
            stdin=subprocess.DEVNULL,
            stdout=output,
            stderr=output,
            start_new_session=True,
        )


def test_every_result_is_there_once_though_the_driver_was_killed(odradek_broker: RunningBroker, tmp_path: Path) -> None:
    stage = JobStage(odradek_broker, seed=70)
    stage.create_topics()
    stage.produce([*stage.trucks, *stage.operations])
    # Spark gives a Python process ten seconds to start: on a busy machine a job may need more than one try.
    setting = {"bootstrap": odradek_broker.bootstrap, "checkpoint": str(tmp_path / "checkpoint"), "once": True}
    setting |= {"events_per_batch": len(stage.trucks) // BATCHES, "starts_max": 100}
    given, log = json.dumps({"master": "local[2,4]", "jobs": JOBS, "setting": setting}), tmp_path / "log"
    driver = start(given, log)
    try:
        while not any(stage.found(job) for job in JOBS):
            assert driver.poll() is None, log.read_text(errors="replace")[-5000:]
    finally:
        os.killpg(driver.pid, signal.SIGKILL)
        driver.wait()
    assert any(stage.found(job) != stage.expected(job) for job in JOBS), "all was done when it was killed"
    driver = start(given, log)
    assert driver.wait() == 0, log.read_text(errors="replace")[-5000:]
    assert len(stage.expected("driver-alerts")) >= 2
    for job in JOBS:
        assert stage.found(job) == stage.expected(job), job
