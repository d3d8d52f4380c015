"""Acknowledged records stay, an offset has one record, idempotent producers leave no duplicates, and the high watermark
does not fall.

Power loss may take from loose topics what lay at their ends. What is known of them ends there, then: where the log ends
when the node serves again.
"""

from collections import Counter
from collections.abc import Iterable, Mapping, Sequence

from odradek.model.topic_partition import TopicPartition
from support.sim.violations import Violation

Log = Mapping[int, bytes]
"""Values by their offsets."""


class Records:
    def __init__(self, loose: Iterable[str]) -> None:
        self._loose = frozenset(loose)
        self._acked: dict[TopicPartition, dict[int, bytes]] = {}
        self._seen: dict[TopicPartition, dict[int, bytes]] = {}
        self._once: set[bytes] = set()
        self._power_lost_ms = -1
        self.count = 0
        """Records that were acknowledged."""

    def only_once(self, value: bytes) -> None:
        """An idempotent producer sends it."""
        self._once.add(value)

    def acked(self, place: TopicPartition, base_offset: int, values: Sequence[bytes], asked_ms: int) -> None:
        """The answer to a request that was sent at that time."""
        self.count += len(values)
        if self.is_known(place, asked_ms):
            self._note(self._acked, place, dict(enumerate(values, base_offset)), "acknowledged")

    def read(self, place: TopicPartition, found: Log, asked_ms: int) -> None:
        if self.is_known(place, asked_ms):
            self._note(self._seen, place, found, "read")

    def is_loose(self, place: TopicPartition) -> bool:
        return place.topic in self._loose

    def may_lose(self, place: TopicPartition) -> bool:
        """Whether power loss has taken something."""
        return self.is_loose(place) and self._power_lost_ms >= 0

    def is_known(self, place: TopicPartition, asked_ms: int) -> bool:
        """Whether what was answered to a request of that time still holds: power loss may have taken it since."""
        return not self.is_loose(place) or asked_ms > self._power_lost_ms

    def _note(
        self, target: dict[TopicPartition, dict[int, bytes]], place: TopicPartition, found: Log, how: str
    ) -> None:
        known = target.setdefault(place, {})
        for offset, value in found.items():
            for before in (self._acked.get(place, {}), self._seen.get(place, {})):
                if before.get(offset, value) != value:
                    raise Violation(f"offset {offset} of {place} was {before[offset]!r}, and is {how} as {value!r}")
            known[offset] = value

    def power_lost(self, now_ms: int) -> None:
        self._power_lost_ms = now_ms

    def recovered(self, ends: Mapping[TopicPartition, int]) -> None:
        """The node serves again after power loss, with logs that end there."""
        for place, end in ends.items():
            if self.is_loose(place):
                for known in (self._acked, self._seen):
                    known[place] = {offset: value for offset, value in known.get(place, {}).items() if offset < end}

    def check(self, logs: Mapping[TopicPartition, Log]) -> None:
        """Against all that there is."""
        for how, known in (("acknowledged", self._acked), ("read", self._seen)):
            for place, values in known.items():
                for offset, value in values.items():
                    found = logs[place].get(offset)
                    if found != value:
                        raise Violation(f"{value!r} was {how} at {offset} of {place}, where {found!r} is")
        for place, log in logs.items():
            for value, count in Counter(value for value in log.values() if value in self._once).items():
                if count > 1:
                    raise Violation(f"an idempotent producer left {value!r} {count} times in {place}")
