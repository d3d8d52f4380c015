"""Jobs on a standalone cluster of Spark that loses a worker in the middle give what the truth says."""

import json
import subprocess
import sys
from pathlib import Path

from confluent_kafka import Consumer

from odradek.pipelines.registry import JOBS
from odradek.testing import RunningBroker
from support.job_stage import JobStage
from support.spark_cluster import environment, spark_cluster

CHILD = Path(__file__).with_name("jobs_child.py")
LIMIT_S = 600
"""A job that comes to no end is a failure. It is no measure of how long it takes."""


def wait_for_result(bootstrap: str) -> None:
    """Until the first of them has told something."""
    reader = {"bootstrap.servers": bootstrap, "group.id": "first-result", "auto.offset.reset": "earliest"}
    consumer = Consumer({**reader, "isolation.level": "read_committed", "topic.metadata.refresh.interval.ms": "200"})
    try:
        consumer.subscribe([job.result for job in JOBS.values()])
        while (message := consumer.poll(LIMIT_S)) is not None and message.error():
            pass  # the topics are not there before the jobs have made them
        assert message is not None
    finally:
        consumer.close()


def test_a_worker_is_killed(odradek_broker: RunningBroker, tmp_path: Path) -> None:
    stage = JobStage(odradek_broker, seed=40)
    stage.create_topics()
    stage.produce([*stage.trucks, *stage.operations])
    # Spark gives a Python process ten seconds to start: on a busy machine a job may need more than one try.
    setting = {"bootstrap": odradek_broker.bootstrap, "checkpoint": str(tmp_path / "checkpoint"), "once": True}
    setting |= {"events_per_batch": len(stage.trucks) // 4, "starts_max": 100}
    with spark_cluster(tmp_path) as cluster, (tmp_path / "driver.log").open("wb") as log:
        given = json.dumps({"master": cluster.url, "jobs": list(JOBS), "setting": setting})
        driver = subprocess.Popen(
            [sys.executable, str(CHILD), given], stdout=log, stderr=log, env=environment(tmp_path)
        )
        try:
            wait_for_result(odradek_broker.bootstrap)
            cluster.kill_worker()
            assert driver.poll() is None, "the jobs were done before a worker was killed"
            assert driver.wait(LIMIT_S) == 0, (tmp_path / "driver.log").read_text(errors="replace")[-5000:]
        finally:
            driver.kill()
            driver.wait()
    assert len(stage.expected("driver-alerts")) >= 2
    for job in JOBS:
        assert stage.found(job) == stage.expected(job), job
