"""Making a partition's directory whole again before it is used.

After a clean stop nothing is read but names, sizes and the ends of the indexes. After a crash, segments that reach
past the recovery point are read from their start and cut at the last whole batch. What lies below the recovery point
is never cut. Everything that an interrupted step may have left behind is finished or removed; and a crash in the
middle of recovery is met by doing it again.
"""

from collections.abc import Iterable
from dataclasses import dataclass, field
from typing import NamedTuple

from odradek.model.errors import CorruptBatch, CorruptFile, NewerVersion
from odradek.model.numbers import NO_OFFSET, Offset, TimestampMs
from odradek.process.files import Entry, Files, write_file
from odradek.storage import batches, leader_epochs, names, transaction_index
from odradek.storage.leader_epochs import LeaderEpochs
from odradek.storage.open_files import OpenFiles
from odradek.storage.producer_state import ProducerState
from odradek.storage.rebuild import Rebuilt, rebuild, rebuild_by_heads
from odradek.storage.segment import Segment, Sizes
from odradek.storage.snapshots import Snapshots

_ENTRY_SIZES = {names.INDEX: 8, names.TIME_INDEX: 12, names.TXN_INDEX: 34}


@dataclass(frozen=True, slots=True)
class Situation:
    """What is known of a partition's directory before it is opened."""

    directory: str
    clean: bool
    """The process that had it before stopped properly."""
    repaired: bool
    """What lies past the recovery point was read and mended already, if not synced."""
    recovery_point: Offset
    log_start: Offset
    dense: bool
    """Offsets follow each other without gaps: the topic was never compacted."""
    index_interval_bytes: int
    producer_expiry_ms: int
    now: TimestampMs


class Event(NamedTuple):
    """Something that recovery did, for the log of the one who asked for it."""

    text: str
    fields: dict[str, str | int]


@dataclass(slots=True)
class Recovered:
    """A directory that is whole: what a `Log` starts from."""

    segments: list[Segment]
    log_start: Offset
    end_offset: Offset
    recovery_point: Offset
    epochs: LeaderEpochs
    producers: ProducerState
    snapshots: Snapshots
    events: list[Event] = field(default_factory=list)
    scanned_bytes: int = 0
    was_clean: bool = True
    """Else nothing but what lies below the recovery point is known to be synced, and no name of a file."""


def recover(open_files: OpenFiles, situation: Situation) -> Recovered:
    """Raises OSError, or CorruptFile where a person must decide; no file is left open then."""
    recovery = _Recovery(open_files, situation)
    try:
        return recovery.run()
    except (OSError, CorruptFile):
        recovery.abandon()
        raise


