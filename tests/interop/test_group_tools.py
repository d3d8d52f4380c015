"""Apache Kafka's own tools for consumer groups, and both its consumers: what they print of our broker and of Kafka's.

Each case is played on one and then on the other. Topics have five records in each partition, an hour apart, the last
one half an hour old.
"""

import json
import re
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from confluent_kafka import Producer
from confluent_kafka.admin import AdminClient
from confluent_kafka.cimpl import NewTopic

from odradek.process.clock import SystemClock
from support.apache_kafka import ApacheKafka
from support.group_tools import GROUPS, Stage, differences
from support.kafka_tools import KafkaTools
from support.same_answers import SETTINGS
from support.two_brokers import two_brokers

TOOLS = "org.apache.kafka.tools"
TOPICS = {"orders": 3, "payments": 1}
RECORDS = 5
HOUR_MS = 3_600_000
# How soon members hear of a rebalance is a setting of the member in one protocol, of the broker in the other.
MEMBERS = {
    "classic": {"group.protocol": "classic", "heartbeat.interval.ms": "100"},
    "consumer": {"group.protocol": "consumer"},
}
GROUP_SETTINGS = SETTINGS | {
    "group.consumer.heartbeat.interval.ms": "100",
    "group.consumer.min.heartbeat.interval.ms": "100",
}
DESCRIPTIONS = (
    ["--offsets"],
    ["--offsets", "--verbose"],
    ["--members"],
    ["--members", "--verbose"],
    ["--state"],
    ["--state", "--verbose"],
)


