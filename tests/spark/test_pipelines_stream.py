"""All jobs as streams, in several batches and with a restart between: the topics say what the truth says."""

from pathlib import Path
from threading import Event

from pyspark.sql import SparkSession

from odradek.pipelines.queries import Setting
from odradek.pipelines.registry import JOBS
from odradek.pipelines.runner import run_all
from odradek.testing import RunningBroker
from support.job_stage import JobStage


def test_all_jobs_with_a_restart(spark: SparkSession, odradek_broker: RunningBroker, tmp_path: Path) -> None:
    stage = JobStage(odradek_broker, seed=30)
    stage.create_topics()
    # Spark gives a Python process ten seconds to start: on a busy machine some of so many jobs need more than one try.
    size = len(stage.trucks) // 3
    setting = Setting(odradek_broker.bootstrap, str(tmp_path), once=True, events_per_batch=size, starts_max=100)
    middles = len(stage.trucks) // 2, len(stage.operations) // 2
    stage.produce([*stage.trucks[: middles[0]], *stage.operations[: middles[1]]])
    run_all(spark, list(JOBS.values()), setting, Event())
    stage.produce([*stage.trucks[middles[0] :], *stage.operations[middles[1] :]])
    run_all(spark, list(JOBS.values()), setting, Event())

    assert len(stage.expected("driver-alerts")) >= 2
    assert any(fields["anomaly"] for fields in stage.expected("latency-anomalies").values())
    for job in JOBS:
        assert stage.found(job) == stage.expected(job), job
