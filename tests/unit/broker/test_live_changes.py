"""Which changes of its settings a broker takes while it runs, and which it refuses."""

from types import MappingProxyType

import pytest

from odradek.broker.settings.live_changes import THREADS, check_change
from odradek.broker.settings.settings import Settings
from odradek.controller.errors import InvalidRequest
from odradek.metadata.image import EMPTY, ConfigResource, Configs, Image, ResourceType
from odradek.model.broker_config import BROKER_KEYS, BrokerConfig
from odradek.model.settings import Live

STATIC = BrokerConfig(log_retention_hours=2, log_dirs=("a", "b"), given={"log.retention.hours": "2", "log.dirs": "a,b"})
THIS, ALL = (ConfigResource(ResourceType.BROKER, name) for name in ("1", ""))


def image(this: dict[str, str], all_brokers: dict[str, str]) -> Image:
    return Image(configs=Configs(MappingProxyType({THIS: this, ALL: all_brokers})))


@pytest.fixture
def settings() -> Settings:
    return Settings(1, STATIC, STATIC.topic_defaults)


@pytest.mark.parametrize(
    ("broker", "values"),
    [
        ("2", {"log.retention.ms": "5"}),
        ("x", {"log.retention.ms": "5"}),
        ("1", {"log.retention.ms": "soon"}),
        ("1", {"log.retention.ms": "5", "log.segment.bytes": "5"}),
        ("1", {"log.retention.ms": "${env:RETENTION}"}),
        ("1", {"log.retention.ms": "0"}),
        ("", {"listener.name.plain.max.connections.per.ip": "5"}),
        ("", {"listener.name.plain.ssl.keystore.location": "keys"}),
        ("", {"listener.name.plain.no.such": "5"}),
        ("1", {"node.id": "5"}),
        ("1", {"log.flush.interval.ms": "-1"}),
        ("", {"cordoned.log.dirs": "a"}),
        ("1", {"cordoned.log.dirs": "c"}),
        ("1", {"cordoned.log.dirs": "a,*"}),
        ("1", {"ssl.keystore.location": "keys"}),
        ("1", {"listeners": "PLAINTEXT://:1"}),
        ("1", {"listener.security.protocol.map": "PLAINTEXT:PLAINTEXT"}),
        ("1", {"principal.builder.class": "org.example.Builder"}),
        ("", {"metric.reporters": "org.example.Reporter"}),
        ("1", {"listener.name.plain.ssl.engine.factory.class": "org.example.Engine"}),
        ("1", {"log.cleaner.dedupe.buffer.size": "1000000"}),
        ("", {"log.cleaner.min.compaction.lag.ms": "50", "log.cleaner.max.compaction.lag.ms": "40"}),
        ("", {"max.connections.per.ip": "0"}),
        ("", {"max.connections": "0"}),
        ("1", {"max.connection.creation.rate": "0"}),
        ("1", {"listener.name.plain.max.connections": "0"}),
        ("1", {"listener.name.plain.max.connection.creation.rate": "0"}),
        ("1", {"log.local.retention.ms": "7200001"}),
        ("1", {"log.local.retention.ms": "-1"}),
        ("1", {"log.retention.bytes": "10", "log.local.retention.bytes": "11"}),
        ("1", {"group.consumer.assignment.interval.ms": "15001"}),
    ],
    ids=lambda each: each if isinstance(each, str) else " ".join(each),
)
def test_changes_that_a_broker_refuses(settings: Settings, broker: str, values: dict[str, str]) -> None:
    with pytest.raises(InvalidRequest):
        check_change(settings, EMPTY, ConfigResource(ResourceType.BROKER, broker), values)


@pytest.mark.parametrize(
    ("broker", "values"),
    [
        ("", {"listener.name.plain.max.connections": "5"}),
        ("1", {"listener.name.plain.max.connections": "5"}),
        ("1", {"listener.name.plain.no.such": "5"}),
        ("1", {"listener.name.plain.node.id": "5"}),
        ("1", {"cordoned.log.dirs": "a,b"}),
        ("1", {"cordoned.log.dirs": "*"}),
        ("1", {"cordoned.log.dirs": ""}),
        ("", {"metric.reporters": "org.apache.kafka.common.metrics.JmxReporter"}),
        ("", {"config.providers": "x,,y"}),
        ("1", {"principal.builder.class": STATIC.principal_builder_class}),
        ("", {"max.connections.per.ip": "0", "max.connections.per.ip.overrides": "127.0.0.1:5"}),
        ("1", {"log.local.retention.ms": "7200000", "log.retention.bytes": "-1"}),
        ("1", {"log.retention.ms": None, "of.a.plugin": "whatever"}),
    ],
    ids=lambda each: each if isinstance(each, str) else " ".join(each),
)
def test_changes_that_a_broker_takes(settings: Settings, broker: str, values: dict[str, str | None]) -> None:
    check_change(settings, EMPTY, ConfigResource(ResourceType.BROKER, broker), values)


def test_what_contradicts_what_is_set_already(settings: Settings) -> None:
    lag = image({"log.cleaner.max.compaction.lag.ms": "40"}, {})
    with pytest.raises(InvalidRequest):
        check_change(settings, lag, ALL, {"log.cleaner.min.compaction.lag.ms": "50"})
    other = {"log.cleaner.min.compaction.lag.ms": "50", "log.cleaner.max.compaction.lag.ms": None}
    check_change(settings, lag, THIS, other)


def test_what_was_wrong_before_is_not_the_fault_of_a_change() -> None:
    """The file was changed after that was set."""
    settings = Settings(1, STATIC, STATIC.topic_defaults)
    wrong = image({"log.local.retention.ms": "7200001"}, {})
    check_change(settings, wrong, THIS, {"log.segment.bytes": "2000000"})
    check_change(settings, wrong, THIS, {"log.local.retention.ms": None})


@pytest.mark.parametrize("name", THREADS)
@pytest.mark.parametrize("broker", [THIS, ALL], ids=["one", "all"])
def test_threads_change_by_half_or_double(settings: Settings, name: str, broker: ConfigResource) -> None:
    eight = image({}, {name: "8"})
    for text in ("4", "8", "16"):
        check_change(settings, eight, broker, {name: text})
    for text in ("0", "3", "17"):
        with pytest.raises(InvalidRequest):
            check_change(settings, eight, broker, {name: text})


def test_all_numbers_of_threads_that_can_change_are_known() -> None:
    live = {name for name, key in BROKER_KEYS.items() if key.live is Live.CLUSTER_WIDE}
    assert {name for name in live if "thread" in name} | {"num.replica.fetchers"} == set(THREADS)


def test_what_counts_for_threads_is_what_they_become(settings: Settings) -> None:
    own = image({"num.io.threads": "10"}, {"num.io.threads": "100"})
    check_change(settings, own, ALL, {"num.io.threads": "1"})  # hidden by the broker's own
    with pytest.raises(InvalidRequest):
        check_change(settings, own, THIS, {"num.io.threads": None})


def test_resources_of_other_kinds_are_none_of_its_business(settings: Settings) -> None:
    check_change(settings, EMPTY, ConfigResource(ResourceType.TOPIC, "orders"), {"listeners": "x"})
