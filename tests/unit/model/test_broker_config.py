from dataclasses import FrozenInstanceError, fields, replace
from pathlib import Path
from typing import Any

import pytest

from odradek.model.broker_config import (
    BROKER_KEYS,
    THROTTLES,
    Address,
    BrokerConfig,
    Endpoint,
    SecurityProtocol,
    Voter,
    topic_defaults,
)
from odradek.model.broker_config.names import REMOVED
from odradek.model.errors import InvalidConfig
from odradek.model.settings import Key, Kind, Live, attribute_of
from odradek.model.topic_config import TOPIC_KEYS, TopicConfig

GOLDEN = Path(__file__).parents[2] / "golden" / "broker-configs.tsv"
COLUMNS = ("name", "kind", "default", "limits", "change", "internal")

COMBINED = {
    "node.id": "1",
    "process.roles": "broker,controller",
    "controller.listener.names": "CONTROLLER",
    "controller.quorum.bootstrap.servers": "localhost:9093",
    "listeners": "PLAINTEXT://:9092,CONTROLLER://:9093",
}
BROKER = {
    "node.id": "2",
    "process.roles": "broker",
    "controller.listener.names": "CONTROLLER",
    "controller.quorum.voters": "1@one:9093,3@three:9093",
}
CONTROLLER = {
    "node.id": "3",
    "process.roles": "controller",
    "controller.listener.names": "CONTROLLER",
    "controller.quorum.voters": "1@one:9093,3@three:9093",
    "listeners": "CONTROLLER://:9093",
}
PLAINTEXT, SSL, SASL_SSL = SecurityProtocol.PLAINTEXT, SecurityProtocol.SSL, SecurityProtocol.SASL_SSL


def combined(**settings: str) -> BrokerConfig:
    """A valid config with these settings: double underscores stand for dots."""
    return BrokerConfig.parse({**COMBINED, **{name.replace("__", "."): text for name, text in settings.items()}})


def golden() -> list[dict[str, str]]:
    lines = GOLDEN.read_text().splitlines()
    rows = [line.split("\t") for line in lines if not line.startswith("#")]
    return [dict(zip(COLUMNS, [*row, *[""] * (len(COLUMNS) - len(row))], strict=True)) for row in rows]


def refused(key: Key[Any], text: str) -> bool:
    try:
        key.parse(text)
    except InvalidConfig:
        return True
    return False


def test_there_is_every_setting_of_kafka_and_no_other() -> None:
    assert list(BROKER_KEYS) == [row["name"] for row in golden()]


@pytest.mark.parametrize("row", golden(), ids=lambda row: str(row["name"]))
def test_kind_default_limits_and_change_are_those_of_kafka(row: dict[str, str]) -> None:
    key = BROKER_KEYS[row["name"]]
    assert key.kind.name.lower() == row["kind"]
    if row["default"] == "required":
        assert key.required
    else:
        default = key.format(key.default)
        assert ("-" if default is None else default) == row["default"]
    assert (key.live.value if key.live else "read-only") == row["change"]
    assert key.internal == (row["internal"] == "internal")
    limits, _, rule = row["limits"].rpartition("; ")
    if rule.startswith(("distinct", "not empty")):
        assert (key.distinct or (key.kind is Kind.LIST and bool(key.valid))) == rule.startswith("distinct")
        assert refused(key, "") == rule.endswith("not empty")
    else:
        limits = rule
    assert key.any_case == limits.startswith("any case: ")
    assert key.limits().lower() == limits.removeprefix("any case: ").lower()


def test_every_attribute_is_named_as_its_setting() -> None:
    assert {field.name for field in fields(BrokerConfig)} == {*map(attribute_of, BROKER_KEYS), "given"}


def test_every_setting_says_what_it_does_and_no_two_say_the_same() -> None:
    docs = [key.doc for key in BROKER_KEYS.values()]
    assert all(doc.endswith(".") for doc in docs)
    assert len(set(docs)) == len(docs)


def test_defaults_are_within_their_own_limits() -> None:
    for key in BROKER_KEYS.values():
        text = key.format(key.default)
        assert text is None or key.required or key.parse(text) == key.default


