import pyarrow as pa
import pytest
from pyspark.sql.pandas.types import to_arrow_schema
from pyspark.sql.types import (
    ArrayType,
    BinaryType,
    IntegerType,
    LongType,
    StringType,
    StructField,
    StructType,
    TimestampType,
)

from odradek.model.numbers import Offset, TimestampMs
from odradek.records.batch import Codec, parse_head, write_head
from odradek.records.builder import BatchSpec, build_batch
from odradek.records.record import Record
from odradek.spark.reading.batches import split, visible
from odradek.spark.reading.columns import ALL_COLUMNS, PLAIN_COLUMNS, arrow_schema
from odradek.spark.reading.decode import Decoder
from odradek.spark.reading.errors import CorruptRecords
from odradek.spark.reading.range import Range, ReadSetting

HEADER = StructType([StructField("key", StringType()), StructField("value", BinaryType())])
SPARK_SCHEMA = StructType(
    [
        StructField("key", BinaryType()),
        StructField("value", BinaryType()),
        StructField("topic", StringType()),
        StructField("partition", IntegerType()),
        StructField("offset", LongType()),
        StructField("timestamp", TimestampType()),
        StructField("timestampType", IntegerType()),
        StructField("headers", ArrayType(HEADER)),
    ]
)


def decode(log: list[bytearray], columns: tuple[str, ...] = ALL_COLUMNS, rows_max: int = 100) -> list[pa.RecordBatch]:
    setting = ReadSetting(bootstrap="", columns=columns, batch_rows_max=rows_max)
    decoder = Decoder(Range("orders", bytes(16), 0, 0, 1 << 40), setting)
    return list(decoder.decode(visible(split(memoryview(b"".join(log)), "orders-0", 0), (), "orders-0")))


def batch(offset: int, count: int = 1, codec: Codec = Codec.NONE, value: bytes = b"v") -> bytearray:
    records = [Record(Offset(offset + number), TimestampMs(0), None, value) for number in range(count)]
    return build_batch(records, BatchSpec(base_offset=Offset(offset), codec=codec))


def test_the_schema_is_what_pyspark_expects() -> None:
    assert arrow_schema(ALL_COLUMNS).equals(to_arrow_schema(SPARK_SCHEMA, timezone="UTC"))
    assert tuple(SPARK_SCHEMA.names) == ALL_COLUMNS
    narrow = StructType([SPARK_SCHEMA["value"], SPARK_SCHEMA["timestamp"]])
    assert arrow_schema(("value", "timestamp")).equals(to_arrow_schema(narrow, timezone="UTC"))


def test_batches_of_one_buffer_become_one_record_batch() -> None:
    (found,) = decode([batch(0, 5), batch(5, 3), batch(8)], PLAIN_COLUMNS)
    assert found.column("offset").to_pylist() == list(range(9))


def test_rows_are_bounded() -> None:
    sizes = [each.num_rows for each in decode([batch(0, 25), batch(25, 5)], rows_max=10)]
    assert sizes == [10, 10, 10]


def test_plain_and_compressed_batches_may_alternate() -> None:
    codecs = [Codec.NONE, Codec.ZSTD, Codec.LZ4, Codec.NONE, Codec.GZIP, Codec.SNAPPY, Codec.NONE]
    log = [batch(number * 2, 2, codec, b"value of %d" % number) for number, codec in enumerate(codecs)]
    rows = [row for each in decode(log, ("offset", "value")) for row in each.to_pylist()]
    assert rows == [{"offset": offset, "value": b"value of %d" % (offset // 2)} for offset in range(14)]


def test_what_inflates_to_more_than_the_memory_kept_for_it_is_decoded_in_parts() -> None:
    value = bytes(1 << 20)
    found = decode([batch(number * 5, 5, Codec.ZSTD, value) for number in range(4)], ("offset", "value"))
    assert len(found) > 1
    assert [offset for each in found for offset in each.column("offset").to_pylist()] == list(range(20))
    assert all(each == value for part in found for each in part.column("value").to_pylist())


def test_rows_of_before_stay_as_they_are_when_memory_is_used_again() -> None:
    setting = ReadSetting(bootstrap="", columns=("value",))
    decoder = Decoder(Range("orders", bytes(16), 0, 0, 1 << 40), setting)
    kept: list[pa.RecordBatch] = []
    for number in range(3):
        raw = memoryview(bytearray(batch(number, 1, Codec.ZSTD, b"value of %d" % number)))
        kept += decoder.decode(visible(split(raw, "orders-0", 0), (), "orders-0"))
        raw[:] = bytes(len(raw))
    assert [each.column(0).to_pylist() for each in kept] == [[b"value of %d" % number] for number in range(3)]


def test_a_count_that_cannot_be_true_takes_no_memory() -> None:
    lying = batch(3, 2)
    write_head(lying, parse_head(lying)._replace(count=1 << 30))
    with pytest.raises(CorruptRecords, match=r"at offset 3: 1073741824 records in 1\d bytes"):
        decode([batch(0, 3), lying])
