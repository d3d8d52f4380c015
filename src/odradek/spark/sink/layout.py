"""Where in the rows the parts of a record are. Checked when a write is planned, before any task runs."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from odradek.spark.sink.errors import BadSchema

if TYPE_CHECKING:
    from pyspark.sql.types import DataType, StructType

_HEADERS = "ARRAY<STRUCT<key: STRING, value: BINARY>>"


@dataclass(frozen=True, slots=True, kw_only=True)
class Layout:
    """Numbers of columns; None for those that are not there."""

    value: int
    key: int | None = None
    headers: int | None = None
    partition: int | None = None
    topic: int | None = None
    topic_name: str | None = None
    """The topic of all rows, whatever their own column says."""


def layout_of(schema: StructType, topic_name: str | None) -> Layout:
    """Columns that records have no place for are left out. Raises BadSchema."""
    numbers = {field.name: number for number, field in enumerate(schema.fields)}
    for number, field in enumerate(schema.fields):
        if numbers[field.name] != number:  # rows get to Python with a name for each
            raise BadSchema(f"there is more than one column {field.name}: leave all but one out with a select")
    if "value" not in numbers:
        raise BadSchema(f"there is no column value; the columns are {', '.join(numbers) or 'none'}")
    if topic_name is None and "topic" not in numbers:
        raise BadSchema("there is no column topic; add one, or set the option topic")
    for field in schema.fields:
        wanted = None if field.name == "topic" and topic_name is not None else _WANTED.get(field.name)
        if wanted is not None and not _fits(field.name, field.dataType):
            found = field.dataType.simpleString()
            raise BadSchema(f"column {field.name} is {found}; it must be {wanted}: use a cast")
        if _has_months(field.dataType):  # pyarrow has no such type, and every column of a row comes through it
            found = field.dataType.simpleString()
            raise BadSchema(f"column {field.name} is {found}, which does not get to Python: leave it out with a select")
    return Layout(
        value=numbers["value"],
        key=numbers.get("key"),
        headers=numbers.get("headers"),
        partition=numbers.get("partition"),
        topic=numbers.get("topic"),
        topic_name=topic_name,
    )


def _has_months(kind: DataType) -> bool:
    from pyspark.sql.types import ArrayType, MapType, StructType, YearMonthIntervalType

    match kind:
        case YearMonthIntervalType():
            return True
        case ArrayType():
            return _has_months(kind.elementType)
        case MapType():
            return _has_months(kind.keyType) or _has_months(kind.valueType)
        case StructType():
            return any(_has_months(field.dataType) for field in kind.fields)
        case _:
            return False


_WANTED = {
    "value": "STRING or BINARY",
    "key": "STRING or BINARY",
    "topic": "STRING",
    "partition": "INT",
    "headers": _HEADERS,
}


def _fits(name: str, kind: DataType) -> bool:
    from pyspark.sql.types import ArrayType, BinaryType, IntegerType, NullType, StringType, StructType

    if name in ("value", "key"):
        return isinstance(kind, (StringType, BinaryType, NullType))
    if name == "topic":
        return isinstance(kind, StringType)
    if name == "partition":
        return isinstance(kind, IntegerType)
    if not isinstance(kind, ArrayType) or not isinstance(kind.elementType, StructType):
        return False
    fields = kind.elementType.fields
    return (
        [field.name for field in fields] == ["key", "value"]
        and isinstance(fields[0].dataType, StringType)
        and isinstance(fields[1].dataType, BinaryType)
    )
