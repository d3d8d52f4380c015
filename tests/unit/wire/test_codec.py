from typing import Any, NamedTuple

import pytest

from odradek.model.error_code import ErrorCode
from odradek.model.errors import BadRequest, UnsupportedVersion
from odradek.wire.codec import decode, encode, encode_onto
from odradek.wire.messages.create_topics import CreatableReplicaAssignment, CreatableTopic, CreateTopicsRequest
from odradek.wire.messages.describe_groups import DescribeGroupsRequest
from odradek.wire.messages.describe_topic_partitions import Cursor, DescribeTopicPartitionsRequest
from odradek.wire.messages.fetch import FetchableTopicResponse, FetchResponse, PartitionData, SnapshotId
from odradek.wire.messages.join_group import JoinGroupRequest, JoinGroupRequestProtocol
from odradek.wire.messages.metadata import MetadataRequest, MetadataRequestTopic, MetadataResponse
from odradek.wire.messages.offset_fetch import OffsetFetchRequest
from odradek.wire.messages.produce import PartitionProduceData, ProduceRequest, TopicProduceData
from odradek.wire.records.consumer_group import ConsumerGroupMemberMetadataValue


class Slice(NamedTuple):
    """Records in a file, as far as a message is concerned. Its length as a tuple is not that of the records."""

    file: str
    size: int


def fetch_response(*records: bytes | memoryview | Slice | None) -> FetchResponse:
    partitions = tuple(
        PartitionData(partition_index=index, high_watermark=9, aborted_transactions=None, records=each)
        for index, each in enumerate(records)
    )
    return FetchResponse(responses=(FetchableTopicResponse(topic="t", partitions=partitions),))


def produce_request(records: bytes) -> ProduceRequest:
    topic = TopicProduceData(name="orders", partition_data=(PartitionProduceData(index=0, records=records),))
    return ProduceRequest(acks=1, timeout_ms=100, topic_data=(topic,))


# --- versions


def test_a_field_that_a_version_has_not_is_read_as_its_default() -> None:
    request = decode(MetadataRequest, 0, b"\x00\x00\x00\x00")
    assert request == MetadataRequest(topics=())
    assert request.allow_auto_topic_creation is True


def test_a_value_that_a_version_has_no_place_for_is_an_error() -> None:
    request = MetadataRequest(topics=(), allow_auto_topic_creation=False)
    assert encode(request, 4) == b"\x00\x00\x00\x00\x00"
    with pytest.raises(UnsupportedVersion, match="MetadataRequest has no allow_auto_topic_creation in version 3") as no:
        encode(request, 3)
    assert no.value.code is ErrorCode.UNSUPPORTED_VERSION


def test_unless_it_may_be_ignored() -> None:
    response = MetadataResponse(throttle_time_ms=7, cluster_id="c", controller_id=3)
    assert decode(MetadataResponse, 0, encode(response, 0)) == MetadataResponse()
    assert decode(MetadataResponse, 3, encode(response, 3)) == response


def test_null_in_a_version_that_cannot_write_it_is_an_error() -> None:
    with pytest.raises(TypeError):
        encode(MetadataRequest(topics=None), 0)
    assert encode(MetadataRequest(topics=None), 1) == b"\xff\xff\xff\xff"


def test_a_struct_that_a_version_has_no_place_for_is_compared_by_value() -> None:
    other = SnapshotId(end_offset=-1, epoch=-1)
    partition = PartitionData(
        partition_index=0, high_watermark=0, aborted_transactions=(), records=None, snapshot_id=other
    )
    response = FetchResponse(responses=(FetchableTopicResponse(topic="t", partitions=(partition,)),))
    assert decode(FetchResponse, 11, encode(response, 11)) == response


@pytest.mark.parametrize("version", [-1, 2, 14, 32767])
def test_versions_that_a_message_has_not_are_refused(version: int) -> None:
    with pytest.raises(UnsupportedVersion, match="ProduceRequest has versions 3 to 13"):
        decode(ProduceRequest, version, b"")
    with pytest.raises(UnsupportedVersion, match="ProduceRequest has versions 3 to 13"):
        encode(produce_request(b""), version)


def test_one_value_serves_all_versions() -> None:
    request = OffsetFetchRequest()
    for version in range(1, 11):
        assert decode(OffsetFetchRequest, version, encode(request, version)) == request


# --- tags


def test_tags_that_nobody_knows_are_skipped() -> None:
    request = MetadataRequest(topics=(MetadataRequestTopic(name="a"),))
    plain = b"\x02" + b"\x02a" + b"\x00" + b"\x01\x00\x00" + b"\x00"
    tagged = b"\x02" + b"\x02a" + b"\x01\xe8\x07\x03xyz" + b"\x01\x00\x00" + b"\x02\x05\x00\x06\x01!"
    assert encode(request, 9) == plain
    assert decode(MetadataRequest, 9, plain) == decode(MetadataRequest, 9, tagged) == request


def test_a_tagged_field_is_written_only_if_it_is_not_the_default() -> None:
    nobody = encode(fetch_response(b""), 12)
    assert nobody.endswith(b"\x01\x00\x00\x00")  # no records, and no tags on partition, topic and response
    partition = PartitionData(
        partition_index=0,
        high_watermark=9,
        aborted_transactions=None,
        records=b"",
        snapshot_id=SnapshotId(end_offset=1, epoch=2),
    )
    told = FetchResponse(responses=(FetchableTopicResponse(topic="t", partitions=(partition,)),))
    assert encode(told, 12) == nobody[:-3] + b"\x01\x02\x0d" + bytes(7) + b"\x01" + bytes(3) + b"\x02" + bytes(3)


