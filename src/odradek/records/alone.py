"""A batch with a single record, read in one go: logs of coordinators consist of these.

What is not as simple as most of them are is left to `parse_head` and `read_records`; a test holds the two against each
other.
"""

from struct import Struct
from struct import error as StructError

from crc32c import crc32c

from odradek.model.numbers import NO_PRODUCER_ID, Offset
from odradek.records.batch import CRC_START, HEAD_SIZE, LOG_OVERHEAD, MAGIC

_HEAD = Struct(">q i 4x b I h i 16x q 6x i")
"""Base offset, length, magic, CRC, attributes, last offset delta, producer id, record count."""
_FIRST = b"\0\0\0"
"""No attributes, and no difference from the batch's own time and offset."""
_TWO_BYTES = 1 << 14
"""Lengths from here on take more."""

Alone = tuple[Offset, bytes, bytes | None, int]
"""The record's offset, key and value, and where the batch ends."""


def read_alone(data: bytes, at: int) -> Alone | None:
    """The record of the batch that begins at `at`: with a key, without headers, uncompressed and of no producer.

    None for any other batch, and where there is no whole batch, or one with a wrong CRC.
    """
    try:
        offset, length, magic, crc, attributes, last, producer_id, count = _HEAD.unpack_from(data, at)
        end = at + LOG_OVERHEAD + length
        if (
            magic != MAGIC
            or attributes
            or last
            or count != 1
            or producer_id != NO_PRODUCER_ID
            or end > len(data)
            or crc32c(data[at + CRC_START : end]) != crc
        ):
            return None
        at += HEAD_SIZE
        size = data[at]
        at += 1
        if size > 127:
            size += (data[at] << 7) - 128
            at += 1
        if size >= _TWO_BYTES or size & 1 or at + (size >> 1) != end or data[at : at + 3] != _FIRST:
            return None
        size = data[at + 3]
        at += 4
        if size > 127:
            size += (data[at] << 7) - 128
            at += 1
        key_end = at + (size >> 1)
        if size >= _TWO_BYTES or size & 1:
            return None
        size = data[key_end]
        value_at = key_end + 1
        if size > 127:
            size += (data[value_at] << 7) - 128
            value_at += 1
        value_end = value_at if size == 1 else value_at + (size >> 1)
        if size >= _TWO_BYTES or (size & 1 and size != 1) or value_end != end - 1 or data[value_end]:
            return None
    except (IndexError, StructError):
        return None
    return offset, data[at:key_end], None if size == 1 else data[value_at:value_end], end
