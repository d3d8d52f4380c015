"""`odradek log dump` prints what Kafka's DumpLogSegments prints, line for line."""

import json
import lzma
from collections.abc import Callable, Collection, Iterator
from pathlib import Path
from typing import Any

import pytest

from odradek.model.numbers import Offset, TimestampMs
from odradek.records.builder import BatchSpec, build_batch
from odradek.records.control import ControlType, control_key
from odradek.records.record import Record
from odradek.records.varint import write_unsigned
from odradek.wire.codec import encode
from odradek.wire.records.classic_group import GroupMetadataKey, GroupMetadataValue, MemberMetadata
from odradek.wire.records.consumer_protocol import ConsumerProtocolSubscription
from odradek.wire.schema import Message
from odradek.wire.stored import CONSUMER_OFFSETS, metadata_records, write_coordinator_key, write_coordinator_value
from support.logs import NOW

SUFFIXES = (".log", ".index", ".timeindex", ".txnindex", ".snapshot", ".checkpoint")
GOLDEN = Path(__file__).parents[1] / "golden"

Dump = Callable[..., Any]


def files_of(directory: Path) -> list[Path]:
    return sorted(path for path in directory.rglob("*") if path.suffix in SUFFIXES)


def is_room_beside_nothing(path: Path) -> bool:
    """An index that is all zeros, of a segment without records: Kafka's tool fails on it."""
    return (
        path.suffix in (".index", ".timeindex")
        and path.stat().st_size > 0
        and not path.with_suffix(".log").stat().st_size
    )


def compare(files: list[Path], options: tuple[str, ...], with_kafka: Dump, with_odradek: Dump) -> None:
    theirs, ours = with_kafka(files, *options), with_odradek(files, *options)
    assert (theirs.status, ours.status) == (0, 0), theirs.err
    differences = [pair for pair in zip(theirs.out, ours.out, strict=False) if pair[0] != pair[1]]
    assert differences[:5] == []
    assert len(ours.out) == len(theirs.out)


@pytest.mark.parametrize(
    "options", [("--print-data-log",), ("--deep-iteration",), ("--print-data-log", "--skip-record-metadata"), ()]
)
@pytest.mark.parametrize("state", ["clean", "crashed"])
def test_every_file_that_kafka_wrote(
    golden_data: Path, state: str, options: tuple[str, ...], dump_with_kafka: Dump, dump_with_odradek: Dump
) -> None:
    files = [path for path in files_of(golden_data / state) if not is_room_beside_nothing(path)]
    assert len(files) > 80
    compare(files, options, dump_with_kafka, dump_with_odradek)


@pytest.mark.parametrize(
    ("option", "places"),
    [
        (
            "--cluster-metadata-decoder",
            ("__cluster_metadata-*/*.log", "__cluster_metadata-*/*.checkpoint", "*.checkpoint"),
        ),
        ("--offsets-decoder", ("__consumer_offsets-*/*.log",)),
        ("--transaction-log-decoder", ("__transaction_state-*/*.log",)),
    ],
)
def test_records_of_the_metadata_log_and_of_coordinators(
    golden_data: Path, option: str, places: tuple[str, ...], dump_with_kafka: Dump, dump_with_odradek: Dump
) -> None:
    files = sorted(path for place in places for path in golden_data.glob(f"*/*/{place}"))
    assert len(files) >= 4
    compare(files, (option,), dump_with_kafka, dump_with_odradek)
    compare(files, (option, "--skip-record-metadata"), dump_with_kafka, dump_with_odradek)


def test_coordinator_records_of_every_kind(tmp_path: Path, dump_with_kafka: Dump, dump_with_odradek: Dump) -> None:
    """With a stored record of each kind and version, deleted ones, and what consumers tell each other."""
    records, offset = [], Offset(0)
    for key, value in coordinator_records():
        records.append(Record(offset, NOW, key, value))
        offset = Offset(offset + 1)
    path = tmp_path / "00000000000000000000.log"
    path.write_bytes(build_batch(records, BatchSpec()))
    assert len(records) > 60
    compare([path], ("--offsets-decoder",), dump_with_kafka, dump_with_odradek)


def test_metadata_records_of_every_kind(tmp_path: Path, dump_with_kafka: Dump, dump_with_odradek: Dump) -> None:
    values = [
        b"\1" + write_unsigned(kind.spec.key or 0) + write_unsigned(version) + data
        for kind, version, data in golden_records(set(metadata_records().values()))
    ]
    records = [Record(Offset(number), NOW, None, value) for number, value in enumerate(values)]
    path = tmp_path / "00000000000000000000.log"
    path.write_bytes(build_batch(records, BatchSpec()))
    assert len(records) > 60
    compare([path], ("--cluster-metadata-decoder",), dump_with_kafka, dump_with_odradek)


def golden_records(kinds: Collection[type[Message]]) -> Iterator[tuple[type[Message], int, bytes]]:
    by_name = {kind.__name__: kind for kind in kinds}
    with lzma.open(GOLDEN / "wire-vectors.jsonl.xz", "rt", encoding="utf-8") as lines:
        for line in map(json.loads, lines):
            if line["name"] in by_name:
                yield by_name[line["name"]], line["version"], bytes.fromhex(line["hex"])


