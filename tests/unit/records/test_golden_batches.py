"""Reads and rebuilds what Apache Kafka 4.3.0 wrote. GoldenBatch is in conftest.py."""

from collections import defaultdict
from typing import TYPE_CHECKING, Any

import pytest

from odradek.records.batch import Codec, TimestampType, check_crc, parse_head, stamp
from odradek.records.builder import BatchSpec, build_batch
from odradek.records.control import build_end_txn_batch, end_txn_marker
from odradek.records.record import Record, check_records, read_records, scan

if TYPE_CHECKING:
    from .conftest import GoldenBatch

pytestmark = pytest.mark.slow  # unpacks all of the golden data


def test_a_consumer_would_read_the_same_records(golden_batches: "list[GoldenBatch]", golden_topics: Any) -> None:
    found: dict[str, list[Any]] = defaultdict(list)
    for batch in golden_batches:
        if not batch.head.is_control:
            found[batch.topic_partition] += [
                as_expected(batch, record) for record in read_records(batch.view, batch.head)
            ]
    for name, expected in golden_topics.items():
        visible = [record for record in found[name] if record[0] >= expected["log_start"]]
        assert visible == expected.get("records", expected.get("read_uncommitted")), name


def as_expected(batch: "GoldenBatch", record: Record) -> list[Any]:
    return [
        record.offset,
        batch.head.timestamp_type + 1,
        record.timestamp,
        record.key.decode(errors="replace") if record.key is not None else None,
        record.value.decode(errors="replace") if record.value is not None else None,
        [[key, None if value is None else value.decode()] for key, value in record.headers],
    ]


def test_all_checks_pass(golden_batches: "list[GoldenBatch]") -> None:
    for batch in golden_batches:
        check_crc(batch.view, batch.head)
        check_records(batch.view, batch.head)


def test_a_scan_sees_what_a_reader_sees(golden_batches: "list[GoldenBatch]") -> None:
    for batch in golden_batches:
        read = [
            (record.offset - batch.head.base_offset, record.key, record.value is not None)
            for record in read_records(batch.view, batch.head)
        ]
        assert list(scan(batch.view, batch.head)) == read


def test_uncompressed_batches_are_rebuilt_byte_for_byte(golden_batches: "list[GoldenBatch]") -> None:
    rebuilt = set()
    for batch in golden_batches:
        # With LogAppendTime a reader does not see the producer's timestamps, which are still there.
        if batch.head.codec is Codec.NONE and batch.head.timestamp_type is TimestampType.CREATE_TIME:
            assert build_batch(read_records(batch.view, batch.head), BatchSpec.like(batch.head)) == batch.view, (
                batch.path
            )
            rebuilt.add(batch.topic_partition)
    assert {"plain-0", "compacted-0", "txn-0", "__cluster_metadata-0", "__consumer_offsets-0"} <= rebuilt


def test_other_batches_are_rebuilt_record_for_record(golden_batches: "list[GoldenBatch]") -> None:
    rebuilt = set()
    for batch in golden_batches:
        if batch.head.codec is not Codec.NONE or batch.head.timestamp_type is TimestampType.LOG_APPEND_TIME:
            records = list(read_records(batch.view, batch.head))
            again = memoryview(build_batch(records, BatchSpec.like(batch.head)))
            check_crc(again, parse_head(again))
            assert list(read_records(again, parse_head(again))) == records
            rebuilt.add(batch.topic_partition)
    assert {"gzip-0", "snappy-0", "lz4-0", "zstd-0", "appendtime-0"} <= rebuilt


def test_lz4_batches_are_rebuilt_byte_for_byte(golden_batches: "list[GoldenBatch]") -> None:
    lz4 = [batch for batch in golden_batches if batch.head.codec is Codec.LZ4]
    assert lz4
    for batch in lz4:
        assert build_batch(read_records(batch.view, batch.head), BatchSpec.like(batch.head)) == batch.view


def test_transaction_markers_are_rebuilt_byte_for_byte(golden_batches: "list[GoldenBatch]") -> None:
    outcomes = []
    for batch in golden_batches:
        head = batch.head
        marker = end_txn_marker(batch.view, head) if head.is_control else None
        if marker is None:
            continue
        again = build_end_txn_batch(
            head.producer_id,
            head.producer_epoch,
            commit=marker.commit,
            coordinator_epoch=marker.coordinator_epoch,
            timestamp=head.max_timestamp,
        ).batch
        stamp(memoryview(again), head.base_offset, head.leader_epoch)
        assert again == batch.view
        outcomes.append(marker.commit)
    assert True in outcomes
    assert False in outcomes
