"""Each value that was fed is in each topic once, in order, in whole transactions that were to be committed."""

from collections import Counter
from collections.abc import Iterable, Mapping, Sequence

from odradek.model.topic_partition import TopicPartition
from support.sim.transactions.ledger import Entry, Ledger, Outcome
from support.sim.transactions.values import Read, Tag, Value
from support.sim.violations import Violation

Seen = Mapping[TopicPartition, Sequence[Read]]


def check_transactions(seen: Seen, ledger: Ledger, *, is_all: bool) -> None:
    """Nothing of what was to be aborted, nothing torn. `is_all` says that nothing more will be seen.

    Until then a transaction may be seen in one partition and not yet in another.
    """
    found: dict[Tag, Counter[tuple[Value, TopicPartition]]] = {}
    for place, reads in seen.items():
        for read in reads:
            found.setdefault(read.value.tag, Counter())[read.value, place] += 1
    for tag, values in found.items():
        _check_seen(ledger.entries[tag], values)
        if is_all and len(values) < len(ledger.entries[tag].values):
            missing = _some(set(ledger.entries[tag].values.items()).difference(values))
            raise Violation(f"{tag} is torn: {missing} is not read, and others of it are")
    if is_all:
        topics = {place.topic for place in seen}
        for tag, entry in ledger.entries.items():
            is_here = any(place.topic in topics for place in entry.values.values())
            if entry.outcome is Outcome.COMMITTED and is_here and tag not in found:
                raise Violation(f"{tag} was committed, and nothing of it is read")


def _check_seen(entry: Entry, values: Mapping[tuple[Value, TopicPartition], int]) -> None:
    if entry.outcome is Outcome.NOT_ASKED:
        raise Violation(f"{entry.tag} was not to be committed, and {_some(values)} is read")
    for (value, place), times in values.items():
        if times > 1:
            raise Violation(f"{value} is in {place} {times} times")
        if entry.values.get(value) != place:
            raise Violation(f"{value} is in {place}, and was not written there")


def check_values(topic: str, seen: Seen, fed: Sequence[int]) -> None:
    """Each of them, once."""
    times = Counter(
        (read.value.source, read.value.number)
        for place, reads in seen.items()
        if place.topic == topic
        for read in reads
    )
    for source, count in enumerate(fed):
        for number in range(count):
            if times[source, number] != 1:
                how = "lost" if not times[source, number] else f"there {times[source, number]} times"
                raise Violation(f"value {number} of partition {source} is {how} in {topic}")
    if len(times) != sum(fed):
        raise Violation(f"{topic} has values that were never fed")


def check_order(seen: Seen, spread: int) -> None:
    """Within a partition values come in the order of the partition that they were read from. `spread` is how many
    partitions the topics before it have at most: values that went different ways may overtake each other."""
    for place, reads in seen.items():
        last: dict[tuple[int, int], int] = {}
        for read in reads:
            value = read.value
            way = value.source, value.number % spread
            if value.number <= last.get(way, -1):
                raise Violation(f"{value} is behind number {last[way]} in {place}")
            last[way] = value.number


def check_same(first: Seen, second: Seen, *, is_all: bool) -> None:
    """Two readers see the same, as far as both have read."""
    for place, reads in first.items():
        others = second[place]
        if is_all and len(reads) != len(others):
            raise Violation(f"readers see {len(reads)} and {len(others)} values of {place}")
        for one, other in zip(reads, others, strict=False):
            if one != other:
                raise Violation(f"readers see {one} and {other} in {place}")


def _some(values: Iterable[object]) -> object:
    return min(values)  # type: ignore[type-var]
