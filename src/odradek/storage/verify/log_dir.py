"""One log directory: the files that it keeps for all its partitions, and the partitions."""

import json
from collections.abc import Callable, Iterator, Mapping
from typing import TYPE_CHECKING

from odradek.model.errors import CorruptFile
from odradek.model.numbers import LeaderEpoch, Offset
from odradek.model.topic_partition import TopicPartition
from odradek.process.files import Entry
from odradek.storage import checkpoint, meta_properties, names
from odradek.storage.names import Mark, PartitionDir
from odradek.storage.verify import quorum
from odradek.storage.verify.findings import (
    Finding,
    Run,
    Severity,
    bounded,
    error,
    from_corrupt,
    from_os,
    note,
    warning,
)
from odradek.storage.verify.partition import Extent, PartitionCheck
from odradek.storage.verify.segment import Circumstances

if TYPE_CHECKING:
    from odradek.storage.meta_properties import MetaProperties

BOOTSTRAP = "bootstrap.checkpoint"
CHECKPOINTS = (names.RECOVERY_POINTS, names.HIGH_WATERMARKS, names.LOG_STARTS, names.CLEANER_OFFSETS)
_KNOWN = {*CHECKPOINTS, names.META_PROPERTIES, names.CLEAN_SHUTDOWN, names.LOCK, BOOTSTRAP}
_MARKS = {
    Mark.DELETE: "a partition that was being deleted",
    Mark.FUTURE: "a partition that is being moved here",
    Mark.STRAY: "a partition that the cluster did not know",
}

IsHeld = Callable[[str], bool]
"""Whether another process holds a lock file."""


