"""Remote storage: closed segments that move to another place."""

from dataclasses import dataclass

from odradek.model.broker_config.rules import refuse_nothing
from odradek.model.settings import LONG_MAX, Key, Kind, Live, setting


@dataclass(frozen=True, kw_only=True, init=False, repr=False, eq=False)
class RemoteSettings:
    """Part of BrokerConfig."""

    remote_log_storage_system_enable: bool = setting(
        Key(
            "remote.log.storage.system.enable",
            Kind.BOOLEAN,
            False,
            "Whether the broker can store segments remotely at all.",
        )
    )
    remote_fetch_max_wait_ms: int = setting(
        Key(
            "remote.fetch.max.wait.ms",
            Kind.INT,
            500,
            "How long a fetch waits for remote data.",
            least=1,
            live=Live.CLUSTER_WIDE,
        )
    )
    remote_list_offsets_request_timeout_ms: int = setting(
        Key(
            "remote.list.offsets.request.timeout.ms",
            Kind.LONG,
            30_000,
            "How long a search for an offset waits for remote data.",
            least=1,
            live=Live.CLUSTER_WIDE,
        )
    )
    remote_log_index_file_cache_total_size_bytes: int = setting(
        Key(
            "remote.log.index.file.cache.total.size.bytes",
            Kind.LONG,
            1_073_741_824,
            "Space for local copies of remote indexes.",
            least=1,
            live=Live.CLUSTER_WIDE,
        )
    )
    remote_log_index_file_cache_ttl_ms: int = setting(
        Key(
            "remote.log.index.file.cache.ttl.ms",
            Kind.LONG,
            900_000,
            "How long a local copy of a remote index stays unused; -1 for ever.",
            least=-1,
            internal=True,
        )
    )
    remote_log_manager_copier_thread_pool_size: int = setting(
        Key(
            "remote.log.manager.copier.thread.pool.size",
            Kind.INT,
            10,
            "Threads that copy segments to remote storage.",
            least=1,
            live=Live.CLUSTER_WIDE,
        )
    )
    remote_log_manager_copy_max_bytes_per_second: int = setting(
        Key(
            "remote.log.manager.copy.max.bytes.per.second",
            Kind.LONG,
            LONG_MAX,
            "The most that is copied to remote storage in a second.",
            least=1,
            live=Live.CLUSTER_WIDE,
        )
    )
    remote_log_manager_copy_quota_window_num: int = setting(
        Key(
            "remote.log.manager.copy.quota.window.num",
            Kind.INT,
            11,
            "How many windows the quota on copies to remote storage looks at.",
            least=1,
        )
    )
    remote_log_manager_copy_quota_window_size_seconds: int = setting(
        Key(
            "remote.log.manager.copy.quota.window.size.seconds",
            Kind.INT,
            1,
            "The length of one window of the quota on copies to remote storage.",
            least=1,
        )
    )
    remote_log_manager_expiration_thread_pool_size: int = setting(
        Key(
            "remote.log.manager.expiration.thread.pool.size",
            Kind.INT,
            10,
            "Threads that delete remote segments.",
            least=1,
            live=Live.CLUSTER_WIDE,
        )
    )
    remote_log_manager_fetch_max_bytes_per_second: int = setting(
        Key(
            "remote.log.manager.fetch.max.bytes.per.second",
            Kind.LONG,
            LONG_MAX,
            "The most that is fetched from remote storage in a second.",
            least=1,
            live=Live.CLUSTER_WIDE,
        )
    )
    remote_log_manager_fetch_quota_window_num: int = setting(
        Key(
            "remote.log.manager.fetch.quota.window.num",
            Kind.INT,
            11,
            "How many windows the quota on remote fetches looks at.",
            least=1,
        )
    )
    remote_log_manager_fetch_quota_window_size_seconds: int = setting(
        Key(
            "remote.log.manager.fetch.quota.window.size.seconds",
            Kind.INT,
            1,
            "The length of one window of the quota on remote fetches.",
            least=1,
        )
    )
    remote_log_manager_follower_thread_pool_size: int = setting(
        Key(
            "remote.log.manager.follower.thread.pool.size",
            Kind.INT,
            2,
            "Threads that follow what leaders copied.",
            least=1,
            live=Live.CLUSTER_WIDE,
        )
    )
    remote_log_manager_task_interval_ms: int = setting(
        Key(
            "remote.log.manager.task.interval.ms",
            Kind.LONG,
            30_000,
            "How often the broker looks for segments to copy or to delete.",
            least=1,
        )
    )
    remote_log_manager_task_retry_backoff_max_ms: int = setting(
        Key(
            "remote.log.manager.task.retry.backoff.max.ms",
            Kind.LONG,
            30_000,
            "The upper bound of the pause after remote work that failed, as it grows with each failure.",
            least=1,
            internal=True,
        )
    )
    remote_log_manager_task_retry_backoff_ms: int = setting(
        Key(
            "remote.log.manager.task.retry.backoff.ms",
            Kind.LONG,
            500,
            "The first pause after remote work that failed.",
            least=1,
            internal=True,
        )
    )
    remote_log_manager_task_retry_jitter: float = setting(
        Key(
            "remote.log.manager.task.retry.jitter",
            Kind.DOUBLE,
            0.2,
            "The random share of the pause after remote work that failed.",
            least=0,
            most=0.5,
            internal=True,
        )
    )
    remote_log_manager_thread_pool_size: int = setting(
        Key(
            "remote.log.manager.thread.pool.size",
            Kind.INT,
            2,
            "Threads for remote work where none of its own is set.",
            least=1,
        )
    )
    remote_log_metadata_custom_metadata_max_bytes: int = setting(
        Key(
            "remote.log.metadata.custom.metadata.max.bytes",
            Kind.INT,
            128,
            "The most that a storage plugin may note about a segment; more, and its topic is no longer copied.",
            least=0,
        )
    )
    remote_log_metadata_manager_class_name: str = setting(
        Key(
            "remote.log.metadata.manager.class.name",
            Kind.STRING,
            "org.apache.kafka.server.log.remote.metadata.storage.TopicBasedRemoteLogMetadataManager",
            "The class that keeps the list of remote segments.",
            refuses=refuse_nothing,
        )
    )
    remote_log_metadata_manager_class_path: str | None = setting(
        Key(
            "remote.log.metadata.manager.class.path",
            Kind.STRING,
            None,
            "Where the class that keeps the list of remote segments is looked for.",
        )
    )
    remote_log_metadata_manager_impl_prefix: str = setting(
        Key(
            "remote.log.metadata.manager.impl.prefix",
            Kind.STRING,
            "rlmm.config.",
            "Settings whose names begin with this go to the class that keeps the list of remote segments.",
            refuses=refuse_nothing,
        )
    )
    remote_log_metadata_manager_listener_name: str | None = setting(
        Key(
            "remote.log.metadata.manager.listener.name",
            Kind.STRING,
            None,
            "The listener through which the class that keeps the list of remote segments reaches the brokers.",
            refuses=refuse_nothing,
        )
    )
    remote_log_reader_max_pending_tasks: int = setting(
        Key("remote.log.reader.max.pending.tasks", Kind.INT, 100, "How many remote reads may wait.", least=1)
    )
    remote_log_reader_threads: int = setting(
        Key(
            "remote.log.reader.threads",
            Kind.INT,
            10,
            "Threads that read from remote storage.",
            least=1,
            live=Live.CLUSTER_WIDE,
        )
    )
    remote_log_storage_manager_class_name: str | None = setting(
        Key(
            "remote.log.storage.manager.class.name",
            Kind.STRING,
            None,
            "The class that stores segments remotely.",
            refuses=refuse_nothing,
        )
    )
    remote_log_storage_manager_class_path: str | None = setting(
        Key(
            "remote.log.storage.manager.class.path",
            Kind.STRING,
            None,
            "Where the class that stores segments remotely is looked for.",
        )
    )
    remote_log_storage_manager_impl_prefix: str = setting(
        Key(
            "remote.log.storage.manager.impl.prefix",
            Kind.STRING,
            "rsm.config.",
            "Settings whose names begin with this go to the class that stores segments remotely.",
            refuses=refuse_nothing,
        )
    )
