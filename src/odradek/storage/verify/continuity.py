"""Whether each batch of a log continues the one before it: offsets, counts, leader epochs."""

from collections import deque
from collections.abc import Iterator
from typing import NamedTuple

from odradek.model.numbers import NO_LEADER_EPOCH, LeaderEpoch, Offset
from odradek.records.batch import BatchHead, Codec
from odradek.storage.leader_epochs import LeaderEpochs
from odradek.storage.segment import RELATIVE_OFFSET_MAX
from odradek.storage.verify.findings import Finding, error, warning

_CODEC = 0x07
_KNOWN = 0x7F
_NEVER = 1 << 64
_GAPS_KEPT = 100


class Gap(NamedTuple):
    """Offsets that no batch has."""

    path: str
    position: int
    first: Offset
    next: Offset


class Continuity:
    """Goes along with the batches of a log, segment after segment."""

    def __init__(self, base: Offset, epochs: LeaderEpochs | None, *, epochs_complete: bool) -> None:
        """`epochs` are those of the checkpoint; where it is not complete, the log may know of later ones."""
        self.next_offset = base
        self.epoch = NO_LEADER_EPOCH
        self.epoch_until = -1
        """Up to this offset the leader epoch does not change, by the checkpoint."""
        self.gaps: deque[Gap] = deque(maxlen=_GAPS_KEPT)
        """The last ones: a compacted log has very many, and what matters is whether they reach to its end."""
        self.records_removed = False
        """A batch has fewer records than offsets, as only compaction leaves it."""
        self.broken = False
        """What precedes the next batch could not be read."""
        self._base = base
        self._epochs = epochs
        self._epochs_complete = epochs_complete

    @property
    def shows_compaction(self) -> bool:
        return self.records_removed or bool(self.gaps)

    def start_segment(self, path: str, base: Offset) -> Iterator[Finding]:
        if base < self.next_offset and not self.broken:
            yield error(path, f"starts at offset {base}, where the segment before it reaches {self.next_offset - 1}")
        elif base > self.next_offset:
            self._note_gap(path, 0, base)
        self._base = self.next_offset = base
        self.broken = False

    def continues(self, head: BatchHead) -> bool:
        """The quick answer for nearly every batch; where it is no, `look_closer` tells whether something is wrong."""
        delta = head.last_offset_delta
        return (
            head.base_offset == self.next_offset
            and head.count == delta + 1
            and head.leader_epoch == self.epoch
            and head.base_offset + delta < self.epoch_until
            and 0 <= head.attributes <= _KNOWN
            and head.attributes & _CODEC <= Codec.ZSTD
        )

    def look_closer(self, path: str, position: int, head: BatchHead) -> Iterator[Finding]:
        first, last = head.base_offset, head.last_offset
        if last < first or last - self._base > RELATIVE_OFFSET_MAX:
            yield error(path, f"offsets {first} to {last} in a segment that starts at {self._base}", position)
        elif first < self.next_offset:
            yield error(path, f"offsets {first} to {last}, where {self.next_offset} is next", position)
        elif first > self.next_offset:
            self._note_gap(path, position, first)
        if not 0 <= head.count <= head.last_offset_delta + 1:
            yield error(path, f"{head.count} records for offsets {first} to {last}", position)
        elif head.count <= head.last_offset_delta:
            self.records_removed = True
        if head.attributes & _CODEC > Codec.ZSTD:
            yield error(path, f"compression codec {head.attributes & _CODEC} is not known", position)
        if head.attributes & ~_KNOWN:
            yield warning(path, f"attributes {head.attributes:#06x} have bits whose meaning is not known", position)
        yield from self._look_at_epoch(path, position, head)

    def take(self, head: BatchHead) -> None:
        self.next_offset = head.next_offset
        self.broken = False

    def _note_gap(self, path: str, position: int, found: Offset) -> None:
        if self.broken:
            return
        self.gaps.append(Gap(path, position, self.next_offset, found))

    # --- leader epochs

    def _look_at_epoch(self, path: str, position: int, head: BatchHead) -> Iterator[Finding]:
        epoch, before = head.leader_epoch, self.epoch
        expected, self.epoch_until = self._epoch_at(head.last_offset)
        self.epoch = epoch
        if epoch < NO_LEADER_EPOCH:
            yield error(path, f"leader epoch {epoch}", position)
        elif epoch < before:
            yield error(path, f"leader epoch {epoch} after {before}", position)
        elif NO_LEADER_EPOCH not in (epoch, expected) and epoch != expected:
            text = f"leader epoch {epoch}, where leader-epoch-checkpoint has {expected}"
            later = self._epochs is not None and epoch > self._epochs.latest
            yield (warning if later and not self._epochs_complete else error)(path, text, position)

    def _epoch_at(self, offset: Offset) -> tuple[LeaderEpoch, int]:
        """The epoch that `offset` has by the checkpoint, and the offset up to which that holds."""
        if self._epochs is None:
            return NO_LEADER_EPOCH, _NEVER
        until = next((entry.start for entry in self._epochs.entries if entry.start > offset), _NEVER)
        return self._epochs.epoch_of(offset), until
