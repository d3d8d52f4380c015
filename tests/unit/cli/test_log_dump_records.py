"""Stored records as JSON, against what Kafka's own converters made of the same records."""

import json
import lzma
from pathlib import Path

import pytest

from odradek.cli.dump import decoders, java_json
from odradek.cli.main import main
from odradek.model.numbers import Offset
from odradek.records.builder import BatchSpec, build_batch
from odradek.records.record import Record
from odradek.wire.codec import decode
from odradek.wire.records.consumer_protocol import ConsumerProtocolAssignment, ConsumerProtocolSubscription
from odradek.wire.records.metadata import ClientQuotaRecord, EntityData
from odradek.wire.records.offsets import OffsetCommitKey
from odradek.wire.schema import Message
from odradek.wire.stored import (
    CONSUMER_OFFSETS,
    SHARE_GROUP_STATE,
    TRANSACTION_STATE,
    metadata_records,
    write_coordinator_key,
)
from support.logs import NOW

GOLDEN = Path(__file__).parents[2] / "golden"
TOPICS = {
    CONSUMER_OFFSETS: [*range(9), *range(10, 18), *range(19, 24)],
    TRANSACTION_STATE: [0],
    SHARE_GROUP_STATE: [0, 1],
}


def stored_kinds() -> dict[str, type[Message]]:
    kinds: list[type[Message]] = [
        *metadata_records().values(),
        ConsumerProtocolSubscription,
        ConsumerProtocolAssignment,
    ]
    kinds += [kind for topic, numbers in TOPICS.items() for number in numbers for kind in topic.kinds(number)]
    return {kind.__name__: kind for kind in kinds}


def test_every_record_has_the_fields_of_kafkas_converters() -> None:
    kinds, count = stored_kinds(), 0
    with lzma.open(GOLDEN / "wire-vectors.jsonl.xz", "rt", encoding="utf-8") as lines:
        for line in map(json.loads, lines):
            kind = kinds.get(line["name"])
            if kind is not None and line["variant"] != "random":  # which has what was asked for, defaults and all
                message = decode(kind, line["version"], bytes.fromhex(line["hex"]))
                ours = java_json.of_message(message, line["version"])
                # As pairs, so that their order counts, too.
                assert json.loads(ours, object_pairs_hook=list) == json.loads(
                    json.dumps(line["value"]), object_pairs_hook=list
                ), line["name"]
                count += 1
    assert count > 150


@pytest.mark.parametrize(
    ("number", "text"),
    [
        (0.0, "0.0"),
        (1048576.0, "1048576.0"),
        (1e7, "1.0E7"),
        (-12345678.5, "-1.23456785E7"),
        (0.001, "0.001"),
        (0.00025, "2.5E-4"),
        (1e300, "1.0E300"),
        (float("nan"), '"NaN"'),
        (float("-inf"), '"-Infinity"'),
    ],
)
def test_numbers_as_java_prints_them(number: float, text: str) -> None:
    quota = ClientQuotaRecord(
        entity=(EntityData(entity_type="user", entity_name=None),), key="k", value=number, remove=False
    )
    assert f'"value":{text},' in java_json.of_message(quota, 0)


def record(key: bytes | None, value: bytes | None) -> Record:
    return Record(Offset(7), NOW, key, value)


def test_text_is_escaped_as_kafka_does() -> None:
    assert java_json.of_text('"\\\x00\x1f\n\N{SNOWMAN}/') == '"\\"\\\\\\u0000\\u001F\\n\N{SNOWMAN}/"'


def test_what_makes_no_sense_is_said_to_make_none() -> None:
    key = write_coordinator_key(OffsetCommitKey(group="g", topic="t", partition=1))
    assert decoders.offsets(record(key, None)) == (
        '{"type":"1","data":{"group":"g","topic":"t","partition":1}}',
        "<DELETE>",
        None,
    )
    assert decoders.offsets(record(b"\0\x63", b"")) == ("Unknown record type 99 at offset 7, skipping.", None, None)
    for decoder, bad in (
        (decoders.offsets, record(None, b"")),
        (decoders.offsets, record(key[:-1], b"")),
        (decoders.offsets, record(key, b"\0")),
        (decoders.offsets, record(key, b"\0\x09")),
        (decoders.transaction_log, record(b"\0\0\0\1a", b"\0\0")),
        (decoders.cluster_metadata, record(None, None)),
        (decoders.cluster_metadata, record(None, b"\1\x7f\0")),
    ):
        key_text, value_text, problem = decoder(bad)
        assert problem
        assert "skipping" in (key_text or value_text or "")


def test_a_record_that_makes_no_sense_does_not_end_the_run(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    key = write_coordinator_key(OffsetCommitKey(group="g", topic="t", partition=1))
    path = tmp_path / "00000000000000000000.log"
    batch = build_batch([Record(Offset(0), NOW, key, b"\0"), Record(Offset(1), NOW, key, None)], BatchSpec())
    path.write_bytes(batch)
    assert main(["log", "dump", "--offsets-decoder", "--skip-record-metadata", str(path)]) == 1
    printed = capsys.readouterr()
    assert printed.err.startswith(f"{path}: the record at offset 0: the value: 1 bytes are too few")
    assert printed.out.splitlines()[-1].endswith("payload: <DELETE>")
