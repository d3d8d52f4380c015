from typing import Any

import pytest

from odradek.model.errors import BadRequest
from odradek.wire.codec import encode
from odradek.wire.header import (
    RequestHead,
    RequestHeader,
    ResponseHeader,
    has_tagged_header,
    read_request_head,
    read_response_head,
)
from odradek.wire.messages.api_versions import ApiVersionsResponse
from odradek.wire.messages.heartbeat import HeartbeatResponse


def header(key: int, version: int, client_id: str | None = "me") -> RequestHeader:
    return RequestHeader(request_api_key=key, request_api_version=version, correlation_id=7, client_id=client_id)


@pytest.mark.parametrize("client_id", [None, "", "me", "w\u00e9"])
def test_the_header_of_an_older_request(client_id: str | None) -> None:
    frame = encode(header(12, 3, client_id), 1) + b"body"
    assert read_request_head(memoryview(frame)) == RequestHead(12, 3, 7, client_id, memoryview(b"body"))


@pytest.mark.parametrize("tags", [b"\x00", b"\x01\x05\x03abc", b"\x02\x05\x00\x06\x01a"])
def test_the_header_of_a_flexible_request_has_tagged_fields(tags: bytes) -> None:
    frame = encode(header(12, 4), 2)[:-1] + tags + b"body"
    assert read_request_head(memoryview(frame)) == RequestHead(12, 4, 7, "me", memoryview(b"body"))


@pytest.mark.slow
def test_headers_are_those_of_kafka(vectors: list[Any]) -> None:
    for vector in vectors:
        if vector.kind is RequestHeader:
            head = read_request_head(memoryview(vector.data))
            message = vector.message
            assert (head.api_key, head.version) == (message.request_api_key, message.request_api_version)
            assert (head.correlation_id, head.client_id) == (message.correlation_id, message.client_id)
            assert bytes(head.body) in (
                b"",
                b"\x00",
            )  # whether there are tagged fields depends on the API, here a random one


@pytest.mark.parametrize(("key", "version"), [(18, 99), (1234, 0), (-1, -1), (0, 32767)])
def test_unknown_apis_and_versions_are_known_enough_to_be_refused(key: int, version: int) -> None:
    frame = encode(header(key, version), 2) + b"whatever"
    assert read_request_head(memoryview(frame))[:4] == (key, version, 7, "me")


def test_a_client_may_call_itself_anything() -> None:
    frame = b"\x00\x0c\x00\x00\x00\x00\x00\x07\x00\x01\xff"
    assert read_request_head(memoryview(frame)).client_id == "\N{REPLACEMENT CHARACTER}"


@pytest.mark.parametrize(
    "frame",
    [
        b"",
        b"\x00\x0c\x00\x00\x00\x00\x00\x07\x00",
        b"\x00\x0c\x00\x00\x00\x00\x00\x07\x00\x03me",
        b"\x00\x0c\x00\x04\x00\x00\x00\x07\x00\x02me",
        b"\x00\x0c\x00\x04\x00\x00\x00\x07\x00\x02me\x01\x00\x05abcd",
        b"\x00\x0c\x00\x04\x00\x00\x00\x07\x00\x02me\xff\xff\xff\xff\xff\xff\xff",
        b"\x00\x0c\x00\x04\x00\x00\x00\x07\x7f\xffme\x00",
    ],
)
def test_a_broken_header_is_refused(frame: bytes) -> None:
    with pytest.raises(BadRequest):
        read_request_head(memoryview(frame))


def test_the_header_of_a_response() -> None:
    old = encode(ResponseHeader(correlation_id=9), 0) + b"body"
    assert read_response_head(memoryview(old), HeartbeatResponse, 3) == (9, memoryview(b"body"))
    new = encode(ResponseHeader(correlation_id=9), 1) + b"body"
    assert read_response_head(memoryview(new), HeartbeatResponse, 4) == (9, memoryview(b"body"))
    for broken in (b"\x00\x00\x00", b"\x00\x00\x00\x09", b"\x00\x00\x00\x09\x01\x00\x05"):
        with pytest.raises(BadRequest):
            read_response_head(memoryview(broken), HeartbeatResponse, 4)


def test_the_response_to_api_versions_never_has_tagged_fields_in_its_header() -> None:
    assert [has_tagged_header(ApiVersionsResponse, version) for version in range(5)] == [False] * 5
    assert [has_tagged_header(HeartbeatResponse, version) for version in range(5)] == [False] * 4 + [True]
