"""All log directories of a node: opening them, creating, moving and deleting logs in them, closing.

One thread owns this and every log in it. A directory that fails goes offline by itself; the others go on.
"""

from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass

from odradek.model.clock import Clock
from odradek.model.errors import CorruptFile, InvalidConfig, StorageFailed
from odradek.model.numbers import Offset, TimestampMs
from odradek.model.topic_config import TopicConfig
from odradek.model.topic_partition import TopicPartition
from odradek.process.files import Files, replace_file
from odradek.storage import names, partition_metadata
from odradek.storage.local_log import Jitter, no_jitter
from odradek.storage.log import Log
from odradek.storage.log_dir import LogDir
from odradek.storage.log_loader import LogLoader, Progress, no_progress
from odradek.storage.names import Mark
from odradek.storage.open_files import OpenFiles
from odradek.storage.recovery import Event, Situation, recover

PREFERRED_MAX = 10_000
"""Of partitions that are still to be made; beyond that, what was said first is forgotten."""


@dataclass(frozen=True, slots=True)
class Setting:
    """What a node gives to its logs."""

    clock: Clock
    config_of: Callable[[str], TopicConfig]
    """The config of a topic, by its name."""
    unique_id: Callable[[], str]
    """For the names of directories that are deleted or moved."""
    producer_expiry_ms: int = 86_400_000
    """As long as nothing else is set while the node runs."""
    jitter: Jitter = no_jitter
    children: int = 0
    """How many processes may scan after a crash; 0 scans in this one."""