class LogDirCheck:
    def __init__(self, run: Run, path: str, entries: list[Entry], is_held: IsHeld) -> None:
        self.path = path
        self.meta: MetaProperties | None = None
        self.extents: dict[TopicPartition, Extent] = {}
        """Of the partitions that are at home here."""
        self._future: dict[TopicPartition, Extent] = {}
        self._run = run
        self._names = {entry.name for entry in entries if not entry.is_dir}
        self._dirs = [entry.name for entry in entries if entry.is_dir]
        self.is_clean = names.CLEAN_SHUTDOWN in self._names
        """The broker that had it stopped properly."""
        self.is_in_use = names.LOCK in self._names and is_held(self._path(names.LOCK))
        self._offsets: dict[str, Mapping[TopicPartition, Offset]] = {}
        self._zero_filled: list[str] = []

    def run(self) -> Iterator[Finding]:
        if self.is_in_use:
            yield note(self.path, "is in use: what is written meanwhile may look unfinished")
        yield from self.read_own_files()
        for name in sorted(self._names - _KNOWN):
            text = "is left of a write that was interrupted" if name.endswith(names.TEMP) else "an unknown file"
            yield note(self._path(name), text)
        if BOOTSTRAP in self._names:
            check = quorum.SnapshotCheck(self._run, self._path(BOOTSTRAP), LeaderEpoch(0), in_use=self.is_in_use)
            yield from check.run()
        for name in self._dirs:
            yield from bounded(self._check_partition(name))
        if self._zero_filled:
            why = "is in use" if self.is_in_use else "the metadata log" if self.is_clean else "was not stopped properly"
            yield note(self.path, f"{why}: {len(self._zero_filled)} indexes still end with the zeros of their room")
        yield from self._check_offsets()

    @property
    def recovery_points(self) -> Mapping[TopicPartition, Offset]:
        """Once its own files are read."""
        return self._offsets.get(names.RECOVERY_POINTS, {})

    def partition_paths(self) -> list[str]:
        return [self._path(name) for name in self._dirs]

    def circumstances(self, partition: TopicPartition) -> Circumstances:
        """Once its own files are read."""
        return Circumstances(
            # The metadata log belongs to the quorum, which does not say how it ended.
            clean=self.is_clean and partition.topic != names.METADATA_TOPIC,
            in_use=self.is_in_use,
            known=bool(self._offsets),
            recovery_point=self.recovery_points.get(partition),
            log_start=self._offsets.get(names.LOG_STARTS, {}).get(partition, Offset(0)),
            cleaned_to=self._offsets.get(names.CLEANER_OFFSETS, {}).get(partition),
        )

    def _path(self, name: str) -> str:
        return f"{self.path}/{name}"

    # --- its own files

    def read_own_files(self) -> Iterator[Finding]:
        for name in sorted(self._names & {*CHECKPOINTS, names.META_PROPERTIES, names.CLEAN_SHUTDOWN}):
            path = self._path(name)
            self._run.tally.files += 1
            try:
                yield from self._read_own_file(name, path, self._run.files.read_whole(path))
            except CorruptFile as corrupt:
                yield from_corrupt(path, corrupt)
            except OSError as problem:
                yield from_os(path, problem, self.is_in_use)

    def _read_own_file(self, name: str, path: str, data: bytes) -> Iterator[Finding]:
        if name == names.META_PROPERTIES:
            self.meta = meta_properties.parse(data, path)
            if self.meta.others:
                yield note(path, f"fields that are not known: {', '.join(field for field, _ in self.meta.others)}")
            if self.meta.directory_id is None:
                yield note(path, "no directory.id: the directory was made before Kafka 3.7")
        elif name == names.CLEAN_SHUTDOWN:
            yield from _check_clean_shutdown(path, data)
        else:
            self._offsets[name] = checkpoint.parse_offsets(data, path)

    # --- partitions

    def _check_partition(self, name: str) -> Iterator[Finding]:
        path = self._path(name)
        try:
            parsed: PartitionDir = names.parse_dir_name(name)
        except CorruptFile:
            yield note(path, "an unknown directory")
            return
        if parsed.mark is not Mark.NONE:
            yield note(path, _MARKS[parsed.mark])
        if parsed.mark is Mark.DELETE:
            return  # nobody keeps it in order any more: not at a stop, nor against power loss
        in_service = parsed.mark in (Mark.NONE, Mark.FUTURE)
        # A deleted partition may have a successor of the same name: the checkpoints speak of that one.
        now = self.circumstances(parsed.partition) if in_service else Circumstances(self.is_clean, self.is_in_use)
        extent = yield from PartitionCheck(self._run, path, parsed.partition.topic, now).run()
        if extent is not None:
            self._zero_filled += extent.zero_filled
            if parsed.mark is Mark.NONE:
                self.extents[parsed.partition] = extent
            elif parsed.mark is Mark.FUTURE:
                self._future[parsed.partition] = extent

    def _check_offsets(self) -> Iterator[Finding]:
        for name, offsets in self._offsets.items():
            path = self._path(name)
            for line, (partition, offset) in enumerate(offsets.items(), start=3):
                for severity, text in self._check_offset(name, partition, offset):
                    yield Finding(severity, path, f"{partition}: {text}", line=line)
        if self.is_clean and self.recovery_points:
            for partition in sorted(self.extents.keys() - self.recovery_points.keys()):
                if partition.topic != names.METADATA_TOPIC:
                    yield error(self._path(names.RECOVERY_POINTS), f"{partition} is missing after a proper stop")

    def _check_offset(self, name: str, partition: TopicPartition, offset: Offset) -> Iterator[tuple[Severity, str]]:
        extent = self.extents.get(partition) or self._future.get(partition)
        if extent is None:
            if not self.is_in_use:
                yield Severity.WARNING, "there is no such partition here"
            return
        end = extent.end
        if end is None or self.is_in_use:
            return
        if offset > end:
            severity = Severity.WARNING if name == names.CLEANER_OFFSETS else Severity.ERROR
            yield severity, f"offset {offset} lies past the end of the log, which is {end}"
        elif name == names.RECOVERY_POINTS and self.is_clean and offset < end:
            yield Severity.ERROR, f"a proper stop at offset {offset}, but the log ends at {end}"


def _check_clean_shutdown(path: str, data: bytes) -> Iterator[Finding]:
    """Its presence alone counts, whatever it holds."""
    try:
        fields = json.loads(data) if data else {"version": 0}
    except ValueError as problem:
        yield warning(path, f"not JSON: {problem}")
        return
    version = fields.get("version") if isinstance(fields, dict) else None
    if version != 0:
        yield warning(path, f"version {version} is not known")
