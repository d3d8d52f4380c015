"""Where our answers are not Apache Kafka's, on purpose: docs/differences.md says why. Both are pinned here."""

import asyncio
import time
from collections.abc import Awaitable, Callable
from typing import Any

import pytest

from odradek.model.error_code import ErrorCode
from odradek.model.numbers import Offset, ProducerId, TimestampMs
from odradek.records.batch import TimestampType
from odradek.records.builder import BatchSpec, build_batch
from odradek.records.record import Record
from odradek.wire.messages import incremental_alter_configs as some
from odradek.wire.messages.alter_user_scram_credentials import (
    AlterUserScramCredentialsRequest,
    ScramCredentialUpsertion,
)
from odradek.wire.messages.create_partitions import CreatePartitionsRequest, CreatePartitionsTopic
from odradek.wire.messages.describe_topic_partitions import DescribeTopicPartitionsRequest, TopicRequest
from odradek.wire.messages.list_offsets import ListOffsetsPartition, ListOffsetsRequest, ListOffsetsTopic
from odradek.wire.messages.metadata import MetadataRequest, MetadataRequestTopic
from odradek.wire.messages.produce import PartitionProduceData, ProduceRequest, TopicProduceData
from odradek.wire.messages.write_txn_markers import (
    WritableTxnMarker,
    WritableTxnMarkerTopic,
    WriteTxnMarkersRequest,
)
from support.same_answers import Asker, Level, Side
from support.transactional_writer import writer_of

TOPIC, BROKER = 2, 4
NO_OPERATION = 9

Question = Callable[[Asker], Awaitable[int]]
"""Asks a broker something, and returns the code of its answer."""


async def metadata_of_no_name(ask: Asker) -> int:
    answer = await ask.quietly(MetadataRequest(topics=(MetadataRequestTopic(name=None),)), 12)
    return int(answer.topics[0].error_code)


async def pages_of_an_empty_name(ask: Asker) -> int:
    answer = await ask.quietly(DescribeTopicPartitionsRequest(topics=(TopicRequest(name=""),)))
    return int(answer.topics[0].error_code)


async def too_many_partitions_at_once(ask: Asker) -> int:
    topic = CreatePartitionsTopic(name=await ask.create("too-many"), count=10_002, assignments=None)
    answer = await ask.quietly(CreatePartitionsRequest(topics=(topic,), timeout_ms=30_000, validate_only=True))
    return int(answer.results[0].error_code)


async def no_operation_on_a_setting(ask: Asker) -> int:
    config = some.AlterableConfig(name="retention.ms", config_operation=NO_OPERATION, value="5")
    name = await ask.create("no-operation")
    resource = some.AlterConfigsResource(resource_type=TOPIC, resource_name=name, configs=(config,))
    answer = await ask.quietly(some.IncrementalAlterConfigsRequest(resources=(resource,), validate_only=True))
    return int(answer.responses[0].error_code)


async def a_batch_that_says_append_time(ask: Asker) -> int:
    return await produce(ask, await ask.create("append-time"), timestamp_type=TimestampType.LOG_APPEND_TIME)


async def a_producer_without_an_epoch(ask: Asker) -> int:
    name = await ask.create("no-epoch")
    assert await produce(ask, name, producer_id=ProducerId(5), producer_epoch=3, base_sequence=0) == ErrorCode.NONE
    return await produce(ask, name, producer_id=ProducerId(5), producer_epoch=-1, base_sequence=1)


async def one_behind_a_first_batch_that_is_too_large(ask: Asker) -> int:
    name = await ask.create("too-soon", max_message_bytes="200")
    who = {"producer_id": ProducerId(5), "producer_epoch": 0}
    too_large = await produce(ask, name, count=10, **who, base_sequence=0)
    assert too_large == ErrorCode.MESSAGE_TOO_LARGE
    return await produce(ask, name, **who, base_sequence=10)


async def produce(ask: Asker, topic: str, count: int = 1, **spec: Any) -> int:
    now = TimestampMs(int(time.time() * 1000))  # noqa: TID251 - brokers refuse what is far from their own time
    batch = build_batch([Record(Offset(at), now, b"k", b"v" * 10) for at in range(count)], BatchSpec(**spec))
    data = TopicProduceData(name=topic, partition_data=(PartitionProduceData(index=0, records=bytearray(batch)),))
    answer = await ask.quietly(ProduceRequest(acks=-1, timeout_ms=30_000, topic_data=(data,)), 12)
    return int(answer.responses[0].partition_responses[0].error_code)


async def an_epoch_below_none(ask: Asker) -> int:
    part = ListOffsetsPartition(partition_index=0, timestamp=-1, current_leader_epoch=-2)
    topic = ListOffsetsTopic(name=await ask.create("below-none"), partitions=(part,))
    answer = await ask.quietly(ListOffsetsRequest(replica_id=-1, topics=(topic,)))
    return int(answer.topics[0].partitions[0].error_code)


async def a_marker_of_nobody(ask: Asker) -> int:
    return await mark(ask, await ask.create("marker-of-nobody"), producer_id=-1, producer_epoch=0)


