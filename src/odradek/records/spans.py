"""Where the records of a batch lie, with their keys: what the cleaner needs to know of them, and no more.

The one place where the unit is the record and the number of records is large, so the loop is written out: most numbers
take one byte, and values and headers are stepped over.
"""

from odradek.model.errors import CorruptBatch
from odradek.records.batch import HEAD_SIZE, BatchHead, Codec
from odradek.records.compression import INFLATED_MAX, decompress
from odradek.records.varint import INT64_BYTES_MAX, read_unsigned

Span = tuple[int, bytes | None, bool, int, int, int]
"""Of a record: offset delta, key, whether it has no value, timestamp delta (zigzag), where it starts and ends."""


def inflate(batch: memoryview, head: BatchHead, limit: int = INFLATED_MAX) -> bytes:
    """The records of `batch`, which is exactly the batch of `head`, as bytes. Raises CorruptBatch."""
    records = batch[HEAD_SIZE:]
    if head.codec is Codec.NONE or not records:
        return bytes(records)
    return bytes(decompress(head.codec, records, limit))


def find_spans(data: bytes, head: BatchHead) -> list[Span]:
    """The records in `data`, which is what `inflate` gave. Raises CorruptBatch where they do not fill it exactly."""
    spans: list[Span] = []
    append = spans.append
    size, last, last_allowed = len(data), -1, head.last_offset_delta
    at = start = 0
    try:
        for _ in range(head.count):
            start = at
            length = data[at]
            if length < 0x80:
                at += 1
            else:
                length, at = read_unsigned(data, at)
            end = at + (length >> 1)
            timestamp = data[at + 1]  # behind the attributes
            if timestamp < 0x80:
                at += 2
            else:
                timestamp, at = read_unsigned(data, at + 1, INT64_BYTES_MAX)
            offset = data[at]
            if offset < 0x80:
                at += 1
            else:
                offset, at = read_unsigned(data, at)
            key_size = data[at]
            if key_size < 0x80:
                at += 1
            else:
                key_size, at = read_unsigned(data, at)
            key_end = at if key_size & 1 else at + (key_size >> 1)
            key = None if key_size & 1 else data[at:key_end]
            # The sign of a zigzag number is its lowest bit, so the first byte tells whether there is a value.
            is_odd = (offset | length) & 1  # a negative number, where none may be
            offset >>= 1
            append((offset, key, data[key_end] & 1 == 1, timestamp, start, end))
            if is_odd or not last < offset <= last_allowed or not key_end < end <= size:
                raise CorruptBatch(f"the record at {start} is not as long as it says, or out of order")
            last, at = offset, end
    except IndexError:
        raise CorruptBatch(f"the record at {start} is cut off") from None
    if at != size or head.count < 0:
        raise CorruptBatch(f"{size - at} bytes are left after the last of {head.count} records")
    return spans
