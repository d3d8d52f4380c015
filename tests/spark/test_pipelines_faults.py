"""Jobs when things go wrong around them: they go on, or say in one line what to do."""

import base64
import json
from collections.abc import Callable, Iterator
from concurrent.futures import Future, ThreadPoolExecutor
from contextlib import contextmanager
from dataclasses import replace
from pathlib import Path
from threading import Event as Signal

import pytest
from confluent_kafka import Producer, TopicPartition
from confluent_kafka.admin import AdminClient
from pyspark.sql import SparkSession

from odradek.pipelines.contract import DEAD_LETTERS, TRUCK_POSITIONS, TRUCKS_GPS, json_text, time_text
from odradek.pipelines.job_progress import JobProgress
from odradek.pipelines.queries import Setting, prepared
from odradek.pipelines.registry import JOBS, Job
from odradek.pipelines.runner import JobFailed, run
from odradek.pipelines.topics import make_topics
from odradek.testing import RunningBroker
from support.committed_values import committed_pairs
from support.job_stage import JobStage

POSITIONS, ALERTS, LETTERS = JOBS["truck-positions"], JOBS["driver-alerts"], JOBS["dead-letters"]
NOW_MS = 1_772_352_000_000
LIMIT_S = 60
KEPT = {"retention.ms": "-1"}
"""Events are old."""


@pytest.fixture(scope="module")
def session(spark: SparkSession) -> SparkSession:
    return prepared(spark)


@pytest.fixture
def setting(odradek_broker: RunningBroker, tmp_path: Path) -> Setting:
    # Spark gives a Python process ten seconds to start: on a busy machine a job may need more than one try.
    return Setting(odradek_broker.bootstrap, str(tmp_path), once=True, starts_max=100)


@contextmanager
def running(session: SparkSession, setting: Setting, *jobs: Job) -> Iterator[list[Future[None]]]:
    """Not once, but to the end of the block."""
    stop = Signal()
    with ThreadPoolExecutor(len(jobs)) as pool:
        started = [pool.submit(run, session, job, replace(setting, once=False), stop, nobody) for job in jobs]
        try:
            yield started
        finally:
            stop.set()
        for each in started:
            each.result()


def nobody(_: JobProgress) -> None:
    """Is told how a job is."""


def position(truck: str) -> tuple[str, bytes]:
    fields = {"truck": truck, "driver": "d", "time": time_text(NOW_MS), "latitude": 1.5, "longitude": 2.5}
    return truck, json_text({**fields, "speed_kmh": 50.5}).encode()


def produce(broker: RunningBroker, *records: tuple[str, bytes]) -> None:
    producer = Producer({"bootstrap.servers": broker.bootstrap})
    for key, value in records:
        producer.produce(TRUCKS_GPS, value, key, timestamp=NOW_MS)
    assert producer.flush(LIMIT_S) == 0


def trucks(broker: RunningBroker) -> list[str]:
    """In the order in which their rows were written."""
    return [key.decode() for key, _ in committed_pairs(broker.bootstrap, TRUCK_POSITIONS)]


def wait_until(condition: Callable[[], object], jobs: list[Future[None]]) -> None:
    """Each look at a topic takes a while by itself."""
    while not condition():
        for job in jobs:
            assert not job.done() or job.result(), "it ended by itself"


def test_a_result_topic_that_is_deleted_is_made_again(
    session: SparkSession, odradek_broker: RunningBroker, setting: Setting
) -> None:
    admin = AdminClient({"bootstrap.servers": odradek_broker.bootstrap})
    odradek_broker.create_topic(TRUCKS_GPS, 1, KEPT)
    produce(odradek_broker, position("one"))
    with running(session, setting, POSITIONS) as jobs:
        wait_until(lambda: trucks(odradek_broker) == ["one"], jobs)
        admin.delete_topics([TRUCK_POSITIONS])[TRUCK_POSITIONS].result(LIMIT_S)
        produce(odradek_broker, position("two"))
        wait_until(lambda: trucks(odradek_broker) == ["two"], jobs)
    make_topics([POSITIONS], odradek_broker.bootstrap)  # which would say if it were not as it must be


def test_a_broker_that_is_killed_loses_and_repeats_nothing(
    session: SparkSession, odradek_broker: RunningBroker, setting: Setting
) -> None:
    stage = JobStage(odradek_broker, seed=50)
    stage.create_topics()
    stage.produce(stage.trucks)
    small = replace(setting, events_per_batch=len(stage.trucks) // 4)
    with running(session, small, ALERTS, POSITIONS) as jobs:
        wait_until(lambda: trucks(odradek_broker), jobs)
        odradek_broker.kill()
        odradek_broker.start()
        for name in (ALERTS.name, POSITIONS.name):
            wait_until(lambda name=name: stage.found(name) == stage.expected(name), jobs)  # type: ignore[misc]
    assert len(stage.found(ALERTS.name)) >= 2
    for job in (ALERTS, POSITIONS):
        assert stage.found(job.name) == stage.expected(job.name)


def test_the_checkpoint_of_another_job_is_told_by_its_name(
    session: SparkSession, odradek_broker: RunningBroker, setting: Setting
) -> None:
    odradek_broker.create_topic(TRUCKS_GPS, 1, KEPT)
    produce(odradek_broker, position("one"))
    run(session, POSITIONS, setting, Signal(), nobody)
    directory = Path(setting.checkpoint)
    (directory / POSITIONS.name).rename(directory / ALERTS.name)
    said = f"^job {ALERTS.name} stopped: .*/{ALERTS.name} is the checkpoint of job {POSITIONS.name}, not of job "
    with pytest.raises(JobFailed, match=said):
        run(session, ALERTS, setting, Signal(), nobody)


def test_events_that_expired_before_they_were_read_end_a_job_unless_they_may_be_skipped(
    session: SparkSession, odradek_broker: RunningBroker, setting: Setting
) -> None:
    odradek_broker.create_topic(TRUCKS_GPS, 1, KEPT)
    produce(odradek_broker, position("one"))
    run(session, POSITIONS, setting, Signal(), nobody)
    produce(odradek_broker, position("two"), position("three"))
    admin = AdminClient({"bootstrap.servers": odradek_broker.bootstrap})
    place = TopicPartition(TRUCKS_GPS, 0, 2)
    admin.delete_records([place])[place].result(LIMIT_S)
    lost = (
        rf"^job {POSITIONS.name} stopped: {TRUCKS_GPS}-0 has lost the offsets 1 to 1: .* \(pipeline run: --skip-lost\)$"
    )
    with pytest.raises(JobFailed, match=lost):
        run(session, POSITIONS, setting, Signal(), nobody)
    run(session, POSITIONS, replace(setting, skip_lost=True), Signal(), nobody)
    assert trucks(odradek_broker) == ["one", "three"]


def test_a_bad_record_as_large_as_a_topic_takes_is_kept(
    session: SparkSession, odradek_broker: RunningBroker, setting: Setting
) -> None:
    odradek_broker.create_topic(TRUCKS_GPS, 1, KEPT)
    large = bytes(range(256)) * 3900
    produce(odradek_broker, ("one", large))
    run(session, LETTERS, setting, Signal(), nobody)
    ((key, value),) = committed_pairs(odradek_broker.bootstrap, DEAD_LETTERS)
    letter = json.loads(value)
    assert (key, letter["reason"], letter["offset"]) == (b"one", "not_json", 0)
    assert base64.b64decode(letter["value_base64"]) == large
