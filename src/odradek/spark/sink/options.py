"""The options of the sink: those of Spark's own Kafka connector, and those of writing exactly once."""

import re
from collections.abc import Mapping
from dataclasses import dataclass

from odradek.client.client import parse_bootstrap
from odradek.model.errors import InvalidConfig
from odradek.records.batch import HEAD_SIZE, Codec
from odradek.spark.given_options import INT32_MAX, INT64_MAX, GivenOptions, InvalidOption

_BOOTSTRAP = "kafka.bootstrap.servers"
_CREATE = "kafka.allow.auto.create.topics"
_ONCE = ("transactionalIdPrefix", "markerTopic", "kafka.transaction.timeout.ms")
_RERUN = ("txnAppId", "txnVersion")
_LEVELS = {codec: f"kafka.compression.{codec.name.lower()}.level" for codec in (Codec.GZIP, Codec.LZ4, Codec.ZSTD)}
_TAKEN = (
    *("topic", "exactlyOnce", *_ONCE, *_RERUN),
    *(_BOOTSTRAP, "kafka.client.id", "kafka.acks", "kafka.compression.type", *_LEVELS.values()),
    *("kafka.batch.size", "kafka.max.request.size", "kafka.security.protocol", _CREATE),
    *("kafka.delivery.timeout.ms", "kafka.request.timeout.ms", "kafka.max.block.ms"),
    # Of a producer that waits for more records, which a task does not: taken, so that a job needs no change.
    *("kafka.linger.ms", "kafka.buffer.memory", "kafka.retries", "kafka.max.in.flight.requests.per.connection"),
    *("includeHeaders",),  # the sink of Spark's connector takes it, too: headers are written wherever there are some
    *("checkpointLocation", "queryName"),  # Spark's own
)
_REFUSED = {
    "kafka.transactional.id": "set exactlyOnce, and transactionalIdPrefix for a name of its own",
    "kafka.enable.idempotence": "leave it out: with acks=all a task sends nothing twice, with acks=1 it may",
    "kafka.key.serializer": "leave it out: keys are bytes or strings",
    "kafka.value.serializer": "leave it out: values are bytes or strings",
    "kafka.interceptor.classes": "leave it out: no class of Kafka's clients runs here",
    "kafka.partitioner.class": "leave it out, or choose partitions in a column named partition",
    "path": "name the topic with the option topic, and call save() or start() with nothing",
}
_ACKS = {"all": -1, "-1": -1, "1": 1}
_NAME = re.compile(r"[a-zA-Z0-9._-]{1,249}")
_PREFIX = "odradek-spark-sink"
_TRANSACTION_TIMEOUT_MS = 900_000
"""The most that brokers allow by default: it has to last from a task's first record to the driver's commit."""
_BATCH_BYTES = 512 << 10
_REQUEST_BYTES = 1 << 20


@dataclass(frozen=True, slots=True, kw_only=True)
class ExactlyOnce:
    prefix: str
    marker_topic: str
    """At whose partition 0 markers are kept."""
    timeout_ms: int
    app_id: str | None
    """What makes the rerun of a batch write known, together with the version."""
    version: int | None


@dataclass(frozen=True, slots=True, kw_only=True)
class SinkOptions:
    """Plain and small: each task is sent it."""

    bootstrap: str
    client_id: str
    topic: str | None
    acks: int
    codec: Codec
    level: int | None
    batch_bytes_max: int
    request_bytes_max: int
    delivery_timeout_s: float
    request_timeout_s: float
    metadata_timeout_s: float
    creates_topics: bool
    """Where the broker's settings say so, too."""
    once: ExactlyOnce | None


