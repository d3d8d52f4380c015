"""Which batches belong to aborted transactions, and which markers have nothing left to decide, as a log is read.

All transactions in what is read are decided: cleaning ends below the last stable offset.
"""

from collections import deque
from collections.abc import Iterable

from odradek.model.numbers import Offset, ProducerId
from odradek.records.batch import BatchHead
from odradek.records.control import ControlType, end_txn_marker
from odradek.storage.transaction_index import AbortedTxn


class DecidedTxns:
    def __init__(self, aborted: Iterable[AbortedTxn]) -> None:
        """`aborted` are all aborted transactions with records in what is read."""
        self._to_come = deque(sorted(aborted, key=lambda txn: (txn.first_offset, txn.last_offset)))
        self._aborting: dict[ProducerId, AbortedTxn] = {}
        self._with_data: set[ProducerId] = set()
        """Producers of which a batch was met since their last marker."""
        self.kept: list[AbortedTxn] = []
        """Aborted transactions of which something was met; whoever writes a segment takes them for its index."""

    def meet_batch(self, head: BatchHead) -> bool:
        """A batch of records; True if it was aborted."""
        self._begin_up_to(head.last_offset)
        if not head.is_transactional:
            return False
        self._with_data.add(head.producer_id)
        return head.producer_id in self._aborting

    def meet_marker(self, batch: memoryview, head: BatchHead) -> bool:
        """A control batch; True if it decides nothing that is left."""
        self._begin_up_to(head.last_offset)
        marker = end_txn_marker(batch, head)
        if marker is None:
            return head.count == 0
        had_data = head.producer_id in self._with_data
        self._with_data.discard(head.producer_id)
        if marker.kind is ControlType.ABORT:
            txn = self._aborting.pop(head.producer_id, None)
            if txn is not None and had_data:
                self.kept.append(txn)
            return txn is None or not had_data
        return not had_data

    def take_kept(self) -> list[AbortedTxn]:
        kept, self.kept = self.kept, []
        return kept

    def _begin_up_to(self, offset: Offset) -> None:
        while self._to_come and self._to_come[0].first_offset <= offset:
            txn = self._to_come.popleft()
            self._aborting.setdefault(txn.producer_id, txn)
