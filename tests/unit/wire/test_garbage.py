"""Bytes that are no message raise BadRequest and nothing else, and take no more memory than they are worth."""

import tracemalloc
from random import Random
from typing import Any

import pytest

from odradek.model.error_code import ErrorCode
from odradek.model.errors import BadRequest
from odradek.wire.codec import decode, encode
from odradek.wire.messages.describe_groups import DescribeGroupsRequest
from odradek.wire.messages.fetch import FetchRequest
from odradek.wire.messages.metadata import MetadataRequest
from odradek.wire.messages.produce import ProduceRequest
from odradek.wire.messages.sasl_authenticate import SaslAuthenticateRequest
from odradek.wire.messages.streams_group_heartbeat import StreamsGroupHeartbeatRequest
from odradek.wire.schema import Message

ENDLESS = b"\xff" * 20
HUGE = 0x7FFFFFFF.to_bytes(4, "big")
COMPACT_HUGE = b"\xff\xff\xff\xff\x07"


@pytest.mark.slow
def test_every_cut_is_refused(vectors: list[Any]) -> None:
    for vector in vectors:
        for size in range(len(vector.data)):
            with pytest.raises(BadRequest):
                decode(vector.kind, vector.version, vector.data[:size])


@pytest.mark.slow
def test_trailing_bytes_are_refused_but_where_kafka_overlooks_them(vectors: list[Any]) -> None:
    for vector in vectors:
        name = vector.kind.__name__
        if name.endswith("Request") or name.startswith("ConsumerProtocol"):
            assert decode(vector.kind, vector.version, vector.data + b"\x00") == decode(
                vector.kind, vector.version, vector.data
            )
        else:
            with pytest.raises(BadRequest):
                decode(vector.kind, vector.version, vector.data + b"\x00")


@pytest.mark.slow
@pytest.mark.parametrize("seed", range(8))
def test_damage_is_refused_or_read_as_something_else(vectors: list[Any], seed: int) -> None:
    rng = Random(seed)
    for vector in vectors:
        damaged = bytearray(vector.data)
        for _ in range(rng.randint(1, 4)):
            at = rng.randrange(len(damaged) + 1)
            damaged[at : at + rng.randrange(3)] = rng.choice((b"\x00", b"\x7f", b"\x80", b"\xff", rng.randbytes(3)))
        try:
            message = decode(vector.kind, vector.version, damaged)
        except BadRequest:
            continue
        # Not the same bytes: what is read may have unknown tags, long varints or broken text. But then it is stable.
        rewritten = encode(message, vector.version)
        assert encode(decode(vector.kind, vector.version, rewritten), vector.version) == rewritten, str(vector)


@pytest.mark.parametrize(
    ("kind", "version", "data"),
    [
        (MetadataRequest, 0, HUGE),
        (MetadataRequest, 9, COMPACT_HUGE),
        (MetadataRequest, 9, ENDLESS),
        (MetadataRequest, 9, b"\x80" * 20),
        (MetadataRequest, 9, b"\x02" + COMPACT_HUGE),  # the length of a name
        (MetadataRequest, 9, b"\x01\x01\x00\x00" + COMPACT_HUGE),  # the count of tagged fields
        (MetadataRequest, 9, b"\x01\x01\x00\x00\x01\x63" + COMPACT_HUGE),  # the size of one
        (DescribeGroupsRequest, 0, HUGE + bytes(20)),
        (DescribeGroupsRequest, 0, b"\x00\x00\x00\x01\x7f\xff"),
        (SaslAuthenticateRequest, 0, HUGE),
        (SaslAuthenticateRequest, 2, COMPACT_HUGE),
        (FetchRequest, 4, bytes(17) + HUGE),
        (ProduceRequest, 3, b"\xff\xff\xff\xff\x00\x00\x00\x00" + HUGE),
    ],
)
def test_sizes_beyond_the_input_are_refused_before_memory_is_taken(
    kind: type[Message], version: int, data: bytes
) -> None:
    with pytest.raises(BadRequest):
        decode(kind, version, data)  # compiles
    tracemalloc.start()
    try:
        with pytest.raises(BadRequest):
            decode(kind, version, data)
        _, peak = tracemalloc.get_traced_memory()
    finally:
        tracemalloc.stop()
    assert peak < 64 << 10


@pytest.mark.parametrize(
    ("kind", "version", "data"),
    [
        (DescribeGroupsRequest, 0, b"\xff\xff\xff\xff"),  # null for an array
        (DescribeGroupsRequest, 0, b"\x80\x00\x00\x00"),
        (DescribeGroupsRequest, 0, b"\x00\x00\x00\x01\xff\xff"),  # null for a string
        (DescribeGroupsRequest, 0, b"\x00\x00\x00\x01\xff\xfe"),
        (DescribeGroupsRequest, 5, b"\x00\x00\x00"),
        (DescribeGroupsRequest, 5, b"\x02\x00\x00\x00"),
        (SaslAuthenticateRequest, 0, b"\xff\xff\xff\xff"),  # null for bytes
        (SaslAuthenticateRequest, 2, b"\x00\x00"),
    ],
)
def test_null_where_there_must_be_a_value_is_refused(kind: type[Message], version: int, data: bytes) -> None:
    with pytest.raises(BadRequest, match="null"):
        decode(kind, version, data)


def test_a_tagged_field_must_have_the_size_that_its_tag_says() -> None:
    body = encode(FetchRequest(max_wait_ms=0, min_bytes=0, topics=()), 12)[:-1]
    assert decode(FetchRequest, 12, body + b"\x01\x00\x02\x02a").cluster_id == "a"
    for size in (b"\x01", b"\x03"):
        with pytest.raises(BadRequest):
            decode(FetchRequest, 12, body + b"\x01\x00" + size + b"\x02aa")


def test_garbage_is_an_invalid_request() -> None:
    with pytest.raises(BadRequest, match="StreamsGroupHeartbeatRequest version 0 ends too early") as refused:
        decode(StreamsGroupHeartbeatRequest, 0, b"")
    assert refused.value.code is ErrorCode.INVALID_REQUEST
