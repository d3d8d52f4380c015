"""Options: what is taken, and what a user is told of the rest."""

import pytest

from odradek.model.topic_partition import TopicPartition
from odradek.spark.edges import AtOffsets, AtTime, AtTimes, Everywhere, Subscription
from odradek.spark.given_options import InvalidOption
from odradek.spark.offsets import EARLIEST, LATEST
from odradek.spark.options import BYTES_PER_TRIGGER, ROWS_PER_TRIGGER, SourceOptions, source_options

NEEDED = {"kafka.bootstrap.servers": "localhost:9092", "subscribe": "orders"}


def stream(**more: str) -> SourceOptions:
    return source_options({**NEEDED, **more}, streaming=True)


def batch(**more: str) -> SourceOptions:
    return source_options({**NEEDED, **more}, streaming=False)


def test_the_least_that_is_needed_has_the_defaults_of_the_connector() -> None:
    options = stream()
    assert options.subscription == Subscription(topics=("orders",))
    assert options.starting == Everywhere(LATEST)
    assert batch().starting == Everywhere(EARLIEST)
    assert batch().ending == Everywhere(LATEST)
    assert options.reading.fail_on_data_loss
    assert not options.reading.read_committed
    assert options.reading.columns == ("key", "value", "topic", "partition", "offset", "timestamp", "timestampType")
    assert options.group_id is None


def test_names_are_taken_in_any_case() -> None:
    told = {"KAFKA.BOOTSTRAP.SERVERS": "a:1", "SUBSCRIBE": "orders", "MaxOffsetsPerTrigger": "7"}
    assert source_options(told, streaming=True).limits.rows_max == 7


def test_lists_and_patterns_and_partitions() -> None:
    assert stream(subscribe=" b, a ,,a").subscription.topics == ("a", "b")
    needed = {"kafka.bootstrap.servers": "localhost:9092"}
    pattern = source_options({**needed, "subscribePattern": "truck.*"}, streaming=True)
    assert pattern.subscription == Subscription(pattern="truck.*")
    assigned = source_options({**needed, "assign": '{"b": [1], "a": [2, 0, 2]}'}, streaming=True)
    assert assigned.subscription.partitions == (TopicPartition("a", 0), TopicPartition("a", 2), TopicPartition("b", 1))


def test_where_to_start_by_offset_and_by_time() -> None:
    offsets = stream(startingOffsets='{"orders": {"0": 23, "1": -1, "2": -2}}').starting
    named = {TopicPartition("orders", 0): 23, TopicPartition("orders", 1): -1, TopicPartition("orders", 2): -2}
    assert offsets == AtOffsets(named, "startingOffsets")
    assert stream(startingOffsets="EARLIEST").starting == Everywhere(EARLIEST)
    assert stream(startingTimestamp="1000").starting == AtTime(1000, "startingTimestamp")
    times = stream(startingOffsetsByTimestamp='{"orders": {"0": 5}}').starting
    assert times == AtTimes({TopicPartition("orders", 0): 5}, "startingOffsetsByTimestamp")
    assert stream(startingOffsetsByTimestampStrategy="LATEST").latest_if_none_so_late


def test_a_time_goes_before_times_and_these_before_offsets() -> None:
    both = {"startingOffsetsByTimestamp": '{"orders": {"0": 5}}', "startingOffsets": "earliest"}
    assert isinstance(stream(**both).starting, AtTimes)
    assert isinstance(stream(**both, startingTimestamp="1").starting, AtTime)


def test_a_limit_holds_where_none_is_named_and_only_the_named_one_where_one_is() -> None:
    assert (stream().limits.rows_max, stream().limits.bytes_max) == (ROWS_PER_TRIGGER, BYTES_PER_TRIGGER)
    rows = stream(maxOffsetsPerTrigger="10").limits
    assert (rows.rows_max, rows.bytes_max) == (10, None)
    size = stream(maxBytesPerTrigger="1000").limits
    assert (size.rows_max, size.bytes_max) == (None, 1000)


@pytest.mark.parametrize(("text", "time_ms"), [("15m", 900_000), ("250", 250), ("3 s", 3000), ("1d", 86_400_000)])
def test_times_have_units(text: str, time_ms: int) -> None:
    assert stream(maxTriggerDelay=text).limits.delay_ms_max == time_ms


def test_columns_narrow_and_headers_are_asked_for() -> None:
    assert stream(columns="value, Timestamp").reading.columns == ("value", "timestamp")
    assert stream(includeHeaders="true").reading.columns[-1] == "headers"
    assert stream(columns="headers").reading.columns == ("headers",)


