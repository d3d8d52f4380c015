"""Persistent maps next to plain dicts: every version says what it said when it was made."""

from collections.abc import Mapping

from hypothesis import given
from hypothesis import strategies as st

from odradek.metadata.persistent_map import GONE, changed

KEYS = st.integers(0, 300)
CHANGES = st.dictionaries(KEYS, st.one_of(st.integers(), st.just(GONE)), max_size=6)
GROWN = st.integers(0, 300)


def apply(before: dict[int, int], changes: Mapping[int, int]) -> dict[int, int]:
    after = dict(before)
    for key, value in changes.items():
        if value is GONE:
            after.pop(key, None)
        else:
            after[key] = value
    return after


@given(GROWN, st.lists(st.tuples(CHANGES, st.booleans()), max_size=60))
def test_every_version_is_as_a_dict_would_be(size: int, history: list[tuple[dict[int, int], bool]]) -> None:
    plain: dict[int, int] = {}
    now = changed({}, dict.fromkeys(range(0, 2 * size, 2), 0))
    plain = dict.fromkeys(range(0, 2 * size, 2), 0)
    versions = [(now, plain)]
    for changes, is_read in history:
        now, plain = changed(now, changes), apply(plain, changes)
        versions.append((now, plain))
        assert len(now) == len(plain)
        for key in changes:
            assert now.get(key) == plain.get(key)
            assert (key in now) == (key in plain)
        if is_read:  # which may change how it is kept, and nothing else
            assert list(now) == list(plain)
    for version, expected in versions:
        assert version == expected
        assert list(version.items()) == list(expected.items()), "in the same order"
        assert list(version.values()) == list(expected.values())
        assert version.get(-1, 7) == 7


def test_a_change_of_a_large_map_shares_what_did_not_change() -> None:
    large = changed({}, {number: number for number in range(10_000)})
    after = changed(large, {5: -5, 20_000: 1, 7: GONE})
    assert (after[5], after[20_000], 7 in after, len(after)) == (-5, 1, False, 10_000)
    assert (large[5], 20_000 in large, large[7], len(large)) == (5, False, 7, 10_000)
    assert after != large