def coordinator_records() -> Iterator[tuple[bytes, bytes | None]]:
    numbers = [number for number in range(24) if number not in (9, 18)]
    pairs = [CONSUMER_OFFSETS.kinds(number) for number in numbers]
    keys = {kind: data for kind, _, data in golden_records([key for key, _ in pairs])}
    key_of = {value: key for key, value in pairs}
    for kind, version, data in golden_records(list(key_of)):
        key = keys[key_of[kind]]
        head = (kind.spec.key or 0).to_bytes(2, "big")
        yield head + key, version.to_bytes(2, "big") + data
        yield head + key, None
    told = ConsumerProtocolSubscription(topics=("a", "b"), user_data=b"\xff\0", rack_id='"\n\x1f\N{SNOWMAN}')
    for version in range(4):
        subscription = version.to_bytes(2, "big") + encode(told, version)
        for assignment in (b"", b"\0", b"\0\0\0", b"\0\1\0\0\0\0\xff\xff\xff\xff"):
            member = MemberMetadata(
                member_id="m",
                client_id="c",
                client_host="h",
                session_timeout=1,
                subscription=subscription,
                assignment=assignment,
            )
            group = GroupMetadataValue(
                protocol_type="consumer", generation=1, protocol="range", leader="m", members=(member,)
            )
            yield write_coordinator_key(GroupMetadataKey(group="g")), write_coordinator_value(group, 3)
    yield b"\0\x63" + b"later", b"\0\0"  # a type that came after us


def test_the_first_bytes(golden_data: Path, dump_with_kafka: Dump, dump_with_odradek: Dump) -> None:
    files = [path for path in files_of(golden_data / "clean") if path.suffix == ".log"]
    compare(files, ("--print-data-log", "--max-bytes", "3000"), dump_with_kafka, dump_with_odradek)


def test_indexes_that_kafka_finds_sane(golden_data: Path, dump_with_kafka: Dump, dump_with_odradek: Dump) -> None:
    files = [path for path in files_of(golden_data / "clean") if path.suffix in (".index", ".timeindex")]
    compare(files, ("--index-sanity-check",), dump_with_kafka, dump_with_odradek)
    compare(files, ("--verify-index-only",), dump_with_kafka, dump_with_odradek)


def test_control_records_of_every_kind(tmp_path: Path, dump_with_kafka: Dump, dump_with_odradek: Dump) -> None:
    kinds = {
        "LeaderChangeMessage": ControlType.LEADER_CHANGE,
        "SnapshotHeaderRecord": ControlType.SNAPSHOT_HEADER,
        "SnapshotFooterRecord": ControlType.SNAPSHOT_FOOTER,
        "KRaftVersionRecord": ControlType.KRAFT_VERSION,
        "VotersRecord": ControlType.KRAFT_VOTERS,
    }
    content = bytearray()
    count = 0
    for line in (GOLDEN / "control-records.jsonl").read_text(encoding="utf-8").splitlines():
        golden = json.loads(line)
        # Kafka's tool takes every leader change for one of version 0, and fails on those of version 1.
        if golden["name"] in kinds and (golden["name"], golden["version"]) != ("LeaderChangeMessage", 1):
            # The version that a value begins with is made up in these; it must be the one that the value is in.
            value = golden["version"].to_bytes(2, "big") + bytes.fromhex(golden["hex"])[2:]
            record = Record(Offset(count), NOW, control_key(kinds[golden["name"]]), value)
            content += build_batch([record], BatchSpec(base_offset=Offset(count), control=True))
            count += 1
    future = Record(Offset(count), TimestampMs(NOW), b"\0\0\0\x63", b"")
    content += build_batch([future], BatchSpec(base_offset=Offset(count), control=True))
    assert count >= 15
    path = tmp_path / "00000000000000000007-0000000003.checkpoint"
    path.write_bytes(content)
    compare([path], ("--deep-iteration",), dump_with_kafka, dump_with_odradek)


def test_wrong_indexes_are_wrong_to_both(
    golden_data: Path, tmp_path: Path, dump_with_kafka: Dump, dump_with_odradek: Dump
) -> None:
    source = golden_data / "clean/d1/plain-0"
    for name in ("00000000000000000000.log", "00000000000000000000.index", "00000000000000000000.timeindex"):
        (tmp_path / name).write_bytes((source / name).read_bytes())
    index, time_index = tmp_path / "00000000000000000000.index", tmp_path / "00000000000000000000.timeindex"
    wrong = bytearray(index.read_bytes())
    wrong[8 * 3 + 3] += 1  # an offset that no batch ends with
    wrong[8 * 9 + 3] += 1
    index.write_bytes(wrong)
    wrong = bytearray(time_index.read_bytes())
    wrong[12 * 5 + 7] += 1  # another timestamp
    wrong[12 * 7 + 11] += 1  # an offset within a batch
    time_index.write_bytes(wrong)
    theirs, ours = (dump([index, time_index]) for dump in (dump_with_kafka, dump_with_odradek))
    assert ours.out == theirs.out
    assert ours.err == theirs.err
    assert (theirs.status, ours.status) == (0, 1)
