"""What Kafka refuses at its start, refused with one line that names the setting."""

import pytest

from odradek.model.broker_config import BrokerConfig
from odradek.model.errors import InvalidConfig

COMBINED = {
    "node.id": "1",
    "process.roles": "broker,controller",
    "controller.listener.names": "CONTROLLER",
    "controller.quorum.bootstrap.servers": "localhost:9093",
    "listeners": "PLAINTEXT://:9092,CONTROLLER://:9093",
}
BROKER = {
    "process.roles": "broker",
    "listeners": "PLAINTEXT://:9092",
}
CONTROLLER = {
    "process.roles": "controller",
    "listeners": "CONTROLLER://:9093",
}


@pytest.mark.parametrize("missing", ["node.id", "process.roles", "controller.listener.names"])
def test_who_the_node_is_must_be_given(missing: str) -> None:
    with pytest.raises(InvalidConfig, match=f"^{missing} must be given$"):
        BrokerConfig.parse({name: text for name, text in COMBINED.items() if name != missing})


@pytest.mark.parametrize(
    ("name", "text", "complaint"),
    [
        ("num.partitions", "0", "Invalid value 0 for configuration num.partitions: must be at least 1"),
        ("num.partitions", "many", "must be a whole number of type INT"),
        ("offsets.topic.replication.factor", "32768", "does not fit into a number of type SHORT"),
        ("group.share.delivery.count.limit", "11", "must be no more than 10"),
        ("compression.type", "zip", "must be one of: uncompressed, zstd, lz4, snappy, gzip, producer"),
        ("group.consumer.migration.policy", "never", "must be one of: disabled, downgrade, upgrade, bidirectional"),
        ("process.roles", "", "must not be empty"),
        ("process.roles", "king", "'king' must be one of: broker, controller"),
        ("node.id", "-1", "must be at least 0"),
        ("log.dirs", "", "must not be empty"),
        ("log.dirs", "/a,,/b", "an entry is empty"),
        ("inter.broker.listener.name", "", "must not be empty"),
        ("offsets.topic.compression.codec", "5", "must be 0 (none), 1 (gzip), 2 (snappy), 3 (lz4) or 4 (zstd)"),
        ("group.coordinator.rebalance.protocols", "consumer", "must have classic"),
        ("group.consumer.assignors", "range,org.example.Mine", "'org.example.Mine' is not one of uniform and range"),
        ("remote.log.storage.manager.class.name", "", "must not be empty"),
        ("listeners", "PLAINTEXT:9092", "'PLAINTEXT:9092' must be NAME://host:port"),
        ("listeners", "PLAINTEXT://a b:9092", "'PLAINTEXT://a b:9092' must be NAME://host:port"),
        ("listeners", "PLAINTEXT://:65536", "'PLAINTEXT://:65536' has a port above 65535"),
        ("controller.quorum.voters", "one:9093", "'one:9093' must be id@host:port"),
        ("controller.quorum.voters", "4294967296@one:9093", "must be id@host:port"),
        ("controller.quorum.voters", "1@one", "'one' must be host:port"),
        ("controller.quorum.voters", "1@one:1,1@two:2", "a node comes twice"),
        ("controller.quorum.bootstrap.servers", "one", "'one' must be host:port"),
        ("listener.security.protocol.map", "A", "'A' must be NAME:PROTOCOL"),
        ("listener.security.protocol.map", "A:TLS", "'TLS' is none of PLAINTEXT, SSL, SASL_PLAINTEXT, SASL_SSL"),
        ("listener.security.protocol.map", "A:SSL,a:SSL", "'a' comes twice"),
        ("max.connections.per.ip.overrides", "127.0.0.1", "'127.0.0.1' must be host:count"),
        ("max.connections.per.ip.overrides", "a:b", "'a:b' must be host:count"),
    ],
)
def test_a_bad_value_is_refused_by_name_value_and_reason(name: str, text: str, complaint: str) -> None:
    with pytest.raises(InvalidConfig) as refused:
        BrokerConfig.parse({**COMBINED, name: text})
    message = str(refused.value)
    assert message.startswith(f"Invalid value {text} for configuration {name}: ")
    assert message.endswith(complaint)
    assert "\n" not in message


