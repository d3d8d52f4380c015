import base64
from collections.abc import Callable
from typing import Any
from uuid import UUID

import pytest

from odradek.model.errors import CorruptBatch
from odradek.model.numbers import Offset, ProducerId, TimestampMs
from odradek.records.batch import BatchHead, parse_head
from odradek.records.builder import BatchSpec, build_batch
from odradek.records.control import (
    ControlType,
    EndTxnMarker,
    build_end_txn_batch,
    control_key,
    control_type,
    end_txn_marker,
    read_coordinator_epoch,
    read_kraft_version,
    read_leader_change,
    read_snapshot_footer,
    read_snapshot_header,
    read_voters,
)
from odradek.records.record import Record

READERS: dict[str, Callable[[bytes], object]] = {
    "LeaderChangeMessage": read_leader_change,
    "SnapshotHeaderRecord": read_snapshot_header,
    "SnapshotFooterRecord": read_snapshot_footer,
    "KRaftVersionRecord": read_kraft_version,
    "VotersRecord": read_voters,
}


def control_batch(key: bytes | None, value: bytes | None) -> tuple[memoryview, BatchHead]:
    batch = build_batch([Record(Offset(0), TimestampMs(0), key, value)], BatchSpec(control=True))
    return memoryview(batch), parse_head(batch)


@pytest.mark.parametrize("commit", [True, False])
def test_a_marker_comes_back(commit: bool) -> None:
    batch, head = build_end_txn_batch(
        ProducerId(12), 3, commit=commit, coordinator_epoch=99, timestamp=TimestampMs(1_700_000_000_000)
    )
    assert head == parse_head(batch)
    assert (head.is_control, head.is_transactional, head.base_sequence, head.count) == (True, True, -1, 1)
    assert (head.producer_id, head.producer_epoch, head.max_timestamp) == (12, 3, 1_700_000_000_000)
    marker = end_txn_marker(memoryview(batch), head)
    assert marker == EndTxnMarker(ControlType.COMMIT if commit else ControlType.ABORT, 99)
    assert marker is not None
    assert marker.commit is commit


def test_a_batch_that_the_cleaner_emptied_has_no_marker() -> None:
    batch = memoryview(build_batch([], BatchSpec(control=True, transactional=True, last_offset_delta=0)))
    assert end_txn_marker(batch, parse_head(batch)) is None


@pytest.mark.parametrize("number", [2, 6, 7, 1000, -1])
def test_other_control_records_are_no_markers_whether_known_or_not(number: int) -> None:
    key = b"\x00\x00" + number.to_bytes(2, "big", signed=True)
    assert control_type(key) == number
    assert end_txn_marker(*control_batch(key, b"whatever")) is None


def test_newer_versions_are_read_as_far_as_they_are_known() -> None:
    batch, head = control_batch(b"\x00\x05\x00\x01more", b"\x00\x09\x00\x00\x00\x07more")
    assert end_txn_marker(batch, head) == EndTxnMarker(ControlType.COMMIT, 7)


@pytest.mark.parametrize(
    ("key", "value"),
    [
        (None, None),
        (b"", b""),
        (b"\x00\x00\x00", b"\x00\x00\x00\x00\x00\x07"),
        (b"\xff\xff\x00\x01", b"\x00\x00\x00\x00\x00\x07"),
        (b"\x00\x00\x00\x01", None),
        (b"\x00\x00\x00\x01", b"\x00\x00\x00\x00\x00"),
        (b"\x00\x00\x00\x01", b"\xff\xff\x00\x00\x00\x07"),
    ],
)
def test_a_broken_marker_is_corrupt(key: bytes | None, value: bytes | None) -> None:
    with pytest.raises(CorruptBatch):
        end_txn_marker(*control_batch(key, value))


def test_types_and_markers_are_those_of_kafka(golden_control_records: list[dict[str, Any]]) -> None:
    for vector in golden_control_records:
        data = bytes(2) + bytes.fromhex(vector["hex"])  # behind the version that they have in a log
        if vector["name"] == "ControlRecordTypeSchema":
            assert control_type(data) == vector["value"]["type"]
        if vector["name"] == "EndTxnMarker":
            assert read_coordinator_epoch(data) == vector["value"]["coordinatorEpoch"]
    assert control_key(ControlType.KRAFT_VOTERS) == bytes.fromhex("00000006")


def test_records_of_the_quorum_are_those_of_kafka(golden_control_records: list[dict[str, Any]]) -> None:
    seen = set()
    for vector in golden_control_records:
        if vector["name"] not in READERS:
            continue
        data = bytes.fromhex(vector["hex"])
        if vector["name"] == "LeaderChangeMessage":
            found: Any = read_leader_change(data, vector["version"])
        else:
            found = READERS[vector["name"]](data)
        assert as_json(found) == flattened(vector["value"]), vector
        seen.add(vector["name"])
    assert seen == set(READERS)


def as_json(value: Any) -> Any:
    """Values in order, without names."""
    if isinstance(value, tuple):
        return [as_json(item) for item in value if item is not None]
    if isinstance(value, UUID):
        return base64.urlsafe_b64encode(value.bytes).rstrip(b"=").decode()
    return value


def flattened(value: Any) -> Any:
    """The same of a vector, whose voters have the range of versions in a struct of its own."""
    if isinstance(value, dict):
        feature = value.pop("kRaftVersionFeature", {})
        return [flattened(item) for item in [*value.values(), *feature.values()]]
    return [flattened(item) for item in value] if isinstance(value, list) else value


def test_a_leader_change_says_its_own_version() -> None:
    directory = bytes(range(16))
    voter = b"\x00\x00\x00\x01" + directory + b"\x00"
    change = read_leader_change(b"\x00\x01" + b"\x00\x00\x00\x01" + b"\x02" + voter + b"\x02" + voter + b"\x00")
    assert change.voters == change.granting_voters == ((1, UUID(bytes=directory)),)


def test_tagged_fields_of_the_future_are_skipped() -> None:
    assert read_snapshot_footer(b"\x00\x00" + b"\x02" + b"\x00\x03abc" + b"\x81\x01\x00") == (0,)


@pytest.mark.parametrize("name", READERS)
def test_every_cut_is_corrupt(name: str, golden_control_records: list[dict[str, Any]]) -> None:
    for vector in golden_control_records:
        if vector["name"] == name:
            data = bytes.fromhex(vector["hex"])
            for size in range(len(data)):
                with pytest.raises(CorruptBatch):
                    READERS[name](data[:size])


@pytest.mark.parametrize(
    "data",
    [
        b"\x00\x00\x00",  # a null array
        b"\x00\x00\xff\xff\xff\xff\x0f",  # an endless one
        b"\x00\x00\x02" + bytes(20) + b"\x02\x00",  # a null string
        b"\x00\x00\x02" + bytes(20) + b"\x02\x02\xff",  # not UTF-8
    ],
)
def test_garbage_among_voters_is_corrupt(data: bytes) -> None:
    with pytest.raises(CorruptBatch):
        read_voters(data)
