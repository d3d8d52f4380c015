"""Rows become the records that a plain encoder would make of them, each in its partition, in order."""

from random import Random
from typing import Any, NamedTuple

import numpy as np
import pyarrow as pa
from hypothesis import example, given
from hypothesis import strategies as st

from odradek.model.numbers import Offset, ProducerId, TimestampMs
from odradek.model.topic_partition import TopicPartition
from odradek.records.batch import HEAD_SIZE, Codec, check_crc, parse_head
from odradek.records.record import read_records
from odradek.spark.sink import kernel
from odradek.spark.sink.encoding import Encoder, EncodingSetting, TopicShape
from odradek.spark.sink.layout import Layout
from odradek.spark.sink.producer import Batch, Identity, Producer, ProducerSetting

PARTITIONS = {"orders": 3, "returns": 1, "clicks": 7}
NOW = TimestampMs(1_700_000_000_000)


class Row(NamedTuple):
    key: bytes | None
    value: bytes | None
    headers: tuple[tuple[str, bytes | None], ...] | None
    topic: str
    partition: int | None


BYTES = st.none() | st.binary(max_size=80) | st.sampled_from((bytes(63), bytes(64), bytes(8191), bytes(9000)))
HEADERS = st.none() | st.lists(st.tuples(st.text(max_size=70), BYTES), max_size=3).map(tuple)
ROWS = st.lists(st.builds(Row, BYTES, BYTES, HEADERS, st.sampled_from(sorted(PARTITIONS)), st.just(0) | st.none()))
LAYOUT = Layout(key=0, value=1, headers=2, topic=3, partition=4)


def table_of(rows: list[Row], *, large: bool = False) -> pa.RecordBatch:
    binary, text = (pa.large_binary(), pa.large_string()) if large else (pa.binary(), pa.string())
    header = pa.struct([("key", text), ("value", binary)])
    headers = [None if row.headers is None else [{"key": k, "value": v} for k, v in row.headers] for row in rows]
    columns: list[tuple[list[Any], pa.DataType]] = [
        ([row.key for row in rows], binary),
        ([row.value for row in rows], binary),
        (headers, pa.large_list(header) if large else pa.list_(header)),
        ([row.topic for row in rows], text),
        ([row.partition for row in rows], pa.int32()),
    ]
    arrays = [pa.array(values, kind) for values, kind in columns]
    return pa.record_batch(arrays, names=["key", "value", "headers", "topic", "partition"])


def encoder(batch_bytes_max: int = 1 << 20, *, hashed: bool = False) -> Encoder:
    setting = EncodingSetting(batch_bytes_max=batch_bytes_max, record_bytes_max=1 << 20, hashed=hashed)
    return Encoder(LAYOUT, setting, lambda name: TopicShape(PARTITIONS[name]), Random(0))


def producer(codec: Codec = Codec.NONE) -> Producer:
    return Producer(None, ProducerSetting(codec=codec), Identity(ProducerId(7), 2))  # type: ignore[arg-type]  # sends nothing


def murmur2(key: bytes) -> int:
    """As Kafka's Java client has it, in Python's numbers."""
    h = (0x9747B28C ^ len(key)) & 0xFFFFFFFF
    for at in range(0, len(key) - len(key) % 4, 4):
        k = int.from_bytes(key[at : at + 4], "little") * 0x5BD1E995 & 0xFFFFFFFF
        k = (k ^ k >> 24) * 0x5BD1E995 & 0xFFFFFFFF
        h = (h * 0x5BD1E995 & 0xFFFFFFFF) ^ k
    rest = key[len(key) - len(key) % 4 :]
    if rest:
        h = (h ^ int.from_bytes(rest, "little")) * 0x5BD1E995 & 0xFFFFFFFF
    h = (h ^ h >> 13) * 0x5BD1E995 & 0xFFFFFFFF
    return (h ^ h >> 15) & 0x7FFFFFFF


def read_back(batches: list[Batch]) -> dict[TopicPartition, list[tuple[Any, ...]]]:
    found: dict[TopicPartition, list[tuple[Any, ...]]] = {}
    sequences: dict[TopicPartition, int] = {}
    for batch in batches:
        view = memoryview(batch.content)
        head = parse_head(view)
        check_crc(view, head)
        assert head.base_sequence == sequences.get(batch.place, 0)
        sequences[batch.place] = head.base_sequence + head.count
        assert (head.producer_id, head.producer_epoch, head.base_timestamp, head.max_timestamp) == (7, 2, NOW, NOW)
        records = list(read_records(view, head))
        assert [record.offset for record in records] == [Offset(number) for number in range(head.count)]
        assert all(record.timestamp == NOW for record in records)
        found.setdefault(batch.place, []).extend((record.key, record.value, record.headers) for record in records)
    return found


