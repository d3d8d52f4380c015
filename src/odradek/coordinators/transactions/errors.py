"""What transactions refuse, with Kafka's codes."""

from odradek.model.error_code import ErrorCode
from odradek.model.errors import BrokerError


class InvalidTransactionRequest(BrokerError):
    """Without a transactional id."""

    code = ErrorCode.INVALID_REQUEST


class InvalidProducerIdMapping(BrokerError):
    """The transactional id is unknown, or has another producer id."""

    code = ErrorCode.INVALID_PRODUCER_ID_MAPPING


class ProducerFenced(BrokerError):
    """Another producer has taken over the transactional id."""

    code = ErrorCode.PRODUCER_FENCED


class ConcurrentTransactions(BrokerError):
    """The end of the last transaction is under way: to be tried again."""

    code = ErrorCode.CONCURRENT_TRANSACTIONS


class InvalidTransactionTimeout(BrokerError):
    code = ErrorCode.INVALID_TRANSACTION_TIMEOUT


class TransactionAbortable(BrokerError):
    """The partition is not in the transaction, which can only be aborted now."""

    code = ErrorCode.TRANSACTION_ABORTABLE


class TwoPhaseCommitRefused(BrokerError):
    code = ErrorCode.TRANSACTIONAL_ID_AUTHORIZATION_FAILED


class KeepPreparedUnsupported(BrokerError):
    code = ErrorCode.UNSUPPORTED_VERSION


class TransactionalIdNotFound(BrokerError):
    code = ErrorCode.TRANSACTIONAL_ID_NOT_FOUND


class InvalidPattern(BrokerError):
    """What transactional ids are to match is no regular expression."""

    code = ErrorCode.INVALID_REGULAR_EXPRESSION
