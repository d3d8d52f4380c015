"""The producer snapshots of one partition, and the producers' state at any offset made from them."""

from bisect import insort
from collections.abc import Iterable

from odradek.model.errors import CorruptBatch, CorruptFile
from odradek.model.numbers import Offset
from odradek.process.files import Files, write_file
from odradek.storage import batches, names, producer_snapshot
from odradek.storage.producer_state import ProducerState
from odradek.storage.rebuild import note
from odradek.storage.segment import Segment


class Snapshots:
    __slots__ = ("_files", "directory", "offsets", "problems")

    def __init__(self, files: Files, directory: str, offsets: Iterable[Offset]) -> None:
        self._files = files
        self.directory = directory
        self.offsets = sorted(offsets)
        self.problems: list[str] = []
        """Snapshots that could not be read and were removed, and places where the log could not be."""

    def write(self, producers: ProducerState, offset: Offset, *, again: bool = False) -> None:
        """Not synced: recovery makes a lost one again from the log. One that is there is replaced only if told so."""
        known = offset in self.offsets
        if again or not known:
            write_file(self._files, self._path(offset), producer_snapshot.pack(producers), sync=False)
        if not known:
            insort(self.offsets, offset)

    def add(self, offset: Offset) -> None:
        """One whose file was put into the directory by somebody else."""
        if offset not in self.offsets:
            insort(self.offsets, offset)

    def remove(self, offset: Offset) -> None:
        self.offsets.remove(offset)
        self._files.remove(self._path(offset))

    def keep_within(self, start: Offset, end: Offset) -> None:
        """Remove those that stand for no place in a log that starts at `start` and ends at `end`."""
        for offset in [each for each in self.offsets if not start < each <= end]:
            self.remove(offset)

    def keep_bases(self, bases: Iterable[Offset]) -> None:
        """Remove those that stand neither at the base of a segment nor last."""
        kept = set(bases)
        for offset in [each for each in self.offsets[:-1] if each not in kept]:
            self.remove(offset)

    def state_at(self, offset: Offset, segments: Iterable[Segment], log_start: Offset) -> ProducerState:
        """From the newest good snapshot at or below `offset`, and the batches between."""
        producers = self._load(offset, log_start)
        for segment in segments:
            if segment.base_offset < offset:
                try:
                    _replay(segment, producers, offset)
                except CorruptBatch as error:  # in a part that is never cut: go on behind it
                    self.problems.append(f"producers are not known from here on in this segment: {error}")
        producers.end_offset = offset
        return producers

    def _load(self, offset: Offset, log_start: Offset) -> ProducerState:
        for at in reversed([each for each in self.offsets if each <= offset]):
            path = self._path(at)
            try:
                return ProducerState(at, producer_snapshot.parse(self._files.read_whole(path), path))
            except CorruptFile as error:
                self.problems.append(f"removed a corrupt snapshot: {error}")
                self.remove(at)
        return ProducerState(log_start)

    def _path(self, offset: Offset) -> str:
        return f"{self.directory}/{names.file_name(offset, names.SNAPSHOT)}"


def _replay(segment: Segment, producers: ProducerState, end: Offset) -> None:
    """Take in the batches of a segment from the state's own end up to `end`."""
    file = segment.log.get()
    for position, head in segment.heads(producers.end_offset):
        if head.base_offset >= end:
            break
        if head.producer_id >= 0:
            batch = batches.read_batch(file, position, head) if head.is_control else memoryview(b"")
            note(producers, head, batch, [])
        producers.end_offset = head.next_offset
