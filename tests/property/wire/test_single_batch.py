"""The requests and answers that are read and written by hand, against the codec."""

from hypothesis import given
from hypothesis import strategies as st

from odradek.model.errors import BadRequest
from odradek.wire import single_batch
from odradek.wire.codec import decode, encode
from odradek.wire.frame import response_frame
from odradek.wire.messages.produce import (
    PartitionProduceData,
    PartitionProduceResponse,
    ProduceRequest,
    ProduceResponse,
    TopicProduceData,
    TopicProduceResponse,
)
from odradek.wire.schema import NO_UUID

INT16 = st.integers(-(1 << 15), (1 << 15) - 1)
INT32 = st.integers(-(1 << 31), (1 << 31) - 1)
INT64 = st.integers(-(1 << 63), (1 << 63) - 1)
VERSION = st.integers(*single_batch.VERSIONS)
NAME = st.text(st.characters(codec="utf-8"), min_size=1, max_size=31)
UUID = st.binary(min_size=16, max_size=16)
RECORDS = st.one_of(st.binary(max_size=300), st.integers(1, 40_000).map(bytes))


def topic_of(version: int, name: str, topic_id: bytes, *partitions: PartitionProduceData) -> TopicProduceData:
    if version >= single_batch.BY_ID_SINCE:
        return TopicProduceData(topic_id=topic_id, partition_data=partitions)
    return TopicProduceData(name=name, partition_data=partitions)


@given(VERSION, NAME, UUID, INT16, INT32, RECORDS)
def test_a_single_batch_is_read_as_by_the_codec(
    version: int, name: str, topic_id: bytes, acks: int, index: int, records: bytes
) -> None:
    topic = topic_of(version, name, topic_id, PartitionProduceData(index=index, records=records))
    body = encode(ProduceRequest(acks=acks, timeout_ms=30_000, topic_data=(topic,)), version)
    found = single_batch.read(memoryview(body), version)
    assert found is not None
    expected = topic_id if version >= single_batch.BY_ID_SINCE else name.encode()
    assert (found.acks, bytes(found.topic), found.partition, bytes(found.records)) == (acks, expected, index, records)


@given(VERSION, st.lists(st.lists(INT32, max_size=3), max_size=3), st.none() | NAME)
def test_every_other_request_is_left_to_the_codec(
    version: int, indexes: list[list[int]], transactional_id: str | None
) -> None:
    topics = tuple(
        topic_of(
            version,
            f"topic-{number}",
            bytes(16),
            *(PartitionProduceData(index=index, records=b"batch") for index in partitions),
        )
        for number, partitions in enumerate(indexes)
    )
    request = ProduceRequest(transactional_id=transactional_id, acks=1, timeout_ms=1, topic_data=topics)
    found = single_batch.read(memoryview(encode(request, version)), version)
    is_single = [len(partitions) for partitions in indexes] == [1] and transactional_id is None
    assert (found is not None) == is_single


@given(VERSION, st.data())
def test_what_is_read_from_mutilated_requests_is_what_the_codec_reads(version: int, data: st.DataObject) -> None:
    topic = topic_of(version, "orders", b"i" * 16, PartitionProduceData(index=3, records=b"r" * 20))
    body = bytearray(encode(ProduceRequest(acks=1, timeout_ms=1, topic_data=(topic,)), version))
    for _ in range(data.draw(st.integers(1, 3))):
        body[data.draw(st.integers(0, len(body) - 1))] = data.draw(st.integers(0, 255))
    del body[data.draw(st.integers(len(body) // 2, len(body))) :]
    found = single_batch.read(memoryview(body), version)
    if found is None:
        return
    request = decode(ProduceRequest, version, body)
    ((part,),) = [each.partition_data for each in request.topic_data]
    assert (request.transactional_id, request.acks, part.index, part.records) == (
        None,
        found.acks,
        found.partition,
        found.records,
    )


@given(VERSION, st.binary(max_size=60))
def test_garbage_is_left_to_the_codec(version: int, body: bytes) -> None:
    if single_batch.read(memoryview(body), version) is not None:
        try:
            decode(ProduceRequest, version, body)
        except BadRequest:
            raise AssertionError("the codec refuses what was read by hand") from None


@given(VERSION, NAME, UUID, INT32, st.tuples(INT32, INT64, INT64, INT64))
def test_the_answer_is_that_of_the_codec(
    version: int, name: str, topic_id: bytes, correlation_id: int, numbers: tuple[int, int, int, int]
) -> None:
    index, base, time, start = numbers
    by_id = version >= single_batch.BY_ID_SINCE
    topic = topic_id if by_id else name.encode()
    batch = single_batch.SingleBatch(1, memoryview(topic), index, memoryview(b""))
    response = TopicProduceResponse(
        name="" if by_id else name,
        topic_id=topic_id if by_id else NO_UUID,
        partition_responses=(
            PartitionProduceResponse(index=index, base_offset=base, log_append_time_ms=time, log_start_offset=start),
        ),
    )
    (frame,) = response_frame(ProduceResponse(responses=(response,)), version, correlation_id)
    assert single_batch.answer(version, correlation_id, batch, base, time, start) == frame


@given(VERSION, st.integers(0, (1 << 31) - 1))
def test_an_answer_to_a_client_that_is_to_wait_is_that_of_the_codec(version: int, wait_ms: int) -> None:
    by_id = version >= single_batch.BY_ID_SINCE
    topic = bytes(range(16)) if by_id else b"orders"
    batch = single_batch.SingleBatch(1, memoryview(topic), 3, memoryview(b""))
    response = TopicProduceResponse(
        name="" if by_id else "orders",
        topic_id=topic if by_id else NO_UUID,
        partition_responses=(
            PartitionProduceResponse(index=3, base_offset=5, log_append_time_ms=6, log_start_offset=7),
        ),
    )
    (frame,) = response_frame(ProduceResponse(responses=(response,), throttle_time_ms=wait_ms), version, 11)
    assert single_batch.throttled(single_batch.answer(version, 11, batch, 5, 6, 7), wait_ms) == frame
