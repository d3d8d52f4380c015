import pytest

from odradek.model.errors import BadRequest
from odradek.wire.codec import decode
from odradek.wire.frame import BUFFER_BYTES, Frames, request_frame, response_frame
from odradek.wire.header import read_request_head, read_response_head
from odradek.wire.messages.api_versions import ApiVersionsResponse
from odradek.wire.messages.heartbeat import HeartbeatRequest, HeartbeatResponse
from odradek.wire.messages.produce import PartitionProduceData, ProduceRequest, TopicProduceData

MAX = 100 << 20


def framed(*bodies: bytes) -> bytes:
    return b"".join(len(body).to_bytes(4, "big") + body for body in bodies)


def received(frames: Frames, data: bytes) -> list[bytes]:
    return [bytes(frame) for frame in frames.feed(data)]


def test_frames_come_out_as_they_went_in() -> None:
    frames = Frames(MAX)
    assert received(frames, framed(b"one", b"", b"three") + b"\x00\x00") == [b"one", b"", b"three"]
    assert received(frames, b"\x00\x02o") == []
    assert received(frames, b"n") == [b"on"]


def test_a_frame_is_a_view_on_the_buffer_that_it_was_received_into() -> None:
    frames = Frames(MAX)
    space = frames.space()
    space[:7] = framed(b"abc")
    (frame,) = frames.take(7)
    frame[0] = ord("A")
    assert bytes(space[4:7]) == b"Abc"


def test_many_frames_pass_through_one_buffer() -> None:
    frames = Frames(MAX)
    bodies = [bytes([n]) * (n * 97 % 5000) for n in range(200)]
    assert received(frames, framed(*bodies)) == bodies
    assert len(frames.space()) == BUFFER_BYTES


def test_the_buffer_grows_with_what_has_arrived_not_with_what_is_claimed() -> None:
    frames = Frames(MAX)
    claimed = MAX.to_bytes(4, "big")
    assert received(frames, claimed) == []
    assert len(frames.space()) < 2 << 20
    assert received(frames, bytes(5 << 20)) == []
    assert len(frames.space()) <= 8 << 20


def test_a_large_frame_fits_and_its_memory_can_be_given_back() -> None:
    frames = Frames(MAX)
    body = bytes(range(256)) * (3 << 12)
    assert received(frames, framed(b"before", body) + b"\x00") == [b"before", body]
    frames.trim()
    assert len(frames.space()) > BUFFER_BYTES  # a frame has begun
    assert received(frames, b"\x00\x00\x05after") == [b"after"]
    frames.trim()
    assert len(frames.space()) == BUFFER_BYTES


@pytest.mark.parametrize("size", [b"\x00\x00\x00\x0b", b"\xff\xff\xff\xff", b"\x80\x00\x00\x00"])
def test_sizes_outside_the_limit_are_refused_at_once(size: bytes) -> None:
    frames = Frames(10)
    assert received(frames, framed(bytes(10))) == [bytes(10)]
    with pytest.raises(BadRequest, match="10 are the most"):
        received(frames, size)


def test_a_request_and_its_response() -> None:
    request = HeartbeatRequest(group_id="g", generation_id=1, member_id="m")
    for version in range(5):
        (frame,) = Frames(MAX).feed(b"".join(request_frame(request, version, 42, "me")))  # type: ignore[arg-type]
        head = read_request_head(frame)
        assert head[:4] == (12, version, 42, "me")
        assert decode(HeartbeatRequest, version, head.body) == request
        response = HeartbeatResponse(error_code=27)
        (frame,) = Frames(MAX).feed(b"".join(response_frame(response, version, 42)))  # type: ignore[arg-type]
        correlation_id, body = read_response_head(frame, HeartbeatResponse, version)
        assert correlation_id == 42
        assert decode(HeartbeatResponse, version, body) == response


def test_the_bytes_of_a_response() -> None:
    assert response_frame(HeartbeatResponse(error_code=27), 0, 1) == [b"\x00\x00\x00\x06\x00\x00\x00\x01\x00\x1b"]
    assert response_frame(HeartbeatResponse(), 4, 1) == [
        b"\x00\x00\x00\x0c\x00\x00\x00\x01\x00" + bytes(4) + b"\x00\x00\x00"
    ]
    # The client may not know version 4 yet, so the header is that of version 0.
    assert response_frame(ApiVersionsResponse(error_code=35), 4, 1) == [
        b"\x00\x00\x00\x0c\x00\x00\x00\x01\x00\x23\x01" + bytes(4) + b"\x00"
    ]


def test_the_size_of_a_frame_in_parts_is_that_of_all_parts() -> None:
    records = bytes(100_000)
    topic = TopicProduceData(name="t", partition_data=(PartitionProduceData(index=0, records=records),))
    parts = request_frame(ProduceRequest(acks=1, timeout_ms=1, topic_data=(topic,)), 9, 1, "me")
    assert len(parts) == 3
    assert parts[1] is records
    whole = b"".join(parts)  # type: ignore[arg-type]
    assert int.from_bytes(whole[:4], "big") == len(whole) - 4
