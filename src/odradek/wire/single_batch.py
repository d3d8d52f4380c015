"""A produce request with one batch for one partition, and the answer that all went well: read and written by hand.

Most requests are like this where records are sent one by one, and then the codec takes a good part of the time. What
looks different in any way is left to the codec; a test holds the two against each other.
"""

from struct import Struct
from struct import error as StructError
from typing import NamedTuple

VERSIONS = (9, 13)
"""The flexible ones."""
BY_ID_SINCE = 13

_ONE = 2
"""The count of an array with one item, as flexible versions write it."""
_BEGIN = Struct(">Bhi B")
_INDEX = Struct(">Bi")
_SHIFT_MAX = 28
"""Of the last byte that a length has. One that goes on all the same ends past any body."""
_END = b"\x00\x00\x00"
"""No tagged fields: of the partition, the topic, the request."""
_ANSWER_BEGIN = Struct(">ii x B")
_ANSWER_END = Struct(">B ihqqq B x x x i x")
_NO_ERRORS = 1
_THROTTLE_TIME = Struct(">i x")
"""What an answer ends with."""


class SingleBatch(NamedTuple):
    acks: int
    topic: memoryview
    """Its name in UTF-8, or its id from version 13 on."""
    partition: int
    records: memoryview


def read(body: memoryview, version: int) -> SingleBatch | None:
    """None for every other request, garbage included."""
    try:
        null, acks, _, topics = _BEGIN.unpack_from(body)
        if null or topics != _ONE:
            return None
        if version >= BY_ID_SINCE:
            start, at = _BEGIN.size, _BEGIN.size + 16
        else:
            start = _BEGIN.size + 1
            at = start + body[_BEGIN.size] - 1
            if not start < at < start + 127:
                return None
        partitions, partition = _INDEX.unpack_from(body, at)
        if partitions != _ONE:
            return None
        topic = body[start:at]
        at += _INDEX.size
        size, shift = 0, 0
        while (byte := body[at]) & 0x80 and shift < _SHIFT_MAX:
            size |= (byte & 0x7F) << shift
            shift += 7
            at += 1
        at += 1
        end = at + (size | byte << shift) - 1
    except (IndexError, StructError):
        return None
    if end < at or body[end:] != _END:
        return None
    return SingleBatch(acks, topic, partition, body[at:end])


def answer(
    version: int, correlation_id: int, batch: SingleBatch, base_offset: int, append_time: int, log_start: int
) -> bytes:
    """The whole frame."""
    topic = batch.topic
    name = topic if version >= BY_ID_SINCE else bytes((len(topic) + 1,)) + topic
    end = _ANSWER_END.pack(_ONE, batch.partition, 0, base_offset, append_time, log_start, _NO_ERRORS, 0)
    return _ANSWER_BEGIN.pack(6 + len(name) + len(end), correlation_id, _ONE) + name + end


def throttled(answer: bytes, throttle_time_ms: int) -> bytes:
    """The same answer to a client that is to wait."""
    return answer[: -_THROTTLE_TIME.size] + _THROTTLE_TIME.pack(throttle_time_ms)
