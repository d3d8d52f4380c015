"""Requests made bad: by their fields, by their bytes, and by the batches in them. One seed, one sequence."""

import re
from collections.abc import Sequence
from random import Random
from typing import Any, TypeVar

from crc32c import crc32c

from odradek.wire.schema import Struct

S = TypeVar("S", bound=Struct)

_BITS = {"int8": 8, "int16": 16, "int32": 32, "int64": 64, "uint16": 16, "uint32": 32}
_KIND = re.compile(r"u?int(?:8|16|32|64)")
_INTERESTING = (
    0,
    1,
    -1,
    2,
    5,
    100,
    127,
    -128,
    255,
    32_767,
    -32_768,
    65_535,
    1 << 20,
    (1 << 31) - 1,
    -(1 << 31),
    1 << 62,
)
_LENGTHS = (b"\xff\xff", b"\x7f\xff", b"\x80\x00", b"\xff" * 4, b"\x7f\xff\xff\xff", b"\x80\x00\x00\x00", b"\xff" * 12)
NAMES = (
    "",
    ".",
    "..",
    "a" * 249,
    "a" * 250,
    "a b",
    "a/b",
    "\u00e9",
    "\x00",
    "__consumer_offsets",
    "__cluster_metadata",
)
"""Kafka refuses most of these."""

_WORDS = (
    "retention.ms",
    "cleanup.policy",
    "compression.type",
    "segment.bytes",
    "compact",
    "zstd",
    "-1",
    "1000000",
    "1",
)
"""Settings and their values."""

_CRC_AT, _CRC_START = 17, 21
_HEAD_FIELDS = (
    (0, 8),
    (8, 4),
    (12, 4),
    (16, 1),
    (17, 4),
    (21, 2),
    (23, 4),
    (27, 8),
    (35, 8),
    (43, 8),
    (51, 2),
    (53, 4),
)
"""Of a batch: where a field lies, and its size."""
_HEAD_SIZE = 61


class Mutations:
    def __init__(self, rng: Random, names: Sequence[str], ids: Sequence[bytes] = ()) -> None:
        """`names` and `ids` are of topics that are there: what is bad about a request should be something else."""
        self._rng = rng
        self._names = (*names, *names, *NAMES, *_WORDS)
        self._ids = (*ids, bytes(16))

    # --- by fields

    def vary(self, message: S, share: float = 0.3) -> S:
        """A copy in which some fields have values that somebody may send."""
        made: S = object.__new__(type(message))
        for name, kind in type(message).__annotations__.items():
            value = getattr(message, name)
            object.__setattr__(made, name, self._vary_value(value, kind, share))
        return made

    def _vary_value(self, value: Any, kind: str, share: float) -> Any:
        rng = self._rng
        if isinstance(value, Struct):
            return self.vary(value, share)
        if isinstance(value, tuple):
            return self._vary_tuple(value, kind, share)
        if rng.random() > share:
            return value
        if "None" in kind and rng.random() < 0.1:
            return None
        return self._other(value, kind)

    def _vary_tuple(self, value: tuple[Any, ...], kind: str, share: float) -> tuple[Any, ...] | None:
        rng = self._rng
        items = [self._vary_value(item, kind, share) for item in value]
        if rng.random() < share / 3:
            items = rng.choice(([], items * 2, items[:1] * rng.randrange(1, 50)))
        if "None" in kind and rng.random() < 0.03:
            return None
        return tuple(items)

    def _other(self, value: Any, kind: str) -> Any:
        rng = self._rng
        if isinstance(value, bool) or kind == "bool":
            return not value
        if isinstance(value, int):
            found = _KIND.search(kind)
            return self._number(found.group() if found else "int8")
        if isinstance(value, str) or kind.startswith("str"):
            return rng.choice(self._names)
        if kind.startswith("uuid"):
            return rng.choice(self._ids)
        if isinstance(value, (bytes, bytearray, memoryview)):
            return self.spoil(bytes(value))
        return value

    def _number(self, kind: str) -> int:
        bits = _BITS[kind]
        least, most = (0, (1 << bits) - 1) if kind.startswith("u") else (-(1 << (bits - 1)), (1 << (bits - 1)) - 1)
        number = self._rng.choice((*_INTERESTING, self._rng.randrange(-10, 10), least, most))
        return min(max(number, least), most)

    # --- by bytes

    def spoil(self, data: bytes) -> bytes:
        """The same bytes with something wrong."""
        rng = self._rng
        out = bytearray(data)
        for _ in range(rng.choice((1, 1, 1, 2, 5))):
            at, end = sorted((rng.randrange(len(out) + 1), rng.randrange(len(out) + 1)))
            match rng.randrange(7):
                case 0:
                    out[at : at + 1] = rng.randbytes(1)
                case 1:
                    length = rng.choice(_LENGTHS)
                    out[at : at + len(length)] = length
                case 2:
                    del out[at:]
                case 3:
                    del out[at:end]
                case 4:
                    out[at:at] = out[at : min(end, at + 200)]
                case 5:
                    out[at:at] = rng.randbytes(rng.randrange(1, 20))
                case _:
                    out[at:at] = b"\xff" * rng.randrange(1, 12)
        return bytes(out)

    # --- batches

    def spoil_batch(self, batch: bytes | bytearray) -> bytearray:
        """A batch with a wrong head, or wrong records; mostly with a CRC that is right all the same."""
        rng = self._rng
        out = bytearray(batch)
        if rng.random() < 0.7 and len(out) >= _HEAD_SIZE:
            at, size = rng.choice(_HEAD_FIELDS)
            number = rng.choice((*_INTERESTING, rng.randrange(-3, 70)))
            out[at : at + size] = (number % (1 << 8 * size)).to_bytes(size, "big")
        if rng.random() < 0.4:
            out[_HEAD_SIZE:] = self.spoil(bytes(out[_HEAD_SIZE:]))
            if rng.random() < 0.8:
                out[8:12] = (len(out) - 12).to_bytes(4, "big")
        if rng.random() < 0.1:
            out = bytearray(self.spoil(bytes(out)))
        if rng.random() < 0.8 and len(out) >= _HEAD_SIZE:
            out[_CRC_AT:_CRC_START] = crc32c(bytes(out[_CRC_START:])).to_bytes(4, "big")
        return out