@pytest.fixture(scope="module")
def stages(kafka: ApacheKafka, tools: KafkaTools, tmp_path_factory: pytest.TempPathFactory) -> Iterator[list[Stage]]:
    with two_brokers(kafka, tmp_path_factory.mktemp("theirs"), GROUP_SETTINGS) as sides:
        made = [Stage(side.name, side.port, tools) for side in sides]
        now_ms = SystemClock().now_ms()
        for stage in made:
            for topic, partitions in TOPICS.items():
                create(stage, topic, partitions)
            produce(stage, now_ms - HOUR_MS // 2)
        yield made


def create(stage: Stage, topic: str, partitions: int) -> None:
    admin = AdminClient({"bootstrap.servers": stage.bootstrap})
    admin.create_topics([NewTopic(topic, partitions, 1)])[topic].result()


def produce(stage: Stage, last_ms: int) -> None:
    producer = Producer({"bootstrap.servers": stage.bootstrap})
    for topic, partitions in TOPICS.items():
        for partition in range(partitions):
            for at in range(RECORDS):
                stamp_ms = last_ms - (RECORDS - 1 - at) * HOUR_MS
                producer.produce(topic, f"{topic}-{partition}-{at}", partition=partition, timestamp=stamp_ms)
    assert producer.flush(60) == 0


def set_offsets(stage: Stage, group: str, offset: int = 2) -> None:
    """A group without members, with offsets in all topics."""
    topics = [argument for topic in TOPICS for argument in ("--topic", topic)]
    stage.groups("--reset-offsets", "--to-offset", str(offset), "--group", group, *topics, "--execute")


def describe(stage: Stage, *groups: str) -> None:
    named = [argument for group in groups for argument in ("--group", group)]
    for what in DESCRIPTIONS:
        stage.groups("--describe", *named, *what)


# --- groups with members


@pytest.mark.parametrize("protocol", MEMBERS)
def test_a_group_is_described_while_it_runs_and_when_it_stopped(stages: list[Stage], protocol: str) -> None:
    group = f"described-{protocol}"

    def case(stage: Stage) -> None:
        describe(stage, group)
        set_offsets(stage, group)
        describe(stage, group)
        stage.join("ordering", group, topics=["orders"], settings=MEMBERS[protocol])
        stage.wait_assigned("ordering", "orders-0", "orders-1", "orders-2")
        static = MEMBERS[protocol] | {"group.instance.id": "the-first"}
        stage.join("paying", group, topics=["payments"], settings=static)
        stage.wait_assigned("paying", "payments-0")
        stage.wait_state(group, "Stable", 2)
        describe(stage, group)
        stage.leave("ordering")
        stage.wait_state(group, "Stable", 1)
        describe(stage, group)
        stage.leave("paying")
        stage.wait_state(group, "Empty", 0)
        describe(stage, group)

    assert differences(case, stages) == ""


@pytest.mark.parametrize("protocol", MEMBERS)
def test_a_group_with_members_is_not_changed_by_others(stages: list[Stage], protocol: str) -> None:
    group = f"guarded-{protocol}"

    def case(stage: Stage) -> None:
        set_offsets(stage, group)
        stage.join("member", group, topics=["orders"], settings=MEMBERS[protocol])
        stage.wait_assigned("member", "orders-0", "orders-1", "orders-2")
        stage.wait_state(group, "Stable", 1)
        for mode in ("--dry-run", "--execute"):
            stage.groups("--reset-offsets", "--to-earliest", "--all-topics", "--group", group, mode)
        stage.groups("--delete", "--group", group)
        stage.groups("--delete-offsets", "--group", group, "--topic", "orders", "--topic", "payments")
        stage.groups("--describe", "--group", group)
        stage.leave("member")
        stage.wait_state(group, "Empty", 0)
        stage.groups("--describe", "--group", group)

    assert differences(case, stages) == ""


def test_groups_are_listed_by_state_and_type(stages: list[Stage]) -> None:
    def case(stage: Stage) -> None:
        stage.tool(GROUPS, "--delete", "--all-groups")  # what other tests have left
        set_offsets(stage, "listed-empty")
        for protocol, settings in MEMBERS.items():
            stage.join(protocol, f"listed-{protocol}", topics=["payments"], settings=settings)
            stage.wait_assigned(protocol, "payments-0")
            stage.wait_state(f"listed-{protocol}", "Stable", 1)
        for state in ("", "Stable", "empty", "Stable,Empty", "Dead", "Nonsense"):
            stage.groups("--list", "--state", *state.split())
        for type_ in ("", "classic", "consumer", "Classic,Consumer", "share"):
            stage.groups("--list", "--type", *type_.split())
        stage.groups("--list", "--type", "consumer", "--state", "stable")
        stage.groups("--list")
        for what in DESCRIPTIONS:
            stage.groups("--describe", "--all-groups", *what)
        describe(stage, "listed-empty", "listed-classic", "listed-consumer", "listed-unknown")
        for options in ([], ["--consumer"], ["--group-type", "classic"], ["--protocol", "consumer"], ["--share"]):
            stage.keep(stage.tool(f"{TOOLS}.GroupsCommand", "--list", *options))
        for protocol in MEMBERS:
            stage.leave(protocol)
            stage.wait_state(f"listed-{protocol}", "Empty", 0)

    assert differences(case, stages) == ""


# --- offsets


RESETS = (
    ["--to-earliest"],
    ["--to-latest"],
    ["--to-offset", "3"],
    ["--to-offset", "100"],
    ["--to-offset", "-5"],
    ["--by-duration", "PT2H"],
    ["--by-duration", "PT1S"],
    ["--by-duration", "P9D"],
    ["--shift-by", "1"],
    ["--shift-by", "-1"],
    ["--shift-by", "100"],
    ["--shift-by", "-100"],
    ["--to-current"],
)
SCOPES = (
    ["--all-topics"],
    ["--topic", "orders"],
    ["--topic", "orders:0,2", "--topic", "payments"],
    ["--topic", "unknown"],
    ["--topic", "orders:7"],
)


@pytest.mark.parametrize("reset", RESETS, ids=" ".join)
def test_offsets_are_reset(stages: list[Stage], reset: list[str]) -> None:
    group = f"reset{'-'.join(reset)}"

    def case(stage: Stage) -> None:
        set_offsets(stage, group)
        for mode in ("--dry-run", "--execute"):
            stage.groups("--reset-offsets", *reset, "--group", group, "--topic", "orders:0,2", mode)
            stage.groups("--describe", "--group", group)

    assert differences(case, stages) == ""


@pytest.mark.parametrize("scope", SCOPES, ids=" ".join)
def test_offsets_are_reset_where_it_is_told(stages: list[Stage], scope: list[str]) -> None:
    group = f"scoped{'-'.join(scope).replace(':', '-')}"

    def case(stage: Stage) -> None:
        set_offsets(stage, group)
        for mode in ("--dry-run", "--execute"):
            stage.groups("--reset-offsets", "--to-latest", "--group", group, *scope, mode)
            stage.groups("--describe", "--group", group)

    assert differences(case, stages) == ""


def test_offsets_are_reset_to_a_moment(stages: list[Stage]) -> None:
    def case(stage: Stage) -> None:
        set_offsets(stage, "timed")
        for moment in ("2000-01-01T00:00:00.000", "2100-01-01T00:00:00.000Z", "nonsense"):
            options = ["--to-datetime", moment, "--group", "timed", "--all-topics"]
            stage.groups("--reset-offsets", *options, "--execute")
            stage.groups("--describe", "--group", "timed")

    assert differences(case, stages) == ""


def test_offsets_are_exported_and_come_back_from_a_file(stages: list[Stage], tmp_path: Path) -> None:
    files = {name: tmp_path / f"{name}.csv" for name in ("one", "several", "bad")}
    files["one"].write_text("orders,0,4\npayments,0,1\n", encoding="utf-8")
    files["several"].write_text("filed,orders,1,3\nfiled-too,orders,2,0\nfiled-new,payments,0,5\n", encoding="utf-8")
    files["bad"].write_text("orders,zero,4\n", encoding="utf-8")

    def case(stage: Stage) -> None:
        set_offsets(stage, "filed")
        set_offsets(stage, "filed-too", 4)
        both = ["--group", "filed", "--group", "filed-too"]
        stage.groups("--reset-offsets", "--to-current", "--all-topics", "--export", "--dry-run", "--group", "filed")
        stage.groups("--reset-offsets", "--to-current", "--all-topics", "--export", "--dry-run", *both)
        for file in files.values():
            for mode in ("--dry-run", "--execute"):
                stage.groups("--reset-offsets", "--from-file", str(file), *both[:2], mode)
                stage.groups("--reset-offsets", "--from-file", str(file), *both, "--group", "filed-new", mode)
        stage.groups("--describe", *both, "--group", "filed-new")

    assert differences(case, stages) == ""


def test_offsets_are_deleted(stages: list[Stage]) -> None:
    def case(stage: Stage) -> None:
        set_offsets(stage, "forgetful")
        for topic in ("orders:1", "orders:7", "unknown", "payments"):
            stage.groups("--delete-offsets", "--group", "forgetful", "--topic", topic)
            stage.groups("--describe", "--group", "forgetful")
        stage.groups("--delete-offsets", "--group", "unheard-of", "--topic", "orders")

    assert differences(case, stages) == ""


def test_groups_are_deleted(stages: list[Stage]) -> None:
    def case(stage: Stage) -> None:
        for group in ("gone", "gone-too", "stays"):
            set_offsets(stage, group)
        stage.groups("--delete", "--group", "gone", "--group", "unheard-of", "--group", "gone-too")
        describe(stage, "gone", "gone-too", "stays")
        stage.groups("--delete", "--group", "gone")
        set_offsets(stage, "gone")
        describe(stage, "gone")

    assert differences(case, stages) == ""


# --- consumers


@pytest.mark.parametrize("protocol", MEMBERS)
def test_the_console_consumer_reads_in_a_group(stages: list[Stage], protocol: str) -> None:
    group = f"console-{protocol}"
    console = f"{TOOLS}.consumer.ConsoleConsumer"
    settings = ["--command-property", f"group.protocol={protocol}"]

    def case(stage: Stage) -> None:
        options = ["--topic", "orders", "--group", group, *settings, "--from-beginning"]
        stage.keep(stage.tool(console, *options, "--max-messages", str(3 * RECORDS)))
        stage.wait_state(group, "Empty", 0)
        describe(stage, group)
        stage.groups("--reset-offsets", "--shift-by", "-1", "--group", group, "--all-topics", "--execute")
        stage.keep(stage.tool(console, *options[:-1], "--max-messages", "3"))
        stage.wait_state(group, "Empty", 0)
        describe(stage, group)

    assert differences(case, stages) == ""


@pytest.mark.parametrize("protocol", MEMBERS)
def test_the_verifiable_consumer_reads_in_a_group(stages: list[Stage], protocol: str) -> None:
    group = f"verifiable-{protocol}"

    def case(stage: Stage) -> None:
        options = ["--topic", "orders", "--group-id", group, "--group-protocol", protocol]
        options += ["--max-messages", str(3 * RECORDS)]
        told = stage.tool(f"{TOOLS}.VerifiableConsumer", *options)
        stage.keep(json.dumps(summed_up([json.loads(line) for line in told.splitlines() if line.startswith("{")])))
        stage.wait_state(group, "Empty", 0)
        stage.groups("--describe", "--group", group)

    assert differences(case, stages) == ""


def summed_up(events: list[dict[str, Any]]) -> dict[str, Any]:
    """How many records a poll gives, and how many commits there are, is a matter of time."""
    committed = {
        f"{each['topic']}-{each['partition']}": each["offset"]
        for event in events
        if event["name"] == "offsets_committed"
        for each in event["offsets"]
    }
    # Kafka's coordinator assigns in a thread of its own, and may have nothing for a member at first.
    changes = [event for event in events if event["name"].startswith("partitions_") and event["partitions"]]
    return {
        "events": sorted({event["name"] for event in events}),
        "consumed": sum(event["count"] for event in events if event["name"] == "records_consumed"),
        "committed": sorted(committed.items()),
        "assignments": [(event["name"], sorted(map(str, event["partitions"]))) for event in changes],
        "errors": [event["error"] for event in events if "error" in event],
    }


@pytest.mark.parametrize(("protocol", "how"), [("classic", "pattern"), ("consumer", "pattern"), ("consumer", "re2")])
def test_a_regular_expression_sees_a_new_topic(stages: list[Stage], protocol: str, how: str) -> None:
    group = f"seeing-{protocol}-{how}"
    expression = rf"orders|{group}-[a-c]+"
    ordered = [f"orders-{partition}" for partition in range(TOPICS["orders"])]
    for stage in stages:  # together: Kafka looks an expression up again after ten seconds at the earliest
        stage.printed.clear()
        stage.join("looking", group, settings=MEMBERS[protocol], **{how: expression})
    for stage in stages:
        stage.wait_assigned("looking", *ordered)
        create(stage, f"{group}-bc", 2)
        create(stage, f"{group}-d", 1)
    for stage in stages:
        stage.wait_assigned("looking", *ordered, f"{group}-bc-0", f"{group}-bc-1")
        stage.wait_state(group, "Stable", 1)
        for what in DESCRIPTIONS:
            stage.keep(without_epochs(stage.tool(GROUPS, "--describe", "--group", group, *what)))
        stage.leave("looking")
    assert stages[0].printed == stages[1].printed


def without_epochs(printed: str) -> str:
    """Of a group and its member, which have the same: how often it grew is chance where the member looks for topics.

    It may have joined before it knew of any, and tell of a new one before the coordinator has heard of it.
    """
    printed = re.sub(r"(Stable +)(\d+)( +)\2(?= )", r"\1epoch\3epoch", printed)
    return re.sub(r"(looking +5 +)(\d+)( +\S+ +)\2(?= )", r"\1epoch\3epoch", printed)
