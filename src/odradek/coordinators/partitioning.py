"""Which partition of a coordinator's topic a key belongs to."""

from functools import lru_cache

_BITS = 0xFFFF_FFFF
_SIGN = 0x8000_0000
_REMEMBERED = 10_000


@lru_cache(_REMEMBERED)
def partition_of(key: str, partitions: int) -> int:
    """By the hash of its string in Java."""
    number = 0
    units = key.encode("utf-16-be", "surrogatepass")
    for at in range(0, len(units), 2):
        number = (number * 31 + (units[at] << 8) + units[at + 1]) & _BITS
    if number >= _SIGN:
        number = 0 if number == _SIGN else _BITS + 1 - number  # the least number has no positive counterpart
    return number % partitions
