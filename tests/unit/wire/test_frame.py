from odradek.wire.codec import decode
from odradek.wire.frame import request_frame, response_frame
from odradek.wire.header import read_request_head, read_response_head
from odradek.wire.messages.api_versions import ApiVersionsResponse
from odradek.wire.messages.heartbeat import HeartbeatRequest, HeartbeatResponse
from odradek.wire.messages.produce import PartitionProduceData, ProduceRequest, TopicProduceData
from odradek.wire.writing import Parts


def unframed(parts: Parts) -> memoryview:
    whole = memoryview(b"".join(parts))  # type: ignore[arg-type]  # none of these is in a file
    assert int.from_bytes(whole[:4], "big") == len(whole) - 4
    return whole[4:]


def test_a_request_and_its_response() -> None:
    request = HeartbeatRequest(group_id="g", generation_id=1, member_id="m")
    for version in range(5):
        frame = unframed(request_frame(request, version, 42, "me"))
        head = read_request_head(frame)
        assert head[:4] == (12, version, 42, "me")
        assert decode(HeartbeatRequest, version, head.body) == request
        response = HeartbeatResponse(error_code=27)
        frame = unframed(response_frame(response, version, 42))
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
