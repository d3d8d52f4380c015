"""Which columns records are made of."""

import pytest
from pyspark.sql.types import (
    ArrayType,
    BinaryType,
    DataType,
    IntegerType,
    LongType,
    MapType,
    StringType,
    StructField,
    StructType,
    YearMonthIntervalType,
)

from odradek.spark.sink.errors import BadSchema
from odradek.spark.sink.layout import Layout, layout_of

BINARY, INT, LONG, STRING = BinaryType(), IntegerType(), LongType(), StringType()
MONTHS = YearMonthIntervalType()


def headers(name: str = "key", content: DataType = BINARY) -> ArrayType:
    return ArrayType(StructType([StructField(name, STRING), StructField("value", content)]))


def layout(topic: str | None = "orders", /, **columns: DataType) -> Layout:
    return layout_of(StructType([StructField(name, kind) for name, kind in columns.items()]), topic)


def test_columns_are_found_by_their_names() -> None:
    columns = {"headers": headers(), "value": BINARY, "partition": INT, "topic": STRING, "key": STRING}
    assert layout(None, other=INT, **columns) == Layout(headers=1, value=2, partition=3, topic=4, key=5)


def test_a_topic_for_all_rows() -> None:
    assert layout(value=STRING) == Layout(value=0, topic_name="orders")
    assert layout(value=STRING, topic=INT) == Layout(value=0, topic=1, topic_name="orders")


@pytest.mark.parametrize(
    ("columns", "said"),
    [
        ({"key": STRING}, "there is no column value; the columns are key"),
        ({"value": INT}, "column value is int; it must be STRING or BINARY: use a cast"),
        ({"value": STRING, "key": ArrayType(INT)}, "column key is array<int>; it must be STRING or BINARY"),
        ({"value": STRING, "partition": LONG}, "column partition is bigint; it must be INT"),
        ({"value": STRING, "headers": ArrayType(STRING)}, "column headers is array<string>; it must be ARRAY<STRUCT"),
        ({"value": STRING, "headers": headers(content=STRING)}, "column headers is array<struct"),
        ({"value": STRING, "headers": headers("name")}, "column headers is array<struct"),
        (
            {"value": STRING, "term": MONTHS},
            "column term is interval year to month, which does not get to Python: leave",
        ),
        ({"value": STRING, "terms": ArrayType(MONTHS)}, "column terms is array<interval"),
        ({"value": STRING, "terms": MapType(STRING, MONTHS)}, "column terms is map<string,interval"),
        ({"value": STRING, "plan": StructType([StructField("term", MONTHS)])}, "column plan is struct<term:interval"),
    ],
)
def test_refused(columns: dict[str, DataType], said: str) -> None:
    with pytest.raises(BadSchema, match=said):
        layout(**columns)


def test_each_column_has_a_name_of_its_own() -> None:
    twice = StructType([StructField("value", STRING), StructField("id", INT), StructField("id", INT)])
    with pytest.raises(BadSchema, match="there is more than one column id: leave all but one out with a select"):
        layout_of(twice, "orders")


def test_rows_need_a_topic() -> None:
    with pytest.raises(BadSchema, match="there is no column topic; add one, or set the option topic"):
        layout(None, value=STRING)
    with pytest.raises(BadSchema, match="column topic is int; it must be STRING"):
        layout(None, value=STRING, topic=INT)
