"""EndTxn: what is decided, and which requests are repeats of one that was answered already.

Clients that know level 2 get a new epoch with each transaction. So one that comes with the epoch before the current one
repeats itself; of older clients a repeat looks the same as the first try, and the state alone tells.
"""

from odradek.coordinators.transactions.errors import ConcurrentTransactions, InvalidProducerIdMapping, ProducerFenced
from odradek.coordinators.transactions.state import TransactionState
from odradek.coordinators.transactions.transaction import EPOCH_LAST, EPOCH_RISES_SINCE, Claim, Transaction
from odradek.model.errors import InvalidTxnState

_DECIDING = {TransactionState.PREPARE_COMMIT: True, TransactionState.PREPARE_ABORT: False}
_DECIDED = {TransactionState.COMPLETE_COMMIT: True, TransactionState.COMPLETE_ABORT: False}
"""Whether it is a commit."""


def is_to_be_prepared(transaction: Transaction, who: Claim, client_level: int, *, commit: bool) -> bool:
    """Whether this request decides something; False where it was decided so before. Raises where neither holds."""
    rises = client_level >= EPOCH_RISES_SINCE
    is_repeat = False
    if rises:
        is_rotated = _is_rotated(transaction, who)
        is_repeat = is_rotated or transaction.epoch == who.epoch + 1
        _check_producer(transaction, who, is_rotated=is_rotated)
        if not _may_have_epoch(transaction, who, is_repeat=is_repeat):
            raise ProducerFenced(who.fenced_by(transaction.epoch))
    else:
        _check_producer(transaction, who, is_rotated=False)
        if transaction.epoch != who.epoch:
            raise ProducerFenced(who.fenced_by(transaction.epoch))
    state = transaction.state
    if state is TransactionState.ONGOING:
        return True
    if _DECIDING.get(state) is commit:
        raise ConcurrentTransactions(f"{who.transactional_id!r} is in state {state.label}")
    if _DECIDED.get(state) is commit and (is_repeat or not rises):
        return False
    if rises and not commit and not is_repeat and state.may_expire:
        return True  # nothing was sent in the transaction, so it never began; its epoch is used up all the same
    raise InvalidTxnState(f"{who.transactional_id!r} is in state {state.label}")


def _check_producer(transaction: Transaction, who: Claim, *, is_rotated: bool) -> None:
    if transaction.producer_id != who.producer_id and not is_rotated:
        raise InvalidProducerIdMapping(
            f"producer id {who.producer_id} is not currently assigned to its transactional id {who.transactional_id}"
        )


def _is_rotated(transaction: Transaction, who: Claim) -> bool:
    """Whether that producer's last transaction ended with a new producer id."""
    return transaction.previous_producer_id == who.producer_id and who.epoch == EPOCH_LAST and transaction.epoch == 0


def _may_have_epoch(transaction: Transaction, who: Claim, *, is_repeat: bool) -> bool:
    """Of a client that knows level 2."""
    is_current = transaction.epoch == who.epoch
    if transaction.state in _DECIDING:
        return transaction.epoch == who.epoch + 1
    if transaction.state in _DECIDED:
        return is_repeat or is_current
    return is_current
