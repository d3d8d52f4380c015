"""The demo on Apache Kafka: what the jobs give is right there too, and what somebody else wrote is found."""

import json
import os
import subprocess
import sys
import time
from pathlib import Path

import pytest
from confluent_kafka import Producer
from confluent_kafka.admin import AdminClient

from odradek.pipelines import contract
from odradek.pipelines.registry import JOBS
from support.same_answers import Side

COMMAND = [sys.executable, "-m", "odradek", "demo", "--no-browser", "--events-per-second", "60", "--seconds", "3"]
LIMIT_S = 120
FORGED = {"driver": "driver-9999", "truck": "truck-9999", "since": "", "exceeded": "", "limit_minutes": 270}


def topics(bootstrap: str) -> set[str]:
    admin = AdminClient({"bootstrap.servers": bootstrap})
    return {name for name in admin.list_topics(timeout=60).topics if not name.startswith("__")}


def forge(bootstrap: str) -> None:
    """Its producer does not stay: it would ask for a topic that was deleted since, and have it made again."""
    producer = Producer({"bootstrap.servers": bootstrap})
    producer.produce(contract.DRIVER_ALERTS, json.dumps(FORGED), "driver-9999")
    assert producer.flush(60) == 0


def wait_for_topics(bootstrap: str, expected: set[str]) -> None:
    """A broker of Kafka's hears that topics are deleted after its client."""
    deadline = time.monotonic() + LIMIT_S
    while (found := topics(bootstrap)) != expected:
        assert time.monotonic() < deadline, found ^ expected


def number(text: str) -> int:
    return int(text.replace(",", ""))


@pytest.mark.slow
def test_results_on_apache_kafka_and_one_that_was_forged(both: tuple[Side, Side], tmp_path: Path) -> None:
    bootstrap = f"127.0.0.1:{both[0].port}"
    before = topics(bootstrap)
    environ = {**os.environ, "TMPDIR": str(tmp_path)}
    with subprocess.Popen(
        [*COMMAND, "--bootstrap", bootstrap], stdout=subprocess.PIPE, stderr=subprocess.PIPE, env=environ, text=True
    ) as demo:
        assert demo.stdout is not None
        seen = next((line for line in demo.stdout if line.startswith("topics: ")), "")
        assert seen.startswith("topics: 18 made")
        forge(bootstrap)
        out, err = demo.communicate()
    logs = [log.read_text() for log in tmp_path.rglob("*.log")]  # left where a part has ended by itself
    assert (demo.returncode, err) == (1, ""), "\n".join([out, *logs])
    rows = [line.split() for line in out.splitlines()]
    found = {row[0]: row[1:] for row in rows if row and row[0] in JOBS and len(row) == 4}
    assert list(found) == list(JOBS)
    for job, (expected, seen, differences) in found.items():
        forged = job == "driver-alerts"
        assert (number(seen), differences) == (number(expected) + forged, "1" if forged else "0"), job
    assert "driver-alerts: unexpected ('driver-9999'" in out
    wait_for_topics(bootstrap, before)
    assert list(tmp_path.iterdir()) == []
