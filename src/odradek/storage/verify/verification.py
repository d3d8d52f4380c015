"""A whole verification: finding out what the given paths are, checking each, and that they belong together."""

import os
from collections import defaultdict
from collections.abc import Callable, Iterator

from odradek.model.errors import CorruptFile, OdradekError
from odradek.model.topic_partition import TopicPartition
from odradek.process.files import Entry, Files
from odradek.storage import names
from odradek.storage.verify.findings import Finding, Run, Tally, bounded, error, from_os, note, warning
from odradek.storage.verify.log_dir import CHECKPOINTS, IsHeld, LogDirCheck
from odradek.storage.verify.partition import PartitionCheck
from odradek.storage.verify.segment import Circumstances

_OF_LOG_DIR = {names.META_PROPERTIES, *CHECKPOINTS}
_OF_PARTITION = {names.LEADER_EPOCHS, names.PARTITION_METADATA}
_NOWHERE = TopicPartition("", 0)


class NotADataDirectory(OdradekError):
    """A path that holds no log directory and is no partition's."""


def nobody_holds(_lock: str) -> bool:
    return False


def no_progress() -> None:
    return


class Verification:
    """Reads and checks everything, changes nothing."""

    def __init__(
        self,
        files: Files,
        *,
        deep: bool = False,
        is_held: IsHeld = nobody_holds,
        on_progress: Callable[[], None] = no_progress,
        one_node: bool = False,
    ) -> None:
        """With `deep` every record is read. With `one_node` all log directories must belong together, wherever they
        are; otherwise only those beside each other."""
        self.tally = Tally()
        self.log_dirs: list[LogDirCheck] = []
        self.partitions: list[str] = []
        """Directories of partitions that were named by themselves."""
        self._run = Run(files, self.tally, deep, on_progress)
        self._is_held = is_held
        self._one_node = one_node
        self._added: set[str] = set()
        self._not_listed: list[Finding] = []

    def add(self, path: str) -> None:
        """A log directory, a directory that has some in it, or a partition's. Raises NotADataDirectory or OSError."""
        path = path.rstrip("/") or "/"
        try:
            entries = self._run.list(path)
        except NotADirectoryError:
            raise NotADataDirectory(f"{path} is a file; `odradek log dump` prints files") from None
        except FileNotFoundError:
            raise NotADataDirectory(f"{path} does not exist") from None
        if _is_log_dir(entries):
            self._add_log_dir(path, entries)
        elif _is_partition(entries):
            if self._is_new(path):
                self.partitions.append(path)
                self._count(entries)
        else:
            self._add_inner(path, entries)

    def _add_inner(self, path: str, entries: list[Entry]) -> None:
        listed: dict[str, list[Entry]] = {}
        not_listed = []
        for inner in (f"{path}/{entry.name}" for entry in entries if entry.is_dir):
            try:
                listed[inner] = self._run.list(inner)
            except OSError as problem:
                not_listed.append(from_os(inner, problem, in_use=False))
        log_dirs = [inner for inner, found in listed.items() if _is_log_dir(found)]
        if log_dirs or not_listed:
            for inner in log_dirs:
                self._add_log_dir(inner, listed[inner])
            self._not_listed += not_listed
        elif any(_is_partition(found) for found in listed.values()):
            self._add_log_dir(path, entries)  # one without its own files, as a copy may be
        else:
            raise NotADataDirectory(f"{path} holds no log directory and is no partition's")

    def _add_log_dir(self, path: str, entries: list[Entry]) -> None:
        if self._is_new(path):
            self.log_dirs.append(LogDirCheck(self._run, path, entries, self._is_held))
            self._count(entries)

    def _is_new(self, path: str) -> bool:
        known = len(self._added)
        self._added.add(os.path.realpath(path))
        return len(self._added) > known

    def _count(self, entries: list[Entry]) -> None:
        """For the progress alone."""
        self.tally.bytes_found += sum(each.size for each in entries if each.name.endswith((names.LOG, ".checkpoint")))

    def run(self) -> Iterator[Finding]:
        for log_dir in self.log_dirs:
            for path in log_dir.partition_paths():
                try:
                    self._count(self._run.list(path))
                except OSError:
                    continue  # told when its turn comes
        yield from self._not_listed
        for log_dir in self.log_dirs:
            yield from log_dir.run()
            self.tally.log_dirs += 1
        for path in self.partitions:
            yield from bounded(self._check_partition(path))
        families: defaultdict[str, list[LogDirCheck]] = defaultdict(list)
        for log_dir in self.log_dirs:
            families["" if self._one_node else os.path.dirname(os.path.abspath(log_dir.path))].append(log_dir)
        for family in families.values():
            yield from _check_owners(family)
            yield from _check_twins(family)

    def _check_partition(self, path: str) -> Iterator[Finding]:
        """A partition by itself; what its log directory says of it is looked up, if it lies in one."""
        parent, name = os.path.split(os.path.abspath(path))
        try:
            partition = names.parse_dir_name(name).partition
        except CorruptFile:
            partition = _NOWHERE
        now = self._circumstances(parent, partition)
        if now.in_use:
            yield note(path, "is in use: what is written meanwhile may look unfinished")
        extent = yield from PartitionCheck(self._run, path, partition.topic, now).run()
        if extent is not None and extent.zero_filled and not now.clean:
            yield note(path, f"{len(extent.zero_filled)} indexes end with the zeros of their room")

    def _circumstances(self, parent: str, partition: TopicPartition) -> Circumstances:
        try:
            entries = self._run.list(parent)
        except OSError:
            return Circumstances()
        if not _is_log_dir(entries):
            return Circumstances()
        log_dir = LogDirCheck(self._run, parent, entries, self._is_held)
        for _ in log_dir.read_own_files():
            pass  # findings about its neighbours were not asked for
        return log_dir.circumstances(partition)


