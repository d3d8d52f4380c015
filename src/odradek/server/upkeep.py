"""How a node looks after its logs and its metadata: the tasks that do it, and their settings."""

import asyncio
from collections.abc import Callable
from concurrent.futures import Executor
from contextlib import suppress

from odradek.broker.partitions.log_settings import LogSettings
from odradek.broker.partitions.moves import Moves
from odradek.broker.partitions.replicas import Replicas
from odradek.metadata.delta import Delta
from odradek.metadata.image import Image, ResourceType
from odradek.model.broker_config import BrokerConfig
from odradek.model.errors import StorageFailed
from odradek.net.socket_server import SocketServer
from odradek.process.machine import Machine
from odradek.process.tasks import Tasks
from odradek.quorum.metadata_log import MetadataLog
from odradek.quorum.opening import MetadataSetting
from odradek.storage.cleaning.child import run_in_child
from odradek.storage.cleaning.choice import CleanerSetting
from odradek.storage.cleaning.cleaner import Cleaner, in_pool
from odradek.storage.housekeeping import Housekeeping, Intervals
from odradek.storage.log_dirs import LogDirs

_IDLE_CHECK_S = 10
_IDLE_CHECK_LEAST_S = 0.05
_SNAPSHOT_CHECK_S = 60


class Upkeep:
    """Cleans logs, writes snapshots of the metadata, and closes idle connections."""

    def __init__(
        self,
        machine: Machine,
        pool: Executor,
        logs: LogDirs,
        metadata: MetadataLog,
        config: Callable[[], BrokerConfig],
    ) -> None:
        run = run_in_child if machine.children else in_pool(machine.files, pool)
        self._cleaner = Cleaner(logs, pool, machine.clock, lambda: cleaner_setting_of(config()), run)
        self._metadata = metadata
        self._snapshot_due = asyncio.Event()

    def settings_changed(self, delta: Delta, _image: Image) -> None:
        """Told of every committed batch of metadata."""
        if any(resource.type == ResourceType.BROKER for resource in delta.configs.changed):
            self._cleaner.settings_changed()

    def metadata_grew(self, _delta: Delta, _image: Image) -> None:
        """Told of every committed batch of metadata."""
        if self._metadata.snapshot_due:
            self._snapshot_due.set()

    def begin(
        self,
        tasks: Tasks,
        housekeeping: Housekeeping,
        log_settings: LogSettings,
        replicas: Replicas,
        moves: Moves,
        server: SocketServer,
    ) -> None:
        """The tasks of a node that serves."""
        tasks.create_task(log_settings.run(), name="log-settings", is_vital=True)
        tasks.create_task(replicas.run(), name="make-partitions", is_vital=True)
        tasks.create_task(moves.run(), name="moves", is_vital=True)
        tasks.create_task(housekeeping.run(), name="housekeeping", is_vital=True)
        tasks.create_task(self._cleaner.run(), name="cleaner", is_vital=True)
        tasks.create_task(_close_idle(server), name="idle-connections", is_vital=True)
        tasks.create_task(self._write_snapshots(), name="metadata-snapshots", is_vital=True)

    async def _write_snapshots(self) -> None:
        while True:
            with suppress(TimeoutError):
                async with asyncio.timeout(_SNAPSHOT_CHECK_S):
                    await self._snapshot_due.wait()
            self._snapshot_due.clear()
            try:
                await self._metadata.maintain()
            except StorageFailed:
                return  # its directory is lost, and with it the node


async def _close_idle(server: SocketServer) -> None:
    while True:
        await asyncio.sleep(min(_IDLE_CHECK_S, max(_IDLE_CHECK_LEAST_S, server.idle_ms_max / 4000)))
        server.close_idle()


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