@pytest.mark.parametrize(
    ("texts", "complaint"),
    [
        ({"broker.id": "2"}, "node.id is 1 and broker.id 2: they must be the same"),
        ({"log.retention.ms": "0"}, "log.retention.ms, or what stands in for it, is 0"),
        ({"log.retention.hours": "0"}, "log.retention.ms, or what stands in for it, is 0"),
        (
            {"log.roll.ms": "0"},
            "as a default for topics, Invalid value 0 for configuration log.roll.ms: must be at least 1",
        ),
        (
            {"log.roll.jitter.ms": "-1"},
            "as a default for topics, Invalid value -1 for configuration log.roll.jitter.ms: must be at least 0",
        ),
        (
            {"log.flush.scheduler.interval.ms": "-1"},
            "Invalid value -1 for configuration log.flush.scheduler.interval.ms: must be at least 0",
        ),
        (
            {"log.cleaner.min.compaction.lag.ms": "2", "log.cleaner.max.compaction.lag.ms": "1"},
            "min.compaction.lag.ms (2) > max.compaction.lag.ms (1)",
        ),
        ({"log.cleaner.dedupe.buffer.size": "2097152", "log.cleaner.threads": "2"}, "more than 1048576 for each of 2"),
        (
            {"replica.fetch.wait.max.ms": "30001"},
            "replica.fetch.wait.max.ms is 30001, which is more than replica.socket.timeout.ms, 30000",
        ),
        (
            {"replica.fetch.wait.max.ms": "501", "replica.lag.time.max.ms": "500"},
            "replica.fetch.wait.max.ms is 501, which is more than replica.lag.time.max.ms, 500",
        ),
        (
            {"group.consumer.session.timeout.ms": "60001"},
            "which is more than group.consumer.max.session.timeout.ms, 60000",
        ),
        (
            {"group.share.heartbeat.interval.ms": "4999"},
            "group.share.min.heartbeat.interval.ms is 5000, which is more than group.share.heartbeat.interval.ms, 4999",
        ),
        (
            {"group.streams.min.session.timeout.ms": "1", "group.streams.session.timeout.ms": "5000"},
            "which is not less than group.streams.session.timeout.ms, 5000",
        ),
        ({"group.share.max.share.sessions": "199"}, "which is more than group.share.max.share.sessions, 199"),
        ({"group.share.assignors": "simple,other"}, "group.share.assignors is 'simple,other': must be exactly one"),
        ({"queued.max.request.bytes": "5"}, "which is less than socket.request.max.bytes"),
        ({"connections.max.idle.ms": "100"}, "which is not less than connections.max.idle.ms, 100"),
        ({"max.connections.per.ip": "0"}, "max.connections.per.ip is 0: then max.connections.per.ip.overrides"),
        ({"cordoned.log.dirs": "/nowhere"}, "cordoned.log.dirs has '/nowhere', which is no log directory"),
        ({"cordoned.log.dirs": "*,/a", "log.dirs": "/a"}, "cordoned.log.dirs has *, and with it nothing else"),
        ({"early.start.listeners": "SSL"}, "early.start.listeners has SSL, which is not in listeners or"),
        ({"listeners": "CONTROLLER://:9093"}, "listeners has none for clients"),
        ({"listeners": "PLAINTEXT://:9092"}, "controller.listener.names has CONTROLLER, which is not in listeners"),
        ({"listeners": "PLAINTEXT://:9092,CONTROLLER://:9092"}, "two listeners have port 9092"),
        ({"listeners": "PLAINTEXT://:1,plaintext://:2,CONTROLLER://:3"}, "a name comes twice"),
        ({"listeners": "OTHER://:9092,CONTROLLER://:9093"}, "listener OTHER has no protocol"),
        ({"listeners": "PLAINTEXT://0.0.0.0:9092,CONTROLLER://:9093"}, "0.0.0.0:9092 is no address to connect to"),
        ({"advertised.listeners": "PLAINTEXT://0.0.0.0:9092"}, "0.0.0.0:9092 is no address to connect to"),
        (
            {"advertised.listeners": "PLAINTEXT://a:1,CONTROLLER://0.0.0.0:9093"},
            "CONTROLLER://0.0.0.0:9093 is no address to connect to",
        ),
        ({"advertised.listeners": "SSL://a:9092"}, "advertised.listeners has SSL, which is not in listeners"),
        (
            {"inter.broker.listener.name": "PLAINTEXT", "security.inter.broker.protocol": "PLAINTEXT"},
            "exclude each other",
        ),
        ({"inter.broker.listener.name": "SSL"}, "brokers talk through listener SSL, which is none of PLAINTEXT"),
        ({"controller.quorum.voters": "2@two:9093"}, "does not name node 1, which is a controller"),
        ({"controller.quorum.voters": "1@0.0.0.0:9093"}, "0.0.0.0 is no address to connect to"),
        ({**BROKER, "controller.quorum.voters": "1@one:9093"}, "names node 1, which is no controller"),
        ({**BROKER, "controller.quorum.bootstrap.servers": ""}, "must say where the controllers are"),
        ({**BROKER, "controller.quorum.auto.join.enable": "true"}, "is for controllers"),
        (
            {**BROKER, "listeners": "PLAINTEXT://:9092,CONTROLLER://:9093"},
            "which is in listeners although the node is no controller",
        ),
        ({**CONTROLLER, "controller.quorum.bootstrap.servers": ""}, "must say where the controllers are"),
        ({**CONTROLLER, "listeners": "CONTROLLER://:1,PLAINTEXT://:2"}, "listeners has PLAINTEXT, which is not in"),
        (
            {**CONTROLLER, "inter.broker.listener.name": "CONTROLLER"},
            "inter.broker.listener.name is in controller.listener.names",
        ),
        (
            {
                "listeners": "SASL_SSL://:9092,CONTROLLER://:9093",
                "listener.security.protocol.map": "SASL_SSL:SASL_SSL,CONTROLLER:PLAINTEXT",
                "security.inter.broker.protocol": "SASL_SSL",
                "sasl.enabled.mechanisms": "PLAIN",
            },
            "sasl.mechanism.inter.broker.protocol is 'GSSAPI', which is not in sasl.enabled.mechanisms",
        ),
    ],
)
def test_contradictions_are_refused(texts: dict[str, str], complaint: str) -> None:
    with pytest.raises(InvalidConfig) as refused:
        BrokerConfig.parse({**COMBINED, **texts})
    assert complaint in str(refused.value)
    assert "\n" not in str(refused.value)


