"""The options of the source: those of Spark's own Kafka connector, and some more that are told in the docs."""

import logging
import re
from collections.abc import Mapping
from dataclasses import dataclass

from odradek.model.address import parse_address
from odradek.model.errors import InvalidConfig
from odradek.model.topic_partition import TopicPartition
from odradek.spark.edges import AtOffsets, AtTime, AtTimes, Edge, Everywhere, Subscription
from odradek.spark.given_options import INT32_MAX, INT64_MAX, GivenOptions, InvalidOption
from odradek.spark.offsets import EARLIEST, LATEST, InvalidOffsets, parse_numbers, parse_partitions
from odradek.spark.reading.columns import ALL_COLUMNS, HEADERS, PLAIN_COLUMNS
from odradek.spark.reading.range import ReadSetting

log = logging.getLogger(__name__)

_SUBSCRIPTIONS = ("subscribe", "subscribePattern", "assign")
_PER_TRIGGER = ("maxOffsetsPerTrigger", "minOffsetsPerTrigger", "maxTriggerDelay", "maxBytesPerTrigger")
_ENDINGS = ("endingTimestamp", "endingOffsetsByTimestamp", "endingOffsets")
_STRATEGY = "startingOffsetsByTimestampStrategy"
_RESOLVE = "resolveOffsets"
_NARROW = "narrowByFilters"
_PLAIN = (
    *_SUBSCRIPTIONS,
    *("startingTimestamp", "startingOffsetsByTimestamp", "startingOffsets", _STRATEGY),
    *_ENDINGS,
    *_PER_TRIGGER,
    *("failOnDataLoss", "minPartitions", "maxPartitions", "maxRecordsPerPartition", "groupIdPrefix"),
    *("includeHeaders", "columns"),
    *(_RESOLVE, _NARROW),
    *("kafkaConsumer.pollTimeoutMs", "fetchOffset.numRetries", "fetchOffset.retryIntervalMs"),
)
BOOTSTRAP = "kafka.bootstrap.servers"
_KAFKA = (
    *(BOOTSTRAP, "kafka.group.id", "kafka.client.id", "kafka.isolation.level"),
    *("kafka.max.partition.fetch.bytes", "kafka.fetch.max.bytes", "kafka.fetch.max.wait.ms"),
    *("kafka.request.timeout.ms", "kafka.default.api.timeout.ms", "kafka.socket.connection.setup.timeout.ms"),
    "kafka.security.protocol",
    # Of members of a group, which nobody is here: taken, so that a job needs no change, and without effect.
    *("kafka.max.poll.interval.ms", "kafka.session.timeout.ms", "kafka.heartbeat.interval.ms"),
    *("kafka.max.poll.records", "kafka.fetch.min.bytes"),
)
_REFUSED = {
    "kafka.auto.offset.reset": "say where to start with startingOffsets; a checkpoint goes on where it ended",
    "kafka.enable.auto.commit": "leave it out: progress is committed as soon as a batch is done",
    "kafka.key.deserializer": "leave it out: keys come as bytes, and DataFrame operations read them",
    "kafka.value.deserializer": "leave it out: values come as bytes, and DataFrame operations read them",
    "kafka.interceptor.classes": "leave it out: no class of Kafka's clients runs here",
    "path": "name topics with subscribe, subscribePattern or assign, and call load() with nothing",
}

ROWS_PER_TRIGGER = 5_000_000
BYTES_PER_TRIGGER = 512 << 20
"""Both limits hold where no option names one of its own: what piled up in an outage comes in several batches."""
_FETCH_BYTES_MOST = 256 << 20
"""However much may be fetched at a time: an answer of more than 1 GiB is taken for no answer of Kafka's, and a batch
comes whole, whatever the limit."""
_TRIGGER_DELAY_MS = 15 * 60_000
_GROUP_PREFIX = "odradek-spark"
_ISOLATION_LEVELS = ("read_uncommitted", "read_committed")
_OFFSETS_EXAMPLE = '{"orders": {"0": 23, "1": -1}}'
_TIMES_EXAMPLE = '{"orders": {"0": 1767225600000}}'