def test_passwords_are_sensitive_and_not_shown() -> None:
    sensitive = [key.name for key in BROKER_KEYS.values() if key.is_sensitive]
    assert "ssl.keystore.password" in sensitive
    assert all(BROKER_KEYS[name].kind is Kind.PASSWORD for name in sensitive)
    config = combined(
        ssl__key__password="s3cret",
        authorizer__class__name="x.Y",
        own__password="s3cret",
        listener__name__sasl__plain__sasl__jaas__config="s3cret",
    )
    assert config.ssl_key_password == "s3cret"
    assert "s3cret" not in repr(config)
    assert config.shown()["node.id"] == "1"


def test_a_setting_is_live_for_one_broker_for_all_or_not_at_all() -> None:
    assert BROKER_KEYS["listeners"].live is Live.PER_BROKER
    assert BROKER_KEYS["log.segment.bytes"].live is Live.CLUSTER_WIDE
    assert BROKER_KEYS["log.dirs"].live is None


def test_nothing_changes_in_place() -> None:
    config = BrokerConfig()
    assert replace(config, num_partitions=0).num_partitions == 0
    with pytest.raises(FrozenInstanceError):
        config.num_partitions = 3  # type: ignore[misc]


def test_settings_are_read_by_name_and_kept_as_given() -> None:
    config = combined(num__partitions=" 3 ", group__consumer__migration__policy="Upgrade", log__dirs="/a, /b")
    assert config.num_partitions == 3
    assert config.group_consumer_migration_policy == "upgrade"
    assert config.data_dirs == ("/a", "/b")
    assert combined(log__dirs="/a,/b,/a").data_dirs == ("/a", "/b")
    assert config.given["num.partitions"] == " 3 "
    assert config == combined(num__partitions=" 3 ", group__consumer__migration__policy="Upgrade", log__dirs="/a, /b")
    assert config != combined()


# --- names ------------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("name", "complaint"),
    [
        ("log.retention.hour", "brokers have no setting 'log.retention.hour', did you mean log.retention.hours?"),
        ("leader.replication.throttled.rate", "leader.replication.throttled.rate: it is set while brokers run"),
        ("no.such.thing", "brokers have no setting 'no.such.thing'"),
        ("segment.bytes", "brokers have no setting 'segment.bytes'"),
        ("zookeeper.connect", "zookeeper.connect: Kafka 4 does not use ZooKeeper; controllers keep the metadata"),
        ("delegation.token.master.key", "delegation.token.master.key: it is now delegation.token.secret.key"),
        (
            "inter.broker.protocol.version",
            "inter.broker.protocol.version: Kafka 4 has no such setting; the metadata version of the cluster does",
        ),
        ("log.message.format.version", "log.message.format.version: Kafka 4 has one record format"),
        (
            "password.encoder.secret",
            "password.encoder.secret: it was for passwords in ZooKeeper, which Kafka 4 does not use",
        ),
    ],
)
def test_unknown_and_removed_names_are_refused_with_advice(name: str, complaint: str) -> None:
    with pytest.raises(InvalidConfig) as error:
        BrokerConfig.parse({**COMBINED, name: "x"})
    assert str(error.value).startswith(complaint)


def test_throttles_are_no_part_of_a_file() -> None:
    assert not THROTTLES.keys() & BROKER_KEYS.keys()
    assert all(key.live is Live.CLUSTER_WIDE for key in THROTTLES.values())


def test_no_removed_name_is_a_setting() -> None:
    assert not REMOVED.keys() & BROKER_KEYS.keys()


@pytest.mark.parametrize("name", sorted(REMOVED))
def test_a_removed_name_is_refused_even_where_a_plugin_may_have_names_of_its_own(name: str) -> None:
    with pytest.raises(InvalidConfig, match=f"^{name}: "):
        BrokerConfig.parse({**COMBINED, "authorizer.class.name": "x.Y", name: "x"})


def test_settings_of_one_listener_are_kept_and_checked() -> None:
    texts = {
        "listener.name.external.ssl.keystore.location": "/keys",
        "listener.name.external.plain.sasl.jaas.config": "login",
    }
    config = BrokerConfig.parse({**COMBINED, **texts})
    assert config.others == texts
    assert config.for_listener("EXTERNAL") == {"ssl.keystore.location": "/keys", "plain.sasl.jaas.config": "login"}
    with pytest.raises(
        InvalidConfig, match=r"^Invalid value -1 for configuration listener\.name\.external\.max\.connections: "
    ):
        BrokerConfig.parse({**COMBINED, "listener.name.external.max.connections": "-1"})


