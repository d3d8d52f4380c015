"""Which partition of a coordinator's topic a key belongs to."""

from functools import lru_cache

_BITS = 0xFFFF_FFFF
_SIGN = 0x8000_0000
_REMEMBERED = 10_000
_REMEMBERED_LENGTH_MAX = 200
"""Names of groups are short; whoever has longer ones is not to fill our memory."""


def partition_of(key: str, partitions: int) -> int:
    """By the hash of its string in Java."""
    return (_remembered if len(key) <= _REMEMBERED_LENGTH_MAX else _hashed)(key, partitions)


def _hashed(key: str, partitions: int) -> int:
    number = 0
    units = key.encode("utf-16-be", "surrogatepass")
    for at in range(0, len(units), 2):
        number = (number * 31 + (units[at] << 8) + units[at + 1]) & _BITS
    if number >= _SIGN:
        number = 0 if number == _SIGN else _BITS + 1 - number  # the least number has no positive counterpart
    return number % partitions


_remembered = lru_cache(_REMEMBERED)(_hashed)
