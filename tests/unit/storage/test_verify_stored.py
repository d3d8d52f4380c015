"""What verification says of records that a starting broker reads: of the metadata log and of internal topics."""

from collections.abc import Sequence

import pytest

from odradek.model.numbers import LeaderEpoch, Offset
from odradek.model.topic_partition import TopicPartition
from odradek.records.batch import Codec
from odradek.records.builder import BatchSpec, build_batch
from odradek.records.control import ControlType, control_key
from odradek.records.record import Record
from odradek.storage import meta_properties
from odradek.storage.log import Origin
from odradek.storage.meta_properties import MetaProperties
from odradek.storage.verify import Severity, Verification
from odradek.wire.records.metadata import NoOpRecord
from odradek.wire.records.offsets import OffsetCommitKey, OffsetCommitValue
from odradek.wire.records.transaction import TransactionLogKey, TransactionLogValue
from odradek.wire.stored import write_coordinator_key, write_coordinator_value, write_metadata_record
from support.disk import FaultyDisk
from support.logs import NOW, append_batch, log_of, open_dirs

OFFSETS, TRANSACTIONS, METADATA = "__consumer_offsets", "__transaction_state", "__cluster_metadata"
OFFSET_KEY = write_coordinator_key(OffsetCommitKey(group="g", topic="t", partition=1))
OFFSET = write_coordinator_value(OffsetCommitValue(offset=5, metadata="", commit_timestamp=NOW), 3)
TRANSACTION_KEY = write_coordinator_key(TransactionLogKey(transactional_id="t"))
NO_OP = write_metadata_record(NoOpRecord(), 0)

Pair = tuple[bytes | None, bytes | None]


def transaction(status: int) -> bytes:
    value = TransactionLogValue(
        producer_id=1,
        producer_epoch=0,
        transaction_timeout_ms=1000,
        transaction_status=status,
        transaction_partitions=(),
        transaction_last_update_timestamp_ms=NOW,
        transaction_start_timestamp_ms=NOW,
    )
    return write_coordinator_value(value, 1)


def found_in(topic: str, batches: Sequence[tuple[BatchSpec, Sequence[Pair]]]) -> list[tuple[Severity, str]]:
    """What is said of the log of a partition with these batches."""
    disk = FaultyDisk("/data")
    meta_properties.write(disk, "/data", MetaProperties("cluster", 1, "directory"))
    dirs = open_dirs(disk)
    log = log_of(dirs, TopicPartition(topic, 0))
    for spec, pairs in batches:
        records = [Record(Offset(number), NOW, key, value) for number, (key, value) in enumerate(pairs)]
        append_batch(log, memoryview(build_batch(records, spec)), LeaderEpoch(0), Origin.COORDINATOR)
    log.advance_high_watermark(log.end_offset)
    dirs.close()
    verification = Verification(disk)
    verification.add("/data")
    place = f"/data/{topic}-0/00000000000000000000.log"
    return [(finding.severity, str(finding).removeprefix(place)) for finding in verification.run()]


@pytest.mark.parametrize(
    ("topic", "pairs"),
    [
        (OFFSETS, [(OFFSET_KEY, OFFSET), (OFFSET_KEY, None)]),
        (TRANSACTIONS, [(TRANSACTION_KEY, transaction(0)), (TRANSACTION_KEY, transaction(7)), (TRANSACTION_KEY, None)]),
        (METADATA, [(None, NO_OP), (None, NO_OP)]),
        ("orders", [(None, None), (b"", b"\0")]),
    ],
)
def test_nothing_is_said_of_records_in_order(topic: str, pairs: list[Pair]) -> None:
    assert found_in(topic, [(BatchSpec(codec=codec), pairs) for codec in (Codec.NONE, Codec.ZSTD)]) == []


@pytest.mark.parametrize(
    ("topic", "bad", "text"),
    [
        (OFFSETS, (None, OFFSET), "the record at offset 2 has no key"),
        (OFFSETS, (OFFSET_KEY[:-1], OFFSET), "the key of the record at offset 2: "),
        (OFFSETS, (b"\0", None), "the key of the record at offset 2: 1 bytes are too few"),
        (OFFSETS, (OFFSET_KEY, OFFSET[:-1]), "the value of the record at offset 2: "),
        (
            OFFSETS,
            (OFFSET_KEY, b"\0\x63"),
            "the value of the record at offset 2: OffsetCommitValue has versions 0 to 4",
        ),
        (TRANSACTIONS, (TRANSACTION_KEY, b""), "the value of the record at offset 2: 0 bytes are too few"),
        (TRANSACTIONS, (TRANSACTION_KEY, transaction(8)), "the value of the record at offset 2: 8 is no state of a tr"),
        (METADATA, (None, None), "the record at offset 2: metadata record with a broken head"),
        (METADATA, (None, b"\1\x7f\0"), "the record at offset 2: metadata record with the unknown key 127"),
        (METADATA, (None, b"\1\2\1"), "the record at offset 2: TopicRecord has versions 0 to 0, not 1"),
    ],
)
def test_a_record_that_cannot_be_read_is_an_error_with_its_place(topic: str, bad: Pair, text: str) -> None:
    good = {OFFSETS: (OFFSET_KEY, OFFSET), TRANSACTIONS: (TRANSACTION_KEY, transaction(1)), METADATA: (None, NO_OP)}[
        topic
    ]
    first = build_batch([Record(Offset(0), NOW, *good)], BatchSpec())
    ((severity, said),) = found_in(topic, [(BatchSpec(), [good]), (BatchSpec(), [good, bad, good])])
    assert severity is Severity.ERROR
    assert said.startswith(f" at {len(first)}: {text}")


def test_a_type_of_record_that_came_later_is_only_noted() -> None:
    ((severity, said),) = found_in(OFFSETS, [(BatchSpec(), [(b"\0\x63later", b"")])])
    assert severity is Severity.NOTE
    assert said == " at 0: the record at offset 0: record of the unknown type 99; brokers pass over it"


def test_control_records_of_the_quorum_are_read_too() -> None:
    control = BatchSpec(control=True)
    later, broken = (b"\0\0\0\x63", b""), (control_key(ControlType.LEADER_CHANGE), b"\0")
    ((severity, said),) = found_in(METADATA, [(control, [later]), (control, [broken])])
    assert severity is Severity.ERROR
    assert "the record at offset 1: " in said