@pytest.mark.parametrize(
    "texts",
    [
        {},
        BROKER,
        CONTROLLER,
        {"listeners": "PLAINTEXT://:0,CONTROLLER://:0"},
        {"listeners": "PLAINTEXT://127.0.0.1:9092,CONTROLLER://[::1]:9092"},
        {"listeners": "PLAINTEXT://127.0.0.1:9092,CONTROLLER://0.0.0.0:9093"},
        {"max.connections.per.ip": "0", "max.connections.per.ip.overrides": "127.0.0.1:5,::1:6"},
        {"max.connections.per.ip.overrides": "127.0.0.1:-1"},
        {"connections.max.idle.ms": "-1"},
        {"process.roles": "broker,controller,broker"},
        {"early.start.listeners": "PLAINTEXT,CONTROLLER"},
        {"queued.max.request.bytes": "-1"},
        {"log.cleaner.threads": "0"},
        {"log.retention.ms": "-7"},
        {"cordoned.log.dirs": "/tmp/kafka-logs"},
        {
            "listeners": "SASL_SSL://:9092,CONTROLLER://:9093",
            "listener.security.protocol.map": "SASL_SSL:SASL_SSL,CONTROLLER:PLAINTEXT",
            "security.inter.broker.protocol": "SASL_SSL",
            "listener.name.sasl_ssl.sasl.enabled.mechanisms": "PLAIN,GSSAPI",
            "sasl.enabled.mechanisms": "PLAIN",
        },
    ],
)
def test_what_kafka_takes_is_taken(texts: dict[str, str]) -> None:
    BrokerConfig.parse({**COMBINED, **texts})