@dataclass(frozen=True, slots=True, kw_only=True)
class Limits:
    """How much one batch of a stream has."""

    rows_max: int | None
    bytes_max: int | None
    rows_min: int | None
    delay_ms_max: int
    """A batch with less than `rows_min` waits no longer than this."""


@dataclass(frozen=True, slots=True, kw_only=True)
class SourceOptions:
    subscription: Subscription
    starting: Edge
    ending: Edge
    latest_if_none_so_late: bool
    """Where a time to start at has no record at or after it: start at the end, else that is an error."""
    resolve_when_read: bool
    """Each task of a batch query looks up where its partition starts and ends, not the planner."""
    narrow_by_filters: bool
    """Filters that Spark pushes down narrow what is fetched."""
    pieces_min: int | None
    piece_rows_max: int | None
    tasks_max: int | None
    limits: Limits
    group_id: str | None
    """Named by the user."""
    group_prefix: str
    lookup_timeout_s: float | None
    """None where it is not given."""
    """For what the driver asks of the cluster, with all retries."""
    reading: ReadSetting

    @property
    def starts_at_end(self) -> bool:
        """Whether that may be, in some partition: then it is another offset each time that it is looked up."""
        match self.starting:
            case Everywhere(offset):
                return offset == LATEST
            case AtOffsets(offsets):
                return LATEST in offsets.values()
            case _:
                return self.latest_if_none_so_late


def source_options(options: Mapping[str, str], *, streaming: bool | None) -> SourceOptions:
    """Raises InvalidOption, with the name that the user knows and what to do.

    `streaming` is None while Spark does not tell: then what holds for only one of the two is not checked.
    """
    given = GivenOptions(options)
    given.refuse_others((*_PLAIN, *_KAFKA), _REFUSED, "source")
    starting = _edge(given, "starting", LATEST if streaming else EARLIEST)
    ending = _edge(given, "ending", LATEST)
    if streaming:
        for name in _ENDINGS:
            if name in given:
                raise InvalidOption(name, "a stream has no end", "leave it out, or use read instead of readStream")
    elif streaming is not None:
        _check_batch(given, starting, ending)
    strategy = given.choice(_STRATEGY, ("error", "latest"))
    return SourceOptions(
        subscription=_subscription(given),
        starting=starting,
        ending=ending,
        latest_if_none_so_late=strategy == "latest",
        resolve_when_read=_resolve_when_read(given, starting, ending, streaming),
        narrow_by_filters=_narrow_by_filters(given, streaming),
        pieces_min=given.whole("minPartitions"),
        piece_rows_max=given.whole("maxRecordsPerPartition"),
        tasks_max=_tasks_max(given),
        limits=_limits(given),
        group_id=given.text("kafka.group.id"),
        group_prefix=given.text("groupIdPrefix") or _GROUP_PREFIX,
        lookup_timeout_s=_lookup_timeout_s(given),
        reading=_reading(given),
    )


def _lookup_timeout_s(given: GivenOptions) -> float | None:
    given_ms = given.whole("kafka.default.api.timeout.ms")
    return None if given_ms is None else given_ms / 1000


def _subscription(given: GivenOptions) -> Subscription:
    named = [name for name in _SUBSCRIPTIONS if name in given]
    if len(named) != 1:
        why = f"given together with {' and '.join(named[1:])}" if named else "it is missing"
        raise InvalidOption(named[0] if named else "subscribe", why, f"give just one of {', '.join(_SUBSCRIPTIONS)}")
    (name,) = named
    text = given.text(name) or ""
    if not text:
        raise InvalidOption(name, "it is empty", "name at least one topic")
    match name:
        case "assign":
            try:
                partitions = parse_partitions(text)
            except InvalidOffsets as error:
                raise InvalidOption(name, str(error), "give topics with lists of partitions") from None
            if not partitions:
                raise InvalidOption(name, "it has no partition", "name at least one")
            return Subscription(partitions=partitions)
        case "subscribe":
            topics = sorted({each.strip() for each in text.split(",")} - {""})
            if not topics:
                raise InvalidOption(name, "it has no topic", "name at least one")
            return Subscription(topics=tuple(topics))
        case _:
            return Subscription(pattern=_pattern(text))


