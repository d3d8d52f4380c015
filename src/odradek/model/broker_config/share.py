"""Share groups: their members, their locks on records, and the coordinator that keeps their state."""

from dataclasses import dataclass

from odradek.model.broker_config.rules import refuse_codec, refuse_nothing
from odradek.model.settings import Key, Kind, Live, setting


@dataclass(frozen=True, kw_only=True, init=False, repr=False, eq=False)
class ShareSettings:
    """Part of BrokerConfig."""

    group_share_assignment_interval_ms: int = setting(
        Key(
            "group.share.assignment.interval.ms",
            Kind.INT,
            1000,
            "The least time between two assignments of a share group; 0 assigns at once.",
            least=0,
            live=Live.CLUSTER_WIDE,
        )
    )
    group_share_assignors: tuple[str, ...] = setting(
        Key(
            "group.share.assignors",
            Kind.LIST,
            ("simple",),
            "The assignors of share groups, by name or class; the first is the default.",
            distinct=True,
            refuses=refuse_nothing,
        )
    )
    group_share_delivery_count_limit: int = setting(
        Key(
            "group.share.delivery.count.limit",
            Kind.INT,
            5,
            "How often a record is delivered before it counts as undeliverable.",
            least=2,
            most=10,
        )
    )
    group_share_heartbeat_interval_ms: int = setting(
        Key(
            "group.share.heartbeat.interval.ms",
            Kind.INT,
            5000,
            "How often members of share groups must send heartbeats.",
            least=1,
        )
    )
    group_share_initialize_retry_interval_ms: int = setting(
        Key(
            "group.share.initialize.retry.interval.ms",
            Kind.INT,
            30_000,
            "How long the coordinator waits before it tries again to set up the state of a partition.",
            least=1,
            internal=True,
        )
    )
    group_share_max_assignment_interval_ms: int = setting(
        Key(
            "group.share.max.assignment.interval.ms",
            Kind.INT,
            15_000,
            "The most that a share group may choose for its assignment interval.",
            least=0,
        )
    )
    group_share_max_delivery_count_limit: int = setting(
        Key(
            "group.share.max.delivery.count.limit",
            Kind.INT,
            10,
            "The most that a share group may choose for its delivery limit.",
            least=5,
            most=25,
        )
    )
    group_share_max_heartbeat_interval_ms: int = setting(
        Key(
            "group.share.max.heartbeat.interval.ms",
            Kind.INT,
            15_000,
            "The most that a share group may choose for its heartbeat interval.",
            least=1,
        )
    )
    group_share_max_partition_max_record_locks: int = setting(
        Key(
            "group.share.max.partition.max.record.locks",
            Kind.INT,
            4000,
            "The most that a share group may choose for its locks in a partition.",
            least=2000,
            most=10_000,
        )
    )
    group_share_max_record_lock_duration_ms: int = setting(
        Key(
            "group.share.max.record.lock.duration.ms",
            Kind.INT,
            60_000,
            "The most that a share group may choose for the time of a lock.",
            least=30_000,
            most=3_600_000,
        )
    )
    group_share_max_session_timeout_ms: int = setting(
        Key(
            "group.share.max.session.timeout.ms",
            Kind.INT,
            60_000,
            "The most that a share group may choose for its session timeout.",
            least=1,
        )
    )
    group_share_max_share_sessions: int = setting(
        Key("group.share.max.share.sessions", Kind.INT, 2000, "How many share sessions the broker holds.", least=1)
    )
    group_share_max_size: int = setting(
        Key("group.share.max.size", Kind.INT, 200, "How many members a share group may have.", least=1, most=1000)
    )
    group_share_min_assignment_interval_ms: int = setting(
        Key(
            "group.share.min.assignment.interval.ms",
            Kind.INT,
            0,
            "The least that a share group may choose for its assignment interval.",
            least=0,
        )
    )
    group_share_min_delivery_count_limit: int = setting(
        Key(
            "group.share.min.delivery.count.limit",
            Kind.INT,
            2,
            "The least that a share group may choose for its delivery limit.",
            least=2,
            most=5,
        )
    )
    group_share_min_heartbeat_interval_ms: int = setting(
        Key(
            "group.share.min.heartbeat.interval.ms",
            Kind.INT,
            5000,
            "The least that a share group may choose for its heartbeat interval.",
            least=1,
        )
    )
    group_share_min_partition_max_record_locks: int = setting(
        Key(
            "group.share.min.partition.max.record.locks",
            Kind.INT,
            100,
            "The least that a share group may choose for its locks in a partition.",
            least=100,
            most=2000,
        )
    )
    group_share_min_record_lock_duration_ms: int = setting(
        Key(
            "group.share.min.record.lock.duration.ms",
            Kind.INT,
            15_000,
            "The least that a share group may choose for the time of a lock.",
            least=1000,
            most=30_000,
        )
    )
    group_share_min_session_timeout_ms: int = setting(
        Key(
            "group.share.min.session.timeout.ms",
            Kind.INT,
            45_000,
            "The least that a share group may choose for its session timeout.",
            least=1,
        )
    )
    group_share_partition_max_record_locks: int = setting(
        Key(
            "group.share.partition.max.record.locks",
            Kind.INT,
            2000,
            "How many records of a partition a share group may hold at once.",
            least=100,
            most=10_000,
        )
    )
    group_share_persister_class_name: str = setting(
        Key(
            "group.share.persister.class.name",
            Kind.STRING,
            "org.apache.kafka.server.share.persister.DefaultStatePersister",
            "The class that stores the state of share groups.",
            internal=True,
        )
    )
    group_share_record_lock_duration_ms: int = setting(
        Key(
            "group.share.record.lock.duration.ms",
            Kind.INT,
            30_000,
            "How long a member holds a record before others may have it.",
            least=1000,
            most=3_600_000,
        )
    )
    group_share_session_timeout_ms: int = setting(
        Key(
            "group.share.session.timeout.ms",
            Kind.INT,
            45_000,
            "A member of a share group that is silent for this long is removed.",
            least=1,
        )
    )
    share_coordinator_append_linger_ms: int = setting(
        Key(
            "share.coordinator.append.linger.ms",
            Kind.INT,
            -1,
            "How long the share coordinator gathers records before it writes them; -1 lets the load decide.",
            least=-1,
        )
    )
    share_coordinator_cached_buffer_max_bytes: int = setting(
        Key(
            "share.coordinator.cached.buffer.max.bytes",
            Kind.INT,
            1_048_588,
            "The largest write buffer that the share coordinator keeps for the next write.",
            least=524_288,
            live=Live.CLUSTER_WIDE,
        )
    )
    share_coordinator_cold_partition_snapshot_interval_ms: int = setting(
        Key(
            "share.coordinator.cold.partition.snapshot.interval.ms",
            Kind.INT,
            300_000,
            "How often a snapshot is made of partitions whose state does not change.",
            least=1,
            internal=True,
        )
    )
    share_coordinator_load_buffer_size: int = setting(
        Key(
            "share.coordinator.load.buffer.size",
            Kind.INT,
            5_242_880,
            "How much is read at a time when the state of share groups is loaded.",
            least=1,
        )
    )
    share_coordinator_snapshot_update_records_per_snapshot: int = setting(
        Key(
            "share.coordinator.snapshot.update.records.per.snapshot",
            Kind.INT,
            500,
            "How many updates are written between two snapshots of a partition's state.",
            least=0,
            most=500,
        )
    )
    share_coordinator_state_topic_compression_codec: int = setting(
        Key(
            "share.coordinator.state.topic.compression.codec",
            Kind.INT,
            0,
            "How the topic of share state is compressed, by the codec's number.",
            refuses=refuse_codec,
        )
    )
    share_coordinator_state_topic_min_isr: int = setting(
        Key(
            "share.coordinator.state.topic.min.isr",
            Kind.SHORT,
            2,
            "The min.insync.replicas of the topic of share state.",
            least=1,
        )
    )
    share_coordinator_state_topic_num_partitions: int = setting(
        Key(
            "share.coordinator.state.topic.num.partitions",
            Kind.INT,
            50,
            "How many partitions the topic of share state has; never to be changed later.",
            least=1,
        )
    )
    share_coordinator_state_topic_prune_interval_ms: int = setting(
        Key(
            "share.coordinator.state.topic.prune.interval.ms",
            Kind.INT,
            300_000,
            "How often records that nobody needs are deleted from the topic of share state.",
            least=1,
            internal=True,
        )
    )
    share_coordinator_state_topic_replication_factor: int = setting(
        Key(
            "share.coordinator.state.topic.replication.factor",
            Kind.SHORT,
            3,
            "How many replicas the topic of share state has.",
            least=1,
        )
    )
    share_coordinator_state_topic_segment_bytes: int = setting(
        Key(
            "share.coordinator.state.topic.segment.bytes",
            Kind.INT,
            104_857_600,
            "The segment size of the topic of share state.",
            least=1,
        )
    )
    share_coordinator_threads: int = setting(
        Key("share.coordinator.threads", Kind.INT, 1, "Threads of the share coordinator.", least=1)
    )
    share_coordinator_write_timeout_ms: int = setting(
        Key(
            "share.coordinator.write.timeout.ms",
            Kind.INT,
            5000,
            "How long a write of share state waits until it is replicated.",
            least=1,
        )
    )
    share_fetch_purgatory_purge_interval_requests: int = setting(
        Key(
            "share.fetch.purgatory.purge.interval.requests",
            Kind.INT,
            1000,
            "How many finished waits for share fetches may pile up before they are cleared.",
        )
    )