def test_options_of_kafkas_consumer_reach_the_reader() -> None:
    reading = stream(
        **{
            "kafka.isolation.level": "read_committed",
            "kafka.max.partition.fetch.bytes": "5000",
            "kafka.fetch.max.bytes": "4000",
            "kafka.fetch.max.wait.ms": "0",
            "kafka.client.id": "me",
            "kafka.request.timeout.ms": "1500",
            "kafka.max.poll.records": "500",
            "kafkaConsumer.pollTimeoutMs": "2500",
            "failOnDataLoss": "false",
        }
    ).reading
    assert reading.read_committed
    assert not reading.fail_on_data_loss
    assert (reading.fetch_bytes_max, reading.fetch_wait_ms) == (4000, 0)
    assert (reading.client_id, reading.request_timeout_s, reading.timeout_s) == ("me", 1.5, 2.5)


@pytest.mark.parametrize(
    ("more", "name"),
    [
        ({"kafka.fetch.max.byte": "1"}, "kafka.fetch.max.byte"),
        ({"startingOffset": "earliest"}, "startingoffset"),
        ({"path": "x"}, "path"),
        ({"kafka.auto.offset.reset": "earliest"}, "kafka.auto.offset.reset"),
        ({"kafka.bootstrap.servers": "nowhere"}, "kafka.bootstrap.servers"),
        ({"subscribe": " , "}, "subscribe"),
        ({"assign": '{"orders": [0]}'}, "subscribe"),
        ({"startingOffsets": "first"}, "startingOffsets"),
        ({"startingOffsets": '{"orders": {"0": -3}}'}, "startingOffsets"),
        ({"startingOffsets": '{"orders": {"0": 1.5}}'}, "startingOffsets"),
        ({"startingOffsets": '{"orders": {"x": 1}}'}, "startingOffsets"),
        ({"startingOffsets": '{"orders": 1}'}, "startingOffsets"),
        ({"startingTimestamp": "yesterday"}, "startingTimestamp"),
        ({"startingOffsetsByTimestamp": '{"orders": {"0": -1}}'}, "startingOffsetsByTimestamp"),
        ({"startingOffsetsByTimestampStrategy": "first"}, "startingOffsetsByTimestampStrategy"),
        ({"maxOffsetsPerTrigger": "0"}, "maxOffsetsPerTrigger"),
        ({"maxBytesPerTrigger": "1g"}, "maxBytesPerTrigger"),
        ({"minOffsetsPerTrigger": "9", "maxOffsetsPerTrigger": "8"}, "minOffsetsPerTrigger"),
        ({"maxTriggerDelay": "soon"}, "maxTriggerDelay"),
        ({"minPartitions": "-1"}, "minPartitions"),
        ({"maxRecordsPerPartition": "x"}, "maxRecordsPerPartition"),
        ({"maxPartitions": "0"}, "maxPartitions"),
        ({"kafka.socket.connection.setup.timeout.ms": "10000000000000"}, "kafka.socket.connection.setup.timeout.ms"),
        ({"maxPartitions": "2", "minPartitions": "2"}, "maxPartitions"),
        ({"maxPartitions": "2", "maxRecordsPerPartition": "100"}, "maxPartitions"),
        ({"failOnDataLoss": "maybe"}, "failOnDataLoss"),
        ({"columns": "value,values"}, "columns"),
        ({"columns": "value,VALUE"}, "columns"),
        ({"kafka.isolation.level": "serializable"}, "kafka.isolation.level"),
        ({"kafka.security.protocol": "SASL_SSL"}, "kafka.security.protocol"),
    ],
)
def test_what_does_not_do_is_refused_by_its_name(more: dict[str, str], name: str) -> None:
    with pytest.raises(InvalidOption, match=rf"^option {name}: .*; .+$") as refused:
        source_options({**NEEDED, **more}, streaming=None)
    assert "\n" not in str(refused.value)


def test_what_is_not_there_yet_is_told_as_such() -> None:
    for name in ("kafka.sasl.jaas.config", "kafka.ssl.truststore.location"):
        with pytest.raises(InvalidOption, match=f"option {name}: TLS and SASL are not there yet; use a PLAINTEXT"):
            stream(**{name: "any"})


def test_a_name_that_is_like_none_has_no_suggestion() -> None:
    with pytest.raises(InvalidOption, match=r"option kafka.foo: there is no such option; the options of the source"):
        stream(**{"kafka.foo": "1"})


def test_how_long_to_look_for_a_broker_is_known_only_where_it_is_given() -> None:
    assert stream().lookup_timeout_s is None
    assert stream(**{"kafka.default.api.timeout.ms": "2500"}).lookup_timeout_s == 2.5


def test_a_name_that_is_nearly_right_is_told() -> None:
    with pytest.raises(InvalidOption, match=r"did you mean startingOffsets\?"):
        stream(startingOffset="earliest")


