"""Reading a file of batches from end to end, past whatever is damaged."""

from collections.abc import Callable, Iterator
from enum import Enum
from struct import Struct
from typing import NamedTuple

from crc32c import crc32c

from odradek.model.errors import CorruptBatch
from odradek.model.numbers import FilePos, Offset
from odradek.process.files import File
from odradek.records.batch import CRC_START, HEAD_SIZE, LENGTH_MIN, LOG_OVERHEAD, MAGIC, MAGIC_AT, BatchHead, parse_head
from odradek.storage.segment import RELATIVE_OFFSET_MAX

_CHUNK = 1 << 20
_LARGE = 8 * _CHUNK
"""A batch larger than this is more likely a damaged length: its CRC is made piece by piece before it is believed."""
_GUESSES_MAX = 64
"""Places that are read whole, looking for the batch that follows damage."""
_PLACE = Struct(">qi")


class Kind(Enum):
    BAD = "bad"
    CUT = "cut"
    """The file ends within a batch."""
    ZEROS = "zeros"
    """From here to the end of the file there are only zeros: room that was allocated, or never reached the disk."""


class Damage(NamedTuple):
    """A part of the file that is no whole batch."""

    kind: Kind
    position: FilePos
    end: FilePos
    """Where the next batch starts, or where the file ends."""
    text: str


Whole = tuple[FilePos, BatchHead, memoryview]


def walk(file: File, size: int, base: Offset, on_read: Callable[[int], None]) -> Iterator[Whole | Damage]:
    """Every batch whose CRC is right, and every damage between them; `on_read` is told how many bytes were passed."""
    return _Walk(file, size, base, on_read).run()


class _Walk:
    def __init__(self, file: File, size: int, base: Offset, on_read: Callable[[int], None]) -> None:
        self._file = file
        self._size = size
        self._base = base
        self._on_read = on_read
        self._told = 0

    def run(self) -> Iterator[Whole | Damage]:
        size = self._size
        position = 0
        chunk, chunk_at = memoryview(b""), 0
        while position < size:
            at = position - chunk_at
            if len(chunk) - at < HEAD_SIZE:
                chunk, chunk_at, at = self._load(position, _CHUNK), position, 0
            try:
                head = parse_head(chunk, at)
            except CorruptBatch as error:
                yield (damage := self._no_head(position, str(error)))
                position = damage.end
                continue
            whole = head.length + LOG_OVERHEAD
            if len(chunk) - at < whole:
                if whole > size - position or (whole > _LARGE and not self._is_sealed(position, head)):
                    yield (damage := self._no_batch(position, head))
                    position = damage.end
                    continue
                chunk, chunk_at, at = self._load(position, max(_CHUNK, whole)), position, 0
            batch = chunk[at : at + whole]
            if crc32c(batch[CRC_START:]) != head.crc:
                yield (damage := self._no_batch(position, head))
                position = damage.end
                continue
            yield FilePos(position), head, batch
            position += whole
        self._tell(size)

    def _load(self, position: int, wanted: int) -> memoryview:
        self._tell(position)
        return memoryview(self._file.read(min(wanted, self._size - position), position))

    def _tell(self, position: int) -> None:
        if position > self._told:
            self._on_read(position - self._told)
            self._told = position

    # --- damage

    def _no_head(self, position: int, reason: str) -> Damage:
        left = self._size - position
        if self._only_zeros(position):
            return self._damage(Kind.ZEROS, position, self._size, f"{left} bytes, all zero")
        if left < HEAD_SIZE:
            return self._damage(Kind.CUT, position, self._size, reason)
        return self._damage(Kind.BAD, position, self._find_batch(position + 1), reason)

    def _no_batch(self, position: int, head: BatchHead) -> Damage:
        """The head can be read, the batch is not right."""
        left = self._size - position
        if head.size > left:
            if left <= _LARGE and self._crc(position + CRC_START, self._size) == head.crc:
                text = f"the batch says that it has {head.size} bytes; its CRC fits the {left} that are there"
                return self._damage(Kind.BAD, position, self._size, text)
            end = self._find_batch(position + 1)
            kind = Kind.CUT if end == self._size else Kind.BAD
            return self._damage(kind, position, end, f"the batch has {head.size} bytes, the file {left} more")
        end = position + head.size
        found = self._crc(position + CRC_START, end)
        if end < self._size and self._plausible(self._file.read(HEAD_SIZE, end)) is None:
            end = self._find_batch(position + 1)
        text = (
            f"CRC is {found:#010x}, the batch says {head.crc:#010x}: offsets {head.base_offset} to {head.last_offset}"
        )
        return self._damage(Kind.BAD, position, end, text)

    def _damage(self, kind: Kind, position: int, end: int, text: str) -> Damage:
        return Damage(kind, FilePos(position), FilePos(end), text)

    # --- finding the way again

    def _find_batch(self, start: int) -> int:
        """The first place from `start` on that holds a whole batch of this segment; the end of the file if none."""
        guesses = 0
        for window_at in range(start, self._size, _CHUNK):
            window = self._file.read(_CHUNK + HEAD_SIZE, window_at)
            at = window.find(MAGIC, MAGIC_AT)
            while 0 <= at < _CHUNK + MAGIC_AT:
                guess = window_at + at - MAGIC_AT
                head = self._plausible(window[at - MAGIC_AT : at - MAGIC_AT + HEAD_SIZE])
                if head is not None and head.size <= self._size - guess:
                    guesses += 1
                    if self._is_sealed(guess, head):
                        return guess
                    if guesses == _GUESSES_MAX:
                        return self._size
                at = window.find(MAGIC, at + 1)
        return self._size

    def _plausible(self, data: bytes) -> BatchHead | None:
        """The head of a batch that could lie in this segment, or None."""
        if len(data) < HEAD_SIZE or data[MAGIC_AT] != MAGIC:
            return None
        offset, length = _PLACE.unpack_from(data)
        if not 0 <= offset - self._base <= RELATIVE_OFFSET_MAX or length < LENGTH_MIN:
            return None
        head = parse_head(data)
        fits = head.leader_epoch >= -1 and head.producer_id >= -1 and -1 <= head.count - 1 <= head.last_offset_delta
        return head if fits else None

    def _is_sealed(self, position: int, head: BatchHead) -> bool:
        return self._crc(position + CRC_START, position + head.size) == head.crc

    def _crc(self, start: int, end: int) -> int:
        crc = 0
        for at in range(start, end, _CHUNK):
            crc = crc32c(self._file.read(min(_CHUNK, end - at), at), crc)
        return crc

    def _only_zeros(self, start: int) -> bool:
        return not any(
            self._file.read(min(_CHUNK, self._size - at), at).lstrip(b"\0") for at in range(start, self._size, _CHUNK)
        )