def _pattern(text: str) -> str:
    try:
        re.compile(text)
    except re.error as error:
        raise InvalidOption("subscribePattern", f"{text!r} is no pattern ({error})", "write it for Python") from None
    return text


def _edge(given: GivenOptions, which: str, default: int) -> Edge:
    """`which` is starting or ending. A time goes before times of partitions, and these before offsets."""
    time, times, offsets = f"{which}Timestamp", f"{which}OffsetsByTimestamp", f"{which}Offsets"
    if time in given:
        return AtTime(given.whole(time, least=0) or 0, time)
    if times in given:
        return AtTimes(_numbers(given, times, _TIMES_EXAMPLE, least=0), times)
    text = given.text(offsets)
    if text is None:
        return Everywhere(default)
    if text.lower() in ("earliest", "latest"):
        return Everywhere(EARLIEST if text.lower() == "earliest" else LATEST)
    if not text.startswith("{"):
        raise InvalidOption(offsets, f"{text!r} does not do", f"give earliest, latest or {_OFFSETS_EXAMPLE}")
    return AtOffsets(_numbers(given, offsets, _OFFSETS_EXAMPLE, least=EARLIEST), offsets)


def _numbers(given: GivenOptions, name: str, example: str, least: int) -> dict[TopicPartition, int]:
    try:
        found = parse_numbers(given.text(name) or "", example)
    except InvalidOffsets as error:
        raise InvalidOption(name, str(error), "mend the JSON") from None
    for partition, number in found.items():
        if not least <= number < 1 << 63:
            raise InvalidOption(name, f"{number} for {partition} does not do", f"give at least {least}")
    return found


def _check_batch(given: GivenOptions, starting: Edge, ending: Edge) -> None:
    for name, edge, wrong, word in (
        ("startingOffsets", starting, LATEST, "latest"),
        ("endingOffsets", ending, EARLIEST, "earliest"),
    ):
        at = edge.offsets if isinstance(edge, AtOffsets) else {}
        if edge == Everywhere(wrong) or wrong in at.values():
            leaves = f"{word} ({wrong}) leaves nothing to read" if at else f"{word} leaves nothing to read"
            raise InvalidOption(name, leaves, "give another, or use readStream")
    if isinstance(starting, AtOffsets) and isinstance(ending, AtOffsets):
        _check_order(starting.offsets, ending.offsets, "endingOffsets")
    if isinstance(starting, AtTimes) and isinstance(ending, AtTimes):
        _check_order(starting.times_ms, ending.times_ms, "endingOffsetsByTimestamp")
    if isinstance(starting, AtTime) and isinstance(ending, AtTime) and starting.time_ms > ending.time_ms:
        why = f"{ending.time_ms} is before the start, {starting.time_ms}"
        raise InvalidOption(ending.option, why, "mend one of the two")
    for name in _PER_TRIGGER:
        if name in given:
            log.warning("option %s has no effect on a batch query", name)


def _resolve_when_read(given: GivenOptions, starting: Edge, ending: Edge, streaming: bool | None) -> bool:
    if given.choice(_RESOLVE, ("plan", "read")) != "read":
        return False
    if streaming:
        raise InvalidOption(_RESOLVE, "a stream looks for new offsets all the time", "leave it out")
    if streaming is not None and (starting, ending) != (Everywhere(EARLIEST), Everywhere(LATEST)):
        raise InvalidOption(_RESOLVE, "read is for all that a topic has", "leave out where to start and to end")
    return True


def _narrow_by_filters(given: GivenOptions, streaming: bool | None) -> bool:
    wanted = given.flag(_NARROW, False)
    if wanted and streaming:
        raise InvalidOption(_NARROW, "Spark pushes no filters to a stream", "leave it out")
    return wanted


def _check_order(starts: Mapping[TopicPartition, int], ends: Mapping[TopicPartition, int], option: str) -> None:
    for partition in sorted(starts.keys() ^ ends.keys()):
        raise InvalidOption(option, f"{partition} has a start or an end, not both", "name the same partitions in both")
    for partition, start in starts.items():
        if start > ends[partition] >= 0:
            why = f"{partition} would end at {ends[partition]}, before its start, {start}"
            raise InvalidOption(option, why, "mend one of the two")


