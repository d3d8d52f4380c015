"""What a producer makes of the errors that it is told: the same again, the end of the transaction, or its own end."""

from odradek.model.error_code import ErrorCode
from odradek.wire.messages.add_offsets_to_txn import AddOffsetsToTxnResponse
from odradek.wire.messages.add_partitions_to_txn import AddPartitionsToTxnResponse
from odradek.wire.messages.end_txn import EndTxnResponse
from odradek.wire.messages.init_producer_id import InitProducerIdResponse
from odradek.wire.messages.txn_offset_commit import TxnOffsetCommitResponse
from support.sim.violations import Violation

Answer = (
    AddOffsetsToTxnResponse
    | AddPartitionsToTxnResponse
    | EndTxnResponse
    | InitProducerIdResponse
    | TxnOffsetCommitResponse
)

_LATER = frozenset(
    {
        ErrorCode.COORDINATOR_LOAD_IN_PROGRESS,
        ErrorCode.COORDINATOR_NOT_AVAILABLE,
        ErrorCode.NOT_COORDINATOR,
        ErrorCode.CONCURRENT_TRANSACTIONS,
        ErrorCode.NOT_ENOUGH_REPLICAS,
        ErrorCode.KAFKA_STORAGE_ERROR,
    }
)
_ABORTABLE = frozenset(
    {
        ErrorCode.TRANSACTION_ABORTABLE,
        ErrorCode.OUT_OF_ORDER_SEQUENCE_NUMBER,
        ErrorCode.UNKNOWN_PRODUCER_ID,
        ErrorCode.ILLEGAL_GENERATION,
        ErrorCode.UNKNOWN_MEMBER_ID,
        ErrorCode.FENCED_INSTANCE_ID,
        ErrorCode.REBALANCE_IN_PROGRESS,
    }
)
_FATAL = frozenset(
    {
        ErrorCode.PRODUCER_FENCED,
        ErrorCode.INVALID_PRODUCER_EPOCH,
        ErrorCode.INVALID_PRODUCER_ID_MAPPING,
        ErrorCode.INVALID_TXN_STATE,
    }
)
_ABORTABLE_WHEN_PRODUCING = frozenset({ErrorCode.INVALID_PRODUCER_EPOCH, ErrorCode.INVALID_TXN_STATE})


class Abortable(Exception):
    """The transaction has to be aborted."""


class Fatal(Exception):
    """Somebody else has the transactional id, or there is no telling where this producer stands."""


def check_later(error: ErrorCode) -> None:
    """Raises Abortable or Fatal where it is of no use to ask again."""
    if error in _LATER:
        return
    if error in _ABORTABLE:
        raise Abortable(error.name)
    if error in _FATAL:
        raise Fatal(error.name)
    raise Violation(f"a producer was told {error.name}")


def check_later_when_producing(error: ErrorCode) -> None:
    """The end of the transaction will tell whether the producer can go on."""
    if error in _ABORTABLE_WHEN_PRODUCING:
        raise Abortable(error.name)
    check_later(error)


def error_in(answer: Answer) -> ErrorCode:
    """The first, where there are several."""
    if isinstance(answer, TxnOffsetCommitResponse):
        codes = [each.error_code for topic in answer.topics for each in topic.partitions]
    elif isinstance(answer, AddPartitionsToTxnResponse):
        topics = answer.results_by_topic_v3_and_below
        codes = [each.partition_error_code for topic in topics for each in topic.results_by_partition]
    else:
        codes = [answer.error_code]
    return ErrorCode(next((code for code in codes if code), 0))