@given(ROWS, st.sampled_from(Codec), st.integers(HEAD_SIZE + 10, 3000), st.booleans())
@example([], Codec.NONE, 200, False)
@example([Row(None, None, None, "orders", None)], Codec.NONE, 200, False)
def test_rows_are_the_records_of_their_partitions(rows: list[Row], codec: Codec, size: int, large: bool) -> None:
    making, sealing = encoder(size), producer(codec)
    batches = [sealing.seal(each, NOW) for each in making.encode(table_of(rows, large=large))]
    found = read_back(batches)
    for name, count in PARTITIONS.items():
        mine = [row for row in rows if row.topic == name]
        for number in range(count):
            records = found.get(TopicPartition(name, number), [])
            placed = [row for row in mine if row.partition == number or (row.partition is None and row.key is not None)]
            wanted = [
                (row.key, row.value, row.headers or ())
                for row in placed
                if row.partition == number or murmur2(row.key or b"") % count == number
            ]
            sticky = [
                (row.key, row.value, row.headers or ()) for row in mine if row.key is None and row.partition is None
            ]
            assert [each for each in records if each not in sticky] == [each for each in wanted if each not in sticky]
    every = sorted(map(repr, (record for records in found.values() for record in records)))
    assert every == sorted(repr((row.key, row.value, row.headers or ())) for row in rows)


@given(ROWS, st.integers(HEAD_SIZE + 10, 3000))
def test_a_batch_is_larger_than_the_limit_only_for_a_single_record(rows: list[Row], size: int) -> None:
    for each in encoder(size).encode(table_of(rows)):
        assert len(each.batch) <= size or each.count == 1


@given(ROWS, st.randoms(use_true_random=False), st.integers(0, 5))
def test_the_hash_knows_no_order_and_no_chunks(rows: list[Row], rng: Random, at: int) -> None:
    straight, other, skipping = encoder(hashed=True), encoder(hashed=True), encoder()
    straight.encode(table_of(rows))
    skipping.skip(table_of(rows, large=True))
    mixed = rng.sample(rows, len(rows))
    other.encode(table_of(mixed[:at]))
    other.encode(table_of(mixed[at:]))
    assert straight.row_hash == other.row_hash == skipping.row_hash
    assert straight.row_count == other.row_count == skipping.row_count == len(rows)


@given(ROWS.filter(bool), st.data())
def test_the_hash_knows_every_part_of_a_row(rows: list[Row], data: st.DataObject) -> None:
    number = data.draw(st.integers(0, len(rows) - 1))
    row = rows[number]
    changes = {
        "key": b"" if row.key is None else None,
        "value": (row.value or b"") + b"\0",
        "headers": (*(row.headers or ()), ("more", None)),
        "topic": "returns" if row.topic == "orders" else "orders",
        "partition": 0 if row.partition is None else None,
    }
    name = data.draw(st.sampled_from(sorted(changes)))
    changed = [*rows[:number], row._replace(**{name: changes[name]}), *rows[number + 1 :]]  # type: ignore[arg-type]
    before, after = encoder(hashed=True), encoder(hashed=True)
    before.encode(table_of(rows))
    after.encode(table_of(changed))
    assert before.row_hash != after.row_hash


@given(ROWS, st.integers(0, 3), st.integers(0, 3))
def test_a_slice_is_what_was_sliced(rows: list[Row], front: int, back: int) -> None:
    end = max(len(rows) - back, front)
    whole, part = encoder(hashed=True), encoder(hashed=True)
    sliced = whole.encode(table_of(rows).slice(front, end - front))
    copied = part.encode(table_of(rows[front:end]))
    assert [(each.place, bytes(each.batch[HEAD_SIZE:])) for each in sliced] == [
        (each.place, bytes(each.batch[HEAD_SIZE:])) for each in copied
    ]
    assert whole.row_hash == part.row_hash


@given(st.binary(max_size=40))
def test_murmur2_is_that_of_plain_numbers(key: bytes) -> None:
    assert kernel.murmur2(np.frombuffer(key, np.uint8), 0, len(key)) == murmur2(key)
