"""Apache Kafka's scripts for topics and what is in them: what they print of our broker and of Kafka's, and their ends.

kafka-topics, kafka-get-offsets, kafka-delete-records, kafka-log-dirs.
"""

import json
from typing import Any

from support.group_tools import differences
from support.script_stage import ONE_BY_ONE, WORDS, ScriptStage

Stages = list[ScriptStage]
PATHS = (r"/\S*/tmp\w+", "a file")
PROBLEMS = (
    "--under-replicated-partitions",
    "--unavailable-partitions",
    "--under-min-isr-partitions",
    "--at-min-isr-partitions",
)


def topics(stage: ScriptStage, *arguments: str) -> str:
    return stage.play("kafka-topics", *arguments, masks=WORDS)


def send(stage: ScriptStage, topic: str, *lines: str) -> None:
    """With a request for each line, so that batches are the same on both."""
    stage.quietly("kafka-console-producer", "--topic", topic, *ONE_BY_ONE, given="".join(f"{line}\n" for line in lines))


# --- kafka-topics


def test_the_life_of_a_topic(scripts: Stages) -> None:
    def case(stage: ScriptStage) -> None:
        create = ("--create", "--topic", "life")
        configs = ("--config", "cleanup.policy=compact,delete", "--config", "segment.bytes=2000000")
        topics(stage, *create, "--partitions", "3", "--replication-factor", "1", *configs)
        topics(stage, "--describe", "--topic", "life")
        topics(stage, *create)
        topics(stage, *create, "--if-not-exists")
        topics(stage, "--alter", "--topic", "life", "--partitions", "5")
        topics(stage, "--alter", "--topic", "life", "--partitions", "5")
        topics(stage, "--alter", "--topic", "life", "--partitions", "2")
        topics(stage, "--describe", "--topic", "life")
        topics(stage, "--describe", "--topic", "li.*", "--topics-with-overrides")
        topics(stage, "--describe", "--topic", "life", "--partition-size-limit-per-response", "2")
        topics(stage, "--list", "--topic", "li.*")
        topics(stage, "--delete", "--topic", "life")
        topics(stage, "--list", "--topic", "li.*")
        topics(stage, "--describe", "--topic", "life")
        topics(stage, "--describe", "--topic", "life", "--if-exists")

    assert differences(case, scripts) == ""


def test_topics_are_chosen_by_pattern_and_id(scripts: Stages) -> None:
    def case(stage: ScriptStage) -> None:
        for name in ("chosen-a", "chosen-b", "chosen.c"):
            topics(stage, "--create", "--topic", name)
        topics(stage, "--list", "--topic", "chosen-.*")
        topics(stage, "--describe", "--topic", "chosen-[ab]|chosen.c")
        described = stage.quietly("kafka-topics", "--describe", "--topic", "chosen-b")
        topic_id = described.partition("TopicId: ")[2].split()[0]
        topics(stage, "--describe", "--topic-id", topic_id)
        topics(stage, "--describe", "--topic-id", "AAAAAAAAAAAAAAAAAAAAAA")
        topics(stage, "--describe", "--topic-id", "nonsense")
        topics(stage, "--delete", "--topic", "chosen-.*")
        topics(stage, "--delete", "--topic", "chosen-.*")
        topics(stage, "--delete", "--topic", "chosen-.*", "--if-exists")
        topics(stage, "--list", "--topic", "chosen.*", "--exclude-internal")
        topics(stage, "--delete", "--topic", "chosen.c")

    assert differences(case, scripts) == ""


def test_partitions_in_trouble(scripts: Stages) -> None:
    def case(stage: ScriptStage) -> None:
        topics(stage, "--create", "--topic", "well", "--partitions", "2")
        topics(stage, "--create", "--topic", "short", "--partitions", "2", "--config", "min.insync.replicas=2")
        for problem in PROBLEMS:
            for name in ("well", "short"):
                topics(stage, "--describe", "--topic", name, problem)
        for name in ("well", "short"):
            topics(stage, "--delete", "--topic", name)

    assert differences(case, scripts) == ""


