"""A batch with other compression: the same head but for the codec, the same records."""

from odradek.model.errors import CorruptBatch
from odradek.records.batch import HEAD_SIZE, LOG_OVERHEAD, BatchHead, Codec, write_head
from odradek.records.compression import INFLATED_MAX, compress, decompress

_CODEC_MASK = 0x07


def recompress(
    batch: memoryview, head: BatchHead, codec: Codec, level: int | None = None, limit: int = INFLATED_MAX
) -> bytearray:
    """Offsets, timestamps, producer and count stay; length and CRC are made anew. Raises CorruptBatch."""
    if len(batch) != head.size:
        raise CorruptBatch(f"batch of {head.size} bytes given as {len(batch)}")
    records = compress(codec, decompress(head.codec, batch[HEAD_SIZE:], limit), level)
    out = bytearray(HEAD_SIZE)
    out += records
    attributes = head.attributes & ~_CODEC_MASK | codec
    write_head(out, head._replace(length=len(out) - LOG_OVERHEAD, attributes=attributes))
    return out
