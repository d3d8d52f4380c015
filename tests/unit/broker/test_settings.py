"""The layers of a broker's settings, and what follows from them for topics."""

from types import MappingProxyType

import pytest

from odradek.broker.settings.settings import Settings, Source
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


def test_an_interval_that_the_file_does_not_allow_any_more_is_the_nearest_that_it_allows() -> None:
    settings = Settings(1, BrokerConfig(group_consumer_min_assignment_interval_ms=50), TopicConfig())
    for text, expected in (("40", 50), ("60", 60), ("20000", 15_000)):
        above = image({}, {"group.consumer.assignment.interval.ms": text})
        assert settings.now(above).group_consumer_assignment_interval_ms == expected
        assert settings.of_group(above, "readers").consumer_assignment_interval_ms == expected


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


def test_a_topic_with_unknown_and_invalid_overrides_has_a_config(
    settings: Settings, caplog: pytest.LogCaptureFixture
) -> None:
    own = {"message.format.version": "2.8", "max.compaction.lag.ms": "0", "min.compaction.lag.ms": "9"}
    resource = ConfigResource(ResourceType.TOPIC, "orders")
    stored = Image(configs=Configs(MappingProxyType({resource: MappingProxyType(own)})))
    for _ in range(2):
        config = settings.of_named_topic(stored, "orders")
        assert (config.retention_ms, config.min_compaction_lag_ms) == (7_200_000, 9)
    assert [vars(each)["config"] for each in caplog.records] == ["message.format.version", "max.compaction.lag.ms"]
