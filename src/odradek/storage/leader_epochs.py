"""Where each leader's part of a log begins; kept in `leader-epoch-checkpoint`, lines of `epoch start-offset`."""

from typing import NamedTuple

from odradek.model.errors import CorruptFile
from odradek.model.numbers import NO_LEADER_EPOCH, NO_OFFSET, LeaderEpoch, Offset
from odradek.process.files import Files, replace_file
from odradek.storage import names
from odradek.storage.checkpoint import pack_lines, parse_lines, parse_number


class EpochEntry(NamedTuple):
    epoch: LeaderEpoch
    start: Offset


class LeaderEpochs:
    """Entries with rising epochs and rising starts. Values: each change gives a new one."""

    __slots__ = ("entries",)

    def __init__(self, entries: tuple[EpochEntry, ...] = ()) -> None:
        self.entries = entries

    def __eq__(self, other: object) -> bool:
        return isinstance(other, LeaderEpochs) and self.entries == other.entries

    __hash__ = None  # type: ignore[assignment]

    def __repr__(self) -> str:
        return f"LeaderEpochs({self.entries!r})"

    @property
    def latest(self) -> LeaderEpoch:
        return self.entries[-1].epoch if self.entries else NO_LEADER_EPOCH

    def assign(self, epoch: LeaderEpoch, start: Offset) -> "LeaderEpochs":
        """A leader with `epoch` begins at `start`. What contradicts it, at the end, is dropped."""
        last = self.entries[-1] if self.entries else None
        if last is not None and epoch == last.epoch and start >= last.start:
            return self
        kept = list(self.entries)
        while kept and (kept[-1].epoch >= epoch or kept[-1].start >= start):
            kept.pop()
        return LeaderEpochs((*kept, EpochEntry(epoch, start)))

    def truncate_to(self, end: Offset) -> "LeaderEpochs":
        """The log was cut at `end`."""
        if not self.entries or self.entries[-1].start < end:
            return self
        return LeaderEpochs(tuple(entry for entry in self.entries if entry.start < end))

    def start_at(self, start: Offset) -> "LeaderEpochs":
        """The log begins at `start` now: the epoch that it lies in begins there too."""
        below = [entry for entry in self.entries if entry.start <= start]
        if not below or (len(below) == 1 and below[0].start == start):
            return self
        first = EpochEntry(below[-1].epoch, start)
        return LeaderEpochs((first, *self.entries[len(below) :]))

    def epoch_of(self, offset: Offset) -> LeaderEpoch:
        """The epoch under which `offset` was written, or -1."""
        found = NO_LEADER_EPOCH
        for entry in self.entries:
            if entry.start > offset:
                break
            found = entry.epoch
        return found

    def end_offset(self, asked: LeaderEpoch, log_end: Offset) -> tuple[LeaderEpoch, Offset]:
        """The largest known epoch not above `asked`, and where it ends; (-1, -1) where that is not known."""
        if asked == NO_LEADER_EPOCH:
            return NO_LEADER_EPOCH, NO_OFFSET
        if asked == self.latest:
            return asked, log_end
        floor = asked
        for entry in self.entries:
            if entry.epoch > asked:
                return floor, entry.start
            floor = entry.epoch
        return NO_LEADER_EPOCH, NO_OFFSET


def pack(epochs: LeaderEpochs) -> bytes:
    return pack_lines(f"{entry.epoch} {entry.start}" for entry in epochs.entries)


def write(files: Files, directory: str, epochs: LeaderEpochs) -> None:
    """Not synced: recovery collects the epochs from the log where this file is lost."""
    replace_file(files, f"{directory}/{names.LEADER_EPOCHS}", pack(epochs), sync=False)


def parse(data: bytes, path: str) -> LeaderEpochs:
    entries: list[EpochEntry] = []
    for line, fields in enumerate(parse_lines(data, path), start=3):
        if len(fields) != 2:
            raise CorruptFile(f"{path}, line {line}: {len(fields)} fields where 2 belong")
        epoch, start = (parse_number(field, path, line) for field in fields)
        if epoch < 0 or start < 0 or (entries and (epoch <= entries[-1].epoch or start <= entries[-1].start)):
            raise CorruptFile(f"{path}, line {line}: epoch {epoch} at {start} is out of order")
        entries.append(EpochEntry(LeaderEpoch(epoch), Offset(start)))
    return LeaderEpochs(tuple(entries))
