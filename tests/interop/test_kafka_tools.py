"""Apache Kafka's own command-line tools, on our broker. Those for consumer groups are in test_group_tools.py."""

import json
import re
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from odradek.testing import RunningBroker, running_broker
from support.kafka_tools import KafkaTools

TOOLS = "org.apache.kafka.tools"

Tool = Callable[..., str]


@pytest.fixture(scope="module")
def broker() -> Iterator[RunningBroker]:
    with running_broker({"auto.create.topics.enable": "false"}) as running:
        yield running


@pytest.fixture(scope="module")
def tool(tools: KafkaTools, broker: RunningBroker) -> Tool:
    """Runs a tool, which must succeed, and gives what it printed."""

    def run(name: str, *arguments: str) -> str:
        ended = tools.run(name, "--bootstrap-server", broker.bootstrap, *arguments)
        assert ended.status == 0, ended.out + ended.err
        return ended.out

    return run


def test_topics_are_made_changed_and_deleted(tool: Tool) -> None:
    topics = f"{TOOLS}.TopicCommand"
    tool(topics, "--create", "--topic", "made", "--partitions", "3", "--config", "retention.ms=-1")
    tool(topics, "--alter", "--topic", "made", "--partitions", "4")
    head, *partitions = tool(topics, "--describe", "--topic", "made").splitlines()
    assert re.search(r"PartitionCount: 4\tReplicationFactor: 1\tConfigs: .*retention\.ms=-1", head)
    assert [re.findall(r"(?:Partition|Leader|Isr): (\d)", line) for line in partitions] == [
        [str(partition), "1", "1"] for partition in range(4)
    ]
    tool(topics, "--delete", "--topic", "made")
    assert "made" not in tool(topics, "--list").splitlines()


def test_settings_are_changed_and_shown(tool: Tool, broker: RunningBroker) -> None:
    broker.create_topic("set")
    entity = ["--entity-type", "topics", "--entity-name", "set"]
    configs = "kafka.admin.ConfigCommand"
    tool(configs, "--alter", *entity, "--add-config", "max.message.bytes=2000,cleanup.policy=[compact,delete]")
    shown = tool(configs, "--describe", *entity)
    assert "max.message.bytes=2000 " in shown
    assert "cleanup.policy=compact,delete " in shown
    tool(configs, "--alter", *entity, "--delete-config", "cleanup.policy")
    assert "cleanup.policy" not in tool(configs, "--describe", *entity)


def test_records_are_sent_counted_and_deleted(tool: Tool, broker: RunningBroker, tmp_path: Path) -> None:
    # Smaller than the batches that the tool makes of them: it splits them, and goes on with the sequence.
    broker.create_topic("sent", partitions=2, configs={"max.message.bytes": "2000"})
    load = ["--num-records", "5000", "--record-size", "100", "--throughput", "-1", "--reporting-interval", "3600000"]
    assert tool(f"{TOOLS}.ProducerPerformance", "--topic", "sent", *load).startswith("5000 records sent")
    ends = [line.split(":") for line in tool(f"{TOOLS}.GetOffsetShell", "--topic", "sent").splitlines()]
    assert [(topic, partition) for topic, partition, _ in ends] == [("sent", "0"), ("sent", "1")]
    assert sum(int(end) for *_, end in ends) == 5000
    request = tmp_path / "offsets.json"
    wanted = [{"topic": "sent", "partition": 0, "offset": 5}, {"topic": "sent", "partition": 1, "offset": -1}]
    request.write_text(json.dumps({"version": 1, "partitions": wanted}), encoding="utf-8")
    told = tool(f"{TOOLS}.DeleteRecordsCommand", "--offset-json-file", str(request))
    # The tool prints them in the order of a hash table.
    marks = dict(re.findall(r"partition: (\S+)\tlow_watermark: (\d+)", told))
    assert marks == {"sent-0": "5", "sent-1": ends[1][2]}
    producers = tool(f"{TOOLS}.TransactionsCommand", "describe-producers", "--topic", "sent", "--partition", "0")
    assert producers.splitlines()[1].split()[3] == str(int(ends[0][2]) - 1)  # the last sequence, from 0


def test_the_node_tells_of_itself(tool: Tool, broker: RunningBroker) -> None:
    broker.create_topic("told")
    versions = tool(f"{TOOLS}.BrokerApiVersionsCommand")
    assert versions.startswith(f"{broker.bootstrap} (id: 1 rack: null isFenced: false)")
    assert "Produce(0): 0 to 13 [usable: 13]" in versions
    described = tool(f"{TOOLS}.LogDirsCommand", "--describe", "--topic-list", "told").splitlines()[-1]
    (log_dir,) = json.loads(described)["brokers"][0]["logDirs"]
    assert (log_dir["logDir"], log_dir["error"]) == (str(broker.directory), None)
    assert [part["partition"] for part in log_dir["partitions"]] == ["told-0"]
    features = tool(f"{TOOLS}.FeatureCommand", "describe")
    assert re.search(r"metadata\.version\s.*FinalizedVersionLevel: 4\.3-IV0", features)
    quorum = dict(re.findall(r"^(\w+):\s+(.*)$", tool(f"{TOOLS}.MetadataQuorumCommand", "describe", "--status"), re.M))
    assert f"cluster.id={quorum['ClusterId']}\n" in (broker.directory / "meta.properties").read_text(encoding="utf-8")
    assert (quorum["LeaderId"], quorum["CurrentVoters"]) == ("1", '[{"id": 1}]')
