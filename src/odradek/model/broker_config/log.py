"""Log directories, and what logs do unless their topic says otherwise."""

from dataclasses import dataclass

from odradek.model.broker_config.rules import refuse_nothing
from odradek.model.settings import LONG_MAX, Key, Kind, Live, setting


@dataclass(frozen=True, kw_only=True, init=False, repr=False, eq=False)
class LogSettings:
    """Part of BrokerConfig."""

    log_dir: tuple[str, ...] = setting(
        Key(
            "log.dir",
            Kind.LIST,
            ("/tmp/kafka-logs",),
            "The log directories where log.dirs is not given.",
            distinct=True,
            refuses=refuse_nothing,
        )
    )
    log_dirs: tuple[str, ...] | None = setting(
        Key(
            "log.dirs",
            Kind.LIST,
            None,
            "The directories that hold the logs; with none given, those of log.dir.",
            distinct=True,
            refuses=refuse_nothing,
        )
    )
    cordoned_log_dirs: tuple[str, ...] = setting(
        Key(
            "cordoned.log.dirs",
            Kind.LIST,
            (),
            "Log directories that take no new partitions, or * for all of them.",
            distinct=True,
            live=Live.PER_BROKER,
        )
    )
    log_dir_failure_timeout_ms: int = setting(
        Key(
            "log.dir.failure.timeout.ms",
            Kind.LONG,
            30_000,
            "A broker that could not tell the controller of a failed directory for this long ends.",
            least=1,
        )
    )
    log_initial_task_delay_ms: int = setting(
        Key(
            "log.initial.task.delay.ms",
            Kind.LONG,
            30_000,
            "How long flushing, retention and the other chores of the logs wait after the start.",
            least=0,
            internal=True,
        )
    )
    num_partitions: int = setting(
        Key("num.partitions", Kind.INT, 1, "The number of partitions of a topic that is created without one.", least=1)
    )
    num_recovery_threads_per_data_dir: int = setting(
        Key(
            "num.recovery.threads.per.data.dir",
            Kind.INT,
            2,
            "Threads that load and recover logs, in each log directory.",
            least=1,
            live=Live.CLUSTER_WIDE,
        )
    )
    num_replica_alter_log_dirs_threads: int | None = setting(
        Key(
            "num.replica.alter.log.dirs.threads",
            Kind.INT,
            None,
            "Threads that move replicas between log directories; without a value, one for each directory.",
        )
    )
    compression_gzip_level: int = setting(
        Key(
            "compression.gzip.level",
            Kind.INT,
            -1,
            "The level that topics get for compression.type=gzip, where -1 is the codec's own default.",
            least=1,
            most=9,
            besides=(-1,),
            live=Live.CLUSTER_WIDE,
        )
    )
    compression_lz4_level: int = setting(
        Key(
            "compression.lz4.level",
            Kind.INT,
            9,
            "The level that topics get for compression.type=lz4.",
            least=1,
            most=17,
            live=Live.CLUSTER_WIDE,
        )
    )
    compression_type: str = setting(
        Key(
            "compression.type",
            Kind.STRING,
            "producer",
            "How batches are compressed in the logs: producer leaves them as they came.",
            valid=("uncompressed", "zstd", "lz4", "snappy", "gzip", "producer"),
            live=Live.CLUSTER_WIDE,
        )
    )
    compression_zstd_level: int = setting(
        Key(
            "compression.zstd.level",
            Kind.INT,
            3,
            "The level that topics get for compression.type=zstd.",
            least=-131_072,
            most=22,
            live=Live.CLUSTER_WIDE,
        )
    )
    message_max_bytes: int = setting(
        Key(
            "message.max.bytes",
            Kind.INT,
            1_048_588,
            "The largest record batch that a topic takes.",
            least=0,
            live=Live.CLUSTER_WIDE,
        )
    )
    log_cleaner_backoff_ms: int = setting(
        Key(
            "log.cleaner.backoff.ms",
            Kind.LONG,
            15_000,
            "The pause of compaction when there was nothing to compact.",
            least=0,
            live=Live.CLUSTER_WIDE,
        )
    )
    log_cleaner_dedupe_buffer_size: int = setting(
        Key(
            "log.cleaner.dedupe.buffer.size",
            Kind.LONG,
            134_217_728,
            "Memory for the keys that compaction looks at, over all its threads.",
            live=Live.CLUSTER_WIDE,
        )
    )
    log_cleaner_delete_retention_ms: int = setting(
        Key(
            "log.cleaner.delete.retention.ms",
            Kind.LONG,
            86_400_000,
            "How long compaction keeps tombstones.",
            least=0,
            live=Live.CLUSTER_WIDE,
        )
    )
    log_cleaner_enable: bool = setting(
        Key(
            "log.cleaner.enable",
            Kind.BOOLEAN,
            True,
            "Whether compaction runs at all; nobody should turn it off, since the offsets of groups rely on it.",
        )
    )
    log_cleaner_io_buffer_load_factor: float = setting(
        Key(
            "log.cleaner.io.buffer.load.factor",
            Kind.DOUBLE,
            0.9,
            "How full the memory for keys may get: more keys in one pass, more collisions.",
            live=Live.CLUSTER_WIDE,
        )
    )
    log_cleaner_io_buffer_size: int = setting(
        Key(
            "log.cleaner.io.buffer.size",
            Kind.INT,
            524_288,
            "Memory for reading and writing in compaction, over all its threads.",
            least=0,
            live=Live.CLUSTER_WIDE,
        )
    )
    log_cleaner_io_max_bytes_per_second: float = setting(
        Key(
            "log.cleaner.io.max.bytes.per.second",
            Kind.DOUBLE,
            1.7976931348623157e308,
            "The most that compaction reads and writes in a second, on average.",
            live=Live.CLUSTER_WIDE,
        )
    )
    log_cleaner_max_compaction_lag_ms: int = setting(
        Key(
            "log.cleaner.max.compaction.lag.ms",
            Kind.LONG,
            LONG_MAX,
            "How long a record may wait for compaction.",
            least=1,
            live=Live.CLUSTER_WIDE,
        )
    )
    log_cleaner_min_cleanable_ratio: float = setting(
        Key(
            "log.cleaner.min.cleanable.ratio",
            Kind.DOUBLE,
            0.5,
            "The share of a log that must be dirty for compaction to start.",
            least=0,
            most=1,
            live=Live.CLUSTER_WIDE,
        )
    )
    log_cleaner_min_compaction_lag_ms: int = setting(
        Key(
            "log.cleaner.min.compaction.lag.ms",
            Kind.LONG,
            0,
            "How long a record is safe from compaction.",
            least=0,
            live=Live.CLUSTER_WIDE,
        )
    )
    log_cleaner_threads: int = setting(
        Key("log.cleaner.threads", Kind.INT, 1, "Threads that compact.", least=0, live=Live.CLUSTER_WIDE)
    )
    log_cleanup_policy: tuple[str, ...] = setting(
        Key(
            "log.cleanup.policy",
            Kind.LIST,
            ("delete",),
            "What happens to old records: delete, compact, both, or nothing.",
            valid=("compact", "delete"),
            live=Live.CLUSTER_WIDE,
        )
    )
    log_flush_interval_messages: int = setting(
        Key(
            "log.flush.interval.messages",
            Kind.LONG,
            LONG_MAX,
            "A log is synced to disk once it got this many records since the last time.",
            least=1,
            live=Live.CLUSTER_WIDE,
        )
    )
    log_flush_interval_ms: int | None = setting(
        Key(
            "log.flush.interval.ms",
            Kind.LONG,
            None,
            "A log is synced to disk once its oldest unsynced record is this old; without a value, as in "
            "log.flush.scheduler.interval.ms.",
            live=Live.CLUSTER_WIDE,
        )
    )
    log_flush_offset_checkpoint_interval_ms: int = setting(
        Key(
            "log.flush.offset.checkpoint.interval.ms",
            Kind.INT,
            60_000,
            "How often the point from which recovery would start is written down.",
            least=0,
        )
    )
    log_flush_scheduler_interval_ms: int = setting(
        Key(
            "log.flush.scheduler.interval.ms",
            Kind.LONG,
            LONG_MAX,
            "How often the broker looks for logs that are due to be synced.",
        )
    )
    log_flush_start_offset_checkpoint_interval_ms: int = setting(
        Key(
            "log.flush.start.offset.checkpoint.interval.ms",
            Kind.INT,
            60_000,
            "How often the first offset of each log is written down.",
            least=0,
        )
    )
    log_index_interval_bytes: int = setting(
        Key(
            "log.index.interval.bytes",
            Kind.INT,
            4096,
            "Bytes of log between two entries of an index.",
            least=0,
            live=Live.CLUSTER_WIDE,
        )
    )
    log_index_size_max_bytes: int = setting(
        Key(
            "log.index.size.max.bytes",
            Kind.INT,
            10_485_760,
            "The largest size of an index.",
            least=4,
            live=Live.CLUSTER_WIDE,
        )
    )
    log_local_retention_bytes: int = setting(
        Key(
            "log.local.retention.bytes",
            Kind.LONG,
            -2,
            "The limit of log.retention.bytes for what stays local beside remote storage; -2 for the same.",
            least=-2,
            live=Live.CLUSTER_WIDE,
        )
    )
    log_local_retention_ms: int = setting(
        Key(
            "log.local.retention.ms",
            Kind.LONG,
            -2,
            "The limit of log.retention.ms for what stays local beside remote storage; -2 for the same.",
            least=-2,
            live=Live.CLUSTER_WIDE,
        )
    )
    log_message_timestamp_after_max_ms: int = setting(
        Key(
            "log.message.timestamp.after.max.ms",
            Kind.LONG,
            3_600_000,
            "How far ahead of the broker's clock the time of a record may be.",
            least=0,
            live=Live.CLUSTER_WIDE,
        )
    )
    log_message_timestamp_before_max_ms: int = setting(
        Key(
            "log.message.timestamp.before.max.ms",
            Kind.LONG,
            LONG_MAX,
            "How far behind the broker's clock the time of a record may be.",
            least=0,
            live=Live.CLUSTER_WIDE,
        )
    )
    log_message_timestamp_type: str = setting(
        Key(
            "log.message.timestamp.type",
            Kind.STRING,
            "CreateTime",
            "Whose time records carry: the producer's (CreateTime) or the broker's (LogAppendTime).",
            valid=("CreateTime", "LogAppendTime"),
            live=Live.CLUSTER_WIDE,
        )
    )
    log_preallocate: bool = setting(
        Key(
            "log.preallocate",
            Kind.BOOLEAN,
            False,
            "Whether the file of a new segment gets its full size on disk at once.",
            live=Live.CLUSTER_WIDE,
        )
    )
    log_retention_bytes: int = setting(
        Key(
            "log.retention.bytes",
            Kind.LONG,
            -1,
            "Old segments go once a partition is larger than this; -1 for never.",
            live=Live.CLUSTER_WIDE,
        )
    )
    log_retention_check_interval_ms: int = setting(
        Key(
            "log.retention.check.interval.ms",
            Kind.LONG,
            300_000,
            "How often the broker looks for segments that are due to go.",
            least=1,
        )
    )
    log_retention_hours: int = setting(
        Key(
            "log.retention.hours",
            Kind.INT,
            168,
            "log.retention.ms in hours, where neither that nor log.retention.minutes is given.",
        )
    )
    log_retention_minutes: int | None = setting(
        Key("log.retention.minutes", Kind.INT, None, "log.retention.ms in minutes, where that is not given.")
    )
    log_retention_ms: int | None = setting(
        Key(
            "log.retention.ms",
            Kind.LONG,
            None,
            "A segment goes once its newest record is older than this; -1 for never.",
            live=Live.CLUSTER_WIDE,
        )
    )
    log_roll_hours: int = setting(
        Key("log.roll.hours", Kind.INT, 168, "log.roll.ms in hours, where that is not given.", least=1)
    )
    log_roll_jitter_hours: int = setting(
        Key("log.roll.jitter.hours", Kind.INT, 0, "log.roll.jitter.ms in hours, where that is not given.", least=0)
    )
    log_roll_jitter_ms: int | None = setting(
        Key(
            "log.roll.jitter.ms",
            Kind.LONG,
            None,
            "Up to this much, at random, comes off log.roll.ms.",
            live=Live.CLUSTER_WIDE,
        )
    )
    log_roll_ms: int | None = setting(
        Key(
            "log.roll.ms",
            Kind.LONG,
            None,
            "A new segment is begun after this time, even if the last one is not full.",
            live=Live.CLUSTER_WIDE,
        )
    )
    log_segment_bytes: int = setting(
        Key(
            "log.segment.bytes",
            Kind.INT,
            1_073_741_824,
            "A new segment is begun past this size.",
            least=1_048_576,
            live=Live.CLUSTER_WIDE,
        )
    )
    log_segment_delete_delay_ms: int = setting(
        Key(
            "log.segment.delete.delay.ms",
            Kind.LONG,
            60_000,
            "How long the files of a deleted segment stay on disk.",
            least=0,
            live=Live.CLUSTER_WIDE,
        )
    )
