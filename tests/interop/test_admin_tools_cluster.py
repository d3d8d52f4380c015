"""Apache Kafka's scripts for the cluster as a whole: what they print of our broker and of Kafka's, and how they end.

kafka-cluster, kafka-features, kafka-metadata-quorum, kafka-broker-api-versions, kafka-leader-election,
kafka-reassign-partitions. Calls that some of them refuse by themselves are left out: these end the process that all
share.
"""

import json
import re
import time
from typing import Any

from support.group_tools import differences
from support.script_stage import ONE_BY_ONE, WORDS, Mask, ScriptStage

Stages = list[ScriptStage]

LIMIT_S = 120
FILES: Mask = (r"/\S*/tmp\w+", "a file")


# --- what the cluster says of itself


def test_the_cluster(scripts: Stages) -> None:
    def cluster(stage: ScriptStage, *arguments: str) -> None:
        stage.play("kafka-cluster", *arguments, masks=WORDS)

    def case(stage: ScriptStage) -> None:
        cluster(stage, "cluster-id")
        cluster(stage, "list-endpoints")
        cluster(stage, "list-endpoints", "--include-fenced-brokers")
        cluster(stage, "unregister", "--id", "7")
        cluster(stage, "unregister", "--id", "-1")

    assert differences(case, scripts) == ""


FEATURES = (
    ["describe"],
    ["upgrade", "--metadata", "4.3", "--dry-run"],
    ["upgrade", "--metadata", "9.9", "--dry-run"],
    ["upgrade", "--feature", "transaction.version=2", "--dry-run"],
    ["upgrade", "--feature", "transaction.version=99", "--dry-run"],
    ["upgrade", "--feature", "nonsense=1", "--dry-run"],
    ["upgrade", "--feature", "nonsense", "--dry-run"],
    ["upgrade", "--feature", "group.version=1", "--feature", "group.version=1", "--dry-run"],
    ["upgrade"],
    ["downgrade", "--metadata", "4.0", "--dry-run"],
    ["downgrade", "--metadata", "3.0", "--unsafe", "--dry-run"],
    ["downgrade", "--feature", "group.version=0", "--dry-run"],
    ["downgrade", "--feature", "transaction.version=1", "--dry-run"],
    ["downgrade", "--feature", "transaction.version=7", "--dry-run"],
    ["disable", "--feature", "group.version", "--dry-run"],
    ["disable", "--feature", "metadata.version", "--dry-run"],
    ["disable", "--feature", "nonsense", "--dry-run"],
    ["version-mapping"],
    ["version-mapping", "--release-version", "4.0-IV3"],
    ["version-mapping", "--release-version", "nonsense"],
    ["feature-dependencies", "--feature", "transaction.version=2"],
    ["feature-dependencies", "--feature", "nonsense=2"],
    ["describe"],
)


def test_features(scripts: Stages) -> None:
    masks = [*WORDS, (r"(?m)(Can not \w+ \S+(?: to \d+)?)\. .*$", r"\1"), (r"Epoch: \d+", "Epoch: any")]

    def case(stage: ScriptStage) -> None:
        for arguments in FEATURES:
            stage.play("kafka-features", *arguments, masks=masks)

    assert differences(case, scripts) == ""


def test_features_are_changed(scripts: Stages) -> None:
    masks = [*WORDS, (r"Epoch: \d+", "Epoch: any")]

    def case(stage: ScriptStage) -> None:
        for arguments in (
            ["downgrade", "--feature", "transaction.version=1"],
            ["describe"],
            ["upgrade", "--feature", "transaction.version=2"],
            ["describe"],
        ):
            stage.play("kafka-features", *arguments, masks=masks)

    assert differences(case, scripts) == ""


def test_the_quorum_keeps_its_version(scripts: Stages) -> None:
    """A release of Kafka is all features together, that of the quorum among them."""
    theirs, ours = (
        stage.quietly("kafka-features", "upgrade", "--release-version", "4.3", "--dry-run") for stage in scripts
    )
    assert "kraft.version can be upgraded to 1." in theirs
    assert "Can not upgrade kraft.version to 1." in ours


