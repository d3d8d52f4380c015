"""Jobs from the command line, as docs/pipelines.md says: until a signal, and through spark-submit."""

import json
import os
import signal
import subprocess
import sys
from pathlib import Path

import pytest
from confluent_kafka import Producer

import odradek
from odradek.pipelines.contract import PIPELINE_PROGRESS, TRUCK_POSITIONS, TRUCKS_GPS, json_text, time_text
from odradek.spark.runtime.java import find_java_home
from odradek.testing import RunningBroker
from support.committed_values import committed_pairs
from support.spark_cluster import spark_home

NOW_MS = 1_772_352_000_000
LIMIT_S = 60
JOB = "truck-positions"


@pytest.fixture
def broker(odradek_broker: RunningBroker) -> RunningBroker:
    """With one event, which is old."""
    odradek_broker.create_topic(TRUCKS_GPS, 1, {"retention.ms": "-1"})
    fields = {"truck": "one", "driver": "d", "time": time_text(NOW_MS), "latitude": 1.5, "longitude": 2.5}
    producer = Producer({"bootstrap.servers": odradek_broker.bootstrap})
    producer.produce(TRUCKS_GPS, json_text({**fields, "speed_kmh": 50.5}), "one", timestamp=NOW_MS)
    assert producer.flush(LIMIT_S) == 0
    return odradek_broker


def arguments(broker: RunningBroker, work: Path) -> list[str]:
    return ["pipeline", "run", JOB, "--bootstrap", broker.bootstrap, "--checkpoint", str(work / "checkpoint")]


def environment(work: Path) -> dict[str, str]:
    settings = work / "conf"
    settings.mkdir()
    told = "spark.driver.host 127.0.0.1\nspark.driver.bindAddress 127.0.0.1\nspark.ui.enabled false\n"
    (settings / "spark-defaults.conf").write_text(f"{told}spark.driver.memory 512m\nspark.local.dir {work}\n")
    java = str(find_java_home(os.environ))
    return {**os.environ, "JAVA_HOME": java, "PYSPARK_PYTHON": sys.executable, "SPARK_CONF_DIR": str(settings)}


def states(broker: RunningBroker) -> list[str]:
    return [json.loads(value)["state"] for _, value in committed_pairs(broker.bootstrap, PIPELINE_PROGRESS)]


def test_a_job_runs_until_a_signal(broker: RunningBroker, tmp_path: Path) -> None:
    command = [sys.executable, "-m", "odradek", *arguments(broker, tmp_path), "--master", "local[2]"]
    with (tmp_path / "log").open("wb") as log:
        process = subprocess.Popen(command, stdout=log, stderr=log, env=environment(tmp_path), process_group=0)
    try:
        while not committed_pairs(broker.bootstrap, TRUCK_POSITIONS):
            assert process.poll() is None, (tmp_path / "log").read_text()
        process.send_signal(signal.SIGTERM)
        assert process.wait() == 0, (tmp_path / "log").read_text()
    finally:
        process.kill()
        process.wait()
    assert states(broker)[-1] == "ended"
    assert len(committed_pairs(broker.bootstrap, TRUCK_POSITIONS)) == 1


def test_a_job_runs_through_spark_submit(broker: RunningBroker, tmp_path: Path) -> None:
    program = str(Path(odradek.__file__).parent / "__main__.py")
    command = [
        str(spark_home() / "bin" / "spark-submit"),
        "--master",
        "local[2]",
        program,
        *arguments(broker, tmp_path),
        "--once",
    ]
    result = subprocess.run(command, capture_output=True, text=True, env=environment(tmp_path), check=False)
    assert result.returncode == 0, result.stderr
    assert len(committed_pairs(broker.bootstrap, TRUCK_POSITIONS)) == 1
    assert states(broker)[-1] == "ended"
