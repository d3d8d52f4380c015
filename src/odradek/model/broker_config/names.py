"""Names that settings had once, and names that no setting has: what to say about them."""

import re
from collections.abc import Collection, Mapping
from difflib import get_close_matches

from odradek.model.broker_config.quotas import THROTTLES
from odradek.model.errors import InvalidConfig
from odradek.model.settings import Key, Kind, Live

_LISTENER_PREFIX = re.compile(r"listener\.name\.[^.]+\.(.+)")

_BY_TIME = "Kafka 4 has no such setting; log.message.timestamp.before.max.ms and log.message.timestamp.after.max.ms do"
_BY_LEVEL = "Kafka 4 has no such setting; the metadata version of the cluster does"
_GONE = "Kafka 4 has no such setting, and needs none"

REMOVED: Mapping[str, str] = {
    "advertised.host.name": "Kafka 3 has no such setting any more; advertised.listeners does",
    "advertised.port": "Kafka 3 has no such setting any more; advertised.listeners does",
    "auto.include.jmx.reporter": "Kafka 4 has no such setting; metric.reporters names the reporters",
    "broker.id.generation.enable": "ids are no longer made up: give node.id",
    "control.plane.listener.name": "it was for ZooKeeper; controller.listener.names is what controllers are reached at",
    "controlled.shutdown.max.retries": _GONE,
    "controlled.shutdown.retry.backoff.ms": _GONE,
    "delegation.token.master.key": "it is now delegation.token.secret.key",
    "eligible.leader.replicas.enable": "Kafka 4 has no such setting; the feature eligible.leader.replicas.version does",
    "group.coordinator.new.enable": "Kafka 4 has only the new coordinator",
    "group.share.enable": "Kafka 4 has no such setting; the feature share.version does",
    "group.share.max.groups": _GONE,
    "host.name": "Kafka 3 has no such setting any more; listeners does",
    "inter.broker.protocol.version": _BY_LEVEL,
    "leader.imbalance.per.broker.percentage": "preferred leaders come back at any imbalance",
    "log.message.downconversion.enable": "Kafka 4 has one record format, and converts to no other",
    "log.message.format.version": "Kafka 4 has one record format",
    "log.message.timestamp.difference.max.ms": _BY_TIME,
    "metadata.log.segment.min.bytes": "it is now internal.metadata.log.segment.bytes, and for tests",
    "offsets.commit.required.acks": "commits are always written with acks=all",
    "port": "Kafka 3 has no such setting any more; listeners does",
    "quota.consumer.default": "Kafka 3 has no such setting any more; default quotas are set in the cluster",
    "quota.producer.default": "Kafka 3 has no such setting any more; default quotas are set in the cluster",
    "reserved.broker.max.id": "ids are no longer made up: give node.id",
}
"""What became of settings of Kafka up to 3.9 that Kafka 4.3 does not have."""

REMOVED_PREFIXES: Mapping[str, str] = {
    "password.encoder.": "it was for passwords in ZooKeeper, which Kafka 4 does not use",
    "zookeeper.": "Kafka 4 does not use ZooKeeper; controllers keep the metadata",
}

_CLASSES_IN_TEXTS = (
    "authorizer.class.name",
    "config.providers",
    "group.consumer.assignors",
    "group.share.assignors",
    "group.share.persister.class.name",
    "kafka.metrics.reporters",
    "metric.reporters",
    "remote.log.metadata.manager.class.name",
    "remote.log.storage.manager.class.name",
    "replica.selector.class",
    "security.providers",
)
"""Settings of other kinds than class that name classes all the same."""

_LIMITS_OF_LISTENERS = frozenset({"max.connection.creation.rate", "max.connections", "num.network.threads"})


def key_of(name: str, keys: Mapping[str, Key[object]]) -> Key[object] | None:
    """The setting of this name, or the one that is set for a listener alone: `listener.name.NAME.SETTING`."""
    match = _LISTENER_PREFIX.fullmatch(name)
    return keys.get(match[1] if match else name)


def may_change(name: str, key: Key[object] | None, *, for_all: bool) -> bool:
    """Whether the setting of this name may be changed while brokers run, of one of them or of all.

    What nobody here knows is for plugins, and may. What is set for a listener alone belongs to one broker, whatever it
    is, but for limits of connections.
    """
    if _LISTENER_PREFIX.fullmatch(name):
        return not for_all or (key is not None and key.name in _LIMITS_OF_LISTENERS)
    return key is None or key.live is Live.CLUSTER_WIDE or (key.live is Live.PER_BROKER and not for_all)


def refuse_unknown(name: str, given: Mapping[str, str], keys: Mapping[str, Key[object]]) -> None:
    """Raises InvalidConfig for a name that is no setting, unless it may be one of a class that was configured.

    Such a class has settings of its own, and only it knows their names. What begins with `listener.name.NAME.` may be
    for a mechanism or a callback of that listener, and is let through as well.
    """
    for prefix, reason in REMOVED_PREFIXES.items():
        if name.startswith(prefix):
            raise InvalidConfig(f"{name}: {reason}")
    if name in REMOVED:
        raise InvalidConfig(f"{name}: {REMOVED[name]}")
    if name in THROTTLES:
        raise InvalidConfig(f"{name}: it is set while brokers run, not before")
    if _LISTENER_PREFIX.fullmatch(name) or _has_plugin(given, keys):
        return
    raise InvalidConfig(f"brokers have no setting {name!r}{_suggestion(name, keys)}")


def _has_plugin(given: Mapping[str, str], keys: Mapping[str, Key[object]]) -> bool:
    for name, text in given.items():
        key = key_of(name, keys)
        if key is None or (key.kind is not Kind.CLASS and key.name not in _CLASSES_IN_TEXTS):
            continue
        if text.strip() and text.strip() != key.format(key.default):
            return True
    return False


def _suggestion(name: str, keys: Collection[str]) -> str:
    close = get_close_matches(name, sorted(keys), n=1, cutoff=0.8)
    return f", did you mean {close[0]}?" if close else ""
