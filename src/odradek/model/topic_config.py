"""The settings of a topic, as Kafka 4.3 has them: names, defaults and limits."""

import re
from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import Literal, get_args

from odradek.model.errors import InvalidConfig
from odradek.model.settings import LONG_MAX, Key, Kind, Synonym, attribute_of, keys_of, setting

CleanupPolicy = Literal["compact", "delete"]
CompressionType = Literal["uncompressed", "zstd", "lz4", "snappy", "gzip", "producer"]
MessageTimestampType = Literal["CreateTime", "LogAppendTime"]

AS_REMOTE = -2
"""In local.retention.*: the same limit as the whole topic has."""
UNLIMITED = -1
"""In retention.* and local.retention.*."""

_DAY_MS = 86_400_000
_HOUR_MS = 3_600_000
_MINUTE_MS = 60_000
_REPLICA = re.compile(r"([0-9]+:[0-9]+)?")


def _refuse_replicas(replicas: tuple[str, ...]) -> str | None:
    if replicas == ("*",) or all(map(_REPLICA.fullmatch, replicas)):
        return None
    return "must be * or a list of partition:broker"


@dataclass(frozen=True, slots=True, kw_only=True)
class TopicConfig:
    """The settings of one topic, typed. An attribute has the name of its setting, with underscores for the dots.

    Made directly or with dataclasses.replace, it holds whatever it is given; `parse` is where limits are checked.
    """

    cleanup_policy: tuple[CleanupPolicy, ...] = setting(
        Key(
            "cleanup.policy",
            Kind.LIST,
            ("delete",),
            "What happens to old records: delete drops whole segments past the retention limits, compact keeps the "
            "last record of each key. Both may be given. With none, everything stays.",
            valid=get_args(CleanupPolicy),
            synonyms=(Synonym("log.cleanup.policy"),),
        )
    )
    compression_gzip_level: int = setting(
        Key(
            "compression.gzip.level",
            Kind.INT,
            -1,
            "The level for compression.type=gzip. -1 is the codec's own default.",
            least=1,
            most=9,
            besides=(-1,),
            synonyms=(Synonym("compression.gzip.level"),),
        )
    )
    compression_lz4_level: int = setting(
        Key(
            "compression.lz4.level",
            Kind.INT,
            9,
            "The level for compression.type=lz4.",
            least=1,
            most=17,
            synonyms=(Synonym("compression.lz4.level"),),
        )
    )
    compression_type: CompressionType = setting(  # noqa: RUF009 (it makes a field)
        Key(
            "compression.type",
            Kind.STRING,
            "producer",
            "How batches are compressed in the log. producer leaves them as they came; any other value has the broker "
            "compress anew what came in another form.",
            valid=get_args(CompressionType),
            synonyms=(Synonym("compression.type"),),
        )
    )
    compression_zstd_level: int = setting(
        Key(
            "compression.zstd.level",
            Kind.INT,
            3,
            "The level for compression.type=zstd. Negative levels are fast ones.",
            least=-131_072,
            most=22,
            synonyms=(Synonym("compression.zstd.level"),),
        )
    )
    delete_retention_ms: int = setting(
        Key(
            "delete.retention.ms",
            Kind.LONG,
            _DAY_MS,
            "How long compaction keeps a tombstone, and with it the time that a consumer has to read from the start "
            "to the end without missing a deletion.",
            least=0,
            synonyms=(Synonym("log.cleaner.delete.retention.ms"),),
        )
    )
    file_delete_delay_ms: int = setting(
        Key(
            "file.delete.delay.ms",
            Kind.LONG,
            _MINUTE_MS,
            "How long the files of a deleted segment stay on disk, for those who still read them.",
            least=0,
            synonyms=(Synonym("log.segment.delete.delay.ms"),),
        )
    )
    flush_messages: int = setting(
        Key(
            "flush.messages",
            Kind.LONG,
            LONG_MAX,
            "Sync the log to disk once this many records were appended since the last time. 1 syncs before every "
            "acknowledgement.",
            least=1,
            synonyms=(Synonym("log.flush.interval.messages"),),
        )
    )
    flush_ms: int = setting(
        Key(
            "flush.ms",
            Kind.LONG,
            LONG_MAX,
            "Sync the log to disk once the oldest unsynced record is this old.",
            least=0,
            synonyms=(Synonym("log.flush.interval.ms"), Synonym("log.flush.scheduler.interval.ms")),
        )
    )
    follower_replication_throttled_replicas: tuple[str, ...] = setting(
        Key(
            "follower.replication.throttled.replicas",
            Kind.LIST,
            (),
            "The replicas that count against the quota of following brokers: partition:broker pairs, or * for all.",
            refuses=_refuse_replicas,
        )
    )
    index_interval_bytes: int = setting(
        Key(
            "index.interval.bytes",
            Kind.INT,
            4096,
            "Bytes of log between two entries of an index. Fewer make lookups closer and indexes larger.",
            least=0,
            synonyms=(Synonym("log.index.interval.bytes"),),
        )
    )
    internal_segment_bytes: int | None = setting(
        Key(
            "internal.segment.bytes",
            Kind.INT,
            None,
            "Stands in for segment.bytes where a test needs segments smaller than that allows.",
            internal=True,
        )
    )
    leader_replication_throttled_replicas: tuple[str, ...] = setting(
        Key(
            "leader.replication.throttled.replicas",
            Kind.LIST,
            (),
            "The replicas that count against the quota of leading brokers: partition:broker pairs, or * for all.",
            refuses=_refuse_replicas,
        )
    )
    local_retention_bytes: int = setting(
        Key(
            "local.retention.bytes",
            Kind.LONG,
            AS_REMOTE,
            "The limit of retention.bytes for what is kept locally where a topic has remote storage. -2 takes that of "
            "retention.bytes.",
            least=AS_REMOTE,
            synonyms=(Synonym("log.local.retention.bytes"),),
        )
    )
    local_retention_ms: int = setting(
        Key(
            "local.retention.ms",
            Kind.LONG,
            AS_REMOTE,
            "The limit of retention.ms for what is kept locally where a topic has remote storage. -2 takes that of "
            "retention.ms.",
            least=AS_REMOTE,
            synonyms=(Synonym("log.local.retention.ms"),),
        )
    )
    max_compaction_lag_ms: int = setting(
        Key(
            "max.compaction.lag.ms",
            Kind.LONG,
            LONG_MAX,
            "How long a record may wait for compaction, however small the dirty part of the log is.",
            least=1,
            synonyms=(Synonym("log.cleaner.max.compaction.lag.ms"),),
        )
    )
    max_message_bytes: int = setting(
        Key(
            "max.message.bytes",
            Kind.INT,
            1_048_588,
            "The largest record batch that is taken, in bytes as it came, so after compression.",
            least=0,
            synonyms=(Synonym("message.max.bytes"),),
        )
    )
    message_timestamp_after_max_ms: int = setting(
        Key(
            "message.timestamp.after.max.ms",
            Kind.LONG,
            _HOUR_MS,
            "How far ahead of the broker's clock the time of a record may be. Only for CreateTime.",
            least=0,
            synonyms=(Synonym("log.message.timestamp.after.max.ms"),),
        )
    )
    message_timestamp_before_max_ms: int = setting(
        Key(
            "message.timestamp.before.max.ms",
            Kind.LONG,
            LONG_MAX,
            "How far behind the broker's clock the time of a record may be. Only for CreateTime.",
            least=0,
            synonyms=(Synonym("log.message.timestamp.before.max.ms"),),
        )
    )
    message_timestamp_type: MessageTimestampType = setting(  # noqa: RUF009 (it makes a field)
        Key(
            "message.timestamp.type",
            Kind.STRING,
            "CreateTime",
            "Whose time records carry: the producer's (CreateTime) or the broker's at the append (LogAppendTime).",
            valid=get_args(MessageTimestampType),
            synonyms=(Synonym("log.message.timestamp.type"),),
        )
    )
    min_cleanable_dirty_ratio: float = setting(
        Key(
            "min.cleanable.dirty.ratio",
            Kind.DOUBLE,
            0.5,
            "Compaction waits until this share of the log is dirty, that is, not yet compacted. More saves work and "
            "costs space.",
            least=0,
            most=1,
            synonyms=(Synonym("log.cleaner.min.cleanable.ratio"),),
        )
    )
    min_compaction_lag_ms: int = setting(
        Key(
            "min.compaction.lag.ms",
            Kind.LONG,
            0,
            "How long a record is safe from compaction.",
            least=0,
            synonyms=(Synonym("log.cleaner.min.compaction.lag.ms"),),
        )
    )
    min_insync_replicas: int = setting(
        Key(
            "min.insync.replicas",
            Kind.INT,
            1,
            "How many replicas, leader included, must be in sync for a write with acks=all to be taken.",
            least=1,
            synonyms=(Synonym("min.insync.replicas"),),
        )
    )
    preallocate: bool = setting(
        Key(
            "preallocate",
            Kind.BOOLEAN,
            False,
            "Whether the file of a new segment gets its full size on disk at once.",
            synonyms=(Synonym("log.preallocate"),),
        )
    )
    remote_log_copy_disable: bool = setting(
        Key(
            "remote.log.copy.disable",
            Kind.BOOLEAN,
            False,
            "Whether the remote part of a topic is read only: nothing more is copied there, and local data follows "
            "the limits of the whole topic.",
        )
    )
    remote_log_delete_on_disable: bool = setting(
        Key(
            "remote.log.delete.on.disable",
            Kind.BOOLEAN,
            False,
            "Whether the remote part of a topic is deleted when its remote storage is turned off.",
        )
    )
    remote_storage_enable: bool = setting(
        Key(
            "remote.storage.enable",
            Kind.BOOLEAN,
            False,
            "Whether closed segments are copied to remote storage.",
        )
    )
    retention_bytes: int = setting(
        Key(
            "retention.bytes",
            Kind.LONG,
            UNLIMITED,
            "With the policy delete, old segments go once a partition is larger than this. -1: never.",
            synonyms=(Synonym("log.retention.bytes"),),
        )
    )
    retention_ms: int = setting(
        Key(
            "retention.ms",
            Kind.LONG,
            7 * _DAY_MS,
            "With the policy delete, a segment goes once its newest record is older than this. -1: never.",
            least=UNLIMITED,
            synonyms=(
                Synonym("log.retention.ms"),
                Synonym("log.retention.minutes", _MINUTE_MS),
                Synonym("log.retention.hours", _HOUR_MS),
            ),
        )
    )
    segment_bytes: int = setting(
        Key(
            "segment.bytes",
            Kind.INT,
            1 << 30,
            "Roll to a new segment past this size. Retention and compaction work on closed segments.",
            least=1 << 20,
            synonyms=(Synonym("log.segment.bytes"),),
        )
    )
    segment_index_bytes: int = setting(
        Key(
            "segment.index.bytes",
            Kind.INT,
            10 << 20,
            "The largest size of an index; a segment is rolled when its index is full.",
            least=4,
            synonyms=(Synonym("log.index.size.max.bytes"),),
        )
    )
    segment_jitter_ms: int = setting(
        Key(
            "segment.jitter.ms",
            Kind.LONG,
            0,
            "Up to this much, at random, comes off segment.ms, so that not all partitions roll at once.",
            least=0,
            synonyms=(Synonym("log.roll.jitter.ms"), Synonym("log.roll.jitter.hours", _HOUR_MS)),
        )
    )
    segment_ms: int = setting(
        Key(
            "segment.ms",
            Kind.LONG,
            7 * _DAY_MS,
            "Roll to a new segment after this time, even if the last one is not full.",
            least=1,
            synonyms=(Synonym("log.roll.ms"), Synonym("log.roll.hours", _HOUR_MS)),
        )
    )
    unclean_leader_election_enable: bool = setting(
        Key(
            "unclean.leader.election.enable",
            Kind.BOOLEAN,
            False,
            "Whether a replica that is not in sync may lead when no other is left. Records may be lost that way.",
            synonyms=(Synonym("unclean.leader.election.enable"),),
        )
    )

    @classmethod
    def parse(cls, texts: Mapping[str, str], defaults: "TopicConfig | None" = None) -> "TopicConfig":
        """Read settings by name; those not given are as in `defaults`.

        Raises InvalidConfig for a name that no setting has, a value outside its limits, or values that contradict each
        other. Whether the cluster offers remote storage at all is not known here, nor checked.
        """
        values = {}
        for name, text in texts.items():
            if name not in TOPIC_KEYS:
                raise InvalidConfig(f"Unknown topic config name: {name}")
            values[attribute_of(name)] = TOPIC_KEYS[name].parse(text)
        config = replace(defaults or TopicConfig(), **values)
        config.check()
        return _with_internal(config)

    @classmethod
    def parse_stored(
        cls, texts: Mapping[str, str], defaults: "TopicConfig | None" = None
    ) -> tuple["TopicConfig", dict[str, str]]:
        """As `parse`, for the overrides that the metadata holds. Never raises.

        A controller of another version wrote them, perhaps. An override with an unknown name or an invalid value is
        ignored. The second result says why, for each name that is ignored.
        """
        values, ignored = {}, {}
        for name, text in texts.items():
            try:
                values[attribute_of(name)] = TOPIC_KEYS[name].parse(text)
            except KeyError:
                ignored[name] = f"topics have no setting {name!r}"
            except InvalidConfig as error:
                ignored[name] = str(error)
        return _with_internal(replace(defaults or TopicConfig(), **values)), ignored

    def check(self) -> None:
        """Raises InvalidConfig where settings contradict each other."""
        _check_lags(self)
        _check_remote(self)

    @property
    def is_compacted(self) -> bool:
        return "compact" in self.cleanup_policy

    @property
    def segment_ms_max(self) -> int:
        """After this time a segment is closed: a compacted topic cleans closed ones only, and has a limit for that."""
        return min(self.segment_ms, self.max_compaction_lag_ms) if self.is_compacted else self.segment_ms

    @property
    def is_deleted(self) -> bool:
        """Whether retention applies."""
        return "delete" in self.cleanup_policy


