"""One partition's directory: its segments in order, and the files that must agree with them."""

from collections import defaultdict
from collections.abc import Generator, Iterator
from typing import NamedTuple

from odradek.model.errors import CorruptFile
from odradek.model.numbers import Offset
from odradek.process.files import Entry
from odradek.storage import leader_epochs, names, partition_metadata, producer_snapshot
from odradek.storage.leader_epochs import LeaderEpochs
from odradek.storage.producer_state import Producer, ProducerState
from odradek.storage.verify import quorum
from odradek.storage.verify.continuity import Continuity
from odradek.storage.verify.findings import Finding, Run, Severity, error, from_corrupt, from_os, note, warning
from odradek.storage.verify.producers import ProducerCheck, faults
from odradek.storage.verify.segment import Circumstances, Course, SegmentCheck
from odradek.storage.verify.stored import records_check

_LEFTOVERS = {
    names.DELETED: "was being deleted",
    names.CLEANED: "is left of a compaction that was interrupted",
    names.SWAP: "is left of a compaction that was interrupted at its end",
    names.TEMP: "is left of a write that was interrupted",
    quorum.PARTIAL: "is left of a snapshot that was interrupted",
    quorum.DELETED: "was being deleted",
}
_COMPACTED_TOPICS = ("__consumer_offsets", "__transaction_state", "__share_group_state")


class Extent(NamedTuple):
    """What a partition's log turned out to be."""

    topic_id: str | None
    start: Offset
    end: Offset | None
    """None where the end of the log is damaged."""
    zero_filled: list[str]


class _Listing:
    """The files of a partition's directory by their kind."""

    def __init__(self) -> None:
        self.segments: defaultdict[Offset, dict[str, int]] = defaultdict(dict)
        """By base offset, the sizes of the files by suffix."""
        self.snapshots: list[Offset] = []
        self.quorum_snapshots: list[str] = []
        self.others: set[str] = set()

    def sort_in(self, directory: str, entry: Entry) -> Iterator[Finding]:
        path = f"{directory}/{entry.name}"
        leftover = next((text for mark, text in _LEFTOVERS.items() if entry.name.endswith(mark)), None)
        parsed = names.parse_file_name(entry.name)
        if leftover is not None:
            yield note(path, leftover)
        elif entry.is_dir:
            yield note(path, "an unknown directory")
        elif parsed and parsed[1] in names.SEGMENT_SUFFIXES:
            self.segments[parsed[0]][parsed[1]] = entry.size
        elif parsed and parsed[1] == names.SNAPSHOT:
            self.snapshots.append(parsed[0])
        elif quorum.parse_name(entry.name):
            self.quorum_snapshots.append(entry.name)
        elif entry.name in (names.LEADER_EPOCHS, names.PARTITION_METADATA, quorum.STATE):
            self.others.add(entry.name)
        else:
            yield note(path, "an unknown file")


