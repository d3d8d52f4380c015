"""Listeners, connections, and the bounds on what they may ask for."""

from dataclasses import dataclass

from odradek.model.broker_config.rules import refuse_counts, refuse_listeners, refuse_nothing, refuse_protocols
from odradek.model.settings import INT_MAX, Key, Kind, Live, setting


@dataclass(frozen=True, kw_only=True, init=False, repr=False, eq=False)
class NetworkSettings:
    """Part of BrokerConfig."""

    listeners: tuple[str, ...] = setting(
        Key(
            "listeners",
            Kind.LIST,
            ("PLAINTEXT://:9092",),
            "Where the node listens, as NAME://host:port; an empty host means all interfaces.",
            distinct=True,
            refuses=refuse_listeners,
            live=Live.PER_BROKER,
        )
    )
    advertised_listeners: tuple[str, ...] | None = setting(
        Key(
            "advertised.listeners",
            Kind.LIST,
            None,
            "What clients are told to connect to, where it is not the same as listeners.",
            distinct=True,
            refuses=refuse_listeners,
        )
    )
    listener_security_protocol_map: str = setting(
        Key(
            "listener.security.protocol.map",
            Kind.STRING,
            "SASL_SSL:SASL_SSL,PLAINTEXT:PLAINTEXT,SSL:SSL,SASL_PLAINTEXT:SASL_PLAINTEXT",
            "The protocol of each listener by name, as NAME:PROTOCOL pairs.",
            refuses=refuse_protocols,
            live=Live.PER_BROKER,
        )
    )
    inter_broker_listener_name: str | None = setting(
        Key(
            "inter.broker.listener.name",
            Kind.STRING,
            None,
            "The listener that brokers talk to each other through; without a value, the one named as "
            "security.inter.broker.protocol.",
            refuses=refuse_nothing,
        )
    )
    connection_failed_authentication_delay_ms: int = setting(
        Key(
            "connection.failed.authentication.delay.ms",
            Kind.INT,
            100,
            "How long a connection whose authentication failed stays open, which slows down those who guess.",
            least=0,
        )
    )
    connections_max_idle_ms: int = setting(
        Key("connections.max.idle.ms", Kind.LONG, 600_000, "A connection that was silent for this long is closed.")
    )
    connections_max_reauth_ms: int = setting(
        Key(
            "connections.max.reauth.ms",
            Kind.LONG,
            0,
            "How long a session with SASL lasts before the client must authenticate again; 0 for ever.",
        )
    )
    fetch_max_bytes: int = setting(
        Key(
            "fetch.max.bytes",
            Kind.INT,
            57_671_680,
            "The most that one fetch returns, unless its first batch alone is larger.",
            least=1024,
        )
    )
    max_connection_creation_rate: int = setting(
        Key(
            "max.connection.creation.rate",
            Kind.INT,
            INT_MAX,
            "How many connections a second the broker accepts.",
            least=0,
            live=Live.CLUSTER_WIDE,
        )
    )
    max_connections: int = setting(
        Key(
            "max.connections",
            Kind.INT,
            INT_MAX,
            "How many connections the broker holds at once.",
            least=0,
            live=Live.CLUSTER_WIDE,
        )
    )
    max_connections_per_ip: int = setting(
        Key(
            "max.connections.per.ip",
            Kind.INT,
            INT_MAX,
            "How many connections the broker holds at once from one address.",
            least=0,
            live=Live.CLUSTER_WIDE,
        )
    )
    max_connections_per_ip_overrides: str = setting(
        Key(
            "max.connections.per.ip.overrides",
            Kind.STRING,
            "",
            "Other bounds than max.connections.per.ip for some hosts, as host:count pairs.",
            refuses=refuse_counts,
            live=Live.CLUSTER_WIDE,
        )
    )
    max_incremental_fetch_session_cache_slots: int = setting(
        Key(
            "max.incremental.fetch.session.cache.slots",
            Kind.INT,
            1000,
            "How many fetch sessions are remembered.",
            least=0,
        )
    )
    max_request_partition_size_limit: int = setting(
        Key(
            "max.request.partition.size.limit",
            Kind.INT,
            2000,
            "The most partitions that one request may be answered for.",
            least=1,
        )
    )
    num_network_threads: int = setting(
        Key(
            "num.network.threads",
            Kind.INT,
            3,
            "Threads that a listener reads requests and sends answers with.",
            least=1,
            live=Live.CLUSTER_WIDE,
        )
    )
    queued_max_request_bytes: int = setting(
        Key(
            "queued.max.request.bytes",
            Kind.LONG,
            -1,
            "No more is read from connections while waiting requests take this many bytes; -1 for no bound.",
        )
    )
    queued_max_requests: int = setting(
        Key(
            "queued.max.requests",
            Kind.INT,
            500,
            "No more is read from connections while this many requests wait.",
            least=1,
        )
    )
    socket_connection_setup_timeout_max_ms: int = setting(
        Key(
            "socket.connection.setup.timeout.max.ms",
            Kind.LONG,
            30_000,
            "The upper bound of socket.connection.setup.timeout.ms as it grows with each failure.",
        )
    )
    socket_connection_setup_timeout_ms: int = setting(
        Key(
            "socket.connection.setup.timeout.ms",
            Kind.LONG,
            10_000,
            "How long the node waits for a connection that it opens itself.",
        )
    )
    socket_listen_backlog_size: int = setting(
        Key("socket.listen.backlog.size", Kind.INT, 50, "How many connections may wait to be accepted.", least=1)
    )
    socket_receive_buffer_bytes: int = setting(
        Key(
            "socket.receive.buffer.bytes",
            Kind.INT,
            102_400,
            "The size of the receive buffer of client sockets; -1 leaves it to the system.",
        )
    )
    socket_request_max_bytes: int = setting(
        Key("socket.request.max.bytes", Kind.INT, 104_857_600, "The largest request that is read.", least=1)
    )
    socket_send_buffer_bytes: int = setting(
        Key(
            "socket.send.buffer.bytes",
            Kind.INT,
            102_400,
            "The size of the send buffer of client sockets; -1 leaves it to the system.",
        )
    )
