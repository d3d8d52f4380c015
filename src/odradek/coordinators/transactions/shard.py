"""The transactions of one partition of `__transaction_state`.

    Empty -> Ongoing -> PrepareCommit -> CompleteCommit -> Ongoing ...
                     -> PrepareAbort  -> CompleteAbort

What is prepared is decided. The markers follow, which is asked for as an effect, and when they are all written `marked`
completes it. After a crash in between, `loaded` asks for them again: a second marker does no harm.
"""

from collections import deque
from collections.abc import Collection, Iterator
from typing import Any, NamedTuple

from odradek.coordinators.errors import CoordinatorLoading
from odradek.coordinators.result import NOTHING, CoordinatorResult, RequestContext
from odradek.coordinators.transactions import initializing
from odradek.coordinators.transactions.context import Deadline, Due, TransactionContext
from odradek.coordinators.transactions.ending import is_to_be_prepared
from odradek.coordinators.transactions.errors import (
    ConcurrentTransactions,
    InvalidProducerIdMapping,
    TransactionAbortable,
)
from odradek.coordinators.transactions.joining import check_claim, has_all
from odradek.coordinators.transactions.markers import markers_of
from odradek.coordinators.transactions.record import stored, tombstone, transaction_in
from odradek.coordinators.transactions.state import TransactionState
from odradek.coordinators.transactions.transaction import EPOCH_RISES_SINCE, NO_EPOCH, Claim, Transaction, is_last
from odradek.metadata.delta import Delta
from odradek.metadata.image import Image
from odradek.model.numbers import NO_PRODUCER_ID, Offset, ProducerId
from odradek.model.topic_partition import TopicPartition
from odradek.wire.messages.end_txn import EndTxnRequest, EndTxnResponse
from odradek.wire.messages.init_producer_id import InitProducerIdRequest, InitProducerIdResponse

_MARKERS_AGAIN_MS = 100
_LEVEL_2_SINCE = 5
"""The version of EndTxn from which on clients know that the epoch rises."""
_OLD_CLIENT = 0


class _Bump(NamedTuple):
    """How a producer got its epoch: it may ask again with the one before, if it did not hear the answer."""

    producer_id: ProducerId
    epoch: int
    epoch_before: int


