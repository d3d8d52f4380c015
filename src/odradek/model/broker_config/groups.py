"""The group coordinator: consumer groups of both protocols, streams groups and committed offsets."""

from dataclasses import dataclass

from odradek.model.broker_config.rules import refuse_assignors, refuse_codec, refuse_without_classic
from odradek.model.settings import INT_MAX, Key, Kind, Live, setting


@dataclass(frozen=True, kw_only=True, init=False, repr=False, eq=False)
class GroupSettings:
    """Part of BrokerConfig."""

    group_consumer_assignment_interval_ms: int = setting(
        Key(
            "group.consumer.assignment.interval.ms",
            Kind.INT,
            1000,
            "The least time between two assignments of a consumer group; 0 assigns at once.",
            least=0,
            live=Live.CLUSTER_WIDE,
        )
    )
    group_consumer_assignors: tuple[str, ...] = setting(
        Key(
            "group.consumer.assignors",
            Kind.LIST,
            ("uniform", "range"),
            "The assignors of the broker, by name or class; the first is the default.",
            distinct=True,
            refuses=refuse_assignors,
        )
    )
    group_consumer_heartbeat_interval_ms: int = setting(
        Key(
            "group.consumer.heartbeat.interval.ms",
            Kind.INT,
            5000,
            "How often members of consumer groups must send heartbeats.",
            least=1,
        )
    )
    group_consumer_max_assignment_interval_ms: int = setting(
        Key(
            "group.consumer.max.assignment.interval.ms",
            Kind.INT,
            15_000,
            "The most that a group may choose for its assignment interval.",
            least=0,
        )
    )
    group_consumer_max_heartbeat_interval_ms: int = setting(
        Key(
            "group.consumer.max.heartbeat.interval.ms",
            Kind.INT,
            15_000,
            "The most that a group may choose for its heartbeat interval.",
            least=1,
        )
    )
    group_consumer_max_session_timeout_ms: int = setting(
        Key(
            "group.consumer.max.session.timeout.ms",
            Kind.INT,
            60_000,
            "The most that a group may choose for its session timeout.",
            least=1,
        )
    )
    group_consumer_max_size: int = setting(
        Key("group.consumer.max.size", Kind.INT, INT_MAX, "How many members a consumer group may have.", least=1)
    )
    group_consumer_migration_policy: str = setting(
        Key(
            "group.consumer.migration.policy",
            Kind.STRING,
            "bidirectional",
            "Between which of the two protocols a group may move while it has members.",
            valid=("disabled", "downgrade", "upgrade", "bidirectional"),
            any_case=True,
        )
    )
    group_consumer_min_assignment_interval_ms: int = setting(
        Key(
            "group.consumer.min.assignment.interval.ms",
            Kind.INT,
            0,
            "The least that a group may choose for its assignment interval.",
            least=0,
        )
    )
    group_consumer_min_heartbeat_interval_ms: int = setting(
        Key(
            "group.consumer.min.heartbeat.interval.ms",
            Kind.INT,
            5000,
            "The least that a group may choose for its heartbeat interval.",
            least=1,
        )
    )
    group_consumer_min_session_timeout_ms: int = setting(
        Key(
            "group.consumer.min.session.timeout.ms",
            Kind.INT,
            45_000,
            "The least that a group may choose for its session timeout.",
            least=1,
        )
    )
    group_consumer_regex_refresh_interval_ms: int = setting(
        Key(
            "group.consumer.regex.refresh.interval.ms",
            Kind.INT,
            600_000,
            "How often patterns in subscriptions are held against the names of topics again.",
            least=10_000,
            internal=True,
        )
    )
    group_consumer_session_timeout_ms: int = setting(
        Key(
            "group.consumer.session.timeout.ms",
            Kind.INT,
            45_000,
            "A member of a consumer group that is silent for this long is removed.",
            least=1,
        )
    )
    group_coordinator_append_linger_ms: int = setting(
        Key(
            "group.coordinator.append.linger.ms",
            Kind.INT,
            -1,
            "How long the coordinator gathers records before it writes them; -1 lets the load decide.",
            least=-1,
        )
    )
    group_coordinator_background_threads: int = setting(
        Key(
            "group.coordinator.background.threads",
            Kind.INT,
            2,
            "Threads for the coordinator's long work, such as patterns in subscriptions.",
            least=1,
        )
    )
    group_coordinator_cached_buffer_max_bytes: int = setting(
        Key(
            "group.coordinator.cached.buffer.max.bytes",
            Kind.INT,
            1_048_588,
            "The largest write buffer that the coordinator keeps for the next write.",
            least=524_288,
            live=Live.CLUSTER_WIDE,
        )
    )
    group_coordinator_rebalance_protocols: tuple[str, ...] = setting(
        Key(
            "group.coordinator.rebalance.protocols",
            Kind.LIST,
            ("classic", "consumer", "streams"),
            "The kinds of groups that the coordinator takes.",
            valid=("consumer", "classic", "share", "streams"),
            refuses=refuse_without_classic,
        )
    )
    group_coordinator_threads: int = setting(
        Key("group.coordinator.threads", Kind.INT, 4, "Threads of the group coordinator.", least=1)
    )
    group_initial_rebalance_delay_ms: int = setting(
        Key(
            "group.initial.rebalance.delay.ms",
            Kind.INT,
            3000,
            "How long a new classic group waits for more members before its first rebalance.",
        )
    )
    group_max_session_timeout_ms: int = setting(
        Key(
            "group.max.session.timeout.ms",
            Kind.INT,
            1_800_000,
            "The longest session timeout that a member of a classic group may ask for.",
        )
    )
    group_max_size: int = setting(
        Key("group.max.size", Kind.INT, INT_MAX, "How many members a classic group may have.", least=1)
    )
    group_min_session_timeout_ms: int = setting(
        Key(
            "group.min.session.timeout.ms",
            Kind.INT,
            6000,
            "The shortest session timeout that a member of a classic group may ask for.",
        )
    )
    group_streams_assignment_interval_ms: int = setting(
        Key(
            "group.streams.assignment.interval.ms",
            Kind.INT,
            1000,
            "The least time between two assignments of a streams group; 0 assigns at once.",
            least=0,
            live=Live.CLUSTER_WIDE,
        )
    )
    group_streams_heartbeat_interval_ms: int = setting(
        Key(
            "group.streams.heartbeat.interval.ms",
            Kind.INT,
            5000,
            "How often members of streams groups must send heartbeats.",
            least=1,
        )
    )
    group_streams_initial_rebalance_delay_ms: int = setting(
        Key(
            "group.streams.initial.rebalance.delay.ms",
            Kind.INT,
            3000,
            "How long a new streams group waits for more members before its first assignment.",
            least=0,
        )
    )
    group_streams_max_assignment_interval_ms: int = setting(
        Key(
            "group.streams.max.assignment.interval.ms",
            Kind.INT,
            15_000,
            "The most that a streams group may choose for its assignment interval.",
            least=0,
        )
    )
    group_streams_max_heartbeat_interval_ms: int = setting(
        Key(
            "group.streams.max.heartbeat.interval.ms",
            Kind.INT,
            15_000,
            "The most that a streams group may choose for its heartbeat interval.",
            least=1,
        )
    )
    group_streams_max_session_timeout_ms: int = setting(
        Key(
            "group.streams.max.session.timeout.ms",
            Kind.INT,
            60_000,
            "The most that a streams group may choose for its session timeout.",
            least=1,
        )
    )
    group_streams_max_size: int = setting(
        Key("group.streams.max.size", Kind.INT, INT_MAX, "How many members a streams group may have.", least=1)
    )
    group_streams_max_standby_replicas: int = setting(
        Key(
            "group.streams.max.standby.replicas",
            Kind.INT,
            2,
            "The most standby copies of a task that a streams group may choose.",
            least=0,
        )
    )
    group_streams_min_assignment_interval_ms: int = setting(
        Key(
            "group.streams.min.assignment.interval.ms",
            Kind.INT,
            0,
            "The least that a streams group may choose for its assignment interval.",
            least=0,
        )
    )
    group_streams_min_heartbeat_interval_ms: int = setting(
        Key(
            "group.streams.min.heartbeat.interval.ms",
            Kind.INT,
            5000,
            "The least that a streams group may choose for its heartbeat interval.",
            least=1,
        )
    )
    group_streams_min_session_timeout_ms: int = setting(
        Key(
            "group.streams.min.session.timeout.ms",
            Kind.INT,
            45_000,
            "The least that a streams group may choose for its session timeout.",
            least=1,
        )
    )
    group_streams_num_standby_replicas: int = setting(
        Key(
            "group.streams.num.standby.replicas",
            Kind.INT,
            0,
            "How many standby copies of each task a streams group has.",
            least=0,
        )
    )
    group_streams_session_timeout_ms: int = setting(
        Key(
            "group.streams.session.timeout.ms",
            Kind.INT,
            45_000,
            "A member of a streams group that is silent for this long is removed.",
            least=1,
        )
    )
    offset_metadata_max_bytes: int = setting(
        Key(
            "offset.metadata.max.bytes",
            Kind.INT,
            4096,
            "The longest note that a client may leave with a committed offset.",
        )
    )
    offsets_commit_timeout_ms: int = setting(
        Key(
            "offsets.commit.timeout.ms",
            Kind.INT,
            5000,
            "How long a commit of offsets waits until it is replicated.",
            least=1,
        )
    )
    offsets_load_buffer_size: int = setting(
        Key(
            "offsets.load.buffer.size",
            Kind.INT,
            5_242_880,
            "How much is read at a time when offsets and groups are loaded.",
            least=1,
        )
    )
    offsets_retention_check_interval_ms: int = setting(
        Key(
            "offsets.retention.check.interval.ms",
            Kind.LONG,
            600_000,
            "How often the coordinator looks for offsets that are due to go.",
            least=1,
        )
    )
    offsets_retention_minutes: int = setting(
        Key(
            "offsets.retention.minutes",
            Kind.INT,
            10_080,
            "How long committed offsets stay once nobody uses them.",
            least=1,
        )
    )
    offsets_topic_compression_codec: int = setting(
        Key(
            "offsets.topic.compression.codec",
            Kind.INT,
            0,
            "How the topic of offsets is compressed, by the codec's number.",
            refuses=refuse_codec,
        )
    )
    offsets_topic_num_partitions: int = setting(
        Key(
            "offsets.topic.num.partitions",
            Kind.INT,
            50,
            "How many partitions the topic of offsets has; never to be changed later.",
            least=1,
        )
    )
    offsets_topic_replication_factor: int = setting(
        Key("offsets.topic.replication.factor", Kind.SHORT, 3, "How many replicas the topic of offsets has.", least=1)
    )
    offsets_topic_segment_bytes: int = setting(
        Key(
            "offsets.topic.segment.bytes",
            Kind.INT,
            104_857_600,
            "The segment size of the topic of offsets; small segments load and compact fast.",
            least=1,
        )
    )
