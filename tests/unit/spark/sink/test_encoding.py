"""Rows that no record can be made of, and where rows without a key go."""

from random import Random

import numpy as np
import pyarrow as pa
import pytest

from odradek.records.batch import HEAD_SIZE
from odradek.spark.sink import kernel
from odradek.spark.sink.encoding import Encoded, Encoder, EncodingSetting, TopicShape
from odradek.spark.sink.errors import BadRow
from odradek.spark.sink.layout import Layout


def encoder(layout: Layout, batch_bytes_max: int = 1 << 20, record_bytes_max: int = 1 << 20) -> Encoder:
    setting = EncodingSetting(batch_bytes_max=batch_bytes_max, record_bytes_max=record_bytes_max)
    shapes = {"orders": TopicShape(3), "returns": TopicShape(1, 400)}
    return Encoder(layout, setting, shapes.__getitem__, Random(0))


@pytest.mark.parametrize(
    ("key", "expected"),
    [  # of Apache Kafka's own tests of murmur2, with the sign bit off
        (b"21", -973932308),
        (b"foobar", -790332482),
        (b"a-little-bit-long-string", -985981536),
        (b"a-little-bit-longer-string", -1486304829),
        (b"lkjh234lh9fiuh90y23oiuhsafujhadof229phr9h19h89h8", -58897971),
        (b"abc", 479470107),
    ],
)
def test_murmur2_is_kafkas(key: bytes, expected: int) -> None:
    assert kernel.murmur2(np.frombuffer(key, np.uint8), 0, len(key)) == expected & 0x7FFF_FFFF


def test_a_null_topic_is_named_by_its_row() -> None:
    making = encoder(Layout(value=0, topic=1))
    making.encode(pa.record_batch([["a", "b"], ["orders", "returns"]], names=["value", "topic"]))
    with pytest.raises(BadRow, match=r"row 3 of this task: its topic is null; .* option topic"):
        making.encode(pa.record_batch([["c", "d"], ["orders", None]], names=["value", "topic"]))


def test_a_topic_that_is_no_text_is_named_by_its_row() -> None:
    names = pa.array([b"orders", b"\xff"], pa.binary()).view(pa.string())
    with pytest.raises(BadRow, match="row 1 of this task: its topic is not UTF-8"):
        encoder(Layout(value=0, topic=1)).encode(pa.record_batch([["a", "b"], names], names=["value", "topic"]))


def test_the_option_topic_beats_the_column() -> None:
    making = encoder(Layout(value=0, topic=1, topic_name="returns"))
    (batch,) = making.encode(pa.record_batch([["a", "b"], ["orders", None]], names=["value", "topic"]))
    assert (batch.place, batch.count) == (("returns", 0), 2)


@pytest.mark.parametrize("number", [3, -1])
def test_a_partition_that_is_not_there_is_named(number: int) -> None:
    partitions = pa.array([None, 2, number], pa.int32())
    table = pa.record_batch([["a", "b", "c"], partitions], names=["value", "partition"])
    with pytest.raises(BadRow, match=f"row 2 of this task: partition {number} of orders, which has 3 of them"):
        encoder(Layout(value=0, partition=1, topic_name="orders")).encode(table)


def test_a_header_needs_a_key() -> None:
    kind = pa.list_(pa.struct([("key", pa.string()), ("value", pa.binary())]))
    headers = pa.array([None, [], [{"key": "a", "value": None}, {"key": None, "value": b""}]], kind)
    table = pa.record_batch([["a", "b", "c"], headers], names=["value", "headers"])
    with pytest.raises(BadRow, match="row 2 of this task: a header has no key"):
        encoder(Layout(value=0, headers=1, topic_name="orders")).encode(table)


def test_a_record_that_no_request_can_hold_is_named() -> None:
    table = pa.record_batch([[b"a", bytes(2000)]], names=["value"])
    with pytest.raises(BadRow, match=r"row 1 of this task: a record of 20\d\d bytes; set kafka.max.request.size"):
        encoder(Layout(value=0, topic_name="orders"), record_bytes_max=2000).encode(table)


def test_rows_without_a_key_change_their_partition_with_each_batch() -> None:
    making = encoder(Layout(value=0, topic_name="orders"), batch_bytes_max=HEAD_SIZE + 1000)
    batches: list[Encoded] = []
    for _ in range(4):
        batches += making.encode(pa.record_batch([[bytes(100)] * 50], names=["value"]))
    rows = [sum(each.count for each in batches if each.place.partition == number) for number in range(3)]
    assert sum(rows) == 200
    assert min(rows) > 50


def test_batches_are_no_larger_than_the_topic_takes() -> None:
    batches = encoder(Layout(value=0, topic_name="returns")).encode(
        pa.record_batch([[bytes(100)] * 50], names=["value"])
    )
    assert sum(each.count for each in batches) == 50
    assert max(len(each.batch) for each in batches) <= 400


def test_nothing_comes_of_no_rows() -> None:
    making = encoder(Layout(value=0, topic_name="orders"))
    assert making.encode(pa.record_batch([pa.array([], pa.string())], names=["value"])) == []
    assert making.row_count == 0
