"""How a node looks after its logs: intervals and bounds, from its settings."""

from odradek.model.broker_config import BrokerConfig
from odradek.quorum.opening import MetadataSetting
from odradek.storage.cleaning.choice import CleanerSetting
from odradek.storage.housekeeping import Intervals


def intervals_of(config: BrokerConfig) -> Intervals:
    return Intervals(
        flush_ms=min(Intervals().flush_ms, config.log_flush_scheduler_interval_ms),
        checkpoint_ms=config.log_flush_offset_checkpoint_interval_ms,
        retention_ms=config.log_retention_check_interval_ms,
        producer_expiry_ms=config.producer_id_expiration_check_interval_ms,
    )


def cleaner_setting_of(config: BrokerConfig) -> CleanerSetting:
    return CleanerSetting(
        enable=config.log_cleaner_enable,
        backoff_ms=config.log_cleaner_backoff_ms,
        threads=config.log_cleaner_threads,
        dedupe_buffer_size=config.log_cleaner_dedupe_buffer_size,
        io_buffer_load_factor=config.log_cleaner_io_buffer_load_factor,
        io_max_bytes_per_second=config.log_cleaner_io_max_bytes_per_second,
    )


def metadata_setting_of(node_id: int, config: BrokerConfig) -> MetadataSetting:
    return MetadataSetting(
        node_id=node_id,
        log_segment_bytes=config.internal_metadata_log_segment_bytes or config.metadata_log_segment_bytes,
        log_segment_ms=config.metadata_log_segment_ms,
        log_max_record_bytes_between_snapshots=config.metadata_log_max_record_bytes_between_snapshots,
        log_max_snapshot_interval_ms=config.metadata_log_max_snapshot_interval_ms,
        max_retention_bytes=config.metadata_max_retention_bytes,
        max_retention_ms=config.metadata_max_retention_ms,
        max_batch_bytes=config.internal_metadata_max_batch_size_in_bytes,
    )
