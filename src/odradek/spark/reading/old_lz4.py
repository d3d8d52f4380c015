"""Heads of lz4 frames as they are in messages of magic 0: with a check byte that was made of the wrong bytes.

Kafka's producer in Java took the four bytes of the frame's magic number along, and others that wrote this format did as
it did. Nobody looks at the byte there. What inflates the frame does, so it gets the right one.

A head: magic number uint32, flags int8, block size int8, content size int64 if bit 3 of the flags is set, check byte:
the second lowest byte of xxHash32 of all that is between the magic number and itself. (Java reads no frames that have
the id of a dictionary, for which there is a bit, too.)
"""

from struct import iter_unpack

_FLAGS_AT = 4
_HAS_SIZE = 0x08
_PRIME_1, _PRIME_2, _PRIME_3, _PRIME_4, _PRIME_5 = 0x9E3779B1, 0x85EBCA77, 0xC2B2AE3D, 0x27D4EB2F, 0x165667B1
_WORD = 0xFFFFFFFF
_SHORT_MAX = 15


def with_right_check(frame: bytes) -> bytes:
    """The same frame; what is too short to have a head is left alone."""
    if len(frame) <= _FLAGS_AT:
        return frame
    end = _FLAGS_AT + (10 if frame[_FLAGS_AT] & _HAS_SIZE else 2)
    if len(frame) <= end:
        return frame
    return frame[:end] + bytes([xxhash32_of_few(frame[_FLAGS_AT:end]) >> 8 & 0xFF]) + frame[end + 1 :]


def xxhash32_of_few(data: bytes) -> int:
    """With seed 0, of fewer than 16 bytes, as heads have."""
    assert len(data) <= _SHORT_MAX
    words = len(data) // 4 * 4
    found = _PRIME_5 + len(data)
    for (word,) in iter_unpack("<I", data[:words]):
        found = _turned(found + word * _PRIME_3, 17) * _PRIME_4
    for byte in data[words:]:
        found = _turned(found + byte * _PRIME_5, 11) * _PRIME_1
    found &= _WORD
    found = (found ^ found >> 15) * _PRIME_2 & _WORD
    found = (found ^ found >> 13) * _PRIME_3 & _WORD
    return found ^ found >> 16


def _turned(number: int, bits: int) -> int:
    number &= _WORD
    return (number << bits | number >> 32 - bits) & _WORD
