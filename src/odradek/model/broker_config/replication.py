"""Copies of a partition, and how followers keep up with their leader."""

from dataclasses import dataclass

from odradek.model.settings import Key, Kind, Live, setting


@dataclass(frozen=True, kw_only=True, init=False, repr=False, eq=False)
class ReplicationSettings:
    """Part of BrokerConfig."""

    default_replication_factor: int = setting(
        Key("default.replication.factor", Kind.INT, 1, "The number of replicas of a topic that is created without one.")
    )
    min_insync_replicas: int = setting(
        Key(
            "min.insync.replicas",
            Kind.INT,
            1,
            "How many replicas must be in sync for a write with acks=all.",
            least=1,
            live=Live.CLUSTER_WIDE,
        )
    )
    unclean_leader_election_enable: bool = setting(
        Key(
            "unclean.leader.election.enable",
            Kind.BOOLEAN,
            False,
            "Whether a replica that is not in sync may lead when no other is left, at the price of lost records.",
            live=Live.CLUSTER_WIDE,
        )
    )
    follower_fetch_last_tiered_offset_enable: bool = setting(
        Key(
            "follower.fetch.last.tiered.offset.enable",
            Kind.BOOLEAN,
            False,
            "Whether a new follower starts where the local part of the log does, not where the remote part begins.",
            live=Live.CLUSTER_WIDE,
        )
    )
    num_replica_fetchers: int = setting(
        Key(
            "num.replica.fetchers",
            Kind.INT,
            1,
            "Threads that fetch from each other broker.",
            least=1,
            live=Live.CLUSTER_WIDE,
        )
    )
    replica_fetch_backoff_ms: int = setting(
        Key("replica.fetch.backoff.ms", Kind.INT, 1000, "The pause of a follower after a fetch that failed.", least=0)
    )
    replica_fetch_max_bytes: int = setting(
        Key("replica.fetch.max.bytes", Kind.INT, 1_048_576, "How much a follower asks for in each partition.", least=0)
    )
    replica_fetch_min_bytes: int = setting(
        Key("replica.fetch.min.bytes", Kind.INT, 1, "How much there should be before a leader answers a follower.")
    )
    replica_fetch_response_max_bytes: int = setting(
        Key(
            "replica.fetch.response.max.bytes",
            Kind.INT,
            10_485_760,
            "How much a follower asks for in one fetch.",
            least=0,
        )
    )
    replica_fetch_wait_max_ms: int = setting(
        Key(
            "replica.fetch.wait.max.ms",
            Kind.INT,
            500,
            "How long a leader lets a follower wait for replica.fetch.min.bytes.",
        )
    )
    replica_high_watermark_checkpoint_interval_ms: int = setting(
        Key(
            "replica.high.watermark.checkpoint.interval.ms",
            Kind.LONG,
            5000,
            "How often the high watermarks are written to disk.",
        )
    )
    replica_lag_time_max_ms: int = setting(
        Key(
            "replica.lag.time.max.ms",
            Kind.LONG,
            30_000,
            "A follower that has not caught up for this long is no longer in sync.",
        )
    )
    replica_selector_class: str | None = setting(
        Key(
            "replica.selector.class",
            Kind.STRING,
            None,
            "A class that picks the replica that a consumer should fetch from.",
        )
    )
    replica_socket_receive_buffer_bytes: int = setting(
        Key(
            "replica.socket.receive.buffer.bytes",
            Kind.INT,
            65_536,
            "The size of the receive buffer of a follower's sockets.",
        )
    )
    replica_socket_timeout_ms: int = setting(
        Key("replica.socket.timeout.ms", Kind.INT, 30_000, "How long a follower waits for an answer.")
    )
    delete_records_purgatory_purge_interval_requests: int = setting(
        Key(
            "delete.records.purgatory.purge.interval.requests",
            Kind.INT,
            1,
            "How many finished waits for DeleteRecords may pile up before they are cleared.",
        )
    )
    fetch_purgatory_purge_interval_requests: int = setting(
        Key(
            "fetch.purgatory.purge.interval.requests",
            Kind.INT,
            1000,
            "How many finished waits for fetches may pile up before they are cleared.",
        )
    )
    producer_purgatory_purge_interval_requests: int = setting(
        Key(
            "producer.purgatory.purge.interval.requests",
            Kind.INT,
            1000,
            "How many finished waits for produces may pile up before they are cleared.",
        )
    )