def sink_options(options: Mapping[str, str], *, streaming: bool) -> SinkOptions:
    """Raises InvalidOption, with the name that the user knows and what to do."""
    given = GivenOptions(options)
    given.refuse_others(_TAKEN, _REFUSED, "sink")
    if (protocol := given.text("kafka.security.protocol")) not in (None, "PLAINTEXT"):
        raise InvalidOption("kafka.security.protocol", f"{protocol!r} is not there yet", "use a PLAINTEXT listener")
    topic = given.text("topic")
    if topic is not None:
        _check_topic("topic", topic)
    codec = given.choice("kafka.compression.type", tuple(each.name.lower() for each in Codec))
    acks = _acks(given)
    return SinkOptions(
        bootstrap=_bootstrap(given),
        client_id=given.text("kafka.client.id") or "odradek-spark",
        topic=topic,
        acks=acks,
        codec=Codec.NONE if codec is None else Codec[codec.upper()],
        level=_level(given, Codec.NONE if codec is None else Codec[codec.upper()]),
        batch_bytes_max=max(given.whole("kafka.batch.size", 0, INT32_MAX) or _BATCH_BYTES, 2 * HEAD_SIZE),
        request_bytes_max=given.whole("kafka.max.request.size", most=INT32_MAX) or _REQUEST_BYTES,
        delivery_timeout_s=_seconds(given, "kafka.delivery.timeout.ms", 120_000),
        request_timeout_s=_seconds(given, "kafka.request.timeout.ms", 30_000),
        metadata_timeout_s=_seconds(given, "kafka.max.block.ms", 60_000, INT64_MAX),
        creates_topics=given.flag(_CREATE, True),
        once=_once(given, topic, acks, streaming=streaming),
    )


def _bootstrap(given: GivenOptions) -> str:
    text = given.text(_BOOTSTRAP)
    if not text:
        raise InvalidOption(_BOOTSTRAP, "it is missing", "give host:port of a broker, for example localhost:9092")
    try:
        parse_bootstrap(text)
    except InvalidConfig as error:
        raise InvalidOption(_BOOTSTRAP, str(error), "give host:port,host:port") from None
    return text


def _check_topic(option: str, name: str) -> None:
    if not _NAME.fullmatch(name) or name in (".", ".."):
        raise InvalidOption(option, f"{name!r} is no name of a topic", "use letters, digits, '.', '_' and '-'")


def _acks(given: GivenOptions) -> int:
    text = given.text("kafka.acks")
    if text == "0":
        raise InvalidOption("kafka.acks", "0 would lose records unseen", "give 1 or all")
    return _ACKS[given.choice("kafka.acks", tuple(_ACKS)) or "all"]


def _level(given: GivenOptions, codec: Codec) -> int | None:
    for each, name in _LEVELS.items():
        if each is codec:
            return given.whole(name, least=-(1 << 17))
    return None


def _seconds(given: GivenOptions, name: str, default_ms: int, most_ms: int = INT32_MAX) -> float:
    return (given.whole(name, most=most_ms) or default_ms) / 1000


def _once(given: GivenOptions, topic: str | None, acks: int, *, streaming: bool) -> ExactlyOnce | None:
    if not given.flag("exactlyOnce", False):
        for name in (*_ONCE, *_RERUN):
            if name in given:
                raise InvalidOption(name, "it has no effect without exactlyOnce", "set exactlyOnce to true")
        return None
    if acks != -1:
        raise InvalidOption("kafka.acks", "exactlyOnce needs all", "leave it out")
    marker_topic = given.text("markerTopic") or topic
    if marker_topic is None:
        raise InvalidOption(
            "markerTopic",
            "it is missing, as rows name their topics",
            "name a topic whose partition 0 keeps the markers",
        )
    _check_topic("markerTopic", marker_topic)
    for name in _RERUN:
        if streaming and name in given:
            raise InvalidOption(name, "a stream is known by its query and the number of its batch", "leave it out")
    app_id, version = given.text("txnAppId"), given.whole("txnVersion", least=0)
    if (app_id is None) != (version is None):
        missing = "txnVersion" if version is None else "txnAppId"
        raise InvalidOption(missing, "it is missing", "give txnAppId and txnVersion together")
    return ExactlyOnce(
        prefix=given.text("transactionalIdPrefix") or _PREFIX,
        marker_topic=marker_topic,
        timeout_ms=given.whole("kafka.transaction.timeout.ms", most=INT32_MAX) or _TRANSACTION_TIMEOUT_MS,
        app_id=app_id,
        version=version,
    )
