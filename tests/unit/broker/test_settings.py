"""The layers of a broker's settings, and what follows from them for topics."""

from types import MappingProxyType

import pytest

from odradek.broker.settings import Settings, Source
from odradek.controller.errors import InvalidRequest
from odradek.metadata.image import EMPTY, ConfigResource, Configs, Image, ResourceType
from odradek.model.broker_config import BrokerConfig
from odradek.model.topic_config import TopicConfig

STATIC = BrokerConfig(log_retention_hours=2, given={"log.retention.hours": "2"})


def image(this: dict[str, str], all_brokers: dict[str, str]) -> Image:
    resources = {
        ConfigResource(ResourceType.BROKER, "1"): MappingProxyType(this),
        ConfigResource(ResourceType.BROKER, ""): MappingProxyType(all_brokers),
    }
    return Image(configs=Configs(MappingProxyType(resources)))


@pytest.fixture
def settings() -> Settings:
    return Settings(1, STATIC, STATIC.topic_defaults)


def test_the_topmost_layer_counts(settings: Settings) -> None:
    assert settings.topic_defaults(EMPTY).retention_ms == 7_200_000
    above = image({"log.retention.ms": "5"}, {"log.retention.ms": "6", "log.segment.bytes": "2000000"})
    assert settings.now(above).log_retention_ms == 5
    assert settings.topic_defaults(above).retention_ms == 5
    assert settings.topic_defaults(above).segment_bytes == 2_000_000
    assert settings.of_topic(above, {"retention.ms": "7"}).retention_ms == 7
    assert settings.topic_defaults(EMPTY).retention_ms == 7_200_000


def test_origins_begin_with_the_setting_itself(settings: Settings) -> None:
    above = image({"log.retention.ms": "5"}, {})
    assert [each[::2] for each in settings.origins(above, "log.retention.ms")] == [
        ("log.retention.ms", Source.DYNAMIC_BROKER),
        ("log.retention.hours", Source.STATIC),
        ("log.retention.hours", Source.DEFAULT),
    ]
    assert [each.text for each in settings.origins(above, "log.retention.hours")] == ["2", "168"]
    assert settings.origins(EMPTY, "log.retention.ms") == ()
    assert settings.origins(EMPTY, "no.such.setting") == ()


def test_values_that_only_another_node_takes_are_passed_over(settings: Settings) -> None:
    strange = image({"log.retention.ms": "soon", "node.id": "7", "of.a.plugin": "x"}, {})
    assert settings.now(strange) == STATIC


def test_defaults_that_contradict_a_topic_are_not_used_for_it(settings: Settings) -> None:
    above = image({"log.cleaner.min.compaction.lag.ms": "50"}, {})
    config = settings.of_topic(above, {"max.compaction.lag.ms": "40"})
    assert (config.max_compaction_lag_ms, config.min_compaction_lag_ms) == (40, TopicConfig().min_compaction_lag_ms)


@pytest.mark.parametrize(
    ("broker", "name", "text"),
    [
        ("2", "log.retention.ms", "5"),
        ("1", "log.retention.ms", "soon"),
        ("", "listener.name.plain.max.connections", "5"),
        ("1", "num.io.threads", "3"),
        ("1", "num.io.threads", "17"),
        ("1", "ssl.keystore.location", "keys"),
        ("1", "listeners", "PLAINTEXT://:1"),
        ("1", "listener.security.protocol.map", "PLAINTEXT:PLAINTEXT"),
        ("1", "principal.builder.class", "org.example.Builder"),
        ("1", "log.retention.ms", "${env:RETENTION}"),
    ],
)
def test_changes_that_a_broker_refuses(settings: Settings, broker: str, name: str, text: str) -> None:
    with pytest.raises(InvalidRequest):
        settings.check_change(EMPTY, ConfigResource(ResourceType.BROKER, broker), {name: text})


@pytest.mark.parametrize("text", ["4", "16"])
def test_threads_change_by_half_or_double(settings: Settings, text: str) -> None:
    settings.check_change(EMPTY, ConfigResource(ResourceType.BROKER, "1"), {"num.io.threads": text})


def test_what_counts_for_threads_is_what_they_become(settings: Settings) -> None:
    own = image({"num.io.threads": "10"}, {"num.io.threads": "100"})
    all_brokers = ConfigResource(ResourceType.BROKER, "")
    settings.check_change(own, all_brokers, {"num.io.threads": "1"})  # hidden by the broker's own
    with pytest.raises(InvalidRequest):
        settings.check_change(own, ConfigResource(ResourceType.BROKER, "1"), {"num.io.threads": None})


@pytest.mark.parametrize(("name", "is_this"), [("1", True), ("01", True), ("+1", True), ("2", False), ("x", False)])
def test_who_this_is(settings: Settings, name: str, is_this: bool) -> None:
    if is_this:
        settings.check_this(name)
    else:
        with pytest.raises(InvalidRequest):
            settings.check_this(name)


def test_a_group_has_its_own_settings_before_those_of_the_broker(settings: Settings) -> None:
    group = ConfigResource(ResourceType.GROUP, "readers")

    def with_group(own: dict[str, str], brokers: dict[str, str]) -> Image:
        resources = {group: own, ConfigResource(ResourceType.BROKER, ""): brokers}
        return Image(configs=Configs(MappingProxyType(resources)))

    assert settings.of_group(EMPTY, "readers").consumer_session_timeout_ms == 45_000
    above = with_group({"consumer.session.timeout.ms": "50000"}, {})
    assert settings.of_group(above, "readers").consumer_session_timeout_ms == 50_000
    assert settings.of_group(above, "readers") is settings.of_group(above, "readers"), "read once"
    assert settings.of_group(above, "others").consumer_session_timeout_ms == 45_000
    assert settings.of_group(EMPTY, "readers").consumer_session_timeout_ms == 45_000


def test_settings_of_a_group_that_only_another_node_takes_are_passed_over(settings: Settings) -> None:
    resources = {ConfigResource(ResourceType.GROUP, "readers"): {"consumer.session.timeout.ms": "1"}}
    strange = Image(configs=Configs(MappingProxyType(resources)))
    assert settings.of_group(strange, "readers") == settings.of_group(EMPTY, "readers")
