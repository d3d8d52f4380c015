"""Mappings that never change, of which a changed copy costs little more than its changes.

A copy shares a large dict with the one before it, and has a small dict with all that changed since. When the small one
outgrows the square root of the large one, both become a new large one. Ten thousand entries cost a change some hundred
of them, where a plain copy costs all.
"""

from collections.abc import Hashable, ItemsView, Iterator, KeysView, Mapping, ValuesView
from typing import Any, TypeVar, cast

K = TypeVar("K", bound=Hashable)
V = TypeVar("V")

_SMALL = 64
"""Of so many entries a plain dict is copied."""

GONE: Any = object()
"""In place of a value: the entry is removed."""


def changed(before: Mapping[K, V], changes: Mapping[K, V]) -> Mapping[K, V]:
    """A copy with some entries set, and those removed that are GONE.

    Entries keep their place in the order; new ones come last, also those that were removed before.
    """
    if isinstance(before, _PersistentMap):
        return before.changed(changes)
    whole = dict(before)
    _apply(whole, changes)
    return whole if len(whole) <= _SMALL else _PersistentMap(whole, {}, len(whole))


def _apply(whole: dict[K, V], changes: Mapping[K, V]) -> None:
    for key, value in changes.items():
        if value is GONE:
            whole.pop(key, None)
        else:
            whole[key] = value


class _PersistentMap(Mapping[K, V]):
    __slots__ = ("_base", "_changes", "_size")

    def __init__(self, base: dict[K, V], changes: dict[K, V], size: int) -> None:
        self._base = base
        self._changes = changes
        self._size = size

    def changed(self, changes: Mapping[K, V]) -> Mapping[K, V]:
        if any(self._changes.get(key) is GONE and value is not GONE for key, value in changes.items()):
            self._merge()  # else the entry would be back in its old place
        size = self._size
        merged = dict(self._changes)
        for key, value in changes.items():
            size += (value is not GONE) - (key in self)
            if value is GONE and key not in self._base:
                merged.pop(key, None)
            else:
                merged[key] = value
        if size <= _SMALL or len(merged) ** 2 > max(len(self._base), _SMALL**2):
            whole = dict(self._base)
            _apply(whole, merged)
            return whole if size <= _SMALL else _PersistentMap(whole, {}, size)
        return _PersistentMap(self._base, merged, size)

    def _merge(self) -> dict[K, V]:
        """All entries, which are one dict from then on."""
        if self._changes:
            whole = dict(self._base)
            _apply(whole, self._changes)
            self._base, self._changes = whole, {}
        return self._base

    def get(self, key: K, default: Any = None) -> Any:
        if key in self._changes:
            value = self._changes[key]
            return default if value is GONE else value
        return self._base.get(key, default)

    def __getitem__(self, key: K) -> V:
        value = self.get(key, GONE)
        if value is GONE:
            raise KeyError(key)
        return cast("V", value)

    def __contains__(self, key: object) -> bool:
        if key in self._changes:
            return self._changes[key] is not GONE
        return key in self._base

    def __len__(self) -> int:
        return self._size

    def __iter__(self) -> Iterator[K]:
        return iter(self._merge())

    def keys(self) -> KeysView[K]:
        return self._merge().keys()

    def values(self) -> ValuesView[V]:
        return self._merge().values()

    def items(self) -> ItemsView[K, V]:
        return self._merge().items()

    def __eq__(self, other: object) -> bool:
        return isinstance(other, Mapping) and self._merge() == dict(other)

    __hash__ = None  # type: ignore[assignment]

    def __repr__(self) -> str:
        return repr(self._merge())