REFUSED: tuple[list[str], ...] = (
    ["--create", "--topic", "bad/name"],
    ["--create", "--topic", ".."],
    ["--create", "--topic", "x" * 250],
    ["--create", "--topic", "refused", "--partitions", "0"],
    ["--create", "--topic", "refused", "--partitions", "-3"],
    ["--create", "--topic", "refused", "--partitions", "many"],
    ["--create", "--topic", "refused", "--replication-factor", "0"],
    ["--create", "--topic", "refused", "--replication-factor", "2"],
    ["--create", "--topic", "refused", "--replication-factor", "40000"],
    ["--create", "--topic", "refused", "--replica-assignment", "7,1"],
    ["--create", "--topic", "refused", "--replica-assignment", "1:1"],
    ["--create", "--topic", "refused", "--replica-assignment", "1:7,1"],
    ["--create", "--topic", "refused", "--replica-assignment", "1", "--partitions", "2"],
    ["--create", "--topic", "refused", "--config", "nonsense=1"],
    ["--create", "--topic", "refused", "--config", "retention.ms=soon"],
    ["--create", "--topic", "refused", "--config", "segment.bytes=1"],
    ["--create", "--topic", "refused", "--config", "cleanup.policy"],
    ["--create"],
    ["--alter", "--topic", "unknown", "--partitions", "3"],
    ["--alter", "--topic", "unknown", "--partitions", "3", "--if-exists"],
    ["--alter", "--topic", "unknown"],
    ["--describe", "--topic", "unknown"],
    ["--describe", "--topic", "["],
    ["--delete", "--topic", "unknown"],
    ["--delete"],
    ["--list", "--delete"],
    ["--list", "--partitions", "3"],
    ["--describe", *PROBLEMS[:2]],
    ["--nonsense"],
    [],
)


def test_what_is_refused(scripts: Stages) -> None:
    def case(stage: ScriptStage) -> None:
        for arguments in REFUSED:
            topics(stage, *arguments)
        topics(stage, "--list", "--topic", "refused")

    assert differences(case, scripts) == ""


def test_replicas_are_placed_by_hand(scripts: Stages) -> None:
    def case(stage: ScriptStage) -> None:
        topics(stage, "--create", "--topic", "placed", "--replica-assignment", "1,1")
        topics(stage, "--alter", "--topic", "placed", "--partitions", "4", "--replica-assignment", "1,1,1,1")
        topics(stage, "--alter", "--topic", "placed", "--partitions", "5", "--replica-assignment", "1,1,1,1,7")
        topics(stage, "--describe", "--topic", "placed")
        topics(stage, "--delete", "--topic", "placed")

    assert differences(case, scripts) == ""


# --- offsets and records


def test_offsets_are_told(scripts: Stages) -> None:
    of_others = (r"(?m)^(?!told-)\S+:\d+:\d+\n", "")

    def offsets(stage: ScriptStage, *arguments: str) -> None:
        stage.play("kafka-get-offsets", *arguments, masks=(of_others, *WORDS))

    def case(stage: ScriptStage) -> None:
        stage.quietly("kafka-topics", "--create", "--topic", "told-a", "--partitions", "3")
        stage.quietly("kafka-topics", "--create", "--topic", "told-b")
        send(stage, "told-b", *"abcd")
        send(stage, "told-b", "e")  # some time later, so that it alone has the latest timestamp
        for time in ("-1", "latest", "-2", "earliest", "-3", "max-timestamp", "-4", "earliest-local", "-5", "0"):
            offsets(stage, "--topic", "told-.*", "--time", time)
        for time in ("latest-tiered", "-6", "earliest-pending-upload", "4102444800000", "-7", "soon"):
            offsets(stage, "--topic", "told-.*", "--time", time)
        offsets(stage, "--topic", "told-.*")
        offsets(stage, "--topic", "told-a", "--partitions", "0,2")
        offsets(stage, "--topic", "told-a", "--partitions", "7")
        offsets(stage, "--topic", "told-a", "--partitions", "x")
        for chosen in ("told-a:1", "told-a:0-2,told-b", "told-.*:-1", "told-a:2-", ":1", "told-a:x", "unknown"):
            offsets(stage, "--topic-partitions", chosen)
        offsets(stage, "--topic", "unknown")
        offsets(stage, "--topic", "told-b", "--exclude-internal-topics")
        for name in ("told-a", "told-b"):
            stage.quietly("kafka-topics", "--delete", "--topic", name)

    assert differences(case, scripts) == ""


