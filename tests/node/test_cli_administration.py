"""`odradek records`, `odradek log sizes`, `odradek quotas` and partitions in trouble, against a broker."""

import io
import re
import sys
from collections.abc import Callable

import pytest

from odradek.testing import RunningBroker
from support.ended import Ended

Odradek = Callable[..., Ended]
HOUR_MS = 3_600_000
LAST_MS = 1_700_000_000_000


@pytest.fixture
def topic(request: pytest.FixtureRequest, odradek: Odradek) -> str:
    """Two partitions: five records in the first one, an hour apart, and none in the other."""
    name = f"cli-{re.sub(r'[^a-z0-9]+', '-', request.node.name)}"
    odradek("topics", "create", name, "--partitions", "2", "--config", "retention.ms=-1")
    for number in range(5):
        at = str(LAST_MS - (4 - number) * HOUR_MS)
        sent = ("--value", f"v{number}", "--key", f"k{number % 2}", "--partition", "0", "--timestamp", at)
        assert odradek("produce", name, *sent).status == 0
    return name


# --- records


def test_records_are_counted(odradek: Odradek, topic: str) -> None:
    ended = odradek("records", "count", topic)
    assert (ended.status, ended.err) == (0, "")
    assert [line.split() for line in ended.out.splitlines()[:3]] == [
        ["TOPIC", "PARTITION", "START", "END", "RECORDS"],
        [topic, "0", "0", "5", "5"],
        [topic, "1", "0", "0", "0"],
    ]
    assert ended.out.splitlines()[3] == "5 records at most: this is end minus start, and --exact reads them"
    odradek("records", "delete", f"{topic}:0", "--before-offset", "2")
    exact = odradek("records", "count", f"{topic}:0", "--exact", "--json")
    place = {"topic": topic, "partition": 0}
    assert exact.objects == [{**place, "start": 2, "end": 5, "records": 3, "exact": True}]
    assert odradek("records", "count", topic, "--exact").out.endswith("\n3 records, all of them read\n")


def test_offsets_of_a_time(odradek: Odradek, topic: str) -> None:
    ended = odradek("records", "offsets-at", str(LAST_MS - HOUR_MS), topic)
    assert (ended.status, ended.err) == (0, "")
    assert [line.split(maxsplit=3) for line in ended.out.splitlines()] == [
        ["TOPIC", "PARTITION", "OFFSET", "NOTE"],
        [topic, "0", "3", "-"],
        [topic, "1", "-", "no record is that late; the end is 0"],
    ]
    for moment, offset in (("earliest", 0), ("latest", 5), ("max-timestamp", 4), ("2000-01-01T00:00:00Z", 0)):
        told = odradek("records", "offsets-at", moment, f"{topic}:0", "--json")
        assert told.objects == [{"topic": topic, "partition": 0, "offset": offset}]


def test_records_are_deleted_before_an_offset_or_a_time(odradek: Odradek, topic: str) -> None:
    dry = odradek("records", "delete", topic, "--before-time", str(LAST_MS - HOUR_MS), "--dry-run")
    assert [line.split() for line in dry.out.splitlines()] == [
        ["TOPIC", "PARTITION", "WAS", "START", "DELETED"],
        [topic, "0", "0", "3", "3"],
        [topic, "1", "0", "0", "0"],
    ]
    assert dry.err == "a dry run: nothing was deleted\n"
    told = odradek("records", "delete", f"{topic}:0", "--before-offset", "1", "--json").objects
    fields = {"topic": topic, "partition": 0, "was": 0, "start": 1, "deleted": 1, "dry_run": False}
    assert told == [fields]
    assert odradek("records", "delete", topic, "--before-time", str(LAST_MS - HOUR_MS)).status == 0
    assert odradek("consume", topic, "--from-beginning", "--until-end").out == "v3\nv4\n"
    assert odradek("records", "delete", topic, "--all", "--json").objects[0]["start"] == 5
    assert odradek("consume", topic, "--from-beginning", "--until-end").out == ""


def test_nothing_is_deleted_where_a_part_cannot_be(odradek: Odradek, topic: str) -> None:
    ended = odradek("records", "delete", topic, "--before-offset", "2")
    told = f"{topic}-1: ends at 0, so nothing is before 2 that could be deleted"
    assert ended == (1, "", f"odradek: {told}\nodradek: nothing was deleted\n")
    assert odradek("records", "count", f"{topic}:0", "--json").objects[0]["start"] == 0


def test_what_the_broker_does_not_delete(odradek: Odradek, topic: str) -> None:
    odradek("configs", "set", f"topics/{topic}", "cleanup.policy=compact")
    ended = odradek("records", "delete", f"{topic}:0", "--all", "--json")
    reason = "the topic is compacted, and keeps the last record of each key (POLICY_VIOLATION)"
    assert (ended.status, ended.err) == (1, f"odradek: {topic}-0: {reason}\n")
    assert ended.objects == [{"topic": topic, "partition": 0, "error": "POLICY_VIOLATION", "message": reason}]


@pytest.mark.parametrize(("answer", "status", "start"), [("y\n", 0, 5), ("n\n", 1, 0)])
def test_delete_asks_on_a_terminal(
    odradek: Odradek, topic: str, monkeypatch: pytest.MonkeyPatch, answer: str, status: int, start: int
) -> None:
    terminal = io.StringIO(answer)
    monkeypatch.setattr(terminal, "isatty", lambda: True)
    monkeypatch.setattr(sys, "stdin", terminal)
    ended = odradek("records", "delete", topic, "--all")
    assert ended.status == status
    assert ended.err.startswith(f"delete up to 5 records of {topic} in 1 partition? [y/N] ")
    assert odradek("records", "count", f"{topic}:0", "--json").objects[0]["start"] == start


