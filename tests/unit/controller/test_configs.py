"""Settings of topics and brokers."""

from typing import TYPE_CHECKING, Any

import pytest

from odradek.controller import configs
from odradek.controller.configs import Alteration, Change, Operation, Replacement
from odradek.metadata.image import ConfigResource, ResourceType
from odradek.model.error_code import ErrorCode
from odradek.wire.records.metadata import ClearElrRecord, ConfigRecord

if TYPE_CHECKING:
    from odradek.model.errors import BrokerError

ORDERS = ConfigResource(ResourceType.TOPIC, "orders")
ALL_BROKERS = ConfigResource(ResourceType.BROKER, "")
BROKER = ConfigResource(ResourceType.BROKER, "1")


@pytest.fixture
def topic(cluster: Any) -> Any:
    """A cluster with a topic that has a setting."""
    cluster.create("orders", configs={"retention.ms": "5"})
    return cluster


def alter(cluster: Any, resource: ConfigResource, *changes: Change) -> ErrorCode | None:
    reply = cluster.do(configs.alter(cluster.image, [Alteration(resource, changes)], cluster.context))
    error: BrokerError | None = reply[0].error
    return error.code if error else None


def set_to(name: str, value: str | None) -> Change:
    return Change(name, Operation.SET, value)


def values(cluster: Any, resource: ConfigResource = ORDERS) -> dict[str, str]:
    return dict(cluster.image.configs.of(*resource))


# --- topics


def test_set_and_delete(topic: Any) -> None:
    assert alter(topic, ORDERS, set_to("segment.ms", "7"), Change("retention.ms", Operation.DELETE)) is None
    assert values(topic) == {"segment.ms": "7"}


def test_lists_grow_and_shrink_from_their_default(topic: Any) -> None:
    assert alter(topic, ORDERS, Change("cleanup.policy", Operation.APPEND, "compact")) is None
    assert values(topic)["cleanup.policy"] == "delete,compact"
    assert alter(topic, ORDERS, Change("cleanup.policy", Operation.APPEND, "compact")) is None
    assert alter(topic, ORDERS, Change("cleanup.policy", Operation.SUBTRACT, "delete")) is None
    assert values(topic)["cleanup.policy"] == "compact"


def test_what_is_set_already_is_not_written_again(topic: Any) -> None:
    decision = configs.alter(topic.image, [Alteration(ORDERS, [set_to("retention.ms", "5")])], topic.context)
    assert decision.records == ()


def test_validate_only_writes_nothing(topic: Any) -> None:
    change = Alteration(ORDERS, [set_to("retention.ms", "6")])
    decision = configs.alter(topic.image, [change], topic.context, validate_only=True)
    assert (decision.records, decision.response) == ((), ((ORDERS, None),))


@pytest.mark.parametrize(
    ("change", "expected"),
    [
        (set_to("retention.ms", "x"), ErrorCode.INVALID_CONFIG),
        (set_to("no.such.setting", "1"), ErrorCode.INVALID_CONFIG),
        (set_to("leader.replication.throttled.replicas", ",".join(["0:1"] * 9_000)), ErrorCode.INVALID_CONFIG),
        (set_to("min.compaction.lag.ms", str((1 << 63) - 1)), None),
        (set_to("max.compaction.lag.ms", "0"), ErrorCode.INVALID_CONFIG),
        (set_to("retention.ms", None), ErrorCode.INVALID_REQUEST),
        (Change("retention.ms", 9, "1"), ErrorCode.INVALID_REQUEST),
        (Change("retention.ms", Operation.APPEND, "1"), ErrorCode.INVALID_CONFIG),
        (set_to("leader.replication.throttled.replicas", "0:1," * 20_000), ErrorCode.INVALID_CONFIG),
    ],
)
def test_values_that_cannot_be(topic: Any, change: Change, expected: ErrorCode | None) -> None:
    before = values(topic)
    assert alter(topic, ORDERS, change) == expected
    assert expected is None or values(topic) == before