def test_the_quorum(scripts: Stages) -> None:
    """Offsets and times move on; where a controller listens is not told by a quorum of one."""
    numbers: list[Mask] = [
        (r"(?m)^(LeaderEpoch|HighWatermark|MaxFollowerLag|MaxFollowerLagTimeMs):(\s+)-?\d+", r"\1: number"),
        (r', "endpoints": \[[^]]*\]', ""),
        (r"\d+ ms ago", "moments ago"),
        (r"(?m)^(1\s+\S+)\s+.*(Leader|Follower|Observer)", r"\1 \2"),
        (r"(?m)[ \t]+$", ""),
    ]

    def quorum(stage: ScriptStage, *arguments: str) -> None:
        stage.play("kafka-metadata-quorum", *arguments, masks=[*numbers, *WORDS])

    def case(stage: ScriptStage) -> None:
        quorum(stage, "describe", "--status")
        quorum(stage, "describe", "--replication")
        quorum(stage, "describe", "--replication", "--human-readable")
        quorum(stage, "add-controller")

    assert differences(case, scripts) == ""


def test_versions_of_apis(scripts: Stages) -> None:
    """What is served, is served in the same versions."""
    theirs, ours = (
        dict(re.findall(r"^\t(\w+\(\d+\)): (.*?),?$", stage.quietly("kafka-broker-api-versions"), re.MULTILINE))
        for stage in scripts
    )
    served = {name: versions for name, versions in ours.items() if versions != "UNSUPPORTED"}
    assert served
    assert served.items() <= theirs.items()
    assert ours.keys() == theirs.keys()


# --- leaders


def words(printed: str) -> str:
    """One on each line: partitions come in the order of a hash table, in one line."""
    return re.sub(r"[\s,]+", "\n", printed)


def election(*partitions: tuple[str, int]) -> dict[str, Any]:
    return {"partitions": [{"topic": topic, "partition": partition} for topic, partition in partitions]}


WRONG_ELECTIONS: tuple[object, ...] = (election(("led", 0), ("led", 0)), {"topics": []}, "no JSON")


def test_leaders_are_elected(scripts: Stages) -> None:
    def elect(stage: ScriptStage, *arguments: str) -> None:
        printed = stage.quietly("kafka-leader-election", *arguments)
        for pattern, stands_for in (FILES, (r"(?m)^\tat .*\n", ""), (r"(?m)(^.*Exception): .*$", r"\1")):
            printed = re.sub(pattern, stands_for, printed)
        stage.keep(words(f"{printed} {stage.errors}"))

    def case(stage: ScriptStage) -> None:
        stage.quietly("kafka-topics", "--create", "--topic", "led", "--partitions", "2")
        for kind in ("preferred", "unclean"):
            elect(stage, "--election-type", kind, "--topic", "led", "--partition", "0")
            elect(stage, "--election-type", kind, "--topic", "led", "--partition", "7")
            elect(stage, "--election-type", kind, "--topic", "unknown", "--partition", "0")
            for asked in (election(("led", 0), ("led", 1)), election(("led", 1), ("led", 9)), election()):
                elect(stage, "--election-type", kind, "--path-to-json-file", stage.file(asked))
        for wrong in WRONG_ELECTIONS:
            elect(stage, "--election-type", "preferred", "--path-to-json-file", stage.file(wrong))
        elect(stage, "--election-type", "preferred", "--topic", "led")
        elect(stage, "--election-type", "nonsense", "--topic", "led", "--partition", "0")
        elect(stage, "--election-type", "preferred")
        elect(stage, "--topic", "led", "--partition", "0")
        elect(stage, "--election-type", "preferred", "--all-topic-partitions")
        stage.quietly("kafka-topics", "--delete", "--topic", "led")

    assert differences(case, scripts) == ""


# --- reassignments


def assignment(topic: str, *partitions: tuple[int, list[int]], **more: object) -> dict[str, Any]:
    parts = [{"topic": topic, "partition": number, "replicas": replicas, **more} for number, replicas in partitions]
    return {"version": 1, "partitions": parts}


def reassign(stage: ScriptStage, *arguments: str) -> None:
    stage.play("kafka-reassign-partitions", *arguments, masks=[FILES, *WORDS, (r"(?m)(^.*Exception): .*$", r"\1")])


REFUSED: tuple[object, ...] = (
    assignment("moved", (0, [])),
    assignment("moved", (0, [1, 1])),
    assignment("moved", (9, [1])),
    assignment("unknown", (0, [1])),
    assignment("moved", (0, [1]), (0, [1])),
    assignment("moved", (0, [1]), log_dirs=["/nowhere/at/all"]),
    assignment("moved", (0, [1]), log_dirs=["any", "any"]),
    {"version": 1, "partitions": []},
    {"version": 2, "partitions": []},
    "no JSON",
)