def deletion(*partitions: tuple[str, int, int], version: int = 1) -> dict[str, Any]:
    parts = [{"topic": topic, "partition": partition, "offset": offset} for topic, partition, offset in partitions]
    return {"version": version, "partitions": parts}


DELETIONS: tuple[object, ...] = (
    deletion(("cut", 0, 2)),
    deletion(("cut", 0, 1)),
    deletion(("cut", 0, 100)),
    deletion(("cut", 0, -2)),
    deletion(("cut", 0, -1), ("cut", 1, 0)),
    deletion(("kept", 0, 1)),
    deletion(("cut", 0, 1), ("cut", 0, 2)),
    deletion(),
    deletion(("cut", 0, 1), version=2),
    {"partitions": [{"topic": "cut", "partition": "zero", "offset": 1}]},
    {"version": 1},
    "no JSON",
)


def test_records_are_deleted(scripts: Stages) -> None:
    def case(stage: ScriptStage) -> None:
        stage.quietly("kafka-topics", "--create", "--topic", "cut", "--replica-assignment", "1,1")
        stage.quietly("kafka-topics", "--create", "--topic", "kept", "--config", "cleanup.policy=compact")
        one_partition = ("--reader-property", "parse.key=true", *ONE_BY_ONE)
        keyed = "".join(f"a\t{number}\n" for number in range(5))
        for topic in ("cut", "kept"):
            stage.quietly("kafka-console-producer", "--topic", topic, *one_partition, given=keyed)
        # The script waits for what it does not find.
        patience = ("--command-config", stage.file("default.api.timeout.ms=2000\nrequest.timeout.ms=2000\n"))
        unknown = deletion(("cut", 7, 0), ("unknown", 0, 0))
        stage.play("kafka-delete-records", "--offset-json-file", stage.file(unknown), *patience, masks=WORDS)
        for asked in DELETIONS:
            stage.play("kafka-delete-records", "--offset-json-file", stage.file(asked), masks=[PATHS, *WORDS])
            stage.play("kafka-get-offsets", "--topic", "cut", "--time", "-2")
        stage.play("kafka-delete-records", "--offset-json-file", "/nowhere/at/all.json")
        stage.play("kafka-delete-records")
        for topic in ("cut", "kept"):
            stage.quietly("kafka-topics", "--delete", "--topic", topic)

    assert differences(case, scripts) == ""


# --- kafka-log-dirs


def test_log_directories_are_described(scripts: Stages) -> None:
    def case(stage: ScriptStage) -> None:
        stage.quietly("kafka-topics", "--create", "--topic", "sized")
        send(stage, "sized", *"abcdef")
        for options in (["--topic-list", "sized"], ["--broker-list", "1", "--topic-list", "sized,unknown"]):
            stage.keep(json.dumps(summed_up(stage.quietly("kafka-log-dirs", "--describe", *options))))
        for options in (["--broker-list", "1,7"], ["--broker-list", "one"], ["--nonsense"]):
            stage.play("kafka-log-dirs", "--describe", *options, masks=WORDS)
        stage.play("kafka-log-dirs")
        stage.quietly("kafka-topics", "--delete", "--topic", "sized")

    assert differences(case, scripts) == ""


def summed_up(printed: str) -> list[object]:
    """All but the paths and how many partitions each has: that is a matter of chance where directories are equal."""
    *said, told, _status = printed.splitlines()
    (broker,) = json.loads(told)["brokers"]
    partitions = sorted(json.dumps(each) for log_dir in broker["logDirs"] for each in log_dir["partitions"])
    assert json.loads(told)["version"] == 1
    return [said, broker["broker"], [each["error"] for each in broker["logDirs"]], partitions]