TOPIC_KEYS = keys_of(TopicConfig)
"""The settings of a topic by name."""


def _with_internal(config: TopicConfig) -> TopicConfig:
    if config.internal_segment_bytes is None:
        return config
    return replace(config, segment_bytes=config.internal_segment_bytes)


def _check_lags(config: TopicConfig) -> None:
    if config.min_compaction_lag_ms > config.max_compaction_lag_ms:
        raise InvalidConfig(
            f"conflict of settings: min.compaction.lag.ms ({config.min_compaction_lag_ms}) > "
            f"max.compaction.lag.ms ({config.max_compaction_lag_ms})"
        )


def _check_remote(config: TopicConfig) -> None:
    """Local data is part of the whole, so its limits must lie within those of the whole."""
    if not config.remote_storage_enable:
        return
    if config.cleanup_policy not in ((), ("delete",)):
        raise InvalidConfig("remote.storage.enable needs a cleanup.policy of delete, or none")
    for unit in ("bytes", "ms"):
        local: int = getattr(config, f"local_retention_{unit}")
        whole: int = getattr(config, f"retention_{unit}")
        if local == AS_REMOTE:
            continue
        if config.remote_log_copy_disable and local != whole:
            raise InvalidConfig(
                f"with remote.log.copy.disable, local.retention.{unit} must be retention.{unit}: {local} is not {whole}"
            )
        if whole >= 0 and (local == UNLIMITED or local > whole):
            raise InvalidConfig(f"local.retention.{unit} is {local}, which is more than retention.{unit}, {whole}")
