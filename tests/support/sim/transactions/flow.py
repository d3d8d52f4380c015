"""How old a client is: which versions it speaks, and so how its transactions go."""

from dataclasses import dataclass


@dataclass(frozen=True, kw_only=True)
class Flow:
    init: int
    produce: int
    offsets: int
    end: int
    joins: bool
    """Whether partitions join by being written to, and each transaction has an epoch of its own (KIP-890)."""
    add_partitions: int = 3
    add_offsets: int = 3


NEW = Flow(init=5, produce=12, offsets=5, end=5, joins=True)
MIDDLE = Flow(init=4, produce=11, offsets=4, end=4, joins=False)
OLD = Flow(init=3, produce=9, offsets=3, end=3, joins=False)
OLDEST = Flow(init=1, produce=7, offsets=2, end=1, joins=False, add_partitions=1, add_offsets=1)
"""Knows nothing of the members of groups when it commits offsets."""
