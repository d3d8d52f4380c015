"""All jobs on Apache Kafka give what the truth says."""

from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from threading import Event
from time import monotonic
from typing import TYPE_CHECKING

from odradek.pipelines.contract import PIPELINE_PROGRESS
from odradek.pipelines.registry import JOBS
from odradek.testing import topics
from support.apache_kafka import ApacheKafka
from support.committed_values import committed_pairs
from support.job_stage import JobStage
from support.one_node import one_node
from support.sink_stage import format_at_level

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

SETTINGS = one_node(3)
TRANSACTION_VERSION = 2
LIMIT_S = 300


@dataclass(frozen=True, slots=True)
class Kafka:
    bootstrap: str

    def create_topic(self, name: str, partitions: int = 1, configs: Mapping[str, str] | None = None) -> None:
        host, _, port = self.bootstrap.partition(":")
        topics.create((host, int(port)), name, partitions, configs or {})


def expect(stage: JobStage, job: str) -> None:
    """Kafka writes the ends of transactions behind its answer, so they may come a moment later."""
    until, expected = monotonic() + LIMIT_S, stage.expected(job)
    while (found := stage.found(job)) != expected and monotonic() < until:
        pass  # each look takes a while by itself
    assert found == expected, job


def test_all_jobs(kafka: ApacheKafka, connector_spark: "SparkSession", tmp_path: Path) -> None:
    from odradek.pipelines.queries import Setting
    from odradek.pipelines.runner import run_all

    format_at_level(tmp_path / "data", TRANSACTION_VERSION)
    with kafka.broker(tmp_path, [tmp_path / "data"], SETTINGS) as broker:
        stage = JobStage(Kafka(broker.address), seed=90)
        stage.create_topics()
        stage.produce([*stage.trucks, *stage.operations])
        # Spark gives a Python process ten seconds to start: on a busy machine some of so many jobs need another try.
        setting = Setting(broker.address, str(tmp_path / "checkpoint"), once=True, starts_max=100)
        run_all(connector_spark, list(JOBS.values()), setting, Event())
        for job in JOBS:
            expect(stage, job)
        told = {key.decode() for key, _ in committed_pairs(broker.address, PIPELINE_PROGRESS)}
        assert told == set(JOBS)
