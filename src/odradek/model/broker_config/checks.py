"""Settings that contradict each other, as Kafka finds them at its start."""

from collections.abc import Callable, Iterator
from typing import TYPE_CHECKING, cast

from odradek.model.broker_config.addresses import ANY_HOST, parse_counts, port_taken_twice
from odradek.model.errors import InvalidConfig
from odradek.model.settings import Key, attribute_of
from odradek.model.topic_config import AS_REMOTE, UNLIMITED

if TYPE_CHECKING:
    from odradek.model.broker_config.config import BrokerConfig

_MIB = 1 << 20

_OF_EVERY_KIND = ("assignment.interval.ms", "heartbeat.interval.ms", "session.timeout.ms")
_OF_SHARE = ("delivery.count.limit", "partition.max.record.locks", "record.lock.duration.ms")
_KINDS = {"consumer": _OF_EVERY_KIND, "share": (*_OF_EVERY_KIND, *_OF_SHARE), "streams": _OF_EVERY_KIND}

_AT_MOST = (
    ("replica.fetch.wait.max.ms", "replica.socket.timeout.ms"),
    ("replica.fetch.wait.max.ms", "replica.lag.time.max.ms"),
    ("group.streams.num.standby.replicas", "group.streams.max.standby.replicas"),
    ("group.share.max.size", "group.share.max.share.sessions"),
    *((f"group.{kind}.min.{what}", f"group.{kind}.{what}") for kind, bounded in _KINDS.items() for what in bounded),
    *((f"group.{kind}.{what}", f"group.{kind}.max.{what}") for kind, bounded in _KINDS.items() for what in bounded),
)
"""Pairs of settings: the first is not above the second."""

_BELOW = tuple((f"group.{kind}.heartbeat.interval.ms", f"group.{kind}.session.timeout.ms") for kind in _KINDS)
"""Pairs of settings: the first is below the second."""


def check(config: "BrokerConfig", keys: dict[str, Key[object]]) -> None:
    """Raises InvalidConfig for the first contradiction."""
    _check_required(config, keys)
    for complaints in _CHECKS:
        for complaint in complaints(config):
            raise InvalidConfig(complaint)


def check_live(config: "BrokerConfig", before: "BrokerConfig") -> None:
    """The same for settings that are changed while the node runs: what such a change can contradict.

    What was wrong before is not the fault of this change.
    """
    for complaints in _LIVE_CHECKS:
        known = set(complaints(before))
        for complaint in complaints(config):
            if complaint not in known:
                raise InvalidConfig(complaint)


def _check_required(config: "BrokerConfig", keys: dict[str, Key[object]]) -> None:
    for key in keys.values():
        if key.required and getattr(config, attribute_of(key.name)) == key.default:
            raise InvalidConfig(f"{key.name} must be given")


def _on_order(config: "BrokerConfig") -> Iterator[str]:
    for low, high in _AT_MOST:
        if _number(config, low) > _number(config, high):
            yield f"{low} is {_number(config, low)}, which is more than {high}, {_number(config, high)}"
    for low, high in _BELOW:
        if _number(config, low) >= _number(config, high):
            yield f"{low} is {_number(config, low)}, which is not less than {high}, {_number(config, high)}"


def _on_numbers(config: "BrokerConfig") -> Iterator[str]:
    if config.node_id != config.broker_id:
        yield f"node.id is {config.node_id} and broker.id {config.broker_id}: they must be the same"
    buffer, threads = config.log_cleaner_dedupe_buffer_size, max(1, config.log_cleaner_threads)
    if buffer // threads <= _MIB:
        yield f"log.cleaner.dedupe.buffer.size is {buffer}: must be more than {_MIB} for each of {threads} threads"
    if 0 < config.queued_max_request_bytes < config.socket_request_max_bytes:
        yield (
            f"queued.max.request.bytes is {config.queued_max_request_bytes}, which is less than "
            f"socket.request.max.bytes, {config.socket_request_max_bytes}"
        )
    if 0 <= config.connections_max_idle_ms <= config.connection_failed_authentication_delay_ms:
        yield (
            f"connection.failed.authentication.delay.ms is {config.connection_failed_authentication_delay_ms}, which "
            f"is not less than connections.max.idle.ms, {config.connections_max_idle_ms}"
        )
    if config.max_connections_per_ip == 0 and not parse_counts(config.max_connections_per_ip_overrides):
        yield "max.connections.per.ip is 0: then max.connections.per.ip.overrides must name somebody"
    if len(config.group_share_assignors) != 1:
        yield f"group.share.assignors is {','.join(config.group_share_assignors)!r}: must be exactly one"


def _on_topics(config: "BrokerConfig") -> Iterator[str]:
    try:
        retention_ms = config.topic_defaults.retention_ms
    except InvalidConfig as error:
        yield f"as a default for topics, {error}"
        return
    if retention_ms == 0:
        yield "log.retention.ms, or what stands in for it, is 0: must be at least 1, or -1 for no limit"


