"""AddOffsetsToTxn, versions 0 to 4: the partition that has the offsets of a group joins a transaction."""

from collections.abc import Awaitable

from odradek.broker.call import Call
from odradek.broker.groups import Groups
from odradek.broker.transactions import Transactions
from odradek.coordinators.transactions.joining import check_id
from odradek.coordinators.transactions.transaction import Claim
from odradek.model.error_code import ErrorCode
from odradek.model.errors import BrokerError
from odradek.model.numbers import ProducerId
from odradek.wire.messages.add_offsets_to_txn import AddOffsetsToTxnRequest, AddOffsetsToTxnResponse

VERSIONS = (0, 4)
_FENCED_SINCE = 2
"""Older clients know a fenced producer by its epoch."""
_OLD_CLIENT = 0


class AddOffsetsToTxn:
    def __init__(self, transactions: Transactions, groups: Groups) -> None:
        self._transactions = transactions
        self._groups = groups

    def handle(
        self, call: Call, request: AddOffsetsToTxnRequest
    ) -> AddOffsetsToTxnResponse | Awaitable[AddOffsetsToTxnResponse]:
        transactional_id = request.transactional_id
        who = Claim(transactional_id, ProducerId(request.producer_id), request.producer_epoch)
        partitions = (self._groups.partition_of(request.group_id),)
        try:
            check_id(transactional_id)
            settled = self._transactions.decide(
                transactional_id, lambda shard: shard.join(who, partitions, _OLD_CLIENT)
            )
        except BrokerError as error:
            return _refusal(call.version, error)
        return AddOffsetsToTxnResponse() if settled is None else _answer_when_settled(call.version, settled)


async def _answer_when_settled(version: int, settled: Awaitable[None]) -> AddOffsetsToTxnResponse:
    try:
        await settled
    except BrokerError as error:
        return _refusal(version, error)
    return AddOffsetsToTxnResponse()


def _refusal(version: int, error: BrokerError) -> AddOffsetsToTxnResponse:
    code = error.code
    if code is ErrorCode.PRODUCER_FENCED and version < _FENCED_SINCE:
        code = ErrorCode.INVALID_PRODUCER_EPOCH
    return AddOffsetsToTxnResponse(error_code=code)
