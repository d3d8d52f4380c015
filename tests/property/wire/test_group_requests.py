"""Heartbeats and commits of one offset that are read and answered by hand, against the codec."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from odradek.wire import group_requests
from odradek.wire.codec import decode, encode
from odradek.wire.frame import response_frame
from odradek.wire.group_requests import COMMIT_BY_ID_SINCE, COMMIT_SINCE, HEARTBEAT_SINCE
from odradek.wire.messages.heartbeat import HeartbeatRequest, HeartbeatResponse
from odradek.wire.messages.offset_commit import (
    OffsetCommitRequest,
    OffsetCommitRequestPartition,
    OffsetCommitRequestTopic,
    OffsetCommitResponse,
    OffsetCommitResponsePartition,
    OffsetCommitResponseTopic,
)
from odradek.wire.schema import NO_UUID

INT32 = st.integers(-(1 << 31), (1 << 31) - 1)
INT64 = st.integers(-(1 << 63), (1 << 63) - 1)
VERSION = st.integers(COMMIT_SINCE, COMMIT_BY_ID_SINCE)
NAME = st.text(st.characters(codec="utf-8"), max_size=31)
LONG = st.integers(120, 140).map(lambda size: "x" * size)
UUID = st.binary(min_size=16, max_size=16)


def commit(version: int, *topics: OffsetCommitRequestTopic) -> bytes:
    request = OffsetCommitRequest(
        group_id="readers", generation_id_or_member_epoch=3, member_id="m", group_instance_id="i", topics=topics
    )
    return bytes(encode(request, version))


def topic_of(
    version: int, name: str, topic_id: bytes, *parts: OffsetCommitRequestPartition
) -> OffsetCommitRequestTopic:
    if version >= COMMIT_BY_ID_SINCE:
        return OffsetCommitRequestTopic(topic_id=topic_id, partitions=parts)
    return OffsetCommitRequestTopic(name=name, partitions=parts)


def part_of(index: int) -> OffsetCommitRequestPartition:
    return OffsetCommitRequestPartition(partition_index=index, committed_offset=7, committed_metadata="so far")


def same_commit(body: bytes, version: int) -> bool:
    """Whether it is read by hand; then it must be what the codec reads."""
    found = group_requests.read_single_offset(memoryview(body), version)
    if found is None:
        return False
    request = decode(OffsetCommitRequest, version, body)
    ((topic, (part,)),) = [(each, each.partitions) for each in request.topics]
    assert found == (
        request.group_id.encode(),
        request.group_id,
        request.generation_id_or_member_epoch,
        request.member_id,
        request.group_instance_id,
        topic.topic_id if version >= COMMIT_BY_ID_SINCE else topic.name.encode(),
        part.partition_index,
        part.committed_offset,
        part.committed_leader_epoch,
        (part.committed_metadata or "").encode(),
    )
    return True


def same_heartbeat(body: bytes) -> bool:
    found = group_requests.read_heartbeat(memoryview(body))
    if found is None:
        return False
    request = decode(HeartbeatRequest, HEARTBEAT_SINCE, body)
    assert found == (request.group_id, request.generation_id, request.member_id, request.group_instance_id)
    return True


def mutilated(body: bytes, data: st.DataObject) -> bytes:
    changed = bytearray(body)
    for _ in range(data.draw(st.integers(1, 3))):
        changed[data.draw(st.integers(0, len(changed) - 1))] = data.draw(st.integers(0, 255))
    del changed[data.draw(st.integers(len(changed) // 2, len(changed))) :]
    return bytes(changed)


@given(NAME, INT32, NAME, st.none() | NAME)
def test_a_heartbeat(group: str, generation: int, member: str, instance: str | None) -> None:
    request = HeartbeatRequest(group_id=group, generation_id=generation, member_id=member, group_instance_id=instance)
    assert same_heartbeat(bytes(encode(request, HEARTBEAT_SINCE)))


@given(LONG, LONG, st.none() | LONG)
def test_a_heartbeat_with_long_names(group: str, member: str, instance: str | None) -> None:
    request = HeartbeatRequest(group_id=group, generation_id=1, member_id=member, group_instance_id=instance)
    is_short = all(len(name or "") < 127 for name in (group, member, instance))
    assert same_heartbeat(bytes(encode(request, HEARTBEAT_SINCE))) == is_short


@given(st.data())
def test_a_mutilated_heartbeat(data: st.DataObject) -> None:
    request = HeartbeatRequest(group_id="readers", generation_id=1, member_id="m", group_instance_id="i")
    same_heartbeat(mutilated(bytes(encode(request, HEARTBEAT_SINCE)), data))


@given(VERSION, NAME, UUID, st.tuples(INT32, INT64, INT32), st.none() | NAME)
def test_a_commit_of_one_offset(
    version: int, name: str, topic_id: bytes, numbers: tuple[int, int, int], metadata: str | None
) -> None:
    index, offset, epoch = numbers
    part = OffsetCommitRequestPartition(
        partition_index=index, committed_offset=offset, committed_leader_epoch=epoch, committed_metadata=metadata
    )
    assert same_commit(commit(version, topic_of(version, name, topic_id, part)), version)


@given(VERSION, st.lists(st.lists(INT32, max_size=3), max_size=3))
def test_a_commit_of_any_other_number_is_left_to_the_codec(version: int, indexes: list[list[int]]) -> None:
    topics = [
        topic_of(version, f"topic-{number}", bytes(16), *map(part_of, parts)) for number, parts in enumerate(indexes)
    ]
    assert same_commit(commit(version, *topics), version) == ([len(parts) for parts in indexes] == [1])


@given(VERSION, LONG, LONG)
def test_a_commit_with_long_names(version: int, name: str, metadata: str) -> None:
    part = OffsetCommitRequestPartition(partition_index=0, committed_offset=7, committed_metadata=metadata)
    is_short = len(metadata) < 127 and (version >= COMMIT_BY_ID_SINCE or len(name) < 127)
    assert same_commit(commit(version, topic_of(version, name, bytes(16), part)), version) == is_short


@given(VERSION, st.data())
def test_a_mutilated_commit(version: int, data: st.DataObject) -> None:
    body = commit(version, topic_of(version, "orders", b"i" * 16, part_of(3)))
    same_commit(mutilated(body, data), version)


@given(VERSION, st.binary(max_size=60))
def test_garbage_is_left_to_the_codec(version: int, body: bytes) -> None:
    same_commit(body, version)
    same_heartbeat(body)


@pytest.mark.parametrize("text", ["readers", "member", "instance", "orders", "so far"])
def test_what_is_no_text_is_left_to_the_codec(text: str) -> None:
    for version in range(COMMIT_SINCE, COMMIT_BY_ID_SINCE):
        request = OffsetCommitRequest(
            group_id="readers",
            member_id="member",
            group_instance_id="instance",
            topics=(OffsetCommitRequestTopic(name="orders", partitions=(part_of(0),)),),
        )
        body = bytes(encode(request, version))
        assert same_commit(body, version)
        assert not same_commit(_broken(body, text), version)
    beat = HeartbeatRequest(group_id="readers", generation_id=1, member_id="member", group_instance_id="instance")
    body = bytes(encode(beat, HEARTBEAT_SINCE))
    assert same_heartbeat(_broken(body, text)) == (text.encode() not in body)


def _broken(body: bytes, text: str) -> bytes:
    return body.replace(text.encode(), b"\xff" + text[1:].encode())


@given(INT32)
def test_the_answer_to_a_heartbeat_is_that_of_the_codec(correlation_id: int) -> None:
    (frame,) = response_frame(HeartbeatResponse(), HEARTBEAT_SINCE, correlation_id)
    assert group_requests.heartbeat_answer(correlation_id) == frame


@given(VERSION, NAME, UUID, INT32, INT32)
def test_the_answer_to_a_commit_is_that_of_the_codec(
    version: int, name: str, topic_id: bytes, index: int, correlation_id: int
) -> None:
    by_id = version >= COMMIT_BY_ID_SINCE
    body = commit(version, topic_of(version, name, topic_id, part_of(index)))
    asked = group_requests.read_single_offset(memoryview(body), version)
    assert asked is not None
    topic = OffsetCommitResponseTopic(
        name="" if by_id else name,
        topic_id=topic_id if by_id else NO_UUID,
        partitions=(OffsetCommitResponsePartition(partition_index=index, error_code=0),),
    )
    (frame,) = response_frame(OffsetCommitResponse(topics=(topic,)), version, correlation_id)
    assert group_requests.single_offset_answer(version, correlation_id, asked) == frame