@pytest.mark.parametrize("verb", [["count"], ["offsets-at", "latest"], ["delete", "--all"]], ids=lambda verb: verb[0])
def test_records_that_are_not_there(odradek: Odradek, verb: list[str]) -> None:
    no_topic = "odradek: Topic 'never-made' does not exist (UNKNOWN_TOPIC_OR_PARTITION)\n"
    assert odradek("records", *verb, "never-made") == (1, "", no_topic)
    odradek("topics", "create", "administered", "--if-not-exists")
    no_partition = "odradek: administered has no partition 7 (UNKNOWN_TOPIC_OR_PARTITION)\n"
    assert odradek("records", *verb, "administered:0,7") == (1, "", no_partition)


# --- sizes


def test_sizes_as_the_broker_and_its_files_have_them(
    odradek: Odradek, topic: str, odradek_shared_broker: RunningBroker
) -> None:
    directory = str(odradek_shared_broker.directory)
    (asked, empty) = odradek("log", "sizes", "--topic", topic, "--json").objects
    assert (asked["partition"], asked["broker"], asked["directory"], empty["size"]) == (0, 1, directory, 0)
    assert asked["size"] > 0
    (read, _) = odradek("log", "sizes", directory, "--topic", topic, "--json").objects
    assert read == {**asked, "broker": None}
    (summed,) = odradek("log", "sizes", "--by", "topic", "--topic", topic, "--json").objects
    assert summed == {"topic": topic, "partitions": 2, "size": asked["size"]}
    (whole,) = odradek("log", "sizes", "--by", "directory", "--json").objects
    assert whole["size"] >= asked["size"]
    assert 0 < whole["free"] <= whole["of"]
    assert odradek("log", "sizes", "--by", "directory").out.startswith("BROKER  DIRECTORY ")


# --- partitions in trouble


def test_partitions_in_trouble(odradek: Odradek, topic: str) -> None:
    for trouble in ("under-replicated", "unavailable", "under-min-isr"):
        assert odradek("topics", "describe", topic, f"--{trouble}") == (0, "", "")
    (at_least,) = odradek("topics", "describe", topic, "--at-min-isr", "--json").objects
    assert [each["partition"] for each in at_least["partitions"]] == [0, 1]
    odradek("configs", "set", f"topics/{topic}", "min.insync.replicas=2")
    assert odradek("topics", "describe", topic, "--at-min-isr") == (0, "", "")
    assert odradek("topics", "describe", topic, "--under-min-isr").out.startswith(f"{topic}: 2 partitions, ")


# --- quotas


def test_quotas_are_set_shown_and_taken_back(odradek: Odradek) -> None:
    who = ("--user", "alice", "--client-id-default")
    dry = odradek("quotas", "set", *who, "producer_byte_rate=10MB/s", "--dry-run")
    assert dry == (0, "user alice, client-id (default): would set producer_byte_rate to 10 MB/s\n", "")
    assert odradek("quotas", "describe", *who) == (0, "", "")
    odradek("quotas", "set", *who, "producer_byte_rate=10MB/s", "request_percentage=55.5%")
    odradek("quotas", "set", "--user", "alice", "consumer_byte_rate=1MiB/s")
    told = odradek("quotas", "describe", "--user", "alice")
    assert [line.split() for line in told.out.splitlines()] == [
        ["USER", "CLIENT-ID", "IP", "QUOTA", "VALUE"],
        ["alice", "(default)", "-", "producer_byte_rate", "10", "MB/s"],
        ["alice", "(default)", "-", "request_percentage", "55.5%"],
        ["alice", "-", "-", "consumer_byte_rate", "1", "MiB/s"],
    ]
    only = {"entity": {"user": "alice"}, "quotas": {"consumer_byte_rate": 1048576.0}}
    assert odradek("quotas", "describe", "--user", "alice", "--strict", "--json").objects == [only]
    assert odradek("quotas", "unset", *who, "--all").out.count("unset ") == 2
    assert odradek("quotas", "unset", *who, "--all") == (0, "", "")
    assert odradek("quotas", "unset", "--user", "alice", "consumer_byte_rate", "--json").objects == [
        {"entity": {"user": "alice"}, "changes": {"consumer_byte_rate": None}, "dry_run": False}
    ]
    assert odradek("quotas", "describe", "--user", "alice") == (0, "", "")


@pytest.mark.parametrize(
    "asked",
    [
        ["--user", "bob", "producer_byte_rate=-1"],
        ["--user", "bob", "of_the_future=1"],
        ["--user", "bob", "connection_creation_rate=5"],
        ["--ip", "10.0.0.1", "producer_byte_rate=5"],
    ],
    ids=" ".join,
)
def test_quotas_that_are_refused(odradek: Odradek, asked: list[str]) -> None:
    ended = odradek("quotas", "set", *asked)
    assert (ended.status, ended.out) == (1, "")
    assert ended.err.startswith(f"odradek: {asked[0][2:]} {asked[1]}: ")
    assert ended.err.endswith("(INVALID_REQUEST)\n")
    assert odradek("quotas", "describe", *asked[:2]) == (0, "", "")
