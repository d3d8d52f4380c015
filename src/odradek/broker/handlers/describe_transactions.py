"""DescribeTransactions, version 0."""

from odradek.broker.call import Call
from odradek.broker.coordination.transactions import Transactions
from odradek.coordinators.transactions.errors import TransactionalIdNotFound
from odradek.coordinators.transactions.joining import check_id
from odradek.coordinators.transactions.listing import described
from odradek.model.errors import BrokerError
from odradek.wire.messages.describe_transactions import (
    DescribeTransactionsRequest,
    DescribeTransactionsResponse,
    TransactionState,
)

VERSIONS = (0, 0)


class DescribeTransactions:
    def __init__(self, transactions: Transactions) -> None:
        self._transactions = transactions

    def handle(self, _call: Call, request: DescribeTransactionsRequest) -> DescribeTransactionsResponse:
        return DescribeTransactionsResponse(
            transaction_states=tuple(self._describe(each) for each in request.transactional_ids)
        )

    def _describe(self, transactional_id: str) -> TransactionState:
        try:
            check_id(transactional_id)
            found = self._transactions.shard_of(transactional_id).get(transactional_id)
            if found is None:
                raise TransactionalIdNotFound(f"the transactionalId {transactional_id} could not be found")
        except BrokerError as error:
            return TransactionState(
                error_code=error.code,
                transactional_id=transactional_id,
                transaction_state="",
                transaction_timeout_ms=0,
                transaction_start_time_ms=0,
                producer_id=0,
                producer_epoch=0,
                topics=(),
            )
        return described(found)
