"""The last offset of each key, in a bounded part of memory: the keys themselves are not held.

An entry takes 18 bytes: a digest of the key and its offset, relative to the first dirty one.

     0  hash int64, Python's own, which is seeded anew in each process
     8  CRC-32 uint32
    12  offset, 6 bytes

Entries lie in buckets, and are found in them by a search for the digest: a loop over the slots of one large table would
take far longer in Python. With what the buckets cost themselves, an entry takes 24 bytes, as it does in Apache Kafka.

Two keys with one digest would lose the older one. Of five million keys two share 96 bits once in 10^16 cleanings, and
since the hash is seeded nobody can make them.
"""

from collections.abc import Iterable
from struct import Struct
from zlib import crc32

from odradek.records.spans import Span

ENTRY_BYTES = 24
"""What an entry costs, with its share of a bucket."""
_DIGEST = Struct("<qI")
_DIGEST_SIZE = _DIGEST.size
_OFFSET_SIZE = 6
_SIZE = _DIGEST_SIZE + _OFFSET_SIZE
_PER_BUCKET = 16


class OffsetMap:
    def __init__(self, capacity: int, expected: int, first: int) -> None:
        """For some `capacity` keys with offsets from `first` on, of which `expected` may come."""
        self._capacity = capacity
        self._first = first
        count = 16
        while count * _PER_BUCKET < min(capacity, expected):
            count *= 2
        self._buckets: list[bytearray | None] = [None] * count
        self._mask = count - 1
        self._count = 0
        self.latest = first - 1
        """The last offset that was looked at: of keys after it nothing is known."""

    def __len__(self) -> int:
        return self._count

    @property
    def is_full(self) -> bool:
        return self._count >= self._capacity

    def put_all(self, spans: Iterable[Span], base: int) -> None:
        """Note the records of a batch at `base`, also where that takes more room than there is: a batch goes in whole.

        Records without a key, and those before the first offset, are left out.
        """
        buckets, mask, pack, first = self._buckets, self._mask, _DIGEST.pack, self._first
        for delta, key, _, _, _, _ in spans:
            offset = base + delta - first
            if key is None or offset < 0:
                continue
            hashed = hash(key)
            bucket = buckets[hashed & mask]
            if bucket is None:
                bucket = buckets[hashed & mask] = bytearray()
            digest = pack(hashed, crc32(key))
            at = bucket.find(digest)
            while at > 0 and at % _SIZE:  # found across two entries
                at = bucket.find(digest, at + 1)
            if at >= 0:
                bucket[at + _DIGEST_SIZE : at + _SIZE] = offset.to_bytes(_OFFSET_SIZE, "little")
            else:
                bucket += digest
                bucket += offset.to_bytes(_OFFSET_SIZE, "little")
                self._count += 1

    def survivors(self, spans: list[Span], base: int, *, drop_tombstones: bool) -> list[Span]:
        """Those of a batch's records that stay: the last of its key, or after all that is known here.

        A record without a key cannot be replaced by any other, and goes.
        """
        buckets, mask, pack, first, latest = self._buckets, self._mask, _DIGEST.pack, self._first, self.latest
        kept: list[Span] = []
        for span in spans:
            delta, key, is_tombstone, _, _, _ = span
            if base + delta > latest:
                kept.append(span)
                continue
            if key is None or (is_tombstone and drop_tombstones):
                continue
            hashed = hash(key)
            bucket = buckets[hashed & mask]
            if bucket is None:
                kept.append(span)
                continue
            digest = pack(hashed, crc32(key))
            at = bucket.find(digest)
            while at > 0 and at % _SIZE:
                at = bucket.find(digest, at + 1)
            if at < 0 or base + delta - first >= int.from_bytes(bucket[at + _DIGEST_SIZE : at + _SIZE], "little"):
                kept.append(span)
        return kept
