"""Every setting of brokers that Kafka changes while they run: what becomes of it here. None is forgotten."""

from collections.abc import Callable
from types import MappingProxyType
from typing import Any

import pytest

from odradek.broker.settings.live_changes import THREADS, check_change
from odradek.broker.settings.settings import Settings, Source
from odradek.broker.settings.shown_settings import of_all_brokers, of_this_broker
from odradek.controller.config_checks import declared
from odradek.controller.errors import InvalidRequest
from odradek.metadata.image import EMPTY, ConfigResource, Configs, Image, ResourceType
from odradek.model.broker_config import BROKER_KEYS, THROTTLES, BrokerConfig
from odradek.model.settings import Kind, Live
from odradek.server.upkeep import cleaner_setting_of

STATIC = BrokerConfig(log_dirs=("a", "b"), given={"log.dirs": "a,b"})
THIS, ALL = (ConfigResource(ResourceType.BROKER, name) for name in ("1", ""))

MOVES = "replica.alter.log.dirs.io.max.bytes.per.second"

Probe = Callable[[Settings, Image], Any]


def of_topics(attribute: str) -> Probe:
    """A default of topics: partitions take it over with the metadata that it comes with."""
    return lambda settings, image: getattr(settings.of_topic(image, {}), attribute)


def of_cleaner(attribute: str) -> Probe:
    """The cleaner asks before each log that it cleans."""
    return lambda settings, image: getattr(cleaner_setting_of(settings.now(image)), attribute)


def of_groups(attribute: str) -> Probe:
    return lambda settings, image: getattr(settings.of_group(image, "readers"), attribute)


def of_node(attribute: str) -> Probe:
    """Whoever acts on it asks each time, or is told when it changes."""
    return lambda settings, image: getattr(settings.now(image), attribute)


ACTED_ON: dict[str, tuple[str, Any, Probe]] = {
    "compression.gzip.level": ("5", 5, of_topics("compression_gzip_level")),
    "compression.lz4.level": ("5", 5, of_topics("compression_lz4_level")),
    "compression.type": ("lz4", "lz4", of_topics("compression_type")),
    "compression.zstd.level": ("5", 5, of_topics("compression_zstd_level")),
    "log.cleaner.delete.retention.ms": ("5", 5, of_topics("delete_retention_ms")),
    "log.cleaner.max.compaction.lag.ms": ("5", 5, of_topics("max_compaction_lag_ms")),
    "log.cleaner.min.cleanable.ratio": ("0.25", 0.25, of_topics("min_cleanable_dirty_ratio")),
    "log.cleaner.min.compaction.lag.ms": ("5", 5, of_topics("min_compaction_lag_ms")),
    "log.cleanup.policy": ("compact", ("compact",), of_topics("cleanup_policy")),
    "log.flush.interval.messages": ("5", 5, of_topics("flush_messages")),
    "log.flush.interval.ms": ("5", 5, of_topics("flush_ms")),
    "log.index.interval.bytes": ("5", 5, of_topics("index_interval_bytes")),
    "log.index.size.max.bytes": ("80", 80, of_topics("segment_index_bytes")),
    "log.message.timestamp.after.max.ms": ("5", 5, of_topics("message_timestamp_after_max_ms")),
    "log.message.timestamp.before.max.ms": ("5", 5, of_topics("message_timestamp_before_max_ms")),
    "log.message.timestamp.type": ("LogAppendTime", "LogAppendTime", of_topics("message_timestamp_type")),
    "log.preallocate": ("true", True, of_topics("preallocate")),
    "log.retention.bytes": ("5", 5, of_topics("retention_bytes")),
    "log.retention.ms": ("5", 5, of_topics("retention_ms")),
    "log.roll.jitter.ms": ("5", 5, of_topics("segment_jitter_ms")),
    "log.roll.ms": ("5", 5, of_topics("segment_ms")),
    "log.segment.bytes": ("2000000", 2_000_000, of_topics("segment_bytes")),
    "log.segment.delete.delay.ms": ("5", 5, of_topics("file_delete_delay_ms")),
    "message.max.bytes": ("5", 5, of_topics("max_message_bytes")),
    "min.insync.replicas": ("2", 2, of_topics("min_insync_replicas")),
    "unclean.leader.election.enable": ("true", True, of_topics("unclean_leader_election_enable")),
    "log.cleaner.backoff.ms": ("5", 5, of_cleaner("backoff_ms")),
    "log.cleaner.dedupe.buffer.size": ("2000000", 2_000_000, of_cleaner("dedupe_buffer_size")),
    "log.cleaner.io.buffer.load.factor": ("0.5", 0.5, of_cleaner("io_buffer_load_factor")),
    "log.cleaner.io.max.bytes.per.second": ("5.5", 5.5, of_cleaner("io_max_bytes_per_second")),
    "log.cleaner.threads": ("2", 2, of_cleaner("threads")),
    "group.consumer.assignment.interval.ms": ("5", 5, of_groups("consumer_assignment_interval_ms")),
    "cordoned.log.dirs": ("*", ("a", "b"), of_node("cordoned_dirs")),
    "max.connection.creation.rate": ("5", 5, of_node("max_connection_creation_rate")),
    "max.connections": ("5", 5, of_node("max_connections")),
    "max.connections.per.ip": ("5", 5, of_node("max_connections_per_ip")),
    "max.connections.per.ip.overrides": (
        "127.0.0.1:5",
        "127.0.0.1:5",
        of_node("max_connections_per_ip_overrides"),
    ),
    "producer.id.expiration.ms": ("5", 5, of_node("producer_id_expiration_ms")),
    "transaction.partition.verification.enable": (
        "false",
        False,
        of_node("transaction_partition_verification_enable"),
    ),
    MOVES: ("5", "5", lambda settings, image: settings.texts(image).get(MOVES)),
}
"""A text, what it becomes, and where those look who act on it."""

