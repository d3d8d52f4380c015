"""Numbers of variable length: seven bits a byte, the lowest first, the top bit set on all bytes but the last.

Signed numbers are zigzag: 0, -1, 1, -2 become 0, 1, 2, 3, so that small ones of either sign stay short.
"""

from odradek.model.buffer import Buffer
from odradek.model.errors import CorruptBatch

INT32_BYTES_MAX = 5
INT64_BYTES_MAX = 10
_BITS = {INT32_BYTES_MAX: 32, INT64_BYTES_MAX: 64}


def read_unsigned(data: Buffer, at: int, bytes_max: int = INT32_BYTES_MAX) -> tuple[int, int]:
    """The number at `at` and where it ends. Raises CorruptBatch if it is too large, IndexError if it is cut off."""
    value = data[at]
    if value < 0x80:
        return value, at + 1
    value += (data[at + 1] << 7) - 0x80  # takes off the first byte's top bit again
    if value < 1 << 14:
        return value, at + 2
    value += (data[at + 2] << 14) - (1 << 14)
    if value < 1 << 21:
        return value, at + 3
    return _read_long(data, at, bytes_max)


def _read_long(data: Buffer, at: int, bytes_max: int) -> tuple[int, int]:
    value = shift = 0
    for end in range(at, at + bytes_max):
        byte = data[end]
        value |= (byte & 0x7F) << shift
        if byte < 0x80:
            if value >> _BITS[bytes_max]:
                break
            return value, end + 1
        shift += 7
    raise CorruptBatch(f"varint at {at} does not fit into {_BITS[bytes_max]} bits")


def unzigzag(value: int) -> int:
    return value >> 1 ^ -(value & 1)


def write_unsigned(value: int) -> bytes:
    if value < 0x80:
        return _ONE_BYTE[value]
    if value < 0x4000:
        return bytes((value & 0x7F | 0x80, value >> 7))
    out = bytearray()
    while value >= 0x80:
        out.append(value & 0x7F | 0x80)
        value >>= 7
    out.append(value)
    return bytes(out)


def write_signed(value: int) -> bytes:
    """`value` is an int64 at most."""
    return SIGNED[value]


_ONE_BYTE = tuple(bytes((value,)) for value in range(0x80))


class _Signed(dict[int, bytes]):
    def __missing__(self, value: int) -> bytes:
        return write_unsigned((value << 1 ^ value >> 63) & 0xFFFF_FFFF_FFFF_FFFF)


SIGNED = _Signed((value, write_unsigned(value << 1)) for value in range(0x200))
"""What write_signed gives, of which the lengths of most keys, values and records are kept."""
