"""ListTransactions, versions 0 to 2."""

from odradek.broker.call import Call
from odradek.broker.coordination.transactions import Transactions
from odradek.coordinators.transactions.listing import Filter, listed
from odradek.model.clock import Clock
from odradek.model.errors import BrokerError
from odradek.wire.messages.list_transactions import ListTransactionsRequest, ListTransactionsResponse

VERSIONS = (0, 2)


class ListTransactions:
    def __init__(self, transactions: Transactions, clock: Clock) -> None:
        self._transactions = transactions
        self._clock = clock

    def handle(self, _call: Call, request: ListTransactionsRequest) -> ListTransactionsResponse:
        try:
            wanted = Filter(request, self._clock.now_ms())
            found = [each for shard in self._transactions.shards() for each in shard if wanted.wants(each)]
        except BrokerError as error:
            return ListTransactionsResponse(error_code=error.code)
        return ListTransactionsResponse(
            unknown_state_filters=wanted.unknown_states, transaction_states=tuple(map(listed, found))
        )
