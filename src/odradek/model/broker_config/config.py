"""BrokerConfig: the settings of a node, and what follows from them."""

from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from functools import cached_property

from odradek.model.address import Address, parse_address
from odradek.model.broker_config.access import AccessSettings
from odradek.model.broker_config.addresses import (
    ANY_HOST,
    Endpoint,
    SecurityProtocol,
    Voter,
    parse_listener,
    parse_protocols,
    parse_voter,
    to_endpoints,
)
from odradek.model.broker_config.checks import check
from odradek.model.broker_config.groups import GroupSettings
from odradek.model.broker_config.log import LogSettings
from odradek.model.broker_config.names import key_of, refuse_unknown
from odradek.model.broker_config.network import NetworkSettings
from odradek.model.broker_config.node import NodeSettings
from odradek.model.broker_config.quorum import QuorumSettings
from odradek.model.broker_config.quotas import QuotaSettings
from odradek.model.broker_config.remote import RemoteSettings
from odradek.model.broker_config.replication import ReplicationSettings
from odradek.model.broker_config.sasl import SaslSettings
from odradek.model.broker_config.share import ShareSettings
from odradek.model.broker_config.tls import TlsSettings
from odradek.model.broker_config.transactions import TransactionSettings
from odradek.model.settings import attribute_of, keys_of
from odradek.model.topic_config import TOPIC_KEYS, TopicConfig

HIDDEN = "[hidden]"

_SELF = frozenset(("localhost", "127.0.0.1", "::1"))