def test_settings_are_checked_together(topic: Any) -> None:
    assert alter(topic, ORDERS, set_to("min.compaction.lag.ms", "10")) is None
    assert alter(topic, ORDERS, set_to("max.compaction.lag.ms", "9")) == ErrorCode.INVALID_CONFIG
    changes = set_to("max.compaction.lag.ms", "9"), set_to("min.compaction.lag.ms", "8")
    assert alter(topic, ORDERS, *changes) is None


@pytest.mark.parametrize(
    ("resource", "expected"),
    [
        (ConfigResource(ResourceType.TOPIC, "bills"), ErrorCode.UNKNOWN_TOPIC_OR_PARTITION),
        (ConfigResource(ResourceType.TOPIC, ".."), ErrorCode.INVALID_TOPIC_EXCEPTION),
        (ConfigResource(ResourceType.TOPIC, ""), ErrorCode.INVALID_REQUEST),
        (ConfigResource(ResourceType.GROUP, ""), ErrorCode.INVALID_REQUEST),
        (ConfigResource(ResourceType.CLIENT_METRICS, ""), ErrorCode.INVALID_REQUEST),
        (ConfigResource(99, "?"), ErrorCode.INVALID_REQUEST),
    ],
)
def test_resources_that_are_not_there(topic: Any, resource: ConfigResource, expected: ErrorCode) -> None:
    assert alter(topic, resource, set_to("retention.ms", "1")) == expected


def test_a_resource_or_a_setting_that_is_named_twice(topic: Any) -> None:
    assert alter(topic, ORDERS, set_to("retention.ms", "1"), set_to("retention.ms", "2")) == ErrorCode.INVALID_REQUEST
    twice = [Alteration(ORDERS, [set_to("retention.ms", "1")])] * 2
    decision = configs.alter(topic.image, twice, topic.context)
    assert decision.records == ()
    assert [each.error and each.error.code for each in decision.response] == [ErrorCode.INVALID_REQUEST]


def test_one_bad_resource_does_not_hurt_the_others(topic: Any) -> None:
    topic.create("bills")
    asked = [
        Alteration(ORDERS, [set_to("retention.ms", "x")]),
        Alteration(ConfigResource(ResourceType.TOPIC, "bills"), [set_to("retention.ms", "1")]),
    ]
    reply = topic.do(configs.alter(topic.image, asked, topic.context))
    assert [each.error is None for each in reply] == [False, True]


def test_replacing_all_of_them(topic: Any) -> None:
    asked = Replacement(ORDERS, [("segment.ms", "7")])
    assert topic.do(configs.replace(topic.image, [asked], topic.context))[0].error is None
    assert values(topic) == {"segment.ms": "7"}


@pytest.mark.parametrize(
    ("given", "expected"),
    [
        ([("segment.ms", None)], ErrorCode.INVALID_REQUEST),
        ([("segment.ms", "1"), ("segment.ms", "2")], ErrorCode.INVALID_REQUEST),
        ([("segment.ms", "x")], ErrorCode.INVALID_CONFIG),
    ],
)
def test_replacements_that_are_refused(topic: Any, given: list[tuple[str, str | None]], expected: ErrorCode) -> None:
    decision = configs.replace(topic.image, [Replacement(ORDERS, given)], topic.context)
    assert decision.records == ()
    assert [each.error and each.error.code for each in decision.response] == [expected]


def test_min_insync_replicas_clears_eligible_leaders(topic: Any) -> None:
    asked = [
        Alteration(ORDERS, [set_to("min.insync.replicas", "2")]),
        Alteration(ALL_BROKERS, [set_to("min.insync.replicas", "2")]),
    ]
    decision = configs.alter(topic.image, asked, topic.context)
    assert [each.topic_name for each in decision.records if isinstance(each, ClearElrRecord)] == ["orders", ""]


# --- brokers


def test_brokers_have_settings_one_by_one_and_all_together(cluster: Any) -> None:
    assert alter(cluster, ALL_BROKERS, set_to("log.retention.ms", "5"), set_to("a.plugins.own", "x")) is None
    assert alter(cluster, BROKER, set_to("log.retention.ms", "6")) is None
    assert values(cluster, BROKER) == {"log.retention.ms": "6"}
    assert values(cluster, ALL_BROKERS)["a.plugins.own"] == "x"
    assert alter(cluster, BROKER, Change("log.cleanup.policy", Operation.APPEND, "compact")) is None
    assert values(cluster, BROKER)["log.cleanup.policy"] == "delete,compact"


