"""Opening the metadata log: its settings, its files as storage knows them, the records that a new one begins with."""

from dataclasses import dataclass

from odradek.metadata.uuids import METADATA_TOPIC_ID, to_text
from odradek.model.errors import InvalidConfig
from odradek.model.numbers import Offset
from odradek.model.topic_config import TopicConfig
from odradek.model.topic_partition import TopicPartition
from odradek.process.files import replace_file
from odradek.quorum import snapshot_file
from odradek.storage import names, partition_metadata
from odradek.storage.log import Log
from odradek.storage.log_dir import LogDir
from odradek.storage.recovery import Event, Situation, recover
from odradek.wire.schema import Message

PARTITION = TopicPartition(names.METADATA_TOPIC, 0)


@dataclass(frozen=True, slots=True, kw_only=True)
class MetadataSetting:
    """Defaults are those of Kafka's settings, which the names follow."""

    node_id: int
    min_insync_replicas: int = 1
    """Pinned for the cluster when its log begins."""
    log_segment_bytes: int = 1 << 30
    log_segment_ms: int = 604_800_000
    log_max_record_bytes_between_snapshots: int = 20_971_520
    log_max_snapshot_interval_ms: int = 3_600_000
    max_retention_bytes: int = 104_857_600
    max_retention_ms: int = 604_800_000
    max_batch_bytes: int = 8_388_608

    def topic_config(self) -> TopicConfig:
        """Only snapshots let go of anything."""
        return TopicConfig(
            segment_bytes=self.log_segment_bytes,
            segment_ms=self.log_segment_ms,
            retention_ms=-1,
            retention_bytes=-1,
            max_message_bytes=self.max_batch_bytes,
        )


def open_log(log_dir: LogDir, setting: MetadataSetting, events: list[Event]) -> Log:
    """The log itself, recovered, or made if it is not there."""
    files = log_dir.files
    directory = f"{log_dir.path}/{PARTITION}"
    config = setting.topic_config()
    try:
        if not files.exists(directory):
            files.make_dir(directory)
        metadata_path = f"{directory}/{names.PARTITION_METADATA}"
        if not files.exists(metadata_path):
            replace_file(files, metadata_path, partition_metadata.pack(to_text(METADATA_TOPIC_ID)), sync=False)
        situation = Situation(
            directory=directory,
            clean=log_dir.was_clean,
            repaired=False,
            recovery_point=Offset(0),  # no checkpoint has it: after a crash all of it is read, and it is not long
            log_start=Offset(0),
            dense=True,
            index_interval_bytes=config.index_interval_bytes,
            producer_expiry_ms=0,
            now=log_dir.clock.now_ms(),
        )
        recovered = recover(log_dir.open_files, situation)
    except OSError as error:
        raise log_dir.take_offline(error) from error
    events += recovered.events
    log = Log(log_dir, directory, PARTITION, config, recovered)
    log.topic_id = to_text(METADATA_TOPIC_ID)
    log.mark_new()
    return log


def read_bootstrap(log_dir: LogDir) -> tuple[Message, ...]:
    path = f"{log_dir.path}/{snapshot_file.BOOTSTRAP}"
    try:
        data = log_dir.files.read_whole(path)
    except FileNotFoundError:
        raise InvalidConfig(f"{log_dir.path} is not formatted: it has no {snapshot_file.BOOTSTRAP}") from None
    return snapshot_file.parse(data, path).records