def _tasks_max(given: GivenOptions) -> int | None:
    for name in ("minPartitions", "maxRecordsPerPartition"):
        if name in given and "maxPartitions" in given:
            raise InvalidOption("maxPartitions", f"{name} asks for more tasks", "give just one of the two")
    return given.whole("maxPartitions")


def _limits(given: GivenOptions) -> Limits:
    rows, size = given.whole("maxOffsetsPerTrigger"), given.whole("maxBytesPerTrigger")
    least = given.whole("minOffsetsPerTrigger")
    if rows is not None and least is not None and least > rows:
        raise InvalidOption("minOffsetsPerTrigger", f"{least} is above maxOffsetsPerTrigger, {rows}", "lower it")
    if rows is None and size is None:
        rows, size = max(ROWS_PER_TRIGGER, least or 0), BYTES_PER_TRIGGER
    delay_ms = given.time_ms("maxTriggerDelay")
    return Limits(
        rows_max=rows, bytes_max=size, rows_min=least, delay_ms_max=_TRIGGER_DELAY_MS if delay_ms is None else delay_ms
    )


def _reading(given: GivenOptions) -> ReadSetting:
    default = ReadSetting(bootstrap="")
    if (protocol := given.text("kafka.security.protocol")) not in (None, "PLAINTEXT"):
        raise InvalidOption("kafka.security.protocol", f"{protocol!r} is not there yet", "use a PLAINTEXT listener")
    sizes = [given.whole(name, most=INT32_MAX) for name in ("kafka.max.partition.fetch.bytes", "kafka.fetch.max.bytes")]
    wait_ms = given.whole("kafka.fetch.max.wait.ms", least=0, most=INT32_MAX)
    return ReadSetting(
        bootstrap=_bootstrap(given),
        columns=_columns(given),
        read_committed=given.choice("kafka.isolation.level", _ISOLATION_LEVELS) == "read_committed",
        fail_on_data_loss=given.flag("failOnDataLoss", True),
        fetch_bytes_max=min(min(filter(None, sizes), default=default.fetch_bytes_max), _FETCH_BYTES_MOST),
        fetch_wait_ms=default.fetch_wait_ms if wait_ms is None else wait_ms,
        timeout_s=_seconds(given, "kafkaConsumer.pollTimeoutMs", default.timeout_s),
        request_timeout_s=_seconds(given, "kafka.request.timeout.ms", default.request_timeout_s, INT32_MAX),
        connect_timeout_s=_seconds(
            given, "kafka.socket.connection.setup.timeout.ms", default.connect_timeout_s, INT32_MAX
        ),
        client_id=given.text("kafka.client.id") or default.client_id,
    )


def _seconds(given: GivenOptions, name: str, default: float, most_ms: int = INT64_MAX) -> float:
    time_ms = given.whole(name, most=most_ms)
    return default if time_ms is None else time_ms / 1000


def _bootstrap(given: GivenOptions) -> str:
    text = given.text(BOOTSTRAP)
    if not text:
        raise InvalidOption(BOOTSTRAP, "it is missing", "give host:port of a broker, for example localhost:9092")
    try:
        for each in text.split(","):
            parse_address(each.strip())
    except InvalidConfig as error:
        raise InvalidOption(BOOTSTRAP, str(error), "give host:port,host:port") from None
    return text


def _columns(given: GivenOptions) -> tuple[str, ...]:
    text = given.text("columns")
    with_headers = given.flag("includeHeaders", False)
    if text is None:
        return (*PLAIN_COLUMNS, HEADERS) if with_headers else PLAIN_COLUMNS
    by_name = {name.lower(): name for name in ALL_COLUMNS}
    found = []
    for name in (each.strip() for each in text.split(",")):
        column = by_name.get(name.lower())
        if column is None:
            raise InvalidOption("columns", f"there is no column {name!r}", f"choose from {', '.join(ALL_COLUMNS)}")
        if column in found:
            raise InvalidOption("columns", f"{column} is named twice", "name it once")
        found.append(column)
    return tuple(found)