def test_a_brokers_setting_is_written_again(cluster: Any) -> None:
    alter(cluster, BROKER, set_to("log.retention.ms", "5"))
    again = configs.alter(cluster.image, [Alteration(BROKER, [set_to("log.retention.ms", "5")])], cluster.context)
    assert [type(each) for each in again.records] == [ConfigRecord]


@pytest.mark.parametrize(
    ("resource", "change", "expected"),
    [
        (ALL_BROKERS, set_to("num.partitions", "3"), ErrorCode.INVALID_REQUEST),
        (BROKER, set_to("log.dirs", "/x"), ErrorCode.INVALID_REQUEST),
        (BROKER, set_to("node.id", "7"), ErrorCode.INVALID_REQUEST),
        (ALL_BROKERS, set_to("ssl.keystore.type", "PEM"), ErrorCode.INVALID_REQUEST),
        (BROKER, set_to("num.io.threads", "0"), ErrorCode.INVALID_REQUEST),
        (BROKER, set_to("log.retention.ms", "x"), ErrorCode.INVALID_REQUEST),
        (BROKER, set_to("min.insync.replicas", "1"), ErrorCode.INVALID_CONFIG),
        (ALL_BROKERS, Change("min.insync.replicas", Operation.DELETE), ErrorCode.INVALID_CONFIG),
        (ConfigResource(ResourceType.BROKER, "2"), set_to("log.retention.ms", "5"), ErrorCode.BROKER_ID_NOT_REGISTERED),
        (ConfigResource(ResourceType.BROKER, "x"), set_to("log.retention.ms", "5"), ErrorCode.INVALID_REQUEST),
        (ConfigResource(ResourceType.BROKER, "-1"), set_to("log.retention.ms", "5"), ErrorCode.INVALID_REQUEST),
    ],
)
def test_what_a_broker_refuses(cluster: Any, resource: ConfigResource, change: Change, expected: ErrorCode) -> None:
    assert alter(cluster, resource, change) == expected


GROUP = ConfigResource(ResourceType.GROUP, "g")
METRICS = ConfigResource(ResourceType.CLIENT_METRICS, "m")


@pytest.mark.parametrize(
    ("resource", "change", "expected"),
    [
        (GROUP, set_to("consumer.session.timeout.ms", "50000"), None),
        (GROUP, set_to("consumer.session.timeout.ms", "44999"), ErrorCode.INVALID_CONFIG),  # the broker allows no less
        (GROUP, set_to("consumer.session.timeout.ms", "60001"), ErrorCode.INVALID_CONFIG),
        (GROUP, set_to("streams.num.standby.replicas", "3"), ErrorCode.INVALID_CONFIG),
        (GROUP, set_to("share.auto.offset.reset", "by_duration:P1DT2H"), None),
        (GROUP, set_to("share.auto.offset.reset", "by_duration:P"), ErrorCode.INVALID_CONFIG),
        (GROUP, set_to("share.auto.offset.reset", "by_duration:PT-1H"), ErrorCode.INVALID_CONFIG),
        (GROUP, set_to("retention.ms", "1"), ErrorCode.INVALID_CONFIG),
        (METRICS, set_to("interval.ms", "100"), None),
        (METRICS, set_to("interval.ms", "99"), ErrorCode.INVALID_REQUEST),
        (METRICS, set_to("interval.ms", "often"), ErrorCode.INVALID_CONFIG),
        (METRICS, set_to("match", "client_id=a.*,client_software_name=x"), None),
        (METRICS, set_to("match", "client_id=("), ErrorCode.INVALID_CONFIG),
        (METRICS, set_to("match", "colour=red"), ErrorCode.INVALID_CONFIG),
        (METRICS, set_to("retention.ms", "1"), ErrorCode.INVALID_REQUEST),
    ],
)
def test_groups_and_client_metrics(
    cluster: Any, resource: ConfigResource, change: Change, expected: ErrorCode | None
) -> None:
    assert alter(cluster, resource, change) == expected
    assert cluster.image.configs.of(*resource) == ({} if expected else {change.name: change.value})
