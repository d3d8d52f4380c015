"""The last offset of each key, in a bounded part of memory.

As long as they fit, the keys themselves are held in a dict, which is fast and takes some 130 bytes a key. After that
they are replaced by entries of 18 bytes: a digest of the key and its offset, relative to the first dirty one.

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
_EXACT_BYTES = 128
"""What a key in the dict costs, besides its own bytes."""


class OffsetMap:
    def __init__(self, capacity: int, expected: int, first: int) -> None:
        """For some `capacity` keys with offsets from `first` on, of which `expected` may come."""
        self._capacity = capacity
        self._first = first
        self._exact: dict[bytes, int] | None = {}
        """Keys and their offsets, until there is no room for them."""
        self._exact_room = capacity * ENTRY_BYTES
        count = 16
        while count * _PER_BUCKET < min(capacity, expected):
            count *= 2
        self._bucket_count = count
        self._buckets: list[bytearray | None] = []
        self._count = 0
        """Of entries in buckets."""
        self.latest = first - 1
        """The last offset that was looked at: of keys after it nothing is known."""

    def __len__(self) -> int:
        return self._count if self._exact is None else len(self._exact)

    @property
    def is_full(self) -> bool:
        return len(self) >= self._capacity

    def put_all(self, spans: Iterable[Span], base: int) -> None:
        """Note the records of a batch at `base`, also where that takes more room than there is: a batch goes in whole.

        Records without a key, and those before the first offset, are left out.
        """
        shift = base - self._first
        exact = self._exact
        if exact is None:
            self._put_digests((key, shift + delta) for delta, key, _, _, _, _ in spans)
            return
        before = len(exact)
        size = 0
        for delta, key, _, _, _, _ in spans:
            if key is not None and shift + delta >= 0:
                exact[key] = shift + delta
                size += len(key)
        # Keys that were there before are counted again, so there is always less than this says.
        self._exact_room -= (len(exact) - before) * _EXACT_BYTES + (size if len(exact) > before else 0)
        if self._exact_room < 0:
            self._replace_keys(exact)

    def _replace_keys(self, exact: dict[bytes, int]) -> None:
        self._exact = None
        self._buckets = [None] * self._bucket_count
        while exact:
            self._put_digests([exact.popitem()])

    def _put_digests(self, entries: Iterable[tuple[bytes | None, int]]) -> None:
        buckets, mask, pack = self._buckets, self._bucket_count - 1, _DIGEST.pack
        for key, offset in entries:
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
        shift, latest = base - self._first, self.latest - base
        find = self._find_digest if self._exact is None else self._exact.get
        kept: list[Span] = []
        for span in spans:
            delta, key, is_tombstone, _, _, _ = span
            if delta > latest:
                kept.append(span)
            elif key is not None and not (is_tombstone and drop_tombstones):
                last = find(key)
                if last is None or shift + delta >= last:
                    kept.append(span)
        return kept

    def _find_digest(self, key: bytes) -> int | None:
        hashed = hash(key)
        bucket = self._buckets[hashed & (self._bucket_count - 1)]
        if bucket is None:
            return None
        digest = _DIGEST.pack(hashed, crc32(key))
        at = bucket.find(digest)
        while at > 0 and at % _SIZE:
            at = bucket.find(digest, at + 1)
        return None if at < 0 else int.from_bytes(bucket[at + _DIGEST_SIZE : at + _SIZE], "little")
