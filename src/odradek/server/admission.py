"""Who may connect to a node: its settings, and what its share of file handles allows."""

from collections.abc import Mapping
from dataclasses import dataclass, field

from odradek.broker.by_address import ByAddress
from odradek.broker.quotas.connections import ConnectionRates, CreationRates
from odradek.broker.quotas.limits import ANY, connection_rates_in
from odradek.broker.settings.settings import Settings
from odradek.metadata.delta import Delta
from odradek.metadata.image import Image, ResourceType
from odradek.model.broker_config import BROKER_KEYS, BrokerConfig
from odradek.model.broker_config.addresses import parse_counts
from odradek.model.errors import InvalidConfig
from odradek.net.framing import Limits
from odradek.net.socket_server import Admission, SocketServer
from odradek.process.network import ListenOptions, Network
from odradek.process.tasks import Tasks
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
class ListenerSettings:
    """What is set for each of a node's listeners, by its name."""

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


@dataclass(slots=True, kw_only=True)
class ConnectionAdmission:
    """Keeps who may connect, and how fast, in line with the settings and with the quotas of addresses.

    Hosts that have names count as soon as their addresses are known.
    """

    settings: Settings
    names: tuple[str, ...]
    """Of listeners."""
    handles: int
    """How many files and connections the process may have open."""
    server: SocketServer
    rates: ConnectionRates
    network: Network
    """Finds the addresses of hosts."""
    tasks: Tasks
    _overrides: ByAddress[int] = field(init=False)
    """max.connections.per.ip.overrides"""
    _quotas: ByAddress[float] = field(init=False)
    """connection_creation_rate"""
    _quota_of_others: float | None = field(init=False, default=None)

    def __post_init__(self) -> None:
        self._overrides = ByAddress(self.network, self.tasks, self.server.change_per_ip_overrides)
        self._quotas = ByAddress(self.network, self.tasks, self._change_quotas)

    def begin(self, image: Image) -> None:
        self._follow_settings(image)
        self._follow_quotas(image)

    def change(self, delta: Delta, image: Image) -> None:
        if any(resource.type == ResourceType.BROKER for resource in delta.configs.changed):
            self._follow_settings(image)
        if delta.quotas.changed:
            self._follow_quotas(image)

    def _follow_settings(self, image: Image) -> None:
        config = self.settings.now(image)
        listeners = ListenerSettings(self.names, self.settings.texts(image))
        connections_max = connections_within(self.handles, capacity_within(self.handles))
        self.rates.change_settings(creation_rates_of(config, listeners))
        self._overrides.change(parse_counts(config.max_connections_per_ip_overrides))
        self.server.change_admission(admission_of(config, connections_max, listeners))

    def _follow_quotas(self, image: Image) -> None:
        rates = connection_rates_in(image.quotas)
        self._quota_of_others = rates.pop(ANY, None)
        self._quotas.change({host: rate for host, rate in rates.items() if host is not None})

    def _change_quotas(self, rates: dict[str, float]) -> None:
        self.rates.change_addresses(rates, self._quota_of_others)


def admission_of(config: BrokerConfig, connections_max: int, listeners: ListenerSettings) -> Admission:
    """`connections_max` is what file handles allow."""
    return Admission(
        connections_max=min(config.max_connections, connections_max),
        handles_max=connections_max,
        per_listener_max=listeners.of_each("max.connections", config.max_connections),
        protected=listeners.protected(config),
        per_ip_max=config.max_connections_per_ip,
        idle_ms_max=config.connections_max_idle_ms,
    )


def listen_options_of(config: BrokerConfig) -> ListenOptions:
    """Sizes of buffers only where they are set: the system finds better ones than Kafka's 100 KB (docs/adr/0007)."""
    sends, receives = "socket.send.buffer.bytes" in config.given, "socket.receive.buffer.bytes" in config.given
    return ListenOptions(
        backlog=config.socket_listen_backlog_size,
        send_buffer_bytes=config.socket_send_buffer_bytes if sends else -1,
        receive_buffer_bytes=config.socket_receive_buffer_bytes if receives else -1,
    )


def creation_rates_of(config: BrokerConfig, listeners: ListenerSettings) -> CreationRates:
    rate = config.max_connection_creation_rate
    return CreationRates(rate, listeners.of_each("max.connection.creation.rate", rate), listeners.protected(config))


def limits_of(config: BrokerConfig) -> Limits:
    return Limits(frame_bytes_max=config.socket_request_max_bytes)