def test_a_pattern_that_is_none_is_refused() -> None:
    for text in ("(", r"^\p{Alpha}+$"):  # Java has the second
        with pytest.raises(InvalidOption, match=r"subscribePattern: .* is no pattern .*; write it for Python"):
            source_options({"kafka.bootstrap.servers": "a:1", "subscribePattern": text}, streaming=True)


def test_servers_and_topics_are_needed() -> None:
    with pytest.raises(InvalidOption, match=r"kafka\.bootstrap\.servers: it is missing"):
        source_options({"subscribe": "orders"}, streaming=True)
    with pytest.raises(InvalidOption, match="give just one of subscribe, subscribePattern, assign"):
        source_options({"kafka.bootstrap.servers": "a:1"}, streaming=True)


def test_a_table_of_sparks_catalog_is_refused_with_what_to_do() -> None:
    """As CREATE TABLE hands over its options."""
    options = {"kafka.bootstrap.servers": "a:1", "subscribe": "orders", "comment": "all of them"}
    handed_over = {**options, **{f"option.{name}": value for name, value in options.items()}, "provider": "odradek"}
    with pytest.raises(InvalidOption, match=r"no table of its catalog .* use CREATE TEMPORARY VIEW"):
        source_options(handed_over, streaming=False)


@pytest.mark.parametrize("name", ["endingOffsets", "endingTimestamp", "endingOffsetsByTimestamp"])
def test_a_stream_has_no_end(name: str) -> None:
    with pytest.raises(InvalidOption, match=rf"option {name}: a stream has no end"):
        stream(**{name: '{"orders": {"0": 1}}' if "Offsets" in name else "1"})


@pytest.mark.parametrize(
    "more",
    [
        {"startingOffsets": "latest"},
        {"startingOffsets": '{"orders": {"0": -1}}'},
        {"endingOffsets": "earliest"},
        {"endingOffsets": '{"orders": {"0": -2}}'},
        {"startingOffsets": '{"orders": {"0": 5}}', "endingOffsets": '{"orders": {"0": 4}}'},
        {"startingOffsets": '{"orders": {"0": 5}}', "endingOffsets": '{"orders": {"1": 6}}'},
        {"startingOffsetsByTimestamp": '{"orders": {"0": 5}}', "endingOffsetsByTimestamp": '{"orders": {"0": 4}}'},
    ],
)
def test_a_batch_that_could_read_nothing_is_refused(more: dict[str, str]) -> None:
    with pytest.raises(InvalidOption, match=r"Offsets"):
        batch(**more)


def test_times_that_end_before_they_start_are_refused() -> None:
    with pytest.raises(InvalidOption, match=r"option endingTimestamp: 1000 is before the start, 2000"):
        batch(startingTimestamp="2000", endingTimestamp="1000")


@pytest.mark.parametrize("name", ["kafka.max.partition.fetch.bytes", "kafka.fetch.max.bytes"])
def test_no_more_is_fetched_at_a_time_than_fits_into_an_answer(name: str) -> None:
    assert stream(**{name: str(64 << 20)}).reading.fetch_bytes_max == 64 << 20
    assert stream(**{name: str((1 << 31) - 1)}).reading.fetch_bytes_max == 256 << 20


@pytest.mark.parametrize(
    "name", ["kafka.max.partition.fetch.bytes", "kafka.fetch.max.bytes", "kafka.fetch.max.wait.ms"]
)
def test_numbers_that_kafkas_protocol_cannot_tell_are_refused(name: str) -> None:
    batch(**{name: str((1 << 31) - 1)})
    with pytest.raises(InvalidOption, match=rf"option {name}: '2147483648' does not do; .* to 2147483647"):
        batch(**{name: str(1 << 31)})


def test_offsets_that_tasks_look_up() -> None:
    assert batch(resolveOffsets="read").resolve_when_read
    assert not batch(resolveOffsets="plan").resolve_when_read
    assert not batch().resolve_when_read
    for refused in ({"startingTimestamp": "5"}, {"endingOffsets": '{"orders": {"0": 5}}'}):
        with pytest.raises(InvalidOption, match="option resolveOffsets: read is for all that a topic has"):
            batch(resolveOffsets="read", **refused)
    with pytest.raises(InvalidOption, match="option resolveOffsets: a stream looks for new offsets"):
        stream(resolveOffsets="read")


def test_filters_narrow_only_a_batch_that_asks_for_it() -> None:
    assert batch(narrowByFilters="true").narrow_by_filters
    assert not batch().narrow_by_filters
    with pytest.raises(InvalidOption, match="option narrowByFilters: Spark pushes no filters to a stream"):
        stream(narrowByFilters="true")