def _on_local_retention(config: "BrokerConfig") -> Iterator[str]:
    """Other than at its start, Kafka looks at these without remote storage too."""
    for unit in ("bytes", "ms"):
        local: int = getattr(config, f"log_local_retention_{unit}")
        whole: int = getattr(config.topic_defaults, f"retention_{unit}")
        if local != AS_REMOTE and whole >= 0 and (local == UNLIMITED or local > whole):
            yield f"log.local.retention.{unit} is {local}, which is more than log.retention.{unit}, {whole}"


def _on_directories(config: "BrokerConfig") -> Iterator[str]:
    for path in config.cordoned_log_dirs:
        if path == "*" and len(config.cordoned_log_dirs) > 1:
            yield "cordoned.log.dirs has *, and with it nothing else"
        if path != "*" and path not in config.data_dirs:
            yield f"cordoned.log.dirs has {path!r}, which is no log directory"


def _on_listeners(config: "BrokerConfig") -> Iterator[str]:
    names = [endpoint.name for endpoint in config.endpoints]
    if len(set(names)) < len(names):
        yield f"listeners is {','.join(config.listeners)!r}: a name comes twice"
    port = port_taken_twice(config.endpoints)
    if port is not None:
        yield f"listeners is {','.join(config.listeners)!r}: two listeners have port {port}"
    for endpoint in (*config.advertised_endpoints, *config.advertised_controller_endpoints):
        if endpoint.host == ANY_HOST:
            yield f"{endpoint} is no address to connect to: advertised.listeners must give another"
    for endpoint in config.advertised_endpoints:
        if endpoint.name not in names:
            yield f"advertised.listeners has {endpoint.name}, which is not in listeners"
    for early in config.early_start_listeners or ():
        if early.upper() not in (*names, *config.controller_names):
            yield f"early.start.listeners has {early}, which is not in listeners or controller.listener.names"


def _on_brokers(config: "BrokerConfig") -> Iterator[str]:
    if not config.is_broker:
        return
    if {"inter.broker.listener.name", "security.inter.broker.protocol"} <= config.given.keys():
        yield "inter.broker.listener.name and security.inter.broker.protocol exclude each other"
    advertised = {endpoint.name: endpoint for endpoint in config.advertised_endpoints}
    if not advertised:
        yield "listeners has none for clients: all of them are in controller.listener.names"
    name = config.inter_broker_name
    if name not in advertised:
        yield f"brokers talk through listener {name}, which is none of {', '.join(advertised)}"
    mechanism = config.sasl_mechanism_inter_broker_protocol
    if advertised[name].protocol.has_sasl and mechanism not in config.mechanisms(name):
        yield f"sasl.mechanism.inter.broker.protocol is {mechanism!r}, which is not in sasl.enabled.mechanisms"


def _on_quorum(config: "BrokerConfig") -> Iterator[str]:
    if not config.is_quorum_of_one and not config.voters and not config.bootstrap_servers:
        yield "controller.quorum.bootstrap.servers or controller.quorum.voters must say where the controllers are"
    for voter in config.voters:
        if voter.address.host == ANY_HOST:
            yield f"controller.quorum.voters has {voter}: {ANY_HOST} is no address to connect to"
    is_voter = config.node_id in [voter.node_id for voter in config.voters]
    if config.is_controller and config.voters and not is_voter:
        yield f"controller.quorum.voters does not name node {config.node_id}, which is a controller"
    if not config.is_controller:
        if is_voter:
            yield f"controller.quorum.voters names node {config.node_id}, which is no controller"
        if config.controller_quorum_auto_join_enable:
            yield "controller.quorum.auto.join.enable is for controllers"


def _on_controller_listeners(config: "BrokerConfig") -> Iterator[str]:
    listening = [endpoint.name for endpoint in config.endpoints]
    for name in config.controller_names:
        if config.is_controller and not config.is_quorum_of_one and name not in listening:
            yield f"controller.listener.names has {name}, which is not in listeners"
        if not config.is_controller and name in listening:
            yield f"controller.listener.names has {name}, which is in listeners although the node is no controller"
        if name not in config.protocols:
            yield f"listener {name} has no protocol in listener.security.protocol.map"
    if not config.is_broker:
        for endpoint in config.broker_endpoints:
            yield f"listeners has {endpoint.name}, which is not in controller.listener.names: the node is no broker"
        if (config.inter_broker_listener_name or "").upper() in config.controller_names:
            yield "inter.broker.listener.name is in controller.listener.names"


_CHECKS: tuple[Callable[["BrokerConfig"], Iterator[str]], ...] = (
    _on_order,
    _on_numbers,
    _on_topics,
    _on_directories,
    _on_listeners,
    _on_quorum,
    _on_controller_listeners,
    _on_brokers,
)

_LIVE_CHECKS = (_on_order, _on_numbers, _on_topics, _on_local_retention, _on_directories)


def _number(config: "BrokerConfig", name: str) -> int:
    return cast("int", getattr(config, attribute_of(name)))
