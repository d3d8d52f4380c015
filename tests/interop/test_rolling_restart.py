"""Consumers of two clients share a topic and are restarted one after the other, while records keep coming.

Each commits what it processed after every poll and when partitions are revoked. So every record is processed at least
once, committed offsets never go back, and nothing is processed again that was committed before. It ends when all that
was sent is processed: how long anything takes decides nothing.
"""

import asyncio
import json
import subprocess
import sys
import threading
from collections import Counter
from collections.abc import Callable, Iterator, Sequence
from contextlib import ExitStack, contextmanager
from itertools import pairwise
from pathlib import Path
from typing import Any

import pytest
from confluent_kafka import Producer
from confluent_kafka.admin import AdminClient

from odradek.testing import RunningBroker, running_broker
from support.apache_kafka import ApacheKafka
from support.committing import begin_at_the_start
from support.stored_commits import stored_commits

HERE = Path(__file__).parent / "groups"
TOPIC, GROUP = "rolled", "rolling"
PARTITIONS = 20
MEMBERS_OF_EACH = 5
MEMBERS_OF_EACH_THAT_MOVE = 2
BURST = 20
RECORDS_AT_FULL_SPEED = 100_000
PAUSE_S, LONG_PAUSE_S = 0.005, 0.2
LIMIT_S = 600
SETTINGS = {
    "offsets.topic.num.partitions": "1",
    "group.initial.rebalance.delay.ms": "0",
    "group.consumer.assignment.interval.ms": "0",
    "group.consumer.heartbeat.interval.ms": "100",
    "group.consumer.min.heartbeat.interval.ms": "100",
}
JAVA, CONFLUENT = "java", "confluent"
COMMON = {"group.id": GROUP, "auto.offset.reset": "earliest", "enable.auto.commit": "false"}
PROTOCOLS: dict[str, dict[str, dict[str, str]]] = {
    "range": {
        JAVA: {"partition.assignment.strategy": "org.apache.kafka.clients.consumer.RangeAssignor"},
        CONFLUENT: {"partition.assignment.strategy": "range"},
    },
    "cooperative-sticky": {
        JAVA: {"partition.assignment.strategy": "org.apache.kafka.clients.consumer.CooperativeStickyAssignor"},
        CONFLUENT: {"partition.assignment.strategy": "cooperative-sticky"},
    },
    "consumer": {JAVA: {"group.protocol": "consumer"}, CONFLUENT: {"group.protocol": "consumer"}},
}

Event = dict[str, Any]


class Journal:
    """What members told, in the order in which it was heard."""

    def __init__(self) -> None:
        self.events: list[Event] = []
        self._values: set[str] = set()
        self._committed: dict[str, int] = {}  # by partition; two programs are not heard in the order of their events
        self._seen: set[tuple[str, str]] = set()
        self._failures: list[Event] = []
        self._changed = threading.Condition()

    def note(self, event: Event) -> None:
        with self._changed:
            self.events.append(event)
            self._seen.add((event["who"], event["what"]))
            if event["what"] == "processed":
                self._values.add(event["value"])
            elif event["what"] == "committed":
                for partition, offset in event["offsets"].items():
                    self._committed[partition] = max(self._committed.get(partition, 0), offset)
            elif event["what"] == "failed":
                self._failures.append(event)
            self._changed.notify_all()

    def wait(self, who: str, what: str) -> None:
        self._wait(lambda: (who, what) in self._seen, f"{who} has never {what}")

    def wait_done(self, count: int) -> None:
        """Until so many different values are processed, and as many offsets are committed."""
        self._wait(lambda: len(self._values) >= count, f"not all of {count} records were processed")
        self._wait(lambda: sum(self._committed.values()) == count, f"not all of {count} offsets were committed")

    def _wait(self, condition: Callable[[], bool], otherwise: str) -> None:
        with self._changed:
            assert self._changed.wait_for(lambda: bool(self._failures) or condition(), LIMIT_S), otherwise
            assert not self._failures

    def of(self, what: str) -> list[Event]:
        """By the clock of the machine, which all members go by."""
        return sorted((event for event in self.events if event["what"] == what), key=lambda event: event["at"])