class PartitionCheck:
    def __init__(self, run: Run, directory: str, topic: str, now: Circumstances) -> None:
        self._run = run
        self._directory = directory
        self._topic = topic
        self._now = now
        self._listing = _Listing()

    def run(self) -> Generator[Finding, None, Extent | None]:
        """None where the directory cannot be read."""
        try:
            entries = self._run.list(self._directory)
        except OSError as problem:
            yield from_os(self._directory, problem, self._now.in_use)
            return None
        for entry in entries:
            yield from self._listing.sort_in(self._directory, entry)
        self._run.tally.partitions += 1
        topic_id = yield from self._read_topic_id()
        epochs = yield from self._read_epochs()
        course = yield from self._begin(epochs)
        yield from self._check_segments(course)
        yield from self._check_end(course, epochs)
        yield from self._check_gaps(course.continuity)
        yield from self._check_quorum(course)
        bases = self._listing.segments
        end = None if course.continuity.broken else course.continuity.next_offset
        return Extent(topic_id, min(bases, default=self._now.log_start), end, course.zero_filled)

    def _path(self, name: str) -> str:
        return f"{self._directory}/{name}"

    # --- small files

    def _read_small(self, name: str) -> Generator[Finding, None, bytes | None]:
        if name not in self._listing.others:
            return None
        self._run.tally.files += 1
        try:
            return self._run.files.read_whole(self._path(name))
        except OSError as problem:
            yield from_os(self._path(name), problem, self._now.in_use)
            return None

    def _read_topic_id(self) -> Generator[Finding, None, str | None]:
        data = yield from self._read_small(names.PARTITION_METADATA)
        if data is None:
            return None
        path = self._path(names.PARTITION_METADATA)
        try:
            return partition_metadata.parse(data, path)
        except CorruptFile as corrupt:
            yield from_corrupt(path, corrupt)
            return None

    def _read_epochs(self) -> Generator[Finding, None, LeaderEpochs | None]:
        """None where they are not known."""
        data = yield from self._read_small(names.LEADER_EPOCHS)
        if data is None:
            return None
        path = self._path(names.LEADER_EPOCHS)
        try:
            return leader_epochs.parse(data, path)
        except CorruptFile as corrupt:
            yield from_corrupt(path, corrupt)
            return None

    def _read_snapshots(self) -> Generator[Finding, None, dict[Offset, list[Producer]]]:
        snapshots = {}
        for offset in self._listing.snapshots:
            path = self._path(names.file_name(offset, names.SNAPSHOT))
            self._run.tally.files += 1
            try:
                content = self._run.files.read_whole(path)
                if not content:  # a broker was killed before it wrote it: either one goes by the snapshot before
                    yield note(path, _LEFTOVERS[names.TEMP])
                    continue
                producers = producer_snapshot.parse(content, path)
            except CorruptFile as corrupt:
                yield from_corrupt(path, corrupt)
            except OSError as problem:
                yield from_os(path, problem, self._now.in_use)
            else:
                wrong = list(faults(offset, producers))
                yield from (error(path, text) for text in wrong)
                if not wrong:
                    snapshots[offset] = producers
        return snapshots

    # --- the log

    def _begin(self, epochs: LeaderEpochs | None) -> Generator[Finding, None, Course]:
        snapshots = yield from self._read_snapshots()
        base = min((base for base, sizes in self._listing.segments.items() if names.LOG in sizes), default=None)
        start = self._now.log_start if base is None else base
        replay = self._replay_from(start, snapshots.get(start))
        later = {offset: producers for offset, producers in snapshots.items() if offset > start}
        return Course(
            self._directory,
            self._now,
            Continuity(start, epochs, epochs_complete=self._now.clean),
            ProducerCheck(self._directory, later, replay),
            records_check(self._topic),
        )

    def _replay_from(self, base: Offset, snapshot: list[Producer] | None) -> ProducerState | None:
        """The producers' state at the start of the log, if what follows can be replayed from there."""
        if self._now.cleaned_to is not None or self._now.log_start > base:
            return None
        if base == 0:
            return ProducerState(base)
        return None if snapshot is None else ProducerState(base, snapshot)

    def _check_segments(self, course: Course) -> Iterator[Finding]:
        bases = []
        for base, sizes in sorted(self._listing.segments.items()):
            if names.LOG in sizes:
                bases.append(base)
                continue
            for suffix in sorted(sizes):
                yield warning(self._path(names.file_name(base, suffix)), "has no segment beside it")
        if not bases:
            yield warning(self._directory, "has no segment; a broker makes one at its next start")
        for base, next_base in zip(bases, [*bases[1:], None], strict=False):  # no segments, no pairs
            findings = SegmentCheck(self._run, course, base, self._listing.segments[base]).run(next_base)
            yield from self._unless_replaced(course, base, findings) if self._now.in_use and next_base else findings

    def _unless_replaced(self, course: Course, base: Offset, findings: Iterator[Finding]) -> Iterator[Finding]:
        """A broker that compacts a log puts new files in the place of old ones: what was read may be of both."""
        found = list(findings)
        path = self._path(names.file_name(base, names.LOG))
        if any(finding.severity is Severity.ERROR for finding in found) and self._changed(base):
            course.continuity.broken = True
            course.producers.lose_track()
            found = [note(path, "was replaced while it was read")]
        yield from found

    def _changed(self, base: Offset) -> bool:
        try:
            sizes = {entry.name: entry.size for entry in self._run.list(self._directory)}
        except OSError:
            return True
        listed = self._listing.segments[base].items()
        return any(sizes.get(names.file_name(base, suffix)) != size for suffix, size in listed)

    def _check_end(self, course: Course, epochs: LeaderEpochs | None) -> Iterator[Finding]:
        end, sure = course.continuity.next_offset, not course.continuity.broken
        yield from course.producers.end(end, sure=sure and self._now.clean)
        if sure and not self._now.in_use and epochs is not None and epochs.entries and epochs.entries[-1].start > end:
            last = epochs.entries[-1]
            text = f"leader epoch {last.epoch} starts at {last.start}, past the end of the log, which is {end}"
            yield (error if self._now.clean else warning)(self._path(names.LEADER_EPOCHS), text)

    def _check_gaps(self, continuity: Continuity) -> Iterator[Finding]:
        """Only compaction leaves gaps, and only below the offset up to which it went."""
        cleaned_to = self._now.cleaned_to
        compacted = cleaned_to is not None or self._topic in _COMPACTED_TOPICS
        if cleaned_to is None:
            cleaned_to = continuity.next_offset if continuity.records_removed else Offset(0)
        tell = error if self._now.known and not compacted else warning
        for gap in continuity.gaps:
            if gap.next > cleaned_to:
                text = f"offsets {gap.first} to {gap.next - 1} are missing, and the log was not compacted here"
                yield tell(gap.path, text, gap.position)

    # --- the metadata log

    def _check_quorum(self, course: Course) -> Iterator[Finding]:
        listing = self._listing
        offsets = []
        for name in listing.quorum_snapshots:
            parsed = quorum.parse_name(name)
            if parsed is not None:
                offsets.append(parsed.end_offset)
                check = quorum.SnapshotCheck(self._run, self._path(name), parsed.epoch, in_use=self._now.in_use)
                yield from check.run()
        if quorum.STATE in listing.others:
            epoch = course.continuity.epoch
            yield from quorum.check_state(self._run, self._path(quorum.STATE), epoch, in_use=self._now.in_use)
        if self._topic == names.METADATA_TOPIC:
            start = min(listing.segments, default=Offset(0))
            if start > max(offsets, default=Offset(0)):
                yield error(self._directory, f"starts at offset {start}, without a snapshot of what was before")
