"""Records to events: what each says, and if not all is right with it, why it counts for nothing.

A batch and a stream judge alike: all that decides is in the record itself. The session must be in UTC.
"""

from pyspark.sql import Column, DataFrame
from pyspark.sql import functions as f

from odradek.model.errors import OdradekError
from odradek.pipelines.contract import APART_MS, FUTURE_MS, LATE_MS, TEXT_BYTES_MAX, TIME, Field, Form, Reason

WATERMARK = f"{LATE_MS + APART_MS} milliseconds"
"""How far behind the newest event a window is kept."""

_TIME_FORMAT = "yyyy-MM-dd'T'HH:mm:ss.SSS'Z'"
_TYPES = {str: "string", int: "long", float: "double"}
_BAD = "_bad"


class NotUtc(OdradekError):
    def __init__(self, zone: str) -> None:
        super().__init__(f"spark.sql.session.timeZone is {zone}; set it to UTC, in which all times are written")


def accepted(records: DataFrame, form: Form) -> DataFrame:
    """The fields of events that count, `time` as a timestamp, with the place of each: topic, partition, offset."""
    event, time = _parts(form)
    fields = [event[field.name].alias(field.name) for field in form.fields]
    good = judged(records, form).where(reason_of(form).isNull())
    return good.select("key", *fields, time.alias(TIME), "topic", "partition", "offset")


def judged(records: DataFrame, form: Form, where: Column | None = None) -> DataFrame:
    """Records with a column more, named like the form, that `reason_of` looks at; only those `where` it says so are
    looked at as this form.

    Each value is parsed once. Spark would parse it in every expression that uses a field of it; but it does not touch
    what an array is unfolded to.
    """
    check_session(records)
    event = _event_of(form) if where is None else f.when(where, _event_of(form))
    parsed = f.transform(f.array(event), lambda each: f.struct(each.alias("event"), _moment_of(each).alias(TIME)))
    return records.select("*", f.explode(parsed).alias(form.name))


def _parts(form: Form) -> tuple[Column, Column]:
    """The fields of an event as they are, and its time as a timestamp, null where it says none."""
    return f.col(f"{form.name}.event"), f.col(f"{form.name}.{TIME}")


def check_session(records: DataFrame) -> None:
    zone = records.sparkSession.conf.get("spark.sql.session.timeZone")
    if zone != "UTC":
        raise NotUtc(str(zone))


def _event_of(form: Form) -> Column:
    """A struct of the fields, each null where it is missing or of another type; null for a value that is empty."""
    fields = ", ".join(f"{field.name} {_TYPES[field.type]}" for field in form.fields)
    schema = f"{fields}, {TIME} string, {_BAD} string"
    return f.from_json(_text(), schema, {"columnNameOfCorruptRecord": _BAD})


def reason_of(form: Form) -> Column:
    """Why it counts for nothing, or null. For records as `judged` gives them."""
    event, time = _parts(form)
    names = [*(field.name for field in form.fields), TIME]
    absent = f.coalesce(*(f.when(event[name].isNull(), f.lit(name)) for name in names))
    bad = event[_BAD].isNotNull()
    is_object = f.expr("try_parse_json(string(value)) IS NOT NULL") & f.ltrim(_text()).startswith("{")
    behind_ms = f.unix_millis("timestamp") - f.unix_millis(time)
    reason = (
        f.when(event.isNull(), Reason.EMPTY)
        .when(bad & ~is_object, Reason.NOT_JSON)
        .when(bad, f.concat(f.lit(f"{Reason.WRONG_TYPE}:"), f.coalesce(absent, f.lit("?"))))
        .when(absent.isNotNull(), f.concat(f.lit(f"{Reason.MISSING}:"), absent))
        .when(time.isNull(), Reason.BAD_TIME)
    )
    for field in form.fields:
        reason = reason.when(~_is_inside(field, event[field.name]), Reason.of_field(Reason.OUT_OF_RANGE, field.name))
    long_key = f.octet_length("key") > TEXT_BYTES_MAX
    reason = reason.when(long_key, Reason.of_field(Reason.OUT_OF_RANGE, Reason.KEY))
    return reason.when(behind_ms > LATE_MS, Reason.LATE).when(behind_ms < -FUTURE_MS, Reason.FUTURE)


def _is_inside(field: Field, value: Column) -> Column:
    if field.least is not None and field.most is not None:
        return value.between(field.least, field.most)
    return f.octet_length(value) <= TEXT_BYTES_MAX


def _moment_of(event: Column) -> Column:
    return f.try_to_timestamp(event[TIME], f.lit(_TIME_FORMAT))


def time_text(moment: Column) -> Column:
    return f.date_format(moment, _TIME_FORMAT)


def result(key: Column, *fields: Column) -> list[Column]:
    """What a sink takes: a key, and the fields as JSON in this order, without those that are null."""
    return [key.alias("key"), f.to_json(f.struct(*fields)).alias("value")]


def _text() -> Column:
    return f.col("value").cast("string")