async def a_marker_without_an_epoch(ask: Asker) -> int:
    return await mark(ask, await ask.create("marker-without-epoch"), producer_id=8_000_000, producer_epoch=-1)


async def mark(ask: Asker, topic: str, **who: int) -> int:
    named = (WritableTxnMarkerTopic(name=topic, partition_indexes=(0,)),)
    marker = WritableTxnMarker(topics=named, transaction_result=True, coordinator_epoch=0, **who)
    answer = await ask.quietly(WriteTxnMarkersRequest(markers=(marker,)))
    return int(answer.markers[0].topics[0].partitions[0].error_code)


async def a_transaction_of_nobody(ask: Asker) -> int:
    writer = await writer_of(ask, "of-nobody")
    await writer.init()
    topic = await ask.create("of-nobody")
    who = {"producer_id": -1, "producer_epoch": -1, "sequence": -1}
    answer = await ask.quietly(await writer.batch(topic, 12, **who), 12)
    return int(answer.responses[0].partition_responses[0].error_code)


async def a_credential_of_no_password(ask: Asker) -> int:
    credential = ScramCredentialUpsertion(
        name="of-no-password", mechanism=1, iterations=4096, salt=b"salt", salted_password=b""
    )
    answer = await ask.quietly(AlterUserScramCredentialsRequest(deletions=(), upsertions=(credential,)))
    return int(answer.results[0].error_code)


async def a_flush_before_now(ask: Asker) -> int:
    return await change_of_all_brokers(ask, {"log.flush.interval.ms": "-1"})


async def lags_that_contradict_each_other(ask: Asker) -> int:
    lags = {"log.cleaner.min.compaction.lag.ms": "50", "log.cleaner.max.compaction.lag.ms": "40"}
    return await change_of_all_brokers(ask, lags)


async def change_of_all_brokers(ask: Asker, values: dict[str, str]) -> int:
    configs = tuple(some.AlterableConfig(name=key, config_operation=0, value=value) for key, value in values.items())
    resource = some.AlterConfigsResource(resource_type=BROKER, resource_name="", configs=configs)
    answer = await ask.quietly(some.IncrementalAlterConfigsRequest(resources=(resource,), validate_only=True))
    return int(answer.responses[0].error_code)


DIFFERENCES: list[tuple[Question, set[ErrorCode], ErrorCode]] = [
    (metadata_of_no_name, {ErrorCode.UNKNOWN_SERVER_ERROR}, ErrorCode.INVALID_TOPIC_EXCEPTION),
    (pages_of_an_empty_name, {ErrorCode.UNKNOWN_SERVER_ERROR}, ErrorCode.INVALID_TOPIC_EXCEPTION),
    (too_many_partitions_at_once, {ErrorCode.UNKNOWN_SERVER_ERROR}, ErrorCode.POLICY_VIOLATION),
    (no_operation_on_a_setting, {ErrorCode.UNKNOWN_SERVER_ERROR}, ErrorCode.INVALID_REQUEST),
    (a_batch_that_says_append_time, {ErrorCode.NONE}, ErrorCode.INVALID_TIMESTAMP),
    (a_producer_without_an_epoch, {ErrorCode.INVALID_PRODUCER_EPOCH}, ErrorCode.INVALID_RECORD),
    (one_behind_a_first_batch_that_is_too_large, {ErrorCode.NONE}, ErrorCode.OUT_OF_ORDER_SEQUENCE_NUMBER),
    (an_epoch_below_none, {ErrorCode.FENCED_LEADER_EPOCH}, ErrorCode.NONE),
    (a_marker_of_nobody, {ErrorCode.UNKNOWN_SERVER_ERROR}, ErrorCode.INVALID_REQUEST),
    (a_marker_without_an_epoch, {ErrorCode.UNKNOWN_SERVER_ERROR}, ErrorCode.INVALID_REQUEST),
    (a_flush_before_now, {ErrorCode.NONE}, ErrorCode.INVALID_REQUEST),
    (lags_that_contradict_each_other, {ErrorCode.NONE}, ErrorCode.INVALID_REQUEST),
    (a_credential_of_no_password, {ErrorCode.UNKNOWN_SERVER_ERROR}, ErrorCode.UNACCEPTABLE_CREDENTIAL),
    (a_transaction_of_nobody, {ErrorCode.NONE}, ErrorCode.INVALID_PRODUCER_ID_MAPPING),
]


@pytest.mark.parametrize(("question", "theirs", "ours"), DIFFERENCES, ids=lambda each: getattr(each, "__name__", ""))
def test_a_difference(both: tuple[Side, Side], question: Question, theirs: set[ErrorCode], ours: ErrorCode) -> None:
    async def main() -> list[int]:
        codes = []
        for side in both:
            asker = Asker(side, Level.HIGHEST)
            try:
                async with asyncio.timeout(60):
                    codes.append(await question(asker))
            finally:
                await asker.close()
        return codes

    kafka, odradek = asyncio.run(main())
    assert kafka in theirs
    assert odradek == ours
