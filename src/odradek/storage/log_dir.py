"""One log directory: its lock, its identity, its checkpoints, the partitions in it, and whether it is offline."""

import heapq
import threading
from typing import TYPE_CHECKING, NamedTuple

from odradek.model.clock import Clock
from odradek.model.errors import CorruptFile, NewerVersion, StorageFailed
from odradek.model.numbers import Offset, TimestampMs
from odradek.model.topic_partition import TopicPartition
from odradek.process.files import Files, Lock, remove_tree, replace_file
from odradek.storage import checkpoint, clean_shutdown, meta_properties, names
from odradek.storage.names import Mark, PartitionDir
from odradek.storage.open_files import OpenFiles
from odradek.storage.recovery import Event

if TYPE_CHECKING:
    from collections.abc import Callable

    from odradek.storage.log import Log
    from odradek.storage.meta_properties import MetaProperties


class Found(NamedTuple):
    """A partition's directory as it was found at the start."""

    path: str
    partition: TopicPartition
    mark: Mark


_SYNCS_MAX = 16
"""Logs that are synced one by one at a clean stop."""

Offsets = dict[TopicPartition, Offset]


class Checkpoints(NamedTuple):
    """Offsets by the name of the file that they are kept in, as of one moment."""

    number: int
    """Counts these moments: what is older than what was stored must not be stored any more."""
    files: dict[str, Offsets]


class PendingDelete(NamedTuple):
    """A file or directory under its last name, which is deleted when its time has come."""

    due: TimestampMs
    path: str
    is_dir: bool