def test_a_tagged_struct_may_be_null_where_null_is_not_the_default() -> None:
    member = ConsumerGroupMemberMetadataValue(
        instance_id=None,
        rack_id=None,
        client_id="",
        client_host="",
        subscribed_topic_names=(),
        subscribed_topic_regex=None,
        server_assignor=None,
        classic_member_metadata=None,
    )
    data = encode(member, 0)
    assert data.endswith(b"\x01\x00\x01\x00")  # one tag, number 0, one byte: null
    assert decode(ConsumerGroupMemberMetadataValue, 0, data).classic_member_metadata is None


# --- structs, strings, bytes


def test_a_struct_may_be_null() -> None:
    request = DescribeTopicPartitionsRequest(topics=(), cursor=None)
    assert encode(request, 0) == b"\x01\x00\x00\x07\xd0\xff\x00"
    further = DescribeTopicPartitionsRequest(topics=(), cursor=Cursor(topic_name="t", partition_index=2))
    assert encode(further, 0) == b"\x01\x00\x00\x07\xd0\x01\x02t\x00\x00\x00\x02\x00\x00"
    assert decode(DescribeTopicPartitionsRequest, 0, encode(further, 0)) == further


@pytest.mark.parametrize("length", [0, 1, 126, 127, 128, 16_382, 16_383, 16_384])
def test_lengths_around_the_borders_of_varints(length: int) -> None:
    name = "x" * length
    many = MetadataRequest(topics=(MetadataRequestTopic(name=name),) * max(length, 1))
    few = MetadataRequest(topics=(MetadataRequestTopic(name=name),))
    for request in (few, many) if length < 200 else (few,):
        assert decode(MetadataRequest, 12, encode(request, 12)) == request


def test_no_string_is_longer_in_new_versions_than_in_old_ones() -> None:
    # What could not be written to a log any more, in records of the old form.
    longest = OffsetFetchRequest(group_id="x" * 32_767, topics=None)
    assert decode(OffsetFetchRequest, 6, encode(longest, 6)) == longest
    many = DescribeGroupsRequest(groups=("x",) * 40_000)
    assert decode(DescribeGroupsRequest, 5, encode(many, 5)) == many
    longer = OffsetFetchRequest(group_id="x" * 32_768, topics=None)
    with pytest.raises(BadRequest, match="group_id has 32768 bytes"):
        decode(OffsetFetchRequest, 6, encode(longer, 6))


@pytest.mark.parametrize("count", [0, 1, 32, 33, 126, 127, 128, 20_000])
@pytest.mark.parametrize("version", [4, 5])
def test_arrays_of_numbers_of_any_length(count: int, version: int) -> None:
    assignment = CreatableReplicaAssignment(partition_index=0, broker_ids=tuple(range(count)))
    topic = CreatableTopic(name="t", num_partitions=-1, replication_factor=-1, assignments=(assignment,), configs=())
    request = CreateTopicsRequest(topics=(topic,), timeout_ms=0)
    assert decode(CreateTopicsRequest, version, encode(request, version)) == request


def test_text_that_is_none_is_read_with_marks_in_its_place() -> None:
    # As Kafka does: what a client calls itself is no reason to refuse it.
    assert decode(MetadataRequest, 1, b"\x00\x00\x00\x01\x00\x03a\xffb").topics == (
        MetadataRequestTopic(name="a\N{REPLACEMENT CHARACTER}b"),
    )


def test_what_is_read_does_not_change_with_its_buffer() -> None:
    request = JoinGroupRequest(
        group_id="g",
        session_timeout_ms=1,
        member_id="m",
        protocol_type="consumer",
        protocols=(JoinGroupRequestProtocol(name="range", metadata=b"before"),),
    )
    buffer = bytearray(encode(request, 9))
    found = decode(JoinGroupRequest, 9, memoryview(buffer))
    buffer[:] = bytes(len(buffer))
    assert found == request


# --- records


def test_records_are_views_on_what_was_read() -> None:
    buffer = bytearray(encode(produce_request(b"batch"), 9))
    (topic,) = decode(ProduceRequest, 9, buffer).topic_data
    (partition,) = topic.partition_data
    assert isinstance(partition.records, memoryview)
    assert bytes(partition.records) == b"batch"
    buffer[buffer.index(b"batch")] = ord("B")
    assert bytes(partition.records) == b"Batch"


def test_large_records_are_passed_on_as_they_are() -> None:
    large, small, file = memoryview(bytes(5000)), b"small", Slice("00000000000000000000.log", 70_000)
    response = fetch_response(large, None, small, file)
    parts: list[Any] = []
    first = bytearray(b"head")
    last = encode_onto(first, parts, response, 12)
    assert [type(part) for part in (*parts, last)] == [bytearray, memoryview, bytearray, Slice, bytearray]
    assert parts[0] is first
    assert parts[1] is large
    assert parts[3] is file
    in_memory = fetch_response(large, None, small, bytes(70_000))
    joined = b"".join(bytes(part.size) if isinstance(part, Slice) else part for part in (*parts, last))
    assert joined == b"head" + encode(in_memory, 12)


def test_records_in_a_file_cannot_be_encoded_in_one_piece() -> None:
    with pytest.raises(TypeError):
        encode(fetch_response(Slice("f", 3)), 12)
