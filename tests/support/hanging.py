"""Makes a transaction that hangs: a partition has its records, and no coordinator knows of it.

It takes a broker with transaction.partition.verification.enable=false, as all were before Apache Kafka 3.6: a batch of
a transaction that is late, and comes behind the marker, begins one that nobody ends.
"""

import asyncio

from odradek.model.error_code import ErrorCode
from odradek.model.numbers import Offset, ProducerId, TimestampMs
from odradek.model.topic_partition import TopicPartition
from odradek.records.builder import BatchSpec, build_batch
from odradek.records.record import Record
from odradek.wire.messages.produce import PartitionProduceData, ProduceRequest, ProduceResponse, TopicProduceData
from support.raw_client import RawClient

SETTINGS = {"transaction.partition.verification.enable": "false"}
"""Of a broker that takes it."""
_VERSION = 11
"""From the next one on, partitions join transactions as they are written to."""


def begin_hanging(
    port: int, partition: TopicPartition, producer_id: ProducerId, epoch: int, timestamp: TimestampMs
) -> Offset:
    """With one record of that time. Returns the offset at which the transaction begins."""
    return asyncio.run(_write(port, partition, producer_id, epoch, timestamp))


async def _write(
    port: int, partition: TopicPartition, producer_id: ProducerId, epoch: int, timestamp: TimestampMs
) -> Offset:
    spec = BatchSpec(producer_id=producer_id, producer_epoch=epoch, base_sequence=0, transactional=True)
    batch = build_batch([Record(Offset(0), timestamp, b"key", b"hanging")], spec)
    data = PartitionProduceData(index=partition.partition, records=batch)
    request = ProduceRequest(
        transactional_id="nobody",
        acks=-1,
        timeout_ms=30_000,
        topic_data=(TopicProduceData(name=partition.topic, partition_data=(data,)),),
    )
    client = await RawClient.connect("127.0.0.1", port)
    try:
        answer = await client.ask(request, ProduceResponse, _VERSION)
    finally:
        await client.close()
    (told,) = answer.responses[0].partition_responses
    assert told.error_code == ErrorCode.NONE, f"{ErrorCode(told.error_code).name}: {told.error_message}"
    return Offset(told.base_offset)
