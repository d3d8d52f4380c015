"""EndTxn, versions 0 to 5. From version 5 on the answer has the epoch of the next transaction."""

from odradek.broker.call import Call
from odradek.broker.coordination.transactions import Transactions
from odradek.coordinators.transactions.joining import check_id
from odradek.model.error_code import ErrorCode
from odradek.model.errors import BrokerError
from odradek.wire.messages.end_txn import EndTxnRequest, EndTxnResponse

VERSIONS = (0, 5)
_FENCED_SINCE = 2
"""Older clients know a fenced producer by its epoch."""


class EndTxn:
    def __init__(self, transactions: Transactions) -> None:
        self._transactions = transactions

    def handle(self, call: Call, request: EndTxnRequest) -> object:
        try:
            check_id(request.transactional_id)
        except BrokerError as error:
            return _refusal(call.version, error.code)
        return self._transactions.ask(
            call,
            request.transactional_id,
            lambda shard, asked: shard.end(asked, request),
            lambda code: _refusal(call.version, code),
        )


def _refusal(version: int, code: ErrorCode) -> EndTxnResponse:
    if code is ErrorCode.PRODUCER_FENCED and version < _FENCED_SINCE:
        code = ErrorCode.INVALID_PRODUCER_EPOCH
    return EndTxnResponse(error_code=code)
