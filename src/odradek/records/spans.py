"""Where the records of a batch lie, and their keys: what the cleaner needs to know of them, and no more.

The one place where the unit is the record and the number of records is large, so the loops are written out: most
numbers take one byte or two, and what is not asked for is stepped over.
"""

from odradek.model.errors import CorruptBatch
from odradek.records.batch import CODEC_MASK, HEAD_SIZE, BatchHead
from odradek.records.compression import INFLATED_MAX, decompress
from odradek.records.varint import INT64_BYTES_MAX, read_unsigned

Span = tuple[int, int, int, int, bool]
"""Of a record: where it starts, its timestamp delta (zigzag), where that ends, where the record ends, whether it has no
value.
"""


def inflate(batch: memoryview, head: BatchHead, limit: int = INFLATED_MAX) -> bytes:
    """The records of `batch`, which is exactly the batch of `head`, as bytes. Raises CorruptBatch."""
    records = batch[HEAD_SIZE:]
    if not head.attributes & CODEC_MASK or not records:
        return bytes(records)
    return bytes(decompress(head.codec, records, limit))


def note_keys(data: bytes, count: int, base: int, places: dict[bytes, int]) -> None:
    """Note under the key of each record where it starts, counted from `base`. Later records replace earlier ones.

    `data` is what `inflate` gave. Records without a key are left out. Raises CorruptBatch, maybe after some keys, where
    it does not hold exactly `count` records. Whether a key fits into its record is not looked at: whoever made the
    batch could have chosen any key.
    """
    at = start = 0
    try:
        for _ in range(count):
            start = at
            length = data[at]
            if length < 0x80:
                at += 4  # where the size of the key is, if timestamp and offset take a byte each
                end = start + 1 + (length >> 1)
            elif (more := data[at + 1]) < 0x80:
                at += 5
                end = start - 62 + (more << 6) + (length >> 1)
            else:
                length, at = read_unsigned(data, at)
                end = at + (length >> 1)
                at += 3
            while data[at - 2] > 0x7F:  # the timestamp
                at += 1
            while data[at - 1] > 0x7F:  # the offset
                at += 1
            size = data[at]
            if size < 0x80:
                at += 1
            else:
                size, at = read_unsigned(data, at)
            if not size & 1:
                places[data[at : at + (size >> 1)]] = base + start
            at = end
    except IndexError:
        raise CorruptBatch(f"the record at {start} is cut off") from None
    if at != len(data) or count < 0:
        raise CorruptBatch(f"{count} records end at {at} of {len(data)} bytes")


def read_spans(data: bytes, starts: list[int]) -> list[Span]:
    """The records that start there, in `data` that `note_keys` has taken. Raises CorruptBatch."""
    spans: list[Span] = []
    append = spans.append
    try:
        for start in starts:
            length = data[start]
            if length < 0x80:
                at = start + 2
                end = start + 1 + (length >> 1)
            elif (more := data[start + 1]) < 0x80:
                at = start + 3
                end = start - 62 + (more << 6) + (length >> 1)
            else:
                length, at = read_unsigned(data, start)
                end = at + (length >> 1)
                at += 1
            timestamp = data[at]
            if timestamp < 0x80:
                after = at = at + 1
            else:
                timestamp, at = read_unsigned(data, at, INT64_BYTES_MAX)
                after = at
            while data[at] > 0x7F:  # the offset
                at += 1
            size = data[at + 1]
            if size < 0x80:
                at += 2
            else:
                size, at = read_unsigned(data, at + 1)
            if not size & 1:
                at += size >> 1
            # The sign of a zigzag number is its lowest bit, so the first byte tells whether there is a value.
            append((start, timestamp, after, end, data[at] & 1 == 1))
    except IndexError:
        raise CorruptBatch("a record is shorter than its key") from None
    return spans
