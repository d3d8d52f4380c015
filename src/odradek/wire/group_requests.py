"""What members of groups send most, read and written by hand: heartbeats, and commits of one offset.

All that looks different in any way is left to the codec; a test holds the two against each other.
"""

from struct import Struct
from struct import error as StructError
from typing import NamedTuple

HEARTBEAT_SINCE = 4
COMMIT_SINCE = 8
"""The first flexible versions."""
COMMIT_BY_ID_SINCE = 10

_LENGTHS = range(1, 128)
"""A byte that is the length of a string that is there, with one added, and the whole of that length."""
_ONE = 2
"""The count of an array with one item."""
_MEMBER = Struct(">iB")
_PARTITION = Struct(">BiqiB")
_HEARTBEAT_ANSWER = Struct(">ii x i h x")
_COMMIT_BEGIN = Struct(">ii x i B")
_COMMIT_END = Struct(">B i h x x x")
_NO_TAGS = 0
_COMMIT_TAGS = b"\0\0\0"
"""None: of the partition, the topic, the request."""

_new = tuple.__new__


class Heartbeat(NamedTuple):
    group_id: str
    generation: int
    member_id: str
    instance_id: str | None


class SingleOffset(NamedTuple):
    """An OffsetCommit with one offset."""

    group: bytes
    group_id: str
    generation: int
    member_id: str
    instance_id: str | None
    topic: bytes
    """Its name in UTF-8, or its id from version 10 on."""
    partition: int
    offset: int
    leader_epoch: int
    metadata: bytes
    """UTF-8."""


_Asks = tuple[bytes, int, str, str | None, int]
"""The group, its generation, the member, its instance, and where this ends."""


def read_heartbeat(body: memoryview) -> Heartbeat | None:
    """None for every other request, garbage included. For flexible versions."""
    try:
        data = bytes(body)
        group, generation, member_id, instance_id, at = _read_member(data)
        if data[at] != _NO_TAGS or at + 1 != len(data):
            return None
        return _new(Heartbeat, (group.decode(), generation, member_id, instance_id))
    except (ValueError, IndexError, StructError):
        return None


def read_single_offset(body: memoryview, version: int) -> SingleOffset | None:
    """The same for a commit."""
    try:
        data = bytes(body)
        group, generation, member_id, instance_id, at = _read_member(data)
        if data[at] != _ONE:
            return None
        start = at + 1
        if version < COMMIT_BY_ID_SINCE:
            start = at + 2
            at = start + _LENGTHS.index(data[at + 1])
            data[start:at].decode()  # raises where it is no text, which the codec knows to read
        else:
            at = start + 16
        topic = data[start:at]
        count, partition, offset, leader_epoch, length = _PARTITION.unpack_from(data, at)
        at += _PARTITION.size
        if count != _ONE or length > 127:
            return None
        end = at + length - 1 if length else at  # null counts as empty
        metadata = data[at:end]
        if data[end:] != _COMMIT_TAGS or (not metadata.isascii() and not metadata.decode()):
            return None
        who = (group, group.decode(), generation, member_id, instance_id)
        return _new(SingleOffset, (*who, topic, partition, offset, leader_epoch, metadata))
    except (ValueError, IndexError, StructError):
        return None


def _read_member(data: bytes) -> _Asks:
    """Raises ValueError, IndexError or StructError for what is not as simple as it mostly is."""
    at = data[0]
    generation, length = _MEMBER.unpack_from(data, at)
    start = at + _MEMBER.size
    end = start + _LENGTHS.index(length)
    member_id = data[start:end].decode()
    instance_id = None
    after = end + 1
    if data[end]:
        after += _LENGTHS.index(data[end])
        instance_id = data[end + 1 : after].decode()
    return data[1 : _LENGTHS.index(at) + 1], generation, member_id, instance_id, after


def heartbeat_answer(correlation_id: int) -> bytes:
    """The whole frame: all is well."""
    return _HEARTBEAT_ANSWER.pack(_HEARTBEAT_ANSWER.size - 4, correlation_id, 0, 0)


def single_offset_answer(version: int, correlation_id: int, commit: SingleOffset) -> bytes:
    """The whole frame: it is committed."""
    topic = commit.topic
    if version < COMMIT_BY_ID_SINCE:
        topic = bytes((len(topic) + 1,)) + topic
    size = _COMMIT_BEGIN.size + len(topic) + _COMMIT_END.size - 4
    return _COMMIT_BEGIN.pack(size, correlation_id, 0, _ONE) + topic + _COMMIT_END.pack(_ONE, commit.partition, 0)
