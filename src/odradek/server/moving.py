"""How fast partitions may move between log directories, and how many at a time: as the settings say it."""

from odradek.broker.partitions.moves import MoveLimits
from odradek.broker.partitions.pace import Pace
from odradek.broker.settings.settings import Settings
from odradek.metadata.image import ResourceType
from odradek.model.broker_config import THROTTLES
from odradek.model.settings import LONG_MAX
from odradek.quorum.metadata_log import MetadataLog
from odradek.storage.log_dirs import LogDirs

_RATE = "replica.alter.log.dirs.io.max.bytes.per.second"


def move_limits_of(node_id: int, logs: LogDirs, metadata: MetadataLog, settings: Settings) -> MoveLimits:
    def threads() -> int:
        return settings.now(metadata.image).num_replica_alter_log_dirs_threads or len(logs.dirs)

    return MoveLimits(Pace(lambda: _rate(node_id, metadata)).spend, threads)


def _rate(node_id: int, metadata: MetadataLog) -> int | None:
    """Set for this broker, or for all; it is in no file. None where nothing holds moves back."""
    configs = metadata.image.configs
    set_for_all = configs.of(ResourceType.BROKER, "").get(_RATE)
    text = configs.of(ResourceType.BROKER, str(node_id)).get(_RATE, set_for_all)
    rate = LONG_MAX if text is None else THROTTLES[_RATE].parse(text)
    return None if rate == LONG_MAX else rate
