"""Metadata that odradek wrote, in the hands of Apache Kafka; and what it leaves, back in ours."""

import json
import re
import shutil
from collections import Counter
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from itertools import count
from pathlib import Path
from typing import NamedTuple, TypeVar

import pytest

from odradek.controller import brokers, configs, directories, producer_ids, scram, topics
from odradek.controller.context import Context
from odradek.controller.result import ControllerResult
from odradek.metadata.image import ConfigResource, Endpoint, Image, ResourceType
from odradek.metadata.uuids import from_text, to_text
from odradek.model.topic_config import TopicConfig
from odradek.model.topic_partition import TopicPartition
from odradek.process.files import OsFiles
from odradek.quorum.formatting import Identity, format_directories
from odradek.quorum.metadata_log import MetadataLog
from odradek.quorum.opening import MetadataSetting
from odradek.storage.log_dirs import LogDirs, Setting
from odradek.storage.open_files import OpenFiles
from support.apache_kafka import ApacheKafka
from support.clock import ManualClock
from support.kafka_tools import KafkaTools
from support.metadata import a_publisher, commit_now

CLUSTER_ID = "abcdefghijklmnopqrstuQ"
TOPICS = "org.apache.kafka.tools.TopicCommand"
CONFIGS = "kafka.admin.ConfigCommand"
DUMP = "org.apache.kafka.tools.DumpLogSegments"
DESCRIBED = re.compile(r"Topic: (\S+)\tTopicId: (\S+)\tPartitionCount: (\d+)\tReplicationFactor: 1\tConfigs: (\S+)")

R = TypeVar("R")


class Node:
    """Log directories with the metadata log in the first of them."""

    def __init__(self, root: Path) -> None:
        self.paths = [str(root / name) for name in ("d1", "d2")]
        self._numbers = count(1000)
        self.context = Context(self.new_uuid)
        self._clock = ManualClock()
        self._pool = ThreadPoolExecutor(1)

    def new_uuid(self) -> bytes:
        return bytes(8) + next(self._numbers).to_bytes(8, "big")

    def format(self) -> None:
        format_directories(OsFiles(), self.paths, Identity(CLUSTER_ID, 1), self.new_uuid, self._clock)

    def open(self) -> None:
        setting = Setting(self._clock, lambda _topic: TopicConfig(), lambda: "0" * 32)
        self.dirs = LogDirs.open(OpenFiles(OsFiles()), self.paths, setting)
        self.metadata = MetadataLog.open(self.dirs.dirs[0], MetadataSetting(node_id=1), self._pool, a_publisher())

    def do(self, decision: ControllerResult[R]) -> R:
        commit_now(self.metadata, decision.records)
        return decision.response

    @property
    def latest(self) -> Image:
        return self.metadata.latest

    def close(self, broker_epoch: int) -> None:
        self.metadata.close()
        self.dirs.close(broker_epoch)
        self._pool.shutdown()


class Written(NamedTuple):
    root: Path
    image: Image


def tell_a_story(node: Node) -> Image:
    """Some of everything that a node writes, from a new directory to a clean stop."""
    node.format()
    node.open()
    ids = tuple(from_text(each.meta.directory_id or "") for each in node.dirs.dirs if each.meta)
    endpoints = {"PLAINTEXT": Endpoint("127.0.0.1", 9092)}
    epoch = node.do(
        brokers.register(node.latest, brokers.Registration(1, node.new_uuid(), endpoints, ids), node.context)
    )
    node.do(brokers.unfence(node.latest, 1, epoch, node.context))
    wanted = [topics.NewTopic(f"topic-{number}", 3, configs={"retention.ms": "-1"}) for number in range(4)]
    node.do(topics.create(node.latest, wanted, node.context))
    node.do(topics.delete(node.latest, [topics.Doomed("topic-3")], node.context))
    ann, bob = (
        scram.Upsertion(name, mechanism, 4096 * mechanism, b"salt", b"s" * 32 * mechanism)
        for name, mechanism in zip(("ann", "bob"), scram.Mechanism, strict=True)
    )
    node.do(scram.alter(node.latest, [ann]))
    node.metadata.write_snapshot_now()
    node.do(scram.alter(node.latest, [bob]))
    node.do(topics.create_partitions(node.latest, [topics.Growth("topic-1", 5)]))
    change = configs.Change("cleanup.policy", configs.Operation.APPEND, "compact")
    resource = ConfigResource(ResourceType.TOPIC, "topic-0")
    node.do(configs.alter(node.latest, [configs.Alteration(resource, [change])], node.context))
    node.do(producer_ids.allocate(node.latest, 1, epoch))
    for topic in node.latest.topics:
        for number in topic.partitions:
            log = node.dirs.create(TopicPartition(topic.name, number), to_text(topic.id))
            directory = ids[node.paths.index(log.log_dir.path)]
            node.do(directories.assign(node.latest, 1, epoch, [directories.InDirectory(topic.id, number, directory)]))
    node.do(brokers.shut_down(node.latest, 1, epoch, node.context))
    image = node.metadata.image
    node.close(epoch)
    return image