class TransactionShard:
    def __init__(self, context: TransactionContext) -> None:
        self._context = context
        self._transactions: dict[str, Transaction] = {}
        self._open: dict[str, None] = {}
        """Those that may time out."""
        self._overdue: deque[str] = deque()
        """Those that the last look for them has yet to abort."""
        self._bumps: dict[str, _Bump] = {}
        self._left: dict[str, tuple[TopicPartition, ...]] = {}
        """Partitions whose markers are to be tried again, of those that wait for that."""

    def __iter__(self) -> Iterator[Transaction]:
        return iter(self._transactions.values())

    def get(self, transactional_id: str) -> Transaction | None:
        return self._transactions.get(transactional_id)

    # --- commands

    def init_producer_id(self, asked: RequestContext, request: InitProducerIdRequest) -> CoordinatorResult:
        """For a request that `check_request` let through."""
        context, transactional_id = self._context, request.transactional_id
        assert transactional_id is not None
        now, timeout_ms = context.clock.now_ms(), initializing.timeout_of(request)
        known = self._transactions.get(transactional_id)
        if known is None:
            known = Transaction(
                transactional_id=transactional_id,
                producer_id=context.new_producer_id(),
                timeout_ms=timeout_ms,
                updated_ms=now,
            )
        expected = initializing.expected_in(request)
        initializing.check_expected(known, expected)
        if known.state is TransactionState.ONGOING:
            # Whoever wrote it is fenced by the end of it. The client asks again, and gets an epoch above that.
            code = ConcurrentTransactions.code
            refusal = InitProducerIdResponse(error_code=code, producer_id=NO_PRODUCER_ID, producer_epoch=NO_EPOCH)
            return self._abort(known) + asked.answer(refusal)
        before = self._epoch_before(known)
        begun, before = initializing.begin(known, expected, before, context.new_producer_id, timeout_ms, now)
        self._bumps[transactional_id] = _Bump(begun.producer_id, begun.epoch, before)
        answer = InitProducerIdResponse(producer_id=begun.producer_id, producer_epoch=begun.epoch)
        return asked.answer(answer, stored(begun, context.level))

    def join(self, who: Claim, partitions: Collection[TopicPartition], client_level: int) -> CoordinatorResult:
        """These are in the transaction when the decision is carried out. Nobody is answered."""
        known = check_claim(self._transactions.get(who.transactional_id), who)
        if has_all(known, partitions):
            return NOTHING
        joined = known.joined(partitions, client_level, self._context.clock.now_ms())
        return CoordinatorResult((stored(joined, self._context.level),))

    def check_joined(self, who: Claim, partition: TopicPartition) -> None:
        """Raises unless the partition is in the transaction."""
        known = check_claim(self._transactions.get(who.transactional_id), who)
        if partition not in known.partitions:
            raise TransactionAbortable(
                f"{partition} was not added to the transaction of {who.transactional_id}: abort it"
            )

    def end(self, asked: RequestContext, request: EndTxnRequest) -> CoordinatorResult:
        who = Claim(request.transactional_id, ProducerId(request.producer_id), request.producer_epoch)
        client_level = EPOCH_RISES_SINCE if asked.version >= _LEVEL_2_SINCE else _OLD_CLIENT
        known = self._transactions.get(who.transactional_id)
        if known is None:
            raise InvalidProducerIdMapping(f"the transactional id {who.transactional_id} is not known")
        if not is_to_be_prepared(known, who, client_level, commit=request.committed):
            return asked.answer(EndTxnResponse(producer_id=known.producer_id, producer_epoch=known.epoch))
        prepared = self._prepare(known, client_level, commit=request.committed)
        producer_id, epoch = prepared.next_producer
        return self._decided(prepared) + asked.answer(EndTxnResponse(producer_id=producer_id, producer_epoch=epoch))

    def marked(self, transactional_id: str, left: Collection[TopicPartition]) -> CoordinatorResult:
        """The markers are written, but for those of the partitions that are left, which are tried again later."""
        known = self._transactions.get(transactional_id)
        if known is None or not known.is_ending:
            return NOTHING
        if left:
            self._left[transactional_id] = tuple(left)
            self._context.timers.set(Deadline(Due.MARKERS, transactional_id), _MARKERS_AGAIN_MS)
            return NOTHING
        completed = known.completed(self._context.clock.now_ms())
        return CoordinatorResult((stored(completed, self._context.level),))

    # --- how transactions end

    def _abort(self, transaction: Transaction) -> CoordinatorResult:
        """Not because its producer wants it, who is fenced."""
        if self._context.level >= EPOCH_RISES_SINCE:
            return self._decided(self._prepare(transaction, self._context.level, commit=False))
        return self._decided(self._prepare(transaction.fenced(), _OLD_CLIENT, commit=False))

    def _prepare(self, transaction: Transaction, client_level: int, *, commit: bool) -> Transaction:
        rises = client_level >= EPOCH_RISES_SINCE
        prepared = transaction.prepared(
            commit=commit,
            client_level=client_level,
            next_producer_id=self._next_producer_id(transaction) if rises else NO_PRODUCER_ID,
            now=self._context.clock.now_ms(),
        )
        if rises:
            self._bumps[transaction.transactional_id] = _Bump(*prepared.next_producer, transaction.epoch)
        return prepared

    def _next_producer_id(self, transaction: Transaction) -> ProducerId:
        return self._context.new_producer_id() if is_last(transaction.epoch) else NO_PRODUCER_ID

    def _decided(self, prepared: Transaction) -> CoordinatorResult:
        return CoordinatorResult((stored(prepared, self._context.level),), effects=(markers_of(prepared),))

    def _epoch_before(self, transaction: Transaction) -> int:
        bump = self._bumps.get(transaction.transactional_id)
        if bump is None or (bump.producer_id, bump.epoch) != (transaction.producer_id, transaction.epoch):
            return NO_EPOCH  # none, or what was decided then could not be written
        return bump.epoch_before

    # --- what happens without being asked for

    def loaded(self) -> CoordinatorResult:
        self._look_later(Due.TIMEOUTS)
        self._look_later(Due.EXPIRY)
        ending = tuple(markers_of(each) for each in self._transactions.values() if each.is_ending)
        return CoordinatorResult(effects=ending, is_atomic=False)

    def counts(self) -> dict[str, int]:
        return {"transactions": len(self._transactions)}

    def expired(self, deadline: Deadline) -> CoordinatorResult:
        if deadline.due is Due.MARKERS:
            return self._mark_left(deadline.transactional_id)
        if deadline.due is Due.TIMEOUTS:
            return self._abort_overdue()
        self._look_later(Due.EXPIRY)
        return self._forget_unused()

    def _mark_left(self, transactional_id: str) -> CoordinatorResult:
        known, left = self._transactions.get(transactional_id), self._left.pop(transactional_id)
        if known is None or not known.is_ending:
            return NOTHING
        return CoordinatorResult(effects=(markers_of(known)._replace(partitions=left),))

    def topics_changed(self, _delta: Delta, _image: Image) -> CoordinatorResult:
        return NOTHING

    def _look_later(self, due: Due) -> None:
        config = self._context.config()
        interval_ms = {
            Due.TIMEOUTS: config.transaction_abort_timed_out_transaction_cleanup_interval_ms,
            Due.EXPIRY: config.transaction_remove_expired_transaction_cleanup_interval_ms,
        }
        self._context.timers.set(Deadline(due), interval_ms[due])

    def _abort_overdue(self) -> CoordinatorResult:
        """One at a time, as Kafka does: where its record cannot be written, it waits for the next look, and alone."""
        now = self._context.clock.now_ms()
        if not self._overdue:
            self._overdue.extend(each for each in self._open if self._transactions[each].is_overdue(now))
        known = self._transactions.get(self._overdue.popleft()) if self._overdue else None
        if self._overdue:
            self._context.timers.set(Deadline(Due.TIMEOUTS), 0)
        else:
            self._look_later(Due.TIMEOUTS)
        if known is None or not known.is_overdue(now):
            return NOTHING
        try:
            return self._abort(known)
        except CoordinatorLoading:
            return NOTHING  # no producer id is at hand: the next look will do

    def _forget_unused(self) -> CoordinatorResult:
        last_used = self._context.clock.now_ms() - self._context.config().transactional_id_expiration_ms
        unused = [
            tombstone(each.transactional_id)
            for each in self._transactions.values()
            if each.state.may_expire and each.updated_ms <= last_used
        ]
        return CoordinatorResult(tuple(unused), is_atomic=False)

    # --- what the log says

    def replay(self, _offset: Offset, key: Any, value: Any, _producer_id: ProducerId = NO_PRODUCER_ID) -> None:
        transactional_id = key.transactional_id
        self._open.pop(transactional_id, None)
        if value is None:
            self._transactions.pop(transactional_id, None)
            self._bumps.pop(transactional_id, None)
            return
        transaction = self._transactions[transactional_id] = transaction_in(transactional_id, value)
        if transaction.state is TransactionState.ONGOING:
            self._open[transactional_id] = None

    def end_transaction(self, _producer_id: ProducerId, *, commit: bool) -> None:
        """Records of this topic are in no transaction themselves."""
        del commit