def _is_log_dir(entries: list[Entry]) -> bool:
    return any(entry.name in _OF_LOG_DIR for entry in entries)


def _is_partition(entries: list[Entry]) -> bool:
    parsed = ((entry.name, names.parse_file_name(entry.name)) for entry in entries if not entry.is_dir)
    return any(name in _OF_PARTITION or (each and each[1] in names.SEGMENT_SUFFIXES) for name, each in parsed)


def _check_owners(family: list[LogDirCheck]) -> Iterator[Finding]:
    """Log directories of one node have its ids, and ids of their own."""
    first = next((each for each in family if each.meta), None)
    ids: dict[str, str] = {}
    for log_dir in family:
        if first is None or first.meta is None or log_dir.meta is None:
            continue
        path = f"{log_dir.path}/{names.META_PROPERTIES}"
        theirs, ours = log_dir.meta, first.meta
        if (theirs.cluster_id, theirs.node_id) != (ours.cluster_id, ours.node_id):
            text = f"node {theirs.node_id} of cluster {theirs.cluster_id}, while {first.path} is of node {ours.node_id}"
            yield error(path, f"{text} of cluster {ours.cluster_id}")
        if theirs.directory_id is not None and theirs.directory_id in ids:
            yield error(path, f"directory.id {theirs.directory_id} is also that of {ids[theirs.directory_id]}")
        ids.setdefault(theirs.directory_id or log_dir.path, log_dir.path)


def _check_twins(family: list[LogDirCheck]) -> Iterator[Finding]:
    """No partition is in two directories, and all partitions of a topic have one topic id."""
    seen: dict[TopicPartition, str] = {}
    topic_ids: dict[str, tuple[str, str]] = {}
    for log_dir in family:
        for partition, extent in log_dir.extents.items():
            path = f"{log_dir.path}/{partition}"
            if partition in seen:
                yield error(path, f"{partition} is also at {seen[partition]}")
            seen.setdefault(partition, path)
            if extent.topic_id is None:
                continue
            topic_id, other = topic_ids.setdefault(partition.topic, (extent.topic_id, path))
            if topic_id != extent.topic_id:
                yield warning(path, f"topic id {extent.topic_id}, while {other} has {topic_id}")
