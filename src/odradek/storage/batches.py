"""Walking over the batches of a segment's file: by heads alone, or reading and checking every byte."""

from collections.abc import Callable, Iterator
from struct import Struct
from typing import NamedTuple

from odradek.model.errors import CorruptBatch
from odradek.model.numbers import FilePos, Offset
from odradek.process.files import File
from odradek.records.batch import HEAD_SIZE, LENGTH_MIN, LOG_OVERHEAD, BatchHead, check_crc, parse_head

Read = Callable[[int, int], bytes]
"""How many bytes, and from where: `File.read`, or `File.read_cached`."""

_CHUNK = 1 << 20
_HEADS_CHUNK = 8 << 10
_LENGTH = Struct(">8xi")
_PLACE = Struct(">qi11xi")
"""Of a head: base offset, length, last offset delta."""


class BatchInFile(NamedTuple):
    """A batch in a file."""

    position: FilePos
    size: int
    base_offset: Offset
    last_offset: Offset


def whole(data: memoryview) -> memoryview:
    """Without a last batch that is cut, as the end of what a leader or a file gave may be."""
    end = 0
    while end + LOG_OVERHEAD <= len(data):
        length = _LENGTH.unpack_from(data, end)[0]
        if length < LENGTH_MIN:
            raise CorruptBatch(f"batch length {length} at {end} is shorter than a batch head")
        if end + LOG_OVERHEAD + length > len(data):
            break
        end += LOG_OVERHEAD + length
    return data[:end]


def find(read: Read, size: int, offset: Offset, start: FilePos, first_ends: Offset | None = None) -> BatchInFile | None:
    """The first batch from `start` on whose last offset is at least `offset`, in a file of `size` bytes.

    Where an index says that a batch at `start` ends with offset `first_ends`, that is held against the file: another
    batch there, or none, raises CorruptBatch.
    """
    position: int = start
    chunk, chunk_at, chunk_size = b"", 0, _HEADS_CHUNK
    while position + HEAD_SIZE <= size:
        at = position - chunk_at
        if at + HEAD_SIZE > len(chunk):
            chunk, chunk_at, at = read(min(chunk_size, size - position), position), position, 0
            if len(chunk) < HEAD_SIZE:
                break
        base, length, delta = _PLACE.unpack_from(chunk, at)
        if length < LENGTH_MIN:
            raise CorruptBatch(f"batch length {length} at {position} is shorter than a batch head")
        if first_ends is not None:
            if base + delta != first_ends:
                break
            first_ends = None
        if base + delta >= offset:
            return BatchInFile(FilePos(position), length + LOG_OVERHEAD, Offset(base), Offset(base + delta))
        position += length + LOG_OVERHEAD
        chunk_size = HEAD_SIZE if length > _HEADS_CHUNK else _HEADS_CHUNK  # the next one is likely to be as large
    if first_ends is not None:
        raise CorruptBatch(f"no batch at {start} that ends with offset {first_ends}")
    return None


def heads(file: File, size: int, start: int = 0) -> Iterator[tuple[FilePos, BatchHead]]:
    """The heads of all batches from `start` on. A head that does not parse, or a last batch that is cut, raises."""
    position = start
    chunk, chunk_at = b"", 0
    while position < size:
        at = position - chunk_at
        if at + HEAD_SIZE > len(chunk):
            chunk, chunk_at, at = file.read(min(_HEADS_CHUNK, size - position), position), position, 0
        head = _parse_at(file, chunk, at, position, size)
        yield FilePos(position), head
        position += head.length + LOG_OVERHEAD


def checked(file: File, size: int, start: int = 0) -> Iterator[tuple[FilePos, BatchHead, memoryview]]:
    """All batches from `start` on, each read whole and its CRC checked. The first bad one raises CorruptBatch."""
    position = start
    chunk, chunk_at = memoryview(b""), 0
    while position < size:
        at = position - chunk_at
        have = len(chunk) - at
        if have < HEAD_SIZE:
            chunk = memoryview(file.read(min(_CHUNK, size - position), position))
            chunk_at, at, have = position, 0, len(chunk)
        head = _parse_at(file, chunk, at, position, size)
        whole = head.length + LOG_OVERHEAD
        if have < whole:
            chunk = memoryview(file.read(min(max(_CHUNK, whole), size - position), position))
            chunk_at, at = position, 0
        batch = chunk[at : at + whole]
        try:
            check_crc(batch, head)
        except CorruptBatch as error:
            raise CorruptBatch(f"{file.path} at {position}: {error}") from None
        yield FilePos(position), head, batch
        position += whole


def read_batch(file: File, position: FilePos, head: BatchHead) -> memoryview:
    """The whole batch, its CRC checked."""
    batch = memoryview(file.read(head.size, position))
    try:
        check_crc(batch, head)
    except CorruptBatch as error:
        raise CorruptBatch(f"{file.path} at {position}: {error}") from None
    return batch


def _parse_at(file: File, chunk: bytes | memoryview, at: int, position: int, size: int) -> BatchHead:
    try:
        head = parse_head(chunk, at)
    except CorruptBatch as error:
        error.args = (f"{file.path} at {position}: {error}",)
        raise
    left = size - position
    if head.length + LOG_OVERHEAD > left:
        raise CorruptBatch(f"{file.path} at {position}: the batch has {head.size} bytes, the file {left} more")
    return head