class _Recovery:
    def __init__(self, open_files: OpenFiles, situation: Situation) -> None:
        self._open_files = open_files
        self._files: Files = open_files.files
        self._now = situation
        self._damaged: Offset | None = None
        """The last segment that was found to be damaged, and is not cut."""
        self._made: list[Segment] = []
        self._events: list[Event] = []
        self._scanned_bytes = 0
        self._snapshots = Snapshots(self._files, situation.directory, ())
        self._epochs = LeaderEpochs()
        self._epochs_stored: LeaderEpochs | None = LeaderEpochs()
        """None where the file cannot be read."""
        self._producers: ProducerState | None = None

    def run(self) -> Recovered:
        entries = {entry.name: entry for entry in self._files.list(self._now.directory) if not entry.is_dir}
        entries = self._finish_interrupted_steps(entries)
        listed = self._list_segments(entries)
        parsed = (names.parse_file_name(name) for name in entries)
        self._snapshots.offsets = sorted(each[0] for each in parsed if each and each[1:] == (names.SNAPSHOT, ""))
        epochs_known = self._load_epochs(entries)
        segments = self._repair(listed)
        if not epochs_known:
            self._epochs = self._collect_epochs(segments)
        end = self._find_end(segments)
        if segments and end < self._now.log_start:
            self._event("log ends before its start, dropping what is below", end=end, start=self._now.log_start)
            self._drop(segments)
            segments, self._epochs, end = [], LeaderEpochs(), self._now.log_start
        if not segments:
            segments = [self._create_segment(end)]
            if end:
                self._files.sync_dir(self._now.directory)  # from here on no checkpoint tells the start, only this name
        log_start = max(self._now.log_start, segments[0].base_offset)
        self._store_epochs(log_start, end)
        producers = self._load_producers(segments, log_start, end)
        if not self._now.clean:
            # What the last owner removed must not come back by power loss, once something else is written in its place.
            self._files.sync_dir(self._now.directory)
        return Recovered(
            segments,
            log_start,
            end,
            end if self._now.clean else min(self._now.recovery_point, end),
            self._epochs,
            producers,
            self._snapshots,
            self._events,
            self._scanned_bytes,
            self._now.clean,
        )

    def abandon(self) -> None:
        for segment in self._made:
            segment.abandon()

    # --- what an interrupted step left behind

    def _finish_interrupted_steps(self, entries: dict[str, Entry]) -> dict[str, Entry]:
        """Finish a swap of cleaned segments that had begun; remove what was being deleted or written."""
        parsed = {name: names.parse_file_name(name) for name in sorted(entries)}
        cleaned = [each[0] for each in parsed.values() if each and each[2] == names.CLEANED]
        swaps: list[str] = []
        void: list[str] = []
        others: list[str] = []
        for name, each in parsed.items():
            mark = each[2] if each else ""
            # Cleaned files are renamed to .swap from the last to the first: while one is left under its old name, the
            # renaming had not ended, the old segments are still whole, and the swaps at or above it are void.
            if mark == names.SWAP and each:
                (void if cleaned and each[0] >= min(cleaned) else swaps).append(name)
            elif mark in (names.DELETED, names.CLEANED) or name.endswith(names.TEMP):
                others.append(name)
        for name in (*void, *others):  # in this order: without .cleaned, a .swap counts
            self._remove(name)
            del entries[name]
        if swaps:
            self._finish_swap(entries, swaps)
        return entries

    def _finish_swap(self, entries: dict[str, Entry], swaps: list[str]) -> None:
        """Cleaned segments that are complete take the place of those they were made from."""
        parsed = {name: names.parse_file_name(name) for name in sorted(entries)}
        logs = [(each[0], name) for name in swaps if (each := parsed[name]) and each[1] == names.LOG]
        first = min((base for base, _ in logs), default=Offset(0))
        end = max((self._next_offset_of(base, entries[name]) for base, name in logs), default=Offset(0))
        for name, each in parsed.items():
            if each and not each[2] and each[1] in names.SEGMENT_SUFFIXES and first <= each[0] < end:
                self._remove(name)
                del entries[name]
        for name in swaps:
            final = name.removesuffix(names.SWAP)
            self._files.rename(self._path(name), self._path(final))
            entries[final] = entries.pop(name)._replace(name=final)
        self._event("finished an interrupted swap of cleaned segments", first=first, end=end)

    def _next_offset_of(self, base: Offset, entry: Entry) -> Offset:
        file = self._files.open_to_read(self._path(entry.name))
        next_offset = base
        try:
            for _, head in batches.heads(file, entry.size):
                next_offset = head.next_offset
        except CorruptBatch as error:
            self._event("a cleaned segment is damaged", reason=str(error))
        finally:
            file.close()
        return next_offset

    def _list_segments(self, entries: dict[str, Entry]) -> list[tuple[Offset, Sizes, bool]]:
        """Base offset and sizes of each segment, and whether its index files could be its own."""
        segments = []
        for name in sorted(entries):
            parsed = names.parse_file_name(name)
            if parsed is None or parsed[2] or parsed[1] not in names.SEGMENT_SUFFIXES:
                continue
            base, suffix, _ = parsed
            log = entries.get(names.file_name(base, names.LOG))
            if log is None:
                self._remove(name)
                self._event("removed an index without a segment", file=self._path(name))
            elif suffix == names.LOG:
                found = {suffix: entries.get(names.file_name(base, suffix)) for suffix in _ENTRY_SIZES}
                sizes = Sizes(log.size, *(file.size if file else 0 for file in found.values()))
                whole = all(not file or file.size % _ENTRY_SIZES[suffix] == 0 for suffix, file in found.items())
                segments.append((base, sizes, whole and bool(found[names.INDEX] and found[names.TIME_INDEX])))
        return segments

    # --- segments

    def _repair(self, listed: list[tuple[Offset, Sizes, bool]]) -> list[Segment]:
        """Read again what may not be whole, rebuild indexes that are not right; cut the log at the first bad batch."""
        segments: list[Segment] = []
        for number, (base, sizes, fits) in enumerate(listed):
            rest = listed[number + 1 :]
            segments.append(self._segment(base, sizes))
            end = rest[0][0] if rest else None
            if self._must_scan(end):
                if self._scan(segments, rest):
                    break
            elif self._lacks_index_sync(end) or not self._indexes_right(segments[-1], fits):
                self._rebuild_indexes(segments, end)
        return segments

    def _find_end(self, segments: list[Segment]) -> Offset:
        """The end of the log. Where the last segment is damaged though it was closed properly, the log goes on in a
        new one: where that must start, the recovery point tells."""
        if not segments:
            return self._now.log_start
        try:
            end = segments[-1].read_next_offset()
            if self._now.clean and end != self._now.recovery_point:  # after a proper stop they are the same
                segments[-1].check_tail()
            if segments[-1].base_offset != self._damaged:
                return end
        except CorruptBatch as error:
            end = self._now.recovery_point
            if end <= segments[-1].base_offset:
                raise CorruptFile(f"{error}; and no recovery point tells where the log ended") from None
            self._event("the end of the last segment is damaged", reason=str(error))
        self._event("the last segment is damaged; the log goes on in a new one", file=segments[-1].log.path, end=end)
        segments.append(self._create_segment(end))
        return end

    def _must_scan(self, end: Offset | None) -> bool:
        if self._now.clean or self._now.repaired:
            return False
        return end is None or end > self._now.recovery_point

    def _lacks_index_sync(self, end: Offset | None) -> bool:
        """A segment that ends at the recovery point may have been open at the sync, which left its indexes out."""
        return not self._now.clean and end == self._now.recovery_point

    def _segment(self, base: Offset, sizes: Sizes) -> Segment:
        segment = Segment(self._open_files, self._now.directory, base, sizes, self._now.now)
        self._made.append(segment)
        return segment

    def _scan(self, segments: list[Segment], rest: list[tuple[Offset, Sizes, bool]]) -> bool:
        """Read a segment from its start and bring its files in line with it; True if the log ends in it."""
        segment = segments[-1]
        # Snapshots and epochs past here may be of a log that was cut since: power loss can bring back either.
        self._snapshots.keep_within(NO_OFFSET, segment.base_offset)
        self._epochs = self._epochs.truncate_to(segment.base_offset)
        state = (self._producers_at(segment.base_offset, segments), self._epochs)
        file = segment.log.get()
        found = rebuild(file, segment.size, segment.base_offset, self._now.index_interval_bytes, state)
        self._scanned_bytes += segment.size
        cut = segment.size - found.valid_bytes
        # Power loss can take whole batches from the end of one segment and leave the next.
        hole = bool(rest) and self._now.dense and found.dense and rest[0][0] != found.next_offset
        if cut or hole:
            # The later segments go first: a crash in between must not leave them behind a gap.
            self._drop(self._segment(base, sizes) for base, sizes, _ in reversed(rest))
            self._files.sync_dir(self._now.directory)
        if cut:
            file.truncate(found.valid_bytes)
            file.sync()  # nothing else may be left to sync in this log when it is closed
            self._event(
                "cut a segment at its last whole batch",
                file=segment.log.path,
                position=found.valid_bytes,
                bytes_cut=cut,
                end_offset=found.next_offset,
                reason=str(found.corruption),
            )
        self._adopt(segments, found)
        if found.next_offset > self._now.log_start:
            self._snapshots.write(state[0], found.next_offset, again=True)
        return bool(cut) or hole

    def _indexes_right(self, segment: Segment, fits: bool) -> bool:
        try:
            if not fits:
                raise CorruptFile(f"{segment.index.entries.path}: an index file is missing or has half an entry")
            segment.check_indexes(self._now.index_interval_bytes)
        except (CorruptFile, CorruptBatch) as error:
            self._event("rebuilding the indexes of a segment", file=segment.log.path, reason=str(error))
            return False
        return True

    def _rebuild_indexes(self, segments: list[Segment], end: Offset | None) -> None:
        """The segment's data is known to be whole, up to `end`: it is not cut, whatever it holds."""
        segment = segments[-1]
        state = (self._producers_at(segment.base_offset, segments), self._epochs)
        file = segment.log.get()
        found = rebuild_by_heads(file, segment.size, segment.base_offset, self._now.index_interval_bytes, state)
        if found.corruption is not None and found.next_offset == end:
            # All records are there, and room behind them that was allocated ahead: closing the segment gave it back,
            # but power was lost before that was safe.
            file.truncate(found.valid_bytes)
            file.sync()
        elif found.corruption is not None:
            self._event(
                "a segment below the recovery point is damaged; it is left as it is",
                file=segment.log.path,
                position=found.valid_bytes,
                reason=str(found.corruption),
            )
            found.valid_bytes = segment.size
            self._damaged = segment.base_offset
        self._adopt(segments, found)
        # Made from the segment alone, this state may know producers that the log forgot when its start was advanced:
        # what comes next begins with a snapshot again.
        self._producers = None

    def _adopt(self, segments: list[Segment], found: Rebuilt) -> None:
        """Replace the last segment's index files by what was found, and itself by one that knows their sizes."""
        segment = segments[-1]
        aborted = transaction_index.pack(found.aborted)
        segment.abandon()
        write_file(self._files, segment.path(names.INDEX), bytes(found.index), sync=False)
        write_file(self._files, segment.path(names.TIME_INDEX), bytes(found.time_index), sync=False)
        if aborted or self._files.exists(segment.path(names.TXN_INDEX)):
            write_file(self._files, segment.path(names.TXN_INDEX), aborted, sync=False)
        sizes = Sizes(found.valid_bytes, len(found.index), len(found.time_index), len(aborted))
        segments[-1] = self._segment(segment.base_offset, sizes)
        self._epochs = found.epochs

    def _create_segment(self, base: Offset) -> Segment:
        segment = self._segment(base, Sizes())
        segment.create(allocate=0)
        return segment

    def _drop(self, segments: Iterable[Segment]) -> None:
        for segment in segments:
            segment.abandon()
            for suffix in names.SEGMENT_SUFFIXES:
                if self._files.exists(segment.path(suffix)):
                    self._files.remove(segment.path(suffix))
            self._event("removed a segment past the end of the log", file=segment.path(names.LOG), bytes=segment.size)

    # --- leader epochs

    def _load_epochs(self, entries: dict[str, Entry]) -> bool:
        """False where they must be collected from the segments."""
        path = self._path(names.LEADER_EPOCHS)
        if names.LEADER_EPOCHS in entries:
            try:
                self._epochs = self._epochs_stored = leader_epochs.parse(self._files.read_whole(path), path)
            except NewerVersion:
                raise
            except CorruptFile as error:
                self._epochs_stored = None
                self._event("collecting the leader epochs from the log", file=path, reason=str(error))
        # Written without a sync, so it may be empty after power loss; a log with records has at least one epoch,
        # unless they were written without any.
        return bool(self._epochs.entries)

    def _collect_epochs(self, segments: list[Segment]) -> LeaderEpochs:
        epochs = LeaderEpochs()
        for segment in segments:
            try:
                for _, head in batches.heads(segment.log.get(), segment.size):
                    if head.leader_epoch > epochs.latest:
                        epochs = epochs.assign(head.leader_epoch, head.base_offset)
            except CorruptBatch as error:
                self._event("leader epochs are not known from here on in this segment", reason=str(error))
        return epochs

    def _store_epochs(self, log_start: Offset, end: Offset) -> None:
        self._epochs = self._epochs.truncate_to(end).start_at(log_start)
        stored = self._epochs_stored
        # After a clean stop the file can have only one thing too many: the epoch of a leader that wrote nothing.
        if stored is None or (self._epochs != stored and not (self._now.clean and stored.entries)):
            leader_epochs.write(self._files, self._now.directory, self._epochs)

    # --- producers

    def _load_producers(self, segments: list[Segment], log_start: Offset, end: Offset) -> ProducerState:
        """The producers' state at the end of the log; snapshots that no longer stand for a place in it are removed."""
        self._snapshots.keep_within(log_start, end)
        self._snapshots.keep_bases(segment.base_offset for segment in segments)
        producers = self._producers_at(end, segments)
        producers.expire(self._now.now, self._now.producer_expiry_ms)
        for reason in self._snapshots.problems:
            self._event("the producers' state was made again from the log", reason=reason)
        return producers

    def _producers_at(self, offset: Offset, segments: list[Segment]) -> ProducerState:
        """The state at `offset`; that is where we are when one segment after the other is read."""
        if self._producers is None or self._producers.end_offset != offset:
            self._producers = self._snapshots.state_at(offset, segments, self._now.log_start)
        return self._producers

    # --- small things

    def _path(self, name: str) -> str:
        return f"{self._now.directory}/{name}"

    def _remove(self, name: str) -> None:
        self._files.remove(self._path(name))

    def _event(self, text: str, **fields: str | int) -> None:
        self._events.append(Event(text, fields))
