"""The metadata logs and snapshots that Apache Kafka 4.3.0 left, in both of its states."""

import shutil
from pathlib import Path
from typing import Any

import pytest

from odradek.controller import brokers
from odradek.controller.context import Context
from odradek.metadata.features import NEW_CLUSTER, SUPPORTED, record_version
from odradek.metadata.image import EMPTY, Endpoint, Image, QuotaKey, ResourceType, ScramKey
from odradek.metadata.replay import Batch, Replay, image_of
from odradek.metadata.snapshot import records_of
from odradek.metadata.uuids import to_text
from odradek.metadata.voters import STATIC
from odradek.model.numbers import Offset
from odradek.process.files import OsFiles
from odradek.quorum import batches, snapshot_file
from odradek.records.record import read_records
from odradek.wire.stored import read_metadata_record, write_metadata_record
from support.metadata import commit_now

METADATA = Path("d1") / "__cluster_metadata-0"
TOPIC_IDS = {
    "plain": "ZElEwgQtS-yTY49U_t83Mw",
    "gzip": "sUa4YBZwToug1MZIgEPFCg",
    "snappy": "sPDWvT9lRrqeRhujIDEV0g",
    "lz4": "HX0NUtCfRSG83rSJ9qgw2w",
    "zstd": "kxT0Ey06TqmeBT8wO-Iy0A",
    "compacted": "DI-iwHeFSnu6p0JZXmZUEA",
    "appendtime": "5QyFWGtLSqKV6I-KOGayMQ",
    "txn": "Wz7fGaTsTM6wB9hsMNatfw",
    "opentxn": "mzhZDNBEQG6OCxu7Z10-iQ",
    "configured": "1lE3Qv65QqOeJE0ISNp_vQ",
    "__consumer_offsets": "1vOgSEplQbSlDZ3qTwUdXg",
    "__transaction_state": "MARMBLy_TM6oDCjty7kjyA",
}


def log_batches(directory: Path) -> list[Batch]:
    data = memoryview((directory / METADATA / f"{0:020d}.log").read_bytes())
    return [batches.read(view, head, Offset(0)) for head, view in batches.split(data)]


def replayed(history: list[Batch], end: int) -> Image:
    state = Replay()
    for batch in history:
        if batch.last_offset < end:
            state, _ = state.apply(batch)
    return state.image


def comparable(image: Image) -> list[Any]:
    """Kafka's order of a controller's features in its snapshots is that of a hash table."""
    controllers = [
        (each.incarnation_id, each.end_points, sorted(feature.name for feature in each.features))
        for each in image.controllers.values()
    ]
    rest = [getattr(image, name) for name in Image.__dataclass_fields__ if name != "controllers"]
    return [controllers, *rest]


@pytest.mark.parametrize("state", ["clean", "crashed"])
def test_every_snapshot_says_what_the_log_says_up_to_there(golden_data: Path, state: str) -> None:
    history = log_batches(golden_data / state)
    files = sorted((golden_data / state / METADATA).glob("*.checkpoint"))
    assert len(files) >= 4
    for file in files:
        snapshot = snapshot_file.parse_name(file.name)
        assert snapshot is not None
        content = snapshot_file.parse(file.read_bytes(), str(file))
        assert content.image(snapshot).voters == STATIC
        assert comparable(content.image(snapshot)) == comparable(replayed(history, snapshot.end_offset)), file.name


@pytest.mark.parametrize("state", ["clean", "crashed"])
def test_our_snapshot_has_the_records_of_kafkas(golden_data: Path, state: str) -> None:
    for file in (golden_data / state / METADATA).glob("*.checkpoint"):
        snapshot = snapshot_file.parse_name(file.name)
        assert snapshot is not None
        content = snapshot_file.parse(file.read_bytes(), str(file))
        image = content.image(snapshot)
        ours = b"".join(snapshot_file.parts(image, content.timestamp))
        again = snapshot_file.parse(ours, "ours")
        assert again.records == content.records, "the same records, in the same order"
        assert again.image(snapshot) == image
        assert len(ours) == file.stat().st_size


def test_records_are_written_in_the_versions_that_kafka_writes_them_in(golden_data: Path) -> None:
    data = memoryview((golden_data / "clean" / METADATA / f"{0:020d}.log").read_bytes())
    seen = 0
    for head, view in batches.split(data):
        for record in () if head.is_control else read_records(view, head):
            message, version = read_metadata_record(record.value or b"")
            assert record_version(message, 30) == version, message
            assert write_metadata_record(message, version) == record.value
            seen += 1
    assert seen > 300