class Players:
    """A program that plays members."""

    def __init__(self, process: "subprocess.Popen[str]", journal: Journal) -> None:
        assert process.stdin is not None
        assert process.stdout is not None
        self._stdin, self._stdout, self._journal = process.stdin, process.stdout, journal
        self._listener = threading.Thread(target=self._listen)
        self._listener.start()

    def tell(self, command: str, name: str) -> None:
        self._stdin.write(f"{command} {name}\n")
        self._stdin.flush()

    def end(self) -> None:
        self._stdin.close()
        self._listener.join()

    def _listen(self) -> None:
        for line in self._stdout:
            self._journal.note(json.loads(line))


@contextmanager
def players(command: Sequence[str], journal: Journal) -> Iterator[Players]:
    with subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True) as process:
        made = Players(process, journal)
        try:
            yield made
        finally:
            made.end()
    assert process.returncode == 0


class Load:
    """Sends a little all the time, until it is stopped: slowly in the end, where members take long to come back."""

    def __init__(self, bootstrap: str) -> None:
        self.sent = 0
        self._bootstrap = bootstrap
        self._stopping = threading.Event()
        self._thread = threading.Thread(target=self._send)
        self._thread.start()

    def stop(self) -> None:
        self._stopping.set()
        self._thread.join()

    def _send(self) -> None:
        producer = Producer({"bootstrap.servers": self._bootstrap, "linger.ms": 1})
        while not self._stopping.wait(PAUSE_S if self.sent < RECORDS_AT_FULL_SPEED else LONG_PAUSE_S):
            for _ in range(BURST):
                producer.produce(TOPIC, str(self.sent), partition=self.sent % PARTITIONS)
                self.sent += 1
            assert producer.flush(LIMIT_S) == 0


@pytest.fixture
def java_program(kafka: ApacheKafka, programs: Path) -> list[str]:
    return kafka.command("Members", classes=[programs])


@pytest.mark.parametrize("protocol", PROTOCOLS)
def test_consumers_are_restarted_one_after_the_other(java_program: list[str], protocol: str) -> None:
    play(java_program, [protocol, protocol], MEMBERS_OF_EACH)


@pytest.mark.parametrize("classic", ["range", "cooperative-sticky"])
def test_consumers_are_moved_to_the_other_protocol_and_back(java_program: list[str], classic: str) -> None:
    play(java_program, [classic, "consumer", classic], MEMBERS_OF_EACH_THAT_MOVE)


def play(java_program: list[str], protocols: Sequence[str], members_of_each: int) -> None:
    """Members begin with the first protocol, and are restarted one after the other for each that follows."""
    journal = Journal()
    programs = {JAVA: java_program, CONFLUENT: [sys.executable, "-P", str(HERE / "members.py")]}
    with running_broker(SETTINGS) as broker:
        broker.create_topic(TOPIC, PARTITIONS)
        begin_at_the_start(AdminClient({"bootstrap.servers": broker.bootstrap}), GROUP, TOPIC, PARTITIONS)
        with ExitStack() as playing:
            clients = {
                (protocol, client): playing.enter_context(
                    players(
                        [*programs[client], broker.bootstrap, TOPIC, json.dumps(COMMON | soon(protocol) | own)], journal
                    )
                )
                for protocol in dict.fromkeys(protocols)
                for client, own in PROTOCOLS[protocol].items()
            }
            sent = roll(broker, clients, protocols, members_of_each, journal)
        check_processed(journal, sent)
        check_repeats(journal)
        check_commits(journal, asyncio.run(stored_commits(broker.port)), sent)


