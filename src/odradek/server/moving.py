"""Moves of partitions between log directories, with what a node's settings allow them."""

from concurrent.futures import Executor

from odradek.broker.broker import Broker
from odradek.broker.moves import Ground, Moves
from odradek.broker.pace import Pace
from odradek.broker.settings import Settings
from odradek.metadata.image import ResourceType
from odradek.model.broker_config import THROTTLES
from odradek.model.settings import LONG_MAX
from odradek.quorum.metadata_log import MetadataLog
from odradek.storage.log_dirs import LogDirs

_RATE = "replica.alter.log.dirs.io.max.bytes.per.second"


def moves_of(
    broker: Broker, logs: LogDirs, metadata: MetadataLog, broker_epoch: int, pool: Executor, settings: Settings
) -> Moves:
    def at_once() -> int:
        return settings.now(metadata.image).num_replica_alter_log_dirs_threads or len(logs.dirs)

    return Moves(
        Ground(
            broker=broker,
            logs=logs,
            metadata=metadata,
            broker_epoch=broker_epoch,
            pool=pool,
            spend=Pace(lambda: _rate(broker.node_id, metadata)).spend,
            at_once=at_once,
        )
    )


def _rate(node_id: int, metadata: MetadataLog) -> int | None:
    """Set for this broker, or for all; it is in no file. None where nothing holds moves back."""
    configs = metadata.image.configs
    set_for_all = configs.of(ResourceType.BROKER, "").get(_RATE)
    text = configs.of(ResourceType.BROKER, str(node_id)).get(_RATE, set_for_all)
    rate = LONG_MAX if text is None else THROTTLES[_RATE].parse(text)
    return None if rate == LONG_MAX else rate