def test_partitions_are_reassigned(scripts: Stages) -> None:
    def case(stage: ScriptStage) -> None:
        stage.quietly("kafka-topics", "--create", "--topic", "moved", "--partitions", "2")
        wanted = stage.file({"version": 1, "topics": [{"topic": "moved"}]})
        for brokers in ("1", "7", "1,1", "x"):
            reassign(stage, "--generate", "--topics-to-move-json-file", wanted, "--broker-list", brokers)
        unknown = stage.file({"version": 1, "topics": [{"topic": "unknown"}]})
        reassign(stage, "--generate", "--topics-to-move-json-file", unknown, "--broker-list", "1")
        plan = ("--reassignment-json-file", stage.file(assignment("moved", (0, [1]), (1, [1]))))
        reassign(stage, "--verify", *plan)
        reassign(stage, "--execute", *plan)
        reassign(stage, "--verify", *plan)
        reassign(stage, "--execute", *plan, "--throttle", "5000000")
        stage.play("kafka-configs", "--describe", "--entity-type", "brokers", "--entity-name", "1")
        stage.play("kafka-configs", "--describe", "--entity-type", "topics", "--entity-name", "moved")
        reassign(stage, "--verify", *plan)
        stage.play("kafka-configs", "--describe", "--entity-type", "brokers", "--entity-name", "1")
        stage.play("kafka-configs", "--describe", "--entity-type", "topics", "--entity-name", "moved")
        reassign(stage, "--list")
        reassign(stage, "--cancel", *plan)
        reassign(stage, "--execute")
        reassign(stage)
        stage.quietly("kafka-topics", "--delete", "--topic", "moved")

    assert differences(case, scripts) == ""


def test_reassignments_that_are_refused(scripts: Stages) -> None:
    def case(stage: ScriptStage) -> None:
        stage.quietly("kafka-topics", "--create", "--topic", "moved", "--partitions", "2")
        for asked in REFUSED:
            reassign(stage, "--execute", "--reassignment-json-file", stage.file(asked), "--timeout", "1")
            reassign(stage, "--verify", "--reassignment-json-file", stage.file(asked))
        for unknown in (7, -1):  # to verify that, the script would ask them, and wait for a minute
            plan = stage.file(assignment("moved", (0, [unknown])))
            reassign(stage, "--execute", "--reassignment-json-file", plan)
        stage.quietly("kafka-topics", "--delete", "--topic", "moved")

    assert differences(case, scripts) == ""


def test_a_replica_moves_to_another_directory(scripts: Stages) -> None:
    def case(stage: ScriptStage) -> None:
        stage.quietly("kafka-topics", "--create", "--topic", "moving")
        stage.quietly("kafka-console-producer", "--topic", "moving", *ONE_BY_ONE, given="a\nb\nc\n")
        here = directory_of(stage, "moving-0")
        there = next(each for each in stage.log_dirs if each != here)
        plan = ("--reassignment-json-file", stage.file(assignment("moving", (0, [1]), log_dirs=[there])))
        reassign(stage, "--execute", *plan)
        deadline = time.monotonic() + LIMIT_S
        while directory_of(stage, "moving-0") != there:
            assert time.monotonic() < deadline, f"the replica on {stage.name} does not come to {there}"
        reassign(stage, "--verify", *plan)
        stage.play("kafka-get-offsets", "--topic", "moving")
        reads = ("--topic", "moving", "--partition", "0", "--offset", "earliest", "--max-messages", "3")
        stage.play("kafka-console-consumer", *reads, in_order=True)
        stage.quietly("kafka-topics", "--delete", "--topic", "moving")

    assert differences(case, scripts) == ""


def directory_of(stage: ScriptStage, partition: str) -> str | None:
    """Where the replica is that is in use."""
    told = stage.quietly("kafka-log-dirs", "--describe", "--topic-list", partition.rpartition("-")[0]).splitlines()[-2]
    return next(
        (
            str(log_dir["logDir"])
            for log_dir in json.loads(told)["brokers"][0]["logDirs"]
            for each in log_dir["partitions"]
            if each["partition"] == partition and not each["isFuture"]
        ),
        None,
    )
