"""`odradek transactions` against a broker."""

import io
import sys
from collections.abc import Callable, Iterator

import pytest
from confluent_kafka import KafkaException, Producer

from odradek.cli.main import main
from odradek.model.numbers import ProducerId, TimestampMs
from odradek.model.topic_partition import TopicPartition
from odradek.process.clock import SystemClock
from odradek.testing import RunningBroker, running_broker
from support.ended import Ended
from support.hanging import SETTINGS, begin_hanging

pytestmark = pytest.mark.slow
LIMIT_S = 60
HOUR_MS = 3_600_000
STRANGER = ProducerId(4711)


Odradek = Callable[..., Ended]


@pytest.fixture(scope="module")
def at() -> Iterator[RunningBroker]:
    with running_broker(settings=SETTINGS) as running:
        yield running


@pytest.fixture
def odradek(at: RunningBroker, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> Odradek:
    monkeypatch.setenv("ODRADEK_BOOTSTRAP", at.bootstrap)

    def run(*arguments: str, given: str | None = None) -> Ended:
        """With somebody at a terminal, if something is given."""
        stdin = io.StringIO(given or "")
        monkeypatch.setattr(stdin, "isatty", lambda: given is not None)
        monkeypatch.setattr(sys, "stdin", stdin)
        return Ended(main(["transactions", *arguments]), *capsys.readouterr())

    return run


@pytest.fixture
def name(request: pytest.FixtureRequest, at: RunningBroker) -> str:
    """Of a topic with two partitions, and of a transactional id, which no other test has."""
    found = str(request.node.name).removeprefix("test_").replace("_", "-")
    at.create_topic(found, partitions=2)
    return found


def begun(at: RunningBroker, name: str) -> Producer:
    """With a record in the first partition."""
    producer = Producer({"bootstrap.servers": at.bootstrap, "transactional.id": name, "log_level": 0})
    producer.init_transactions(LIMIT_S)
    producer.begin_transaction()
    producer.produce(name, "value", partition=0)
    assert producer.flush(LIMIT_S) == 0
    return producer


def hang(at: RunningBroker, name: str, age_ms: int = HOUR_MS) -> int:
    """In the second partition."""
    then = TimestampMs(SystemClock().now_ms() - age_ms)
    return begin_hanging(at.port, TopicPartition(name, 1), STRANGER, 3, then)


def test_a_transaction_from_its_begin_to_its_end(at: RunningBroker, odradek: Odradek, name: str) -> None:
    producer = begun(at, name)
    (listed,) = odradek("list", "--json", "--pattern", name).objects
    assert (listed["id"], listed["state"], listed["coordinator"]) == (name, "Ongoing", 1)
    (described,) = odradek("describe", name, "--json").objects
    assert described["partitions"] == [{"topic": name, "partition": 0}]
    assert (described["producer"], described["timeout_ms"]) == (listed["producer"], 60_000)
    assert odradek("list", "--json", "--state", "empty", "--pattern", name).objects == []
    assert odradek("list", "--json", "--open-for", "1h", "--pattern", name).objects == []
    assert odradek("list", "--json", "--producer-id", str(listed["producer"])).objects == [listed]
    first, second = odradek("describe", name).out.splitlines()
    assert first.startswith(f"{name}: Ongoing, producer {listed['producer']} with epoch 0, open for ")
    assert first.endswith(f", timeout 60 s, coordinator 1 ({at.bootstrap})")
    assert second == f"  {name}:0"
    producer.commit_transaction(LIMIT_S)
    (listed,) = odradek("list", "--json", "--pattern", name).objects
    assert listed["state"] == "CompleteCommit"


def test_producers_of_a_partition(at: RunningBroker, odradek: Odradek, name: str) -> None:
    producer = begun(at, name)
    (told,) = odradek("producers", "--topic", name, "--json").objects
    assert (told["partition"], told["start"], told["last_sequence"]) == (0, 0, 0)
    titles, row = odradek("producers", "--topic", name, "--partition", "0").out.splitlines()
    assert titles.split()[:3] == ["TOPIC", "PARTITION", "PRODUCER"]
    assert row.split()[:3] == [name, "0", str(told["producer"])]
    assert odradek("producers", "--topic", name, "--partition", "1") == Ended(0, "", "")
    producer.abort_transaction(LIMIT_S)
    (told,) = odradek("producers", "--topic", name, "--json").objects
    assert (told["start"], told["coordinator_epoch"]) == (None, 0)


def test_what_is_not_there(odradek: Odradek, name: str) -> None:
    assert odradek("describe", "nobody") == Ended(1, "", "odradek: transactional id nobody could not be found\n")
    assert odradek("abort", "nobody", "--yes") == Ended(1, "", "odradek: transactional id nobody could not be found\n")
    no_topic = "odradek: Topic 'nowhere' does not exist (UNKNOWN_TOPIC_OR_PARTITION)\n"
    for verb in ("producers", "find-hanging"):
        assert odradek(verb, "--topic", "nowhere") == Ended(1, "", no_topic)
    no_partition = f"odradek: {name} has no partition 2 (UNKNOWN_TOPIC_OR_PARTITION)\n"
    place = ("--topic", name, "--partition", "2")
    assert odradek("producers", *place) == Ended(1, "", no_partition)
    assert odradek("abort", *place, "--start-offset", "0") == Ended(1, "", no_partition)
    no_broker = "odradek: there is no broker 9 (BROKER_NOT_AVAILABLE)\n"
    assert odradek("find-hanging", "--broker", "9") == Ended(1, "", no_broker)
    nothing = f"odradek: {name}-1: no open transaction begins at offset 0\n"
    assert odradek("abort", "--topic", name, "--partition", "1", "--start-offset", "0") == Ended(1, "", nothing)


def test_what_hangs_is_found_and_aborted(at: RunningBroker, odradek: Odradek, name: str) -> None:
    producer = begun(at, name)  # which is open, and does not hang
    start = hang(at, name)
    scope = ("--topic", name, "--json")
    for more in ((), ("--broker", "1"), ("--partition", "1"), ("--max-transaction-timeout", "59")):
        (found,) = odradek("find-hanging", *scope, *more).objects
        assert (found["partition"], found["producer"], found["epoch"], found["start"]) == (1, STRANGER, 3, start)
        assert (found["id"], found["why"]) == (None, "no coordinator knows its producer")
    assert odradek("find-hanging", *scope, "--partition", "0").objects == []
    assert odradek("find-hanging", *scope, "--max-transaction-timeout", "2h").objects == []
    assert len(odradek("find-hanging", *scope, "--max-transaction-timeout", "0").objects) == 1
    place = ("--topic", name, "--partition", "1")
    fenced = odradek("abort", *place, "--producer-id", str(STRANGER), "--producer-epoch", "2")
    assert (fenced.status, fenced.out) == (1, "")
    where = f"producer {STRANGER} in {name}-1"
    assert fenced.err == f"odradek: {where}: the producer has a higher epoch there (INVALID_PRODUCER_EPOCH)\n"
    assert odradek("abort", *place, "--start-offset", str(start)) == Ended(
        0, f"aborted the transaction of {where}\n", ""
    )
    assert odradek("find-hanging", *scope) == Ended(0, "", "")
    producer.commit_transaction(LIMIT_S)


def test_an_id_is_aborted_when_the_person_says_yes(at: RunningBroker, odradek: Odradek, name: str) -> None:
    producer = begun(at, name)
    question = f"abort the transaction of {name}? [y/N] "
    assert odradek("abort", name, given="no\n") == Ended(1, "", f"{question}odradek: nothing was aborted\n")
    (described,) = odradek("describe", name, "--json").objects
    assert described["state"] == "Ongoing"
    assert odradek("abort", name, given="y\n") == Ended(0, f"aborted the transaction of {name}\n", question)
    nothing = f"odradek: {name}: there is nothing to abort, it is in state Empty\n"
    assert odradek("abort", name) == Ended(1, "", nothing)
    with pytest.raises(KafkaException):
        producer.commit_transaction(LIMIT_S)
