"""The last stable offset: never past an open transaction, never behind the first of them, never backwards.

Of what readers can see: where each record is synced first, that ends before the log does.
"""

from odradek.model.numbers import Offset, ProducerId
from odradek.model.topic_partition import TopicPartition
from odradek.storage.log import Log
from support.sim.node import SimNode
from support.sim.transactions.values import Batch, Read, batches_in
from support.sim.violations import Violation

_READ_BYTES = 1 << 20


class _Partition:
    """Follows a log by what lies in it."""

    def __init__(self) -> None:
        self.end = Offset(0)
        self.stable = Offset(0)
        self.open: dict[ProducerId, list[Read]] = {}
        """What is not decided, of each producer that has a transaction."""
        self.began: dict[ProducerId, Offset] = {}
        self.committed: list[Read] = []

    def add(self, batch: Batch) -> None:
        head = batch.head
        self.end = head.next_offset
        if head.is_control:
            self.began.pop(head.producer_id, None)
            decided = self.open.pop(head.producer_id, [])
            if batch.commit:
                self.committed += decided
        elif head.is_transactional:
            self.began.setdefault(head.producer_id, head.base_offset)
            self.open.setdefault(head.producer_id, []).extend(batch.values)

    @property
    def expected(self) -> Offset:
        return min(self.began.values(), default=self.end)


class StableOffsets:
    """Looks at every log after every event. Other checkers use what it finds."""

    def __init__(self, node: SimNode) -> None:
        self._node = node
        self._partitions: dict[TopicPartition, _Partition] = {}

    def look(self) -> None:
        for log in self._node.logs:
            known = self._partitions.get(log.partition)
            if known is None:
                known = self._partitions[log.partition] = _Partition()
            if log.high_watermark != known.end or log.last_stable_offset != known.stable:
                self._compare(log, known)

    def open_transactions(self) -> dict[TopicPartition, list[ProducerId]]:
        return {place: list(known.began) for place, known in self._partitions.items() if known.began}

    def committed(self, place: TopicPartition) -> list[Read]:
        """In the order in which they lie in the log."""
        known = self._partitions.get(place)
        return sorted(known.committed) if known else []

    def _compare(self, log: Log, known: _Partition) -> None:
        end = log.high_watermark
        if end < known.end:
            raise Violation(f"{log.partition} ended at {known.end}, and ends at {end} now")
        while known.end < end:
            part = log.read(known.end, _READ_BYTES, end)
            assert part is not None
            for batch in batches_in(part.read(), is_internal=log.partition.topic.startswith("__")):
                known.add(batch)
        stable = log.last_stable_offset
        if stable != known.expected:
            raise Violation(
                f"the last stable offset of {log.partition} is {stable}, where {known.expected} is the first that is "
                f"not decided; producers {sorted(known.began)} have open transactions"
            )
        if stable < known.stable:
            raise Violation(f"the last stable offset of {log.partition} went back from {known.stable} to {stable}")
        known.stable = stable
