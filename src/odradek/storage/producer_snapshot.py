"""`<offset>.snapshot`: the producers of a partition as of that offset.

    0  version int16 (1)                 6  count int32
    2  CRC-32C uint32 of what follows   10  entries of 46 bytes: producer id int64, epoch int16, last sequence int32,
                                            last offset int64, offset delta int32, timestamp int64,
                                            coordinator epoch int32, first offset of the open transaction int64

Only the last batch of each producer is kept. The order of entries means nothing.
"""

from collections.abc import Iterable
from struct import Struct, error

from crc32c import crc32c

from odradek.model.errors import CorruptFile
from odradek.model.numbers import NO_OFFSET, Offset, ProducerId, TimestampMs
from odradek.records.batch import SEQUENCE_MAX
from odradek.storage.producer_state import NO_SEQUENCE, NotedBatch, Producer

VERSION = 1
ENTRY = Struct(">qhiqiqiq")
_HEAD = Struct(">hIi")
_CRC_START = 6


def pack(producers: Iterable[Producer]) -> bytes:
    entries = [_pack_entry(producer) for producer in producers]
    body = len(entries).to_bytes(4, "big") + b"".join(entries)
    return VERSION.to_bytes(2, "big") + crc32c(body).to_bytes(4, "big") + body


def parse(data: bytes, path: str) -> list[Producer]:
    """The producers in a snapshot, or CorruptFile."""
    try:
        version, crc, count = _HEAD.unpack_from(data)
    except error:
        raise CorruptFile(f"{path}: {len(data)} bytes is shorter than the head of a snapshot") from None
    if version != VERSION:
        raise CorruptFile(f"{path}: version {version} of a producer snapshot is not known")
    if count < 0 or len(data) != _HEAD.size + count * ENTRY.size:
        raise CorruptFile(f"{path}: {len(data)} bytes for {count} producers")
    if crc32c(memoryview(data)[_CRC_START:]) != crc:
        raise CorruptFile(f"{path}: the CRC does not match")
    return [_parse_entry(*fields) for fields in ENTRY.iter_unpack(memoryview(data)[_HEAD.size :])]


def _pack_entry(producer: Producer) -> bytes:
    last = producer.batches[-1] if producer.batches else None
    return ENTRY.pack(
        producer.id,
        producer.epoch,
        last.last_sequence if last else NO_SEQUENCE,
        last.last_offset if last else NO_OFFSET,
        last.last_offset - last.first_offset if last else 0,
        producer.last_timestamp,
        producer.coordinator_epoch,
        producer.txn_first_offset,
    )


def _parse_entry(*fields: int) -> Producer:
    producer_id, epoch, last_sequence, last_offset, delta, timestamp, coordinator_epoch, txn_first_offset = fields
    producer = Producer(ProducerId(producer_id))
    producer.epoch = epoch
    producer.coordinator_epoch = coordinator_epoch
    producer.last_timestamp = TimestampMs(timestamp)
    producer.txn_first_offset = Offset(txn_first_offset)
    if last_offset >= 0:
        first_sequence = last_sequence - delta
        if first_sequence < 0:
            first_sequence += SEQUENCE_MAX + 1
        producer.batches = (
            NotedBatch(
                first_sequence, last_sequence, Offset(last_offset - delta), Offset(last_offset), producer.last_timestamp
            ),
        )
    return producer
