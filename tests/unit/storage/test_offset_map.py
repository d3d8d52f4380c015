"""The map of keys against a dict, with room for the keys themselves and without."""

from random import Random

import pytest

from odradek.records.spans import Span
from odradek.storage.cleaning.offset_map import ENTRY_BYTES, OffsetMap

FIRST = 1000


def spans(keys: list[bytes | None]) -> list[Span]:
    return [(delta, key, False, 0, delta, delta + 1) for delta, key in enumerate(keys)]


@pytest.mark.parametrize("capacity", [3, 1000, 100_000], ids=["never", "at first", "always"])
@pytest.mark.parametrize("expected", [0, 100_000])
def test_it_says_what_a_dict_says(capacity: int, expected: int) -> None:
    rng = Random(7)
    known = OffsetMap(capacity, expected, FIRST)
    truth: dict[bytes, int] = {}
    base = FIRST - 5  # the first batch begins before what is dirty
    batches = []
    for _ in range(60):
        keys = [None if rng.random() < 0.1 else b"key %d" % rng.randrange(600) for _ in range(20)]
        batches.append((base, keys))
        known.put_all(spans(keys), base)
        truth |= {key: base + delta for delta, key in enumerate(keys) if key is not None and base + delta >= FIRST}
        base += len(keys)
        assert len(known) == len(truth)
        assert known.is_full == (len(truth) >= capacity)
    known.latest = base - 1
    for at, keys in batches:
        kept = [delta for delta, *_ in known.survivors(spans(keys), at, drop_tombstones=False)]
        assert kept == [delta for delta, key in enumerate(keys) if key is not None and at + delta >= truth.get(key, 0)]


def test_an_entry_costs_what_it_is_said_to() -> None:
    """As far as Python can tell: with the buckets, without what its allocator adds."""
    count = 50_000
    known = OffsetMap(count, count, 0)
    for base in range(0, count, 1000):
        known.put_all(spans([b"a key that is long enough %d" % (base + each) for each in range(1000)]), base)
    buckets = [each for each in known._buckets if each is not None]
    assert len(known) == count
    assert sum(8 + each.__sizeof__() for each in buckets) / count < ENTRY_BYTES * 1.25
