"""How checkers say that something is wrong, and looking for a seed that shows a fault."""

from collections.abc import Callable, Iterable
from typing import Protocol


class Violation(AssertionError):
    """Something that must not happen has happened."""


class Outcome(Protocol):
    """Of one seed."""

    @property
    def violation(self) -> str | None: ...


def first_violation(run: Callable[[int], Outcome], seeds: Iterable[int]) -> str | None:
    """What the first seed shows that shows anything."""
    return next((found for seed in seeds if (found := run(seed).violation) is not None), None)