class LogDirs:
    def __init__(self, open_files: OpenFiles, setting: Setting) -> None:
        self._open_files = open_files
        self._setting = setting
        self.producer_expiry_ms = setting.producer_expiry_ms
        self.cordoned: frozenset[str] = frozenset()
        """Paths of directories that take no new logs of their own, as long as there are others."""
        self.dirs: list[LogDir] = []
        self.unusable: list[str] = []
        """Directories that could not be opened."""
        self.events: list[Event] = []
        """What opening found and mended, for the node's log."""
        self._preferred: dict[TopicPartition, str] = {}

    @classmethod
    def open(
        cls, open_files: OpenFiles, paths: list[str], setting: Setting, progress: Progress = no_progress
    ) -> "LogDirs":
        """Take the directories and load every log in them. Blocks. Raises what `take` raises."""
        node = cls.take(open_files, paths, setting)
        node.load(progress)
        return node

    @classmethod
    def take(cls, open_files: OpenFiles, paths: list[str], setting: Setting) -> "LogDirs":
        """Lock the directories and read whose they are; the logs come with `load`.

        Raises DirectoryInUse where another process holds a directory, InvalidConfig where they do not belong together,
        StorageFailed where none can be used. One that cannot be read is out of service; the others open.
        """
        node = cls(open_files, setting)
        try:
            for path in paths:
                node._open_dir(path)
            if not node.dirs:
                reasons = "; ".join(str(event.fields.get("reason")) for event in node.events)
                raise StorageFailed(f"no log directory can be used: {reasons}")
            node._check_identities()
        except BaseException:
            node.abandon()
            raise
        return node

    def load(self, progress: Progress = no_progress) -> None:
        """Blocks until every log is ready."""
        try:
            LogLoader(self, self._open_files, self._setting).load(progress)
        except BaseException:
            self.abandon()
            raise

    @property
    def _files(self) -> Files:
        return self._open_files.files

    # --- opening

    def _open_dir(self, path: str) -> None:
        try:
            self.dirs.append(LogDir.open(path, self._open_files, self._setting.clock, self.events))
        except (OSError, CorruptFile) as error:
            self.unusable.append(path)
            self.events.append(Event("a log directory cannot be used", {"path": path, "reason": str(error)}))

    def _check_identities(self) -> None:
        owners = {(each.meta.cluster_id, each.meta.node_id): each.path for each in self.dirs if each.meta}
        if len(owners) > 1:
            said = ", ".join(f"{path} is of node {node} in {cluster}" for (cluster, node), path in owners.items())
            raise InvalidConfig(f"log directories of different owners: {said}")

    # --- partitions

    def __iter__(self) -> Iterator[Log]:
        for log_dir in self.dirs:
            yield from log_dir.logs.values()

    def get(self, partition: TopicPartition) -> Log | None:
        for log_dir in self.dirs:
            log = log_dir.logs.get(partition)
            if log is not None:
                return log
        return None

    def future_of(self, partition: TopicPartition) -> Log | None:
        """The log that is to take the place of the partition's own, in another directory."""
        for log_dir in self.dirs:
            log = log_dir.future_logs.get(partition)
            if log is not None:
                return log
        return None

    def prefer(self, partition: TopicPartition, path: str) -> None:
        """Where a partition that is still to be made is to lie."""
        self._preferred.pop(partition, None)
        if len(self._preferred) == PREFERRED_MAX:
            del self._preferred[next(iter(self._preferred))]
        self._preferred[partition] = path

    def create(self, partition: TopicPartition, topic_id: str, path: str | None = None) -> Log:
        """A new, empty log, where one was named for it, or else in the directory with the fewest partitions."""
        if self.get(partition) is not None:
            raise ValueError(f"{partition} is there already")
        preferred = self._preferred.get(partition)
        if path is None and any(each.path == preferred and each.online for each in self.dirs):
            path = preferred
        log_dir = self._choose_dir(path)
        directory = f"{log_dir.path}/{partition}"
        log = self._create_in(log_dir, partition, directory, topic_id)
        log_dir.logs[partition] = log
        self._preferred.pop(partition, None)
        return log

    def create_future(self, partition: TopicPartition, topic_id: str, path: str) -> Log:
        """A log beside the partition's own, in another directory, that is to take its place."""
        log_dir = self._choose_dir(path)
        name = names.marked_dir_name(partition, self._setting.unique_id(), Mark.FUTURE)
        log = self._create_in(log_dir, partition, f"{log_dir.path}/{name}", topic_id)
        log_dir.future_logs[partition] = log
        return log

    def exchange_future(self, partition: TopicPartition) -> tuple[Log, Log]:
        """The partition's log has the files of its future log from now on; the second result has those of before.

        Both hold the same records. What is left is to `discard` the second and to `give_final_name` to the first.
        """
        source, target = self._dir_of(partition), self._dir_with_future(partition)
        log, future = source.logs.pop(partition), target.future_logs.pop(partition)
        log.exchange(future)
        target.logs[partition] = log
        return log, future

    def discard(self, log: Log) -> None:
        """Mark the directory of a log that is in no use any more; its files go after file.delete.delay.ms."""
        name = names.marked_dir_name(log.partition, self._setting.unique_id(), Mark.DELETE)
        self._rename(log, f"{log.log_dir.path}/{name}")
        log.abandon()
        log.log_dir.has_unsynced_names = log.log_dir.has_stale_checkpoints = True
        log.log_dir.delete_later(log.directory, log.config.file_delete_delay_ms, is_dir=True)

    def give_final_name(self, log: Log) -> None:
        """The directory of a future log that became the partition's own gets the partition's name."""
        self._rename(log, f"{log.log_dir.path}/{log.partition}")
        log.log_dir.has_unsynced_names = True

    def take_future(self, partition: TopicPartition) -> Log:
        """At a start: the future log is the partition's own from now on; one that has its name already is deleted."""
        if self.get(partition) is not None:
            log_dir = self._dir_of(partition)
            self.discard(log_dir.logs.pop(partition))
            log_dir.sync_names()
        target = self._dir_with_future(partition)
        log = target.logs[partition] = target.future_logs.pop(partition)
        self.give_final_name(log)
        target.sync_names()
        return log

    def delete(self, partition: TopicPartition) -> None:
        """Take a partition out of service at once; its files go after file.delete.delay.ms."""
        log = self._dir_of(partition).logs.pop(partition)
        try:
            if self.future_of(partition) is not None:
                self.delete_future(partition)  # its directory may be offline
        finally:
            self.discard(log)

    def delete_future(self, partition: TopicPartition) -> None:
        """The partition stays where it is. Sync the names of the directory before another future log is made."""
        self.discard(self._dir_with_future(partition).future_logs.pop(partition))

    def forget_future(self, partition: TopicPartition) -> None:
        """Its directory failed: what is left there is for the next start."""
        self._dir_with_future(partition).future_logs.pop(partition).abandon()

    def set_aside(self, partition: TopicPartition) -> str:
        """A partition that the cluster does not know: kept on disk under another name, which is returned."""
        return self.rename_to_stray(self._dir_of(partition).logs.pop(partition))

    def set_aside_future(self, partition: TopicPartition) -> str:
        """The same for a log that was to take the place of a partition's own."""
        return self.rename_to_stray(self._dir_with_future(partition).future_logs.pop(partition))

    def rename_to_stray(self, log: Log) -> str:
        """Keep the files of a log that is in no use under another name, which is returned."""
        name = names.marked_dir_name(log.partition, self._setting.unique_id(), Mark.STRAY)
        log.close()
        self._rename(log, f"{log.log_dir.path}/{name}")
        log.abandon()
        return log.directory

    def update_config(self, topic: str, partitions: Iterable[int]) -> None:
        """The config of a topic with these partitions changed."""
        config = self._setting.config_of(topic)
        for number in partitions:
            where = TopicPartition(topic, number)
            for log in (self.get(where), self.future_of(where)):
                if log is not None:
                    log.configure(config)

    def _choose_dir(self, path: str | None) -> LogDir:
        online = [each for each in self.dirs if each.online and path in (None, each.path)]
        if not online:
            raise StorageFailed(f"no log directory is in service{f' at {path}' if path else ''}")
        open_ones = [each for each in online if each.path not in self.cordoned]
        return min(open_ones or online, key=lambda each: len(each.logs) + len(each.future_logs))

    def _dir_of(self, partition: TopicPartition) -> LogDir:
        for log_dir in self.dirs:
            if partition in log_dir.logs:
                return log_dir
        raise KeyError(partition)

    def _dir_with_future(self, partition: TopicPartition) -> LogDir:
        for log_dir in self.dirs:
            if partition in log_dir.future_logs:
                return log_dir
        raise KeyError(partition)

    def _create_in(self, log_dir: LogDir, partition: TopicPartition, directory: str, topic_id: str) -> Log:
        log_dir.forget(partition)
        try:
            self._files.make_dir(directory)
            path = f"{directory}/{names.PARTITION_METADATA}"
            replace_file(self._files, path, partition_metadata.pack(topic_id), sync=False)
            config = self._setting.config_of(partition.topic)
            situation = Situation(
                directory=directory,
                clean=True,
                repaired=False,
                recovery_point=Offset(0),
                log_start=Offset(0),
                dense=True,
                index_interval_bytes=config.index_interval_bytes,
                producer_expiry_ms=self.producer_expiry_ms,
                now=self._setting.clock.now_ms(),
            )
            recovered = recover(self._open_files, situation)
            log = Log(log_dir, directory, partition, config, recovered, self._setting.jitter)
        except OSError as error:
            raise log_dir.take_offline(error) from error
        log.topic_id = topic_id
        log.mark_new()
        return log

    def _rename(self, log: Log, directory: str) -> None:
        try:
            log.move_to(directory)
        except OSError as error:
            raise log.log_dir.take_offline(error) from error

    # --- regular work

    def write_checkpoints(self) -> None:
        for log_dir in self.dirs:
            log_dir.write_checkpoints()

    def remove_due(self, now: TimestampMs) -> None:
        """Remove files and directories whose time has come."""
        for log_dir in self.dirs:
            log_dir.delete(log_dir.take_due_deletes(now))

    # --- the end

    def close(self, broker_epoch: int = -1) -> None:
        """A clean stop: after it, nothing is scanned at the next start."""
        for log_dir in self.dirs:
            log_dir.close(broker_epoch)
        self.dirs = []

    def abandon(self) -> None:
        """Let go of everything as a crash would leave it."""
        for log_dir in self.dirs:
            log_dir.abandon()
        self.dirs = []
