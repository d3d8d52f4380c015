"""Who may connect to a node: its settings, and what its share of file handles allows."""

import socket
from collections.abc import Mapping
from dataclasses import dataclass

from odradek.broker.quotas.connections import ConnectionRates, CreationRates
from odradek.broker.settings import Settings
from odradek.metadata.delta import Delta
from odradek.metadata.image import Image, ResourceType
from odradek.model.broker_config import BROKER_KEYS, BrokerConfig
from odradek.model.broker_config.addresses import parse_counts
from odradek.model.errors import InvalidConfig
from odradek.net.connection import Limits
from odradek.net.listener import Admission, Listener
from odradek.storage.open_files import capacity_within

_HANDLES_RESERVED = 64
"""For what is neither a connection nor a segment: standard streams, the loop, locks, files that are written anew."""
_CONNECTIONS_LEAST = 8


def connections_within(handles: int, files: int) -> int:
    """How many connections there can be at once, of a process that may have so many handles and needs some for files.

    Without a bound they would take the handles that a log needs for its next segment, and a log that cannot go on
    takes its directory offline.
    """
    return max(_CONNECTIONS_LEAST, handles - files - _HANDLES_RESERVED)


@dataclass(frozen=True, slots=True)
class Listeners:
    """What is asked of each of a node's listeners, by its name."""

    names: tuple[str, ...]
    texts: Mapping[str, str]
    """All that is set, by the names of settings."""

    def of_each(self, setting: str, default: int) -> dict[str, int]:
        """What is set for a listener alone, or else for all."""
        return {name: self._of(name, setting, default) for name in self.names}

    def _of(self, name: str, setting: str, default: int) -> int:
        text = self.texts.get(f"listener.name.{name.lower()}.{setting}")
        try:
            value: int = default if text is None else BROKER_KEYS[setting].parse(text)
        except InvalidConfig:
            return default  # another node took it
        return value

    def protected(self, config: BrokerConfig) -> str | None:
        """The one that brokers talk through, if there are others."""
        inter_broker = config.inter_broker_name
        return inter_broker if len(self.names) > 1 and inter_broker in self.names else None


class ConnectionAdmission:
    """Keeps who may connect, and how fast, in line with the settings."""

    def __init__(
        self,
        settings: Settings,
        names: tuple[str, ...],
        handles: int,
        listener: Listener,
        rates: ConnectionRates,
    ) -> None:
        """`names` are those of listeners; `handles` is how many files and connections the process may have open."""
        self._settings = settings
        self._names = names
        self._connections_max = connections_within(handles, capacity_within(handles))
        self._listener = listener
        self._rates = rates

    def begin(self, image: Image) -> None:
        config = self._settings.now(image)
        listeners = Listeners(self._names, self._settings.texts(image))
        self._rates.change_settings(creation_rates_of(config, listeners))
        self._listener.change_admission(admission_of(config, self._connections_max, listeners))

    def change(self, delta: Delta, image: Image) -> None:
        if any(resource.type == ResourceType.BROKER for resource in delta.configs.changed):
            self.begin(image)


def admission_of(config: BrokerConfig, connections_max: int, listeners: Listeners) -> Admission:
    """`connections_max` is what file handles allow."""
    overrides = parse_counts(config.max_connections_per_ip_overrides)
    return Admission(
        connections_max=min(config.max_connections, connections_max),
        handles_max=connections_max,
        per_listener_max=listeners.of_each("max.connections", config.max_connections),
        protected=listeners.protected(config),
        per_ip_max=config.max_connections_per_ip,
        per_ip_overrides={ip: count for host, count in overrides.items() for ip in addresses_of(host)},
        idle_ms_max=config.connections_max_idle_ms,
        backlog=config.socket_listen_backlog_size,
        # Not by default: the system finds better sizes than Kafka's 100 KB (docs/adr/0007).
        send_buffer_bytes=config.socket_send_buffer_bytes if "socket.send.buffer.bytes" in config.given else -1,
        receive_buffer_bytes=config.socket_receive_buffer_bytes
        if "socket.receive.buffer.bytes" in config.given
        else -1,
    )


def creation_rates_of(config: BrokerConfig, listeners: Listeners) -> CreationRates:
    rate = config.max_connection_creation_rate
    return CreationRates(rate, listeners.of_each("max.connection.creation.rate", rate), listeners.protected(config))


def limits_of(config: BrokerConfig) -> Limits:
    return Limits(frame_bytes_max=config.socket_request_max_bytes)


def addresses_of(host: str) -> set[str]:
    """As they look on a connection. A host that has none here cannot connect either."""
    try:
        found = socket.getaddrinfo(host, None, type=socket.SOCK_STREAM)
    except OSError:
        return set()
    return {str(address[0]) for *_, address in found}