@pytest.fixture(params=["clean", "crashed"])
def opened(request: pytest.FixtureRequest, golden_data: Path, tmp_path: Path, make_node: Any) -> Any:
    shutil.copytree(golden_data / request.param, tmp_path / "data")
    node = make_node(OsFiles(), str(tmp_path / "data" / "d1"), str(tmp_path / "data" / "d2"))
    node.open()
    yield node
    node.close()


@pytest.mark.slow
def test_the_image_has_everything_that_was_made(opened: Any) -> None:
    image: Image = opened.metadata.image
    assert {topic.name: to_text(topic.id) for topic in image.topics} == TOPIC_IDS
    partitions = {topic.name: len(topic.partitions) for topic in image.topics}
    assert partitions["plain"] == 3
    assert sum(partitions.values()) == 21
    assert image.features == NEW_CLUSTER
    assert image.configs.of(ResourceType.TOPIC, "configured") == {
        "max.message.bytes": "2000000",
        "retention.ms": "3600000",
    }
    assert image.configs.of(ResourceType.TOPIC, "plain") == {"segment.bytes": "1048576", "retention.ms": "-1"}
    assert image.configs.of(ResourceType.BROKER, "") == {"min.insync.replicas": "1"}
    assert sorted((each.principal, each.resource_name) for each in image.acls.values()) == [
        ("User:alice", "g-"),
        ("User:alice", "plain"),
        ("User:bob", "txn"),
    ]
    assert {key: each.iterations for key, each in image.scram.items()} == {
        ScramKey(1, "alice"): 4096,
        ScramKey(2, "bob"): 8192,
    }
    assert {key: each.value for key, each in image.quotas.items()} == {
        QuotaKey((("user", "alice"),), "producer_byte_rate"): 1048576.0,
        QuotaKey((("user", "alice"),), "consumer_byte_rate"): 2097152.0,
    }
    assert image.next_producer_id == 1000
    assert image.brokers[1].endpoints == {"PLAINTEXT": Endpoint("127.0.0.1", 19192, 0)}
    assert image.brokers[1].features == SUPPORTED
    assert set(image.controllers) == {1}
    assert opened.metadata.events == []


@pytest.mark.slow
def test_it_can_be_led_and_opened_again(opened: Any) -> None:
    metadata = opened.metadata
    before: Image = metadata.image
    assert metadata.epoch == before.epoch
    directories = before.brokers[1].directories
    registration = brokers.Registration(1, b"i" * 16, {"PLAINTEXT": Endpoint("h", 1)}, directories)
    context = Context(lambda: b"n" * 16)
    decision = brokers.register(metadata.latest, registration, context)
    commit_now(metadata, decision.records)
    commit_now(metadata, brokers.unfence(metadata.latest, 1, decision.response, context).records)
    metadata.write_snapshot_now()
    now: Image = metadata.image
    for topic in now.topics:
        was = before.topics.by_id(topic.id)
        assert was is not None
        for number, partition in topic.partitions.items():
            assert (partition.leader, partition.isr) == (1, (1,))
            assert partition.leader_epoch == was.partitions[number].leader_epoch + 1
    assert image_of(records_of(now), now.position) == now
    opened.close()
    metadata = opened.open()
    assert metadata.image.topics == now.topics
    assert metadata.image.brokers == now.brokers
    assert metadata.image.scram == now.scram != EMPTY.scram
    assert metadata.epoch == now.epoch + 1


def test_our_bootstrap_is_kafkas_but_for_the_times(golden_data: Path) -> None:
    theirs = (golden_data / "clean" / "d1" / "bootstrap.checkpoint").read_bytes()
    content = snapshot_file.parse(theirs, "theirs")
    times = [head.max_timestamp for head, _ in batches.split(memoryview(theirs))]
    ours = snapshot_file.pack_bootstrap(content.records, 30, times[0])
    assert len(ours) == len(theirs)
    assert snapshot_file.parse(ours, "ours") == content
    spans = [head.size for head, _ in batches.split(memoryview(theirs))]
    assert spans == [head.size for head, _ in batches.split(memoryview(ours))]