@pytest.fixture(scope="module")
def written(tmp_path_factory: pytest.TempPathFactory) -> Written:
    root = tmp_path_factory.mktemp("written")
    return Written(root, tell_a_story(Node(root)))


def payloads(lines: list[str]) -> Iterator[dict[str, object]]:
    for line in lines:
        _, found, payload = line.partition(" payload: ")
        if found:
            yield json.loads(payload)


def test_kafkas_decoder_reads_log_snapshot_and_bootstrap(kafka: ApacheKafka, written: Written) -> None:
    directory = written.root / "d1" / "__cluster_metadata-0"
    (snapshot,) = directory.glob("*.checkpoint")
    files = [directory / f"{0:020d}.log", snapshot, written.root / "d1" / "bootstrap.checkpoint"]
    ended = kafka.run(DUMP, "--cluster-metadata-decoder", "--files", ",".join(map(str, files)))
    assert (ended.status, ended.err) == (0, "")
    lines = ended.out.splitlines()
    assert all("isvalid: true" in line for line in lines if line.startswith("baseOffset"))
    kinds = Counter(str(each["type"]) for each in payloads(lines))
    assert kinds["TOPIC_RECORD"] == 4 + 3, "created, and in the snapshot"
    assert kinds["PARTITION_RECORD"] == 12 + 9 + 2, "created, in the snapshot, added"
    assert kinds["FEATURE_LEVEL_RECORD"] == 6 * 3
    assert kinds["BROKER_REGISTRATION_CHANGE_RECORD"] == 3
    assert {"REMOVE_TOPIC_RECORD", "CONFIG_RECORD", "PRODUCER_IDS_RECORD", "PARTITION_CHANGE_RECORD"} <= kinds.keys()
    assert kinds["USER_SCRAM_CREDENTIAL_RECORD"] == 2 + 1, "set, and in the snapshot"
    assert sum("SnapshotHeader" in line for line in lines) == sum("SnapshotFooter" in line for line in lines) == 2
    assert sum("LeaderChange" in line for line in lines) == 1


def test_kafka_takes_over_and_gives_back(
    kafka: ApacheKafka, tools: KafkaTools, written: Written, tmp_path: Path
) -> None:
    root = tmp_path / "handed over"
    shutil.copytree(written.root, root)  # others look at what odradek wrote
    with kafka.broker(tmp_path, [root / "d1", root / "d2"], {"node.id": "1"}) as broker:
        ended = tools.run(TOPICS, "--bootstrap-server", broker.address, "--describe")
        assert ended.status == 0, ended.err
        described = {match[1]: match for match in DESCRIBED.finditer(ended.out)}
        assert "Leader: none" not in ended.out
        users = tools.run(CONFIGS, "--bootstrap-server", broker.address, "--describe", "--entity-type", "users")
        arguments = ["--create", "--topic", "by-kafka", "--partitions", "2", "--config", "max.message.bytes=2000000"]
        created = tools.run(TOPICS, "--bootstrap-server", broker.address, *arguments)
        assert created.status == 0, created.err
    assert "'ann' are SCRAM-SHA-256=iterations=4096" in users.out, users
    assert "'bob' are SCRAM-SHA-512=iterations=8192" in users.out, users
    assert described.keys() == written.image.topics.names.keys()
    for topic in written.image.topics:
        found = described[topic.name]
        assert (found[2], int(found[3])) == (to_text(topic.id), len(topic.partitions))
        for name, value in written.image.configs.of(ResourceType.TOPIC, topic.name).items():
            assert f"{name}={value}" in found[4]

    node = Node(root)
    node.open()
    image = node.metadata.image
    node.close(-1)
    assert node.metadata.events == []
    assert image.topics.names.keys() == {*written.image.topics.names, "by-kafka"}
    assert image.configs.of(ResourceType.TOPIC, "by-kafka") == {"max.message.bytes": "2000000"}
    assert image.scram == written.image.scram
    assert len(image.scram) == 2
    assert image.next_producer_id == written.image.next_producer_id
    for topic in written.image.topics:
        now = image.topics.by_id(topic.id)
        assert now is not None
        assert [each.directories for each in now.partitions.values()] == [
            each.directories for each in topic.partitions.values()
        ]