class LogDir:
    """A log directory, and what its logs share. Opened by `open`, it holds the lock until `close`."""

    def __init__(self, path: str, open_files: OpenFiles, clock: Clock) -> None:
        self.path = path
        self.open_files = open_files
        self.clock = clock
        self.offline_reason: str | None = None
        """Why this directory is not used any more, until it is opened again."""
        self.on_offline: Callable[[], object] = _do_nothing
        """Called by any thread when the directory goes offline."""
        self.logs: dict[TopicPartition, Log] = {}
        self.future_logs: dict[TopicPartition, Log] = {}
        self.meta: MetaProperties | None = None
        self.was_clean = False
        self.loaded = False
        """Whether `logs` are all that there are; before that, no checkpoint may be made from them."""
        self.broker_epoch = -1
        """Of the process that stopped cleanly, or -1."""
        self.recovery_points: dict[TopicPartition, Offset] = {}
        self.log_starts: dict[TopicPartition, Offset] = {}
        self.high_watermarks: dict[TopicPartition, Offset] = {}
        self.cleaned_to: dict[TopicPartition, Offset] = {}
        self.has_stale_checkpoints = False
        """They speak of a partition that was deleted."""
        self.has_unsynced_names = False
        """A directory of a partition got another name, and power loss must not bring the old one back."""
        self._lock: Lock | None = None
        self._pending_deletes: list[PendingDelete] = []
        self._stored: dict[str, Offsets] = {}
        self._storing = threading.Lock()
        self._taken = self._stored_last = 0
        self._to_store: dict[int, Checkpoints] = {}
        """By their number: threads are about to store them."""
        self._made: dict[TopicPartition, int] = {}
        """Partitions that were made, by the last moment before that: what was taken until then is of an older one."""

    @classmethod
    def open(cls, path: str, open_files: OpenFiles, clock: Clock, events: list[Event]) -> "LogDir":
        """Take the lock and read what the last owner left. Raises DirectoryInUse, CorruptFile or OSError."""
        log_dir = cls(path, open_files, clock)
        lock = log_dir._lock = log_dir.files.lock(f"{path}/{names.LOCK}")
        try:
            log_dir._read(events)
        except (OSError, CorruptFile):
            lock.release()
            raise
        return log_dir

    @property
    def files(self) -> Files:
        return self.open_files.files

    # --- online or offline

    @property
    def online(self) -> bool:
        return self.offline_reason is None

    def check_online(self) -> None:
        """Raises StorageFailed where the directory is offline."""
        if self.offline_reason is not None:
            raise StorageFailed(f"log directory {self.path} is offline: {self.offline_reason}")

    def take_offline(self, error: OSError | CorruptFile) -> StorageFailed:
        """A disk that failed once is not trusted with the next write. Returns what the caller is to raise."""
        if self.offline_reason is None:
            self.offline_reason = str(error)
            self.on_offline()
        return StorageFailed(f"log directory {self.path} failed: {error}")

    # --- opening

    def _read(self, events: list[Event]) -> None:
        self.meta = meta_properties.read(self.files, self.path)
        marker = f"{self.path}/{names.CLEAN_SHUTDOWN}"
        if self.files.exists(marker):
            self.was_clean = True
            self.broker_epoch = clean_shutdown.parse(self.files.read_whole(marker))
            self.files.remove(marker)
            self.files.sync_dir(self.path)  # from here on, a crash is a crash
        for name, offsets in (
            (names.RECOVERY_POINTS, self.recovery_points),
            (names.LOG_STARTS, self.log_starts),
            (names.HIGH_WATERMARKS, self.high_watermarks),
            (names.CLEANER_OFFSETS, self.cleaned_to),
        ):
            try:
                if self.files.exists(f"{self.path}/{name}"):
                    offsets.update(checkpoint.read_offsets(self.files, f"{self.path}/{name}"))
                    self._stored[name] = dict(offsets)
            except NewerVersion:
                raise
            except CorruptFile as error:
                # Without recovery points everything is scanned; without log starts, logs start at their first segment;
                # without those of the cleaner, everything is dirty.
                events.append(Event("ignoring a corrupt checkpoint", {"reason": str(error)}))
                self.was_clean = self.was_clean and name != names.RECOVERY_POINTS

    def list_partitions(self, events: list[Event]) -> list[Found]:
        found = []
        for entry in sorted(self.files.list(self.path)):
            if not entry.is_dir:
                if entry.name.endswith(names.TEMP):
                    self.files.remove(f"{self.path}/{entry.name}")
                continue
            try:
                parsed: PartitionDir = names.parse_dir_name(entry.name)
            except CorruptFile as error:
                events.append(Event("leaving a directory alone", {"path": self.path, "reason": str(error)}))
                continue
            if parsed.partition.topic != names.METADATA_TOPIC:
                found.append(Found(f"{self.path}/{entry.name}", *parsed))
        return found

    # --- checkpoints

    def changed_checkpoints(self) -> Checkpoints:
        """Recovery points, log starts, high watermarks and how far logs are clean, where that changed since."""
        logs = (*self.logs.values(), *self.future_logs.values())  # no partition has both in one directory
        now: dict[str, Offsets] = {
            names.RECOVERY_POINTS: {log.partition: log.recovery_point for log in logs},
            names.LOG_STARTS: {log.partition: log.start_offset for log in logs if log.starts_inside},
            names.HIGH_WATERMARKS: {log.partition: log.high_watermark for log in logs},
            names.CLEANER_OFFSETS: {log.partition: log.cleaned_to for log in logs if log.cleaned_to is not None},
        }
        self._taken += 1
        self._made = {where: number for where, number in self._made.items() if number > self._stored_last}
        self.has_stale_checkpoints = False
        changed = {name: offsets for name, offsets in now.items() if self._stored.get(name) != offsets}
        checkpoints = Checkpoints(self._taken, changed if self.loaded else {})
        if checkpoints.files:
            self._to_store[checkpoints.number] = checkpoints
        return checkpoints

    def store_checkpoints(self, changed: Checkpoints) -> None:
        """Blocks; may run in another thread."""
        with self._storing:
            try:
                self._store(changed)
            except OSError as error:
                self.take_offline(error)
            finally:
                self._to_store.pop(changed.number, None)

    def _store(self, changed: Checkpoints) -> None:
        if not self.online or changed.number < self._stored_last:
            return
        for name, taken in changed.files.items():
            offsets = self._without_older(taken, changed.number)
            checkpoint.write_offsets(self.files, f"{self.path}/{name}", offsets)
            self._stored[name] = offsets
        self._stored_last = changed.number

    def write_checkpoints(self) -> None:
        self.store_checkpoints(self.changed_checkpoints())

    def forget(self, partition: TopicPartition) -> None:
        """No checkpoint may speak of a partition that is about to be made: it would be that of an older one.

        Blocks if one may: a partition of the same name was deleted a moment ago.
        """
        self._made[partition] = self._taken
        stored = [self._stored.copy(), *(each.files for each in self._to_store.copy().values())]
        if any(partition in offsets for files in stored for offsets in files.values()):
            self.write_checkpoints()

    def _without_older(self, offsets: Offsets, number: int) -> Offsets:
        """Taken at that moment, and not of partitions that were made anew since."""
        if not self._made:
            return offsets
        return {where: offset for where, offset in offsets.items() if self._made.get(where, 0) < number}

    def sync_names(self) -> None:
        """Make the names of partitions' directories safe. Blocks; may run in another thread. Raises StorageFailed."""
        self.has_unsynced_names = False  # what is renamed meanwhile may be missed by the sync
        try:
            self.files.sync_dir(self.path)
        except OSError as error:
            raise self.take_offline(error) from error

    # --- deleting files

    def delete_later(self, path: str, delay_ms: int, *, is_dir: bool = False) -> None:
        due = TimestampMs(self.clock.now_ms() + delay_ms)
        heapq.heappush(self._pending_deletes, PendingDelete(due, path, is_dir))

    def take_due_deletes(self, now: TimestampMs) -> list[PendingDelete]:
        """What is to be deleted now."""
        due = []
        while self._pending_deletes and self._pending_deletes[0].due <= now:
            due.append(heapq.heappop(self._pending_deletes))
        return due

    def delete(self, due: list[PendingDelete]) -> None:
        """Delete files and directories whose time has come. Blocks; may run in another thread."""
        for each in due:
            try:
                if each.is_dir:
                    remove_tree(self.files, each.path)
                else:
                    self.files.remove(each.path)
            except FileNotFoundError:
                continue  # its directory was deleted meanwhile
            except OSError as error:
                self.take_offline(error)
                return

    # --- the end

    def close(self, broker_epoch: int) -> None:
        """A clean stop: logs closed, checkpoints written, and the file that says so last of all."""
        try:
            if self.online and self.loaded:
                self._close_logs()
                self.write_checkpoints()
            if self.online and self.loaded:
                data = clean_shutdown.pack(broker_epoch)
                replace_file(self.files, f"{self.path}/{names.CLEAN_SHUTDOWN}", data)
        except OSError as error:
            self.take_offline(error)
        except StorageFailed:
            pass  # a log could not be closed, and took the directory out of service: its next owner will recover it
        finally:
            self.abandon()

    def _close_logs(self) -> None:
        logs = (*self.logs.values(), *self.future_logs.values())
        # One sync of the whole file system may wait for others' data; some thousand syncs of ours take longer still.
        at_once = sum(log.needs_sync for log in logs) > _SYNCS_MAX
        for log in logs:
            log.close(sync=not at_once)
        if at_once:
            self.files.sync_all(self.path)
            for log in logs:
                log.was_synced()

    def abandon(self) -> None:
        """Let go of everything as it is; the next owner will recover it."""
        for log in (*self.logs.values(), *self.future_logs.values()):
            log.abandon()
        if self._lock is not None:
            self._lock.release()


def _do_nothing() -> None:
    return