_SSL = {
    *("cipher.suites", "client.auth", "enabled.protocols", "endpoint.identification.algorithm", "provider"),
    *("keymanager.algorithm", "protocol", "secure.random.implementation", "trustmanager.algorithm"),
}
_KERBEROS = {
    *("kinit.cmd", "min.time.before.relogin", "principal.to.local.rules", "service.name"),
    *("ticket.renew.jitter", "ticket.renew.window.factor"),
}
_LOGIN = {"buffer.seconds", "min.period.seconds", "window.factor", "window.jitter"}

KEPT: dict[str, set[str]] = {
    "there are no such threads": set(THREADS) - {"log.cleaner.threads"},
    "there is no remote storage": {
        *("log.local.retention.bytes", "log.local.retention.ms", "follower.fetch.last.tiered.offset.enable"),
        *("remote.fetch.max.wait.ms", "remote.list.offsets.request.timeout.ms"),
        *("remote.log.index.file.cache.total.size.bytes", "remote.log.manager.copy.max.bytes.per.second"),
        "remote.log.manager.fetch.max.bytes.per.second",
    },
    "there are no such groups": {"group.share.assignment.interval.ms", "group.streams.assignment.interval.ms"},
    "there are no such buffers": {
        *("group.coordinator.cached.buffer.max.bytes", "log.cleaner.io.buffer.size"),
        "share.coordinator.cached.buffer.max.bytes",
    },
    "there are no other replicas": {"follower.replication.throttled.rate", "leader.replication.throttled.rate"},
    "there is one class to name": {"metric.reporters", "principal.builder.class"},
    "they are for other settings to refer to": {"config.providers"},
    "there is neither TLS nor SASL": {
        *(f"ssl.{name}" for name in _SSL),
        *(f"sasl.kerberos.{name}" for name in _KERBEROS),
        *(f"sasl.login.refresh.{name}" for name in _LOGIN),
        *("sasl.enabled.mechanisms", "sasl.jaas.config", "sasl.mechanism.inter.broker.protocol"),
    },
}
"""What can be set and is shown, by the reason why nothing else becomes of it."""

REFUSED: dict[str, set[str]] = {
    "not yet while the broker runs": {"listeners", "listener.security.protocol.map"},
    "no such class here": {"ssl.engine.factory.class"},
    "for a listener alone": {
        *("ssl.key.password", "ssl.keystore.certificate.chain", "ssl.keystore.key", "ssl.keystore.location"),
        *("ssl.keystore.password", "ssl.keystore.type", "ssl.truststore.certificates", "ssl.truststore.location"),
        *("ssl.truststore.password", "ssl.truststore.type"),
    },
}

CAN_CHANGE = {name for name, key in BROKER_KEYS.items() if key.live is not None} | set(THROTTLES)


def image(this: dict[str, str] | None = None, all_brokers: dict[str, str] | None = None) -> Image:
    return Image(configs=Configs(MappingProxyType({THIS: this or {}, ALL: all_brokers or {}})))


def sample(name: str) -> str:
    """A text that it can have: that of its default, if it has one."""
    key = declared(ResourceType.BROKER, name)
    assert key is not None
    return key.format(key.default) or ("x" if key.kind in (Kind.STRING, Kind.PASSWORD, Kind.CLASS) else "")


@pytest.fixture
def settings() -> Settings:
    return Settings(1, STATIC, STATIC.topic_defaults)


def test_every_setting_that_can_change_is_one_of_these() -> None:
    kinds = [set(ACTED_ON), *KEPT.values(), *REFUSED.values()]
    assert set().union(*kinds) == CAN_CHANGE
    assert sum(map(len, kinds)) == len(CAN_CHANGE), "and only one"


@pytest.mark.parametrize("name", sorted(ACTED_ON))
def test_it_counts_as_soon_as_it_is_set(settings: Settings, name: str) -> None:
    text, value, probe = ACTED_ON[name]
    before = probe(settings, EMPTY)
    assert before != value
    check_change(settings, EMPTY, THIS, {name: text})
    assert probe(settings, image({name: text})) == value
    assert probe(settings, EMPTY) == before
    key = declared(ResourceType.BROKER, name)
    if key is not None and key.live is Live.CLUSTER_WIDE:
        check_change(settings, EMPTY, ALL, {name: text})
        own = key.format(key.default) or "7"
        assert probe(settings, image(all_brokers={name: text})) == value
        assert probe(settings, image({name: text}, {name: own})) == value, "its own before that of all"
        assert probe(settings, image({name: own}, {name: text})) != value


@pytest.mark.parametrize("name", sorted(set().union(*KEPT.values())))
def test_it_is_kept_and_shown(settings: Settings, name: str) -> None:
    text = sample(name)
    check_change(settings, EMPTY, THIS, {name: text})
    shown = {each.name: each for each in of_this_broker(settings, image({name: text}))}
    assert shown[name].source is Source.DYNAMIC_BROKER
    assert not shown[name].read_only
    if shown[name].is_sensitive:
        assert shown[name].value is None
    if name in THROTTLES or BROKER_KEYS[name].live is Live.CLUSTER_WIDE:
        check_change(settings, EMPTY, ALL, {name: text})
        (found,) = of_all_brokers(image(all_brokers={name: text}))
        assert (found.name, found.source) == (name, Source.DYNAMIC_ALL_BROKERS)


@pytest.mark.parametrize("name", sorted(set().union(*REFUSED.values())))
def test_it_is_refused(settings: Settings, name: str) -> None:
    for resource in (THIS, ALL):
        with pytest.raises(InvalidRequest):
            check_change(settings, EMPTY, resource, {name: sample(name)})