@pytest.mark.parametrize(
    ("name", "text"),
    [
        ("authorizer.class.name", "org.apache.kafka.metadata.authorizer.StandardAuthorizer"),
        ("principal.builder.class", "x.Y"),
        ("metric.reporters", "x.Y"),
        ("listener.name.a.ssl.engine.factory.class", "x.Y"),
    ],
)
def test_a_class_brings_settings_of_its_own(name: str, text: str) -> None:
    config = BrokerConfig.parse({**COMBINED, name: text, "super.users": "User:me"})
    assert config.others["super.users"] == "User:me"
    with pytest.raises(InvalidConfig, match=r"no setting 'super\.users'"):
        BrokerConfig.parse({**COMBINED, "super.users": "User:me"})


def test_the_default_class_brings_none() -> None:
    reporter = BROKER_KEYS["metric.reporters"].default[0]
    with pytest.raises(InvalidConfig, match=r"no setting 'super\.users'"):
        combined(metric__reporters=reporter, super__users="User:me")


# --- what follows from settings ---------------------------------------------------------------------------------------


def test_defaults_of_topics_are_those_of_kafka() -> None:
    assert topic_defaults(BrokerConfig()) == TopicConfig()


@pytest.mark.parametrize(
    ("texts", "attribute", "value"),
    [
        ({"log.retention.hours": "1"}, "retention_ms", 3_600_000),
        ({"log.retention.hours": "1", "log.retention.minutes": "2"}, "retention_ms", 120_000),
        (
            {"log.retention.hours": "1", "log.retention.minutes": "2", "log.retention.ms": "3"},
            "retention_ms",
            3,
        ),
        ({"log.retention.hours": "-5"}, "retention_ms", -1),
        ({"log.retention.hours": "2147483647"}, "retention_ms", 2_147_483_647 * 3_600_000),
        ({"log.roll.hours": "2"}, "segment_ms", 7_200_000),
        ({"log.roll.hours": "2", "log.roll.ms": "5"}, "segment_ms", 5),
        ({"log.roll.jitter.hours": "2"}, "segment_jitter_ms", 7_200_000),
        ({"log.roll.jitter.hours": "2", "log.roll.jitter.ms": "5"}, "segment_jitter_ms", 5),
        ({"log.flush.scheduler.interval.ms": "9"}, "flush_ms", 9),
        ({"log.flush.scheduler.interval.ms": "9", "log.flush.interval.ms": "8"}, "flush_ms", 8),
        ({"log.cleanup.policy": "compact,delete"}, "cleanup_policy", ("compact", "delete")),
        ({"message.max.bytes": "77"}, "max_message_bytes", 77),
        ({"log.cleaner.min.cleanable.ratio": "0.25"}, "min_cleanable_dirty_ratio", 0.25),
        ({"unclean.leader.election.enable": "true"}, "unclean_leader_election_enable", True),
    ],
)
def test_topics_get_what_brokers_say(texts: dict[str, str], attribute: str, value: object) -> None:
    assert getattr(BrokerConfig.parse({**COMBINED, **texts}).topic_defaults, attribute) == value


def test_every_synonym_of_a_topic_setting_is_a_broker_setting() -> None:
    synonyms = [synonym.name for key in TOPIC_KEYS.values() for synonym in key.synonyms]
    assert set(synonyms) <= BROKER_KEYS.keys()


def test_directories() -> None:
    assert BrokerConfig().data_dirs == ("/tmp/kafka-logs",)
    assert combined(log__dir="/a").data_dirs == ("/a",)
    config = combined(log__dir="/a", log__dirs="/b,/c", cordoned__log__dirs="*")
    assert config.data_dirs == ("/b", "/c")
    assert config.metadata_dir == "/b"
    assert config.cordoned_dirs == ("/b", "/c")
    assert combined(metadata__log__dir="/m").metadata_dir == "/m"


def test_node_id_and_broker_id_are_one_number() -> None:
    config = combined()
    assert (config.node_id, config.broker_id) == (1, 1)
    old = {name: text for name, text in COMBINED.items() if name != "node.id"}
    config = BrokerConfig.parse({**old, "broker.id": "7"})
    assert (config.node_id, config.broker_id) == (7, 7)