def soon(protocol: str) -> dict[str, str]:
    """In the other protocol, it is the broker that says how often it wants to hear of a member."""
    return {} if protocol == "consumer" else {"heartbeat.interval.ms": "100"}


def roll(
    broker: RunningBroker,
    clients: dict[tuple[str, str], Players],
    protocols: Sequence[str],
    members_of_each: int,
    journal: Journal,
) -> int:
    """From the first member to the last that leaves. Returns how many records there are."""
    load = Load(broker.bootstrap)
    try:
        first, *others = protocols
        running = [
            ((first, client), f"{client}-{number}") for number in range(members_of_each) for client in (JAVA, CONFLUENT)
        ]
        for client, name in running:
            clients[client].tell("start", name)
        for _, name in running:
            journal.wait(name, "processed")
        for protocol in others:
            for at, (client, name) in enumerate(running):
                clients[client].tell("stop", name)
                journal.wait(name, "stopped")
                again = running[at] = (protocol, client[1]), f"{name}-again"
                clients[again[0]].tell("start", again[1])
                journal.wait(again[1], "processed")
    finally:
        load.stop()
    journal.wait_done(load.sent)
    for client, name in running:
        clients[client].tell("stop", name)
    for _, name in running:
        journal.wait(name, "stopped")
    return load.sent


# --- what must hold


def check_processed(journal: Journal, sent: int) -> None:
    assert {event["value"] for event in journal.of("processed")} == {str(number) for number in range(sent)}


def check_repeats(journal: Journal) -> None:
    """Whoever gets a partition begins no earlier than at what was committed by then, and leaves nothing out."""
    committed: Counter[int] = Counter()  # by the moments of their answers
    least: dict[tuple[str, int], int] = {}
    follows: dict[tuple[str, int], int] = {}
    for event in sorted(journal.events, key=lambda event: event["at"]):
        who = event["who"]
        if event["what"] == "committed":
            for partition, offset in event["offsets"].items():
                committed[int(partition)] = max(committed[int(partition)], offset)
        elif event["what"] == "assigned":
            for partition in event["partitions"]:
                least[who, partition] = committed[partition]
                follows.pop((who, partition), None)
        elif event["what"] == "processed":
            at, offset = (who, event["partition"]), event["offset"]
            assert offset >= least[at], f"processed again, though {committed[event['partition']]} is committed: {event}"
            assert offset == follows.get(at, offset), f"something is left out before {event}"
            follows[at] = offset + 1


@pytest.mark.parametrize("offset", [4, 6])
def test_what_is_repeated_or_left_out_is_found(offset: int) -> None:
    journal = Journal()
    told: list[Event] = [
        {"who": "first", "what": "committed", "offsets": {"0": 5}},
        {"who": "second", "what": "assigned", "partitions": [0]},
        {"who": "second", "what": "processed", "partition": 0, "offset": 5, "value": "a"},
        {"who": "second", "what": "processed", "partition": 0, "offset": 6, "value": "b"},
    ]
    for at, event in enumerate(told):
        journal.note({"at": at, **event})
    check_repeats(journal)
    journal.note(
        {"at": len(told), "who": "second", "what": "processed", "partition": 0, "offset": offset, "value": "c"}
    )
    with pytest.raises(AssertionError):
        check_repeats(journal)


def check_commits(journal: Journal, on_disk: dict[tuple[str, str, int], list[int]], sent: int) -> None:
    for partition in range(PARTITIONS):
        offsets = on_disk[GROUP, TOPIC, partition]
        assert all(earlier <= later for earlier, later in pairwise(offsets)), f"{partition}: {offsets}"
        assert offsets[-1] == len(range(partition, sent, PARTITIONS))  # nobody had to leave before
    told = [
        (int(partition), offset) for event in journal.of("committed") for partition, offset in event["offsets"].items()
    ]
    assert all(offset in on_disk[GROUP, TOPIC, partition] for partition, offset in told)
