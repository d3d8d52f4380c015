"""The demo and a broker, as far as it goes without Spark."""

import base64
import json
import socket
from collections import Counter
from collections.abc import Iterable, Mapping

import pytest
from confluent_kafka import Consumer, Producer, TopicPartition

from odradek.cli.main import main
from odradek.demo.comparing import compare, truth_of
from odradek.demo.reading import UNREADABLE, ProgressReader, Row, committed_rows
from odradek.demo.scenario import LIVE_MS, Scenario, result_topics
from odradek.demo.topics import Topics
from odradek.demo.writing import Writer
from odradek.pipelines import contract
from odradek.pipelines.registry import JOBS
from odradek.pipelines.simulation.event import Event
from odradek.pipelines.truth.fleet import true_alerts, true_positions
from odradek.pipelines.truth.tenants import true_anomalies, true_centres, true_enriched, true_trends, true_users
from odradek.testing import RunningBroker

pytestmark = pytest.mark.slow

SMALL = Scenario(10)


def make_topics(broker: RunningBroker) -> Topics:
    topics = Topics(broker.bootstrap)
    topics.make([*SMALL.topics(), *result_topics()])
    return topics


def names(broker: RunningBroker) -> set[str]:
    consumer = Consumer({"bootstrap.servers": broker.bootstrap, "group.id": "names"})
    try:
        return {name for name in consumer.list_topics(timeout=60).topics if not name.startswith("__")}
    finally:
        consumer.close()


def ends(broker: RunningBroker, topics: Iterable[str]) -> int:
    """How many records there are."""
    consumer = Consumer({"bootstrap.servers": broker.bootstrap, "group.id": "ends"})
    try:
        found = consumer.list_topics(timeout=60).topics
        places = [TopicPartition(name, number) for name in topics for number in found[name].partitions]
        return sum(consumer.get_watermark_offsets(place, timeout=60)[1] for place in places)
    finally:
        consumer.close()


def test_what_was_made_is_deleted_and_nothing_else(odradek_broker: RunningBroker) -> None:
    odradek_broker.create_topic("somebody_elses")
    topics = make_topics(odradek_broker)
    assert len(names(odradek_broker)) == 1 + len(SMALL.topics()) + len(JOBS)
    odradek_broker.create_topic(contract.PIPELINE_PROGRESS)  # which is for the jobs to do
    topics.delete()
    assert names(odradek_broker) == {"somebody_elses"}


def test_topics_that_are_there_already_are_one_line(
    odradek_broker: RunningBroker, capsys: pytest.CaptureFixture[str]
) -> None:
    odradek_broker.create_topic(contract.TRUCKS_GPS)
    odradek_broker.create_topic(contract.DEAD_LETTERS)
    assert main(["demo", "--bootstrap", odradek_broker.bootstrap, "--no-browser"]) == 1
    at = odradek_broker.bootstrap
    assert capsys.readouterr().err == (
        f"odradek: trucks_gps, dead_letters exist on {at}, and the demo makes its own; "
        f"if they may go: odradek topics delete --bootstrap {at} trucks_gps dead_letters\n"
    )
    assert names(odradek_broker) == {contract.TRUCKS_GPS, contract.DEAD_LETTERS}


def test_nobody_at_an_address_is_one_line(capsys: pytest.CaptureFixture[str]) -> None:
    with socket.socket() as taken:
        taken.bind(("127.0.0.1", 0))
        address = f"127.0.0.1:{taken.getsockname()[1]}"
        assert main(["demo", "--bootstrap", address, "--no-browser"]) == 1
    said = capsys.readouterr().err
    assert said.startswith(f"odradek: cannot reach {address}: ")
    assert said.count("\n") == 1


def wait_until_live(writer: Writer) -> None:
    while not writer.is_live and not writer.is_done:
        writer.stop.wait(0.01)


