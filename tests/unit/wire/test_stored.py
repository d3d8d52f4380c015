from collections import Counter
from collections.abc import Iterator
from pathlib import Path

import pytest

from odradek.model.errors import BadRequest, UnsupportedVersion
from odradek.records.batch import parse_head
from odradek.records.record import Record, read_records
from odradek.wire.records.consumer_group import ConsumerGroupMemberMetadataValue
from odradek.wire.records.metadata import FeatureLevelRecord, NoOpRecord, PartitionRecord, TopicRecord
from odradek.wire.records.offsets import OffsetCommitKey, OffsetCommitValue
from odradek.wire.records.transaction import TransactionLogKey
from odradek.wire.schema import Message
from odradek.wire.stored import (
    CONSUMER_OFFSETS,
    SHARE_GROUP_STATE,
    TRANSACTION_STATE,
    CoordinatorTopic,
    metadata_records,
    read_metadata_record,
    write_coordinator_key,
    write_coordinator_value,
    write_metadata_record,
)


def records_in(path: Path) -> Iterator[Record]:
    data, at = memoryview(path.read_bytes()), 0
    while at < len(data):
        head = parse_head(data, at)
        if not head.is_control:
            yield from read_records(data[at : at + head.size], head)
        at += head.size


def test_the_metadata_log_of_kafka_is_read_and_written(golden_data: Path) -> None:
    kinds: Counter[type[Message]] = Counter()
    files = [*golden_data.glob("clean/d1/__cluster_metadata-0/*.log")]
    files += golden_data.glob("clean/d1/__cluster_metadata-0/*.checkpoint")
    for path in files:
        for record in records_in(path):
            assert record.value is not None
            message, version = read_metadata_record(record.value)
            assert write_metadata_record(message, version) == record.value
            kinds[type(message)] += 1
    assert {TopicRecord, PartitionRecord, FeatureLevelRecord, NoOpRecord} < set(kinds)


def test_the_coordinators_records_of_kafka_are_read_and_written(golden_data: Path) -> None:
    kinds: Counter[type[Message]] = Counter()
    for name, topic in (("__consumer_offsets", CONSUMER_OFFSETS), ("__transaction_state", TRANSACTION_STATE)):
        for path in golden_data.glob(f"clean/*/{name}-*/*.log"):
            for record in records_in(path):
                assert record.key is not None
                key = topic.read_key(record.key)
                assert write_coordinator_key(key) == record.key
                kinds[type(key)] += 1
                if record.value is not None:
                    value, version = topic.read_value(key, record.value)
                    assert write_coordinator_value(value, version) == record.value
                    kinds[type(value)] += 1
    assert {OffsetCommitKey, OffsetCommitValue, ConsumerGroupMemberMetadataValue, TransactionLogKey} < set(kinds)


def test_every_stored_record_is_found(messages: dict[str, type[Message]]) -> None:
    found = set(metadata_records().values())
    for topic, count in ((CONSUMER_OFFSETS, 24), (TRANSACTION_STATE, 1), (SHARE_GROUP_STATE, 2)):
        found |= {kind for number in range(count) if known(topic, number) for kind in topic.kinds(number)}
    assert {kind.__name__ for kind in found} == {
        name
        for name, kind in messages.items()
        if kind.__module__.startswith("odradek.wire.records.") and kind.spec.key is not None
    }
    for topic in (CONSUMER_OFFSETS, TRANSACTION_STATE, SHARE_GROUP_STATE):
        for number in range(24):
            if known(topic, number):
                assert [kind.spec.key for kind in topic.kinds(number)] == [number, number]


def known(topic: CoordinatorTopic, number: int) -> bool:
    try:
        topic.kinds(number)
    except UnsupportedVersion:
        return False
    return True


def test_bytes_of_a_metadata_record() -> None:
    record = FeatureLevelRecord(name="a", feature_level=3)
    assert write_metadata_record(record, 0) == b"\x01\x0c\x00" + b"\x02a\x00\x03\x00"
    assert read_metadata_record(b"\x01\x0c\x00\x02a\x00\x03\x00") == (record, 0)


@pytest.mark.parametrize("data", [b"\x02\x0c\x00", b"\x01\xe8\x07\x00", b"\x01\x0c\x09"])
def test_metadata_records_of_the_future_are_refused(data: bytes) -> None:
    with pytest.raises(UnsupportedVersion):
        read_metadata_record(data)


@pytest.mark.parametrize("data", [b"", b"\x01", b"\x01\x0c", b"\xff" * 9, b"\x01\x0c\x00\x02"])
def test_broken_metadata_records_are_refused(data: bytes) -> None:
    with pytest.raises(BadRequest):
        read_metadata_record(data)


def test_bytes_of_a_coordinators_record() -> None:
    key = OffsetCommitKey(group="g", topic="t", partition=1)
    assert write_coordinator_key(key) == b"\x00\x01" + b"\x00\x01g\x00\x01t\x00\x00\x00\x01"
    assert CONSUMER_OFFSETS.read_key(write_coordinator_key(key)) == key
    value = OffsetCommitValue(offset=5, metadata="", commit_timestamp=6)
    data = write_coordinator_value(value, 3)
    assert data[:2] == b"\x00\x03"
    assert CONSUMER_OFFSETS.read_value(key, data) == (value, 3)


def test_broken_and_unknown_records_of_coordinators_are_refused() -> None:
    key = OffsetCommitKey(group="g", topic="t", partition=1)
    for data in (b"", b"\x00", b"\x00\x01"):
        with pytest.raises(BadRequest):
            CONSUMER_OFFSETS.read_key(data)
    for data in (b"", b"\x00", b"\x00\x03"):
        with pytest.raises(BadRequest):
            CONSUMER_OFFSETS.read_value(key, data)
    with pytest.raises(UnsupportedVersion):
        CONSUMER_OFFSETS.read_key(b"\x00\x09")
    with pytest.raises(UnsupportedVersion):
        CONSUMER_OFFSETS.read_value(key, b"\x00\x05")