def test_roles() -> None:
    assert (combined().is_broker, combined().is_controller) == (True, True)
    broker, controller = BrokerConfig.parse(BROKER), BrokerConfig.parse(CONTROLLER)
    assert (broker.is_broker, broker.is_controller) == (True, False)
    assert (controller.is_broker, controller.is_controller) == (False, True)


def test_listeners_are_split_into_those_for_clients_and_for_controllers() -> None:
    config = combined(advertised__listeners="PLAINTEXT://example.org:19092,CONTROLLER://example.org:19093")
    assert config.broker_endpoints == (Endpoint("PLAINTEXT", "", 9092, PLAINTEXT),)
    assert config.controller_endpoints == (Endpoint("CONTROLLER", "", 9093, PLAINTEXT),)
    assert config.advertised_endpoints == (Endpoint("PLAINTEXT", "example.org", 19092, PLAINTEXT),)
    assert config.advertised_controller_endpoints == (Endpoint("CONTROLLER", "example.org", 19093, PLAINTEXT),)
    assert str(config.advertised_endpoints[0]) == "PLAINTEXT://example.org:19092"


def test_without_advertised_listeners_those_that_listen_are_told() -> None:
    config = combined(listeners="PLAINTEXT://[::1]:9092,controller://0.0.0.0:9093")
    assert config.advertised_endpoints == (Endpoint("PLAINTEXT", "::1", 9092, PLAINTEXT),)
    assert str(config.advertised_endpoints[0]) == "PLAINTEXT://[::1]:9092"
    assert config.advertised_controller_endpoints == (Endpoint("CONTROLLER", "", 9093, PLAINTEXT),)


def test_listeners_have_the_protocol_of_their_name_or_of_the_map() -> None:
    config = combined(
        listeners="CLIENTS://:9092,CONTROLLER://:9093,ssl://:9094",
        listener__security__protocol__map="CLIENTS:SASL_SSL, controller:plaintext,SSL:SSL",
        inter__broker__listener__name="ssl",
    )
    assert [endpoint.protocol for endpoint in config.endpoints] == [SASL_SSL, PLAINTEXT, SSL]
    assert config.inter_broker_name == "SSL"


def test_controllers_are_plain_without_a_map_only_where_nothing_is_secured() -> None:
    assert combined().protocols["CONTROLLER"] is PLAINTEXT
    with pytest.raises(InvalidConfig, match="listener CONTROLLER has no protocol in "):
        combined(listeners="SSL://:9092,CONTROLLER://:9093", security__inter__broker__protocol="SSL")


def test_voters_and_bootstrap_servers() -> None:
    config = BrokerConfig.parse(BROKER)
    assert config.voters == (Voter(1, Address("one", 9093)), Voter(3, Address("three", 9093)))
    assert str(config.voters[0]) == "1@one:9093"
    servers = combined(controller__quorum__bootstrap__servers="a:1,[::2]:3").bootstrap_servers
    assert servers == (Address("a", 1), Address("::2", 3))
    assert str(servers[1]) == "[::2]:3"


@pytest.mark.parametrize(
    ("texts", "alone"),
    [
        ({}, True),
        ({"controller.quorum.bootstrap.servers": ""}, True),
        ({"controller.quorum.bootstrap.servers": "127.0.0.1:9093"}, True),
        ({"controller.quorum.bootstrap.servers": "localhost:9999"}, False),
        ({"controller.quorum.bootstrap.servers": "other:9093"}, False),
        ({"controller.quorum.bootstrap.servers": "localhost:9093,other:9093"}, False),
        ({"controller.quorum.voters": "1@one:9093"}, True),
        ({"controller.quorum.voters": "1@one:9093,2@two:9093"}, False),
    ],
)
def test_a_node_knows_whether_it_is_alone(texts: dict[str, str], alone: bool) -> None:
    assert BrokerConfig.parse({**COMBINED, **texts}).is_alone is alone


def test_a_broker_or_controller_by_itself_is_not_alone() -> None:
    assert not BrokerConfig.parse(BROKER).is_alone
    assert not BrokerConfig.parse(CONTROLLER).is_alone


def test_a_quorum_of_one_needs_no_listener_for_controllers() -> None:
    texts = {"node.id": "1", "process.roles": "broker,controller", "controller.listener.names": "CONTROLLER"}
    config = BrokerConfig.parse(texts)
    assert config.is_quorum_of_one
    assert config.controller_endpoints == ()