@dataclass(frozen=True, kw_only=True, repr=False, init=False)
class BrokerConfig(
    NodeSettings,
    QuorumSettings,
    NetworkSettings,
    LogSettings,
    ReplicationSettings,
    QuotaSettings,
    GroupSettings,
    ShareSettings,
    TransactionSettings,
    RemoteSettings,
    AccessSettings,
    TlsSettings,
    SaslSettings,
):
    """The settings of one node, typed. An attribute has the name of its setting, with underscores for the dots.

    `BrokerConfig()` has Kafka's defaults. Made directly or with dataclasses.replace, it holds whatever it is given;
    `parse` is where limits are checked.
    """

    given: Mapping[str, str] = field(default_factory=dict, hash=False)
    """The texts that `parse` got, by name: what was said, as against what is so by default. May hold passwords."""

    def __init__(self, *, given: Mapping[str, str] | None = None, **values: object) -> None:
        """`values` by the names of attributes."""
        # Written out by dataclasses for all of these settings, it would take a tenth of the time that a node starts in.
        unknown = values.keys() - self.__dataclass_fields__.keys()
        if unknown:
            raise TypeError(f"no settings: {', '.join(sorted(unknown))}")
        vars(self).update(values, given={} if given is None else given)

    def __repr__(self) -> str:
        return f"BrokerConfig({self.shown()})"

    @classmethod
    def parse(cls, texts: Mapping[str, str]) -> "BrokerConfig":
        """Read settings by name. Raises InvalidConfig, in one line that names the setting and what is wrong with it.

        Refused are names that no setting has, values outside their limits, and values that contradict each other.
        """
        values: dict[str, object] = {}
        for name, text in texts.items():
            value = parse_setting(name, text, texts)
            if name in BROKER_KEYS:
                values[attribute_of(name)] = value
        # The two are one number; Kafka fills in whichever is missing.
        for name, other in (("node_id", "broker_id"), ("broker_id", "node_id")):
            if other in values:
                values.setdefault(name, values[other])
        config = cls(given=dict(texts), **values)
        check(config, BROKER_KEYS)
        return config

    @property
    def others(self) -> dict[str, str]:
        """What was given that is no setting of the node: that of single listeners, and that of plugins."""
        return {name: text for name, text in self.given.items() if name not in BROKER_KEYS}

    def shown(self) -> dict[str, str]:
        """What was given, with passwords hidden, and what only a plugin knows the meaning of."""
        keys = {name: key_of(name, BROKER_KEYS) for name in self.given}
        return {
            name: HIDDEN if key is None or key.is_sensitive else self.given[name] for name, key in sorted(keys.items())
        }

    def for_listener(self, name: str) -> dict[str, str]:
        """What was given for this listener alone, by the rest of the name."""
        prefix = f"listener.name.{name.lower()}."
        return {key[len(prefix) :]: text for key, text in self.given.items() if key.lower().startswith(prefix)}

    @property
    def is_broker(self) -> bool:
        return "broker" in self.process_roles

    @property
    def is_controller(self) -> bool:
        return "controller" in self.process_roles

    @property
    def is_alone(self) -> bool:
        """Whether this node is the whole quorum and a broker too, as far as its own settings tell."""
        if not (self.is_broker and self.is_controller):
            return False
        if self.voters:
            return [voter.node_id for voter in self.voters] == [self.node_id]
        return all(map(self._is_self, self.bootstrap_servers))

    @property
    def is_quorum_of_one(self) -> bool:
        """Whether this node was told of no controller but itself, and so needs no listener for controllers.

        Kafka asks for the listener and the address all the same.
        """
        return self.is_broker and self.is_controller and not self.voters and not self.bootstrap_servers

    @property
    def data_dirs(self) -> tuple[str, ...]:
        return self.log_dir if self.log_dirs is None else self.log_dirs

    @property
    def metadata_dir(self) -> str:
        return self.data_dirs[0] if self.metadata_log_dir is None else self.metadata_log_dir

    @property
    def cordoned_dirs(self) -> tuple[str, ...]:
        return self.data_dirs if self.cordoned_log_dirs == ("*",) else self.cordoned_log_dirs

    @cached_property
    def protocols(self) -> Mapping[str, SecurityProtocol]:
        """The protocol of each listener by name.

        Where no map is given and nothing is secured, controller listeners may have any name, and are plain.
        """
        protocols = parse_protocols(self.listener_security_protocol_map)
        controllers = self.controller_names
        if "listener.security.protocol.map" in self.given:
            return protocols
        named = (*controllers, *(parse_listener(text).name for text in self.listeners))
        if any(name in protocols and name != "PLAINTEXT" for name in named):
            return protocols
        return {**protocols, **dict.fromkeys(controllers, SecurityProtocol.PLAINTEXT)}

    @cached_property
    def endpoints(self) -> tuple[Endpoint, ...]:
        """All that the node listens at."""
        return to_endpoints(self.listeners, self.protocols)

    @cached_property
    def broker_endpoints(self) -> tuple[Endpoint, ...]:
        """Where clients and other brokers come in."""
        return tuple(each for each in self.endpoints if each.name not in self.controller_names)

    @cached_property
    def controller_endpoints(self) -> tuple[Endpoint, ...]:
        """Where this node is reached as a controller."""
        return tuple(each for each in self.endpoints if each.name in self.controller_names)

    @cached_property
    def advertised_endpoints(self) -> tuple[Endpoint, ...]:
        """What clients are told, in order of `advertised.listeners`; without it, that of `listeners`."""
        if self.advertised_listeners is None:
            return self.broker_endpoints
        advertised = to_endpoints(self.advertised_listeners, self.protocols)
        return tuple(each for each in advertised if each.name not in self.controller_names)

    @property
    def advertised_controller_endpoints(self) -> tuple[Endpoint, ...]:
        """What brokers and controllers are told, in order of `controller.listener.names`."""
        advertised = to_endpoints(self.advertised_listeners or (), self.protocols)
        here = (each._replace(host="") if each.host == ANY_HOST else each for each in self.controller_endpoints)
        by_name = {each.name: each for each in (*here, *advertised)}
        return tuple(by_name[name] for name in self.controller_names if name in by_name)

    @property
    def controller_names(self) -> tuple[str, ...]:
        """The names of `controller.listener.names`, in capitals as those of endpoints."""
        return tuple(name.upper() for name in self.controller_listener_names)

    def mechanisms(self, listener: str) -> tuple[str, ...]:
        """What clients of this listener may use for SASL."""
        key = BROKER_KEYS["sasl.enabled.mechanisms"]
        own = self.for_listener(listener).get(key.name)
        return self.sasl_enabled_mechanisms if own is None else key.parse(own)

    @property
    def inter_broker_name(self) -> str:
        """The name of the listener that brokers talk through."""
        return (self.inter_broker_listener_name or self.security_inter_broker_protocol).upper()

    @cached_property
    def voters(self) -> tuple[Voter, ...]:
        return tuple(map(parse_voter, self.controller_quorum_voters))

    @cached_property
    def bootstrap_servers(self) -> tuple[Address, ...]:
        return tuple(map(parse_address, self.controller_quorum_bootstrap_servers))

    @cached_property
    def topic_defaults(self) -> TopicConfig:
        """What topics get that do not say otherwise."""
        return topic_defaults(self)

    def _is_self(self, address: Address) -> bool:
        own = (*self.controller_endpoints, *self.advertised_controller_endpoints)
        hosts = _SELF.union(each.host for each in own)
        return address.host in hosts and address.port in [each.port for each in own]


BROKER_KEYS = dict(sorted(keys_of(BrokerConfig).items()))
"""The settings of a node by name."""


def parse_setting(name: str, text: str, given: Mapping[str, str]) -> object:
    """The value of one setting among others, checked by itself; the text, if it is one of a listener or a plugin.

    Raises InvalidConfig.
    """
    key = key_of(name, BROKER_KEYS)
    if key is not None:
        return (key if key.name == name else replace(key, name=name)).parse(text)
    refuse_unknown(name, given, BROKER_KEYS)
    return text


def topic_defaults(config: BrokerConfig) -> TopicConfig:
    """What topics get that do not say otherwise. Raises InvalidConfig where that is outside the limits of topics."""
    texts = {}
    for key in TOPIC_KEYS.values():
        for name, unit in key.synonyms:
            value = getattr(config, attribute_of(name))
            if value is None:
                continue
            texts[key.name] = BROKER_KEYS[name].format(value if unit == 1 else value * unit) or ""
            if key.name == "retention.ms" and value < 0:
                texts[key.name] = "-1"  # Kafka takes any negative number for "never"
            replace(key, name=name).parse(texts[key.name])  # a complaint is on the setting that was given
            break
    return TopicConfig.parse(texts)