def test_what_is_written_is_the_beginning_of_the_scenario(odradek_broker: RunningBroker) -> None:
    make_topics(odradek_broker)
    writer = Writer(SMALL, odradek_broker.bootstrap)
    writer.start()
    wait_until_live(writer)
    history = writer.written
    assert [event.sent_ms < LIVE_MS for event in SMALL.first(history + 1)[-2:]] == [True, False]
    writer.live.set()
    while writer.written < history + 20:
        writer.stop.wait(0.01)
    writer.stop.set()
    while not writer.is_done:
        writer.live.wait(0.01)
    assert writer.failure is None
    topics = [topic.name for topic in SMALL.topics() if topic.name != contract.TENANT_PLANS]
    assert ends(odradek_broker, topics) == writer.written
    found = Counter(row[0] for topic in topics for row in committed_rows(odradek_broker.bootstrap, topic))
    assert found == Counter(event.key for event in SMALL.first(writer.written))
    assert ends(odradek_broker, [contract.TENANT_PLANS]) == len(SMALL.plans())


def test_a_writer_that_is_abandoned_ends_without_a_broker() -> None:
    with socket.socket() as taken:
        taken.bind(("127.0.0.1", 0))
        writer = Writer(SMALL, f"127.0.0.1:{taken.getsockname()[1]}")
        writer.start()
        writer.abandon(60)
    assert writer.is_done


def write(broker: RunningBroker, topic: str, rows: Iterable[tuple[str, object]]) -> None:
    producer = Producer({"bootstrap.servers": broker.bootstrap, "partitioner": "murmur2_random"})
    for key, fields in rows:
        producer.produce(topic, json.dumps(fields) if not isinstance(fields, bytes) else fields, key)
    assert producer.flush(60) == 0


def right_rows(events: list[Event]) -> Mapping[str, list[tuple[str, object]]]:
    windows = contract.Windows()
    enriched = true_enriched(events, SMALL.plans()).elements()
    letters = [event for event in events if event.reason is not None]
    return {
        contract.TRUCK_POSITIONS: list(true_positions(events).items()),
        contract.DRIVER_ALERTS: list(true_alerts(events)),
        contract.ACTIVE_CENTRES: list(true_centres(events, windows).items()),
        contract.ACTIVE_USERS: list(true_users(events, windows).items()),
        contract.LATENCY_TRENDS: list(true_trends(events, windows).items()),
        contract.LATENCY_ANOMALIES: list(true_anomalies(events, contract.AnomalyRule()).items()),
        contract.OPERATIONS_WITH_PLAN: [("g", {**dict(row), "offset": at}) for at, row in enumerate(enriched)],
        contract.DEAD_LETTERS: [
            (
                event.key,
                {
                    "reason": event.reason,
                    "topic": event.topic,
                    "value_base64": base64.b64encode(event.value or b"").decode(),
                },
            )
            for event in letters
        ],
    }


def test_a_result_that_was_forged_is_found(odradek_broker: RunningBroker) -> None:
    make_topics(odradek_broker)
    events = SMALL.first(2_500)
    truth = truth_of(events, SMALL.plans())
    for topic, rows in right_rows(events).items():
        write(odradek_broker, topic, rows)

    def differences() -> dict[str, int]:
        rows: dict[str, list[Row]] = {
            job.result: committed_rows(odradek_broker.bootstrap, job.result) for job in JOBS.values()
        }
        return {each.job: each.differences for each in compare(rows, truth) if each.differences}

    assert differences() == {}
    key, fields = next(iter(true_positions(events).items()))
    write(odradek_broker, contract.TRUCK_POSITIONS, [(key, {**fields, "speed_kmh": fields["speed_kmh"] + 0.1})])
    write(odradek_broker, contract.DEAD_LETTERS, [("nobody", b"\xff not JSON")])
    assert differences() == {"truck-positions": 1, "dead-letters": 1}


def test_progress_is_read_as_it_comes(odradek_broker: RunningBroker) -> None:
    reader = ProgressReader(odradek_broker.bootstrap)
    try:
        assert list(reader.news()) == []  # there is no such topic yet
        odradek_broker.create_topic(contract.PIPELINE_PROGRESS)
        write(odradek_broker, contract.PIPELINE_PROGRESS, [("a", {"job": "a", "batch": 1}), ("b", b"no JSON")])
        found: list[dict[str, object]] = []
        while len(found) < 2:
            found += reader.news()
        assert found == [{"job": "a", "batch": 1}, {UNREADABLE: "no JSON"}]
    finally:
        reader.close()
