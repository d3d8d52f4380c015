"""AddOffsetsToTxn, versions 0 to 4: the partition that has the offsets of a group joins a transaction."""

from collections.abc import Mapping

from odradek.broker.call import Call
from odradek.broker.coordination.groups import Groups
from odradek.broker.coordination.transactions import Transactions
from odradek.broker.dispatch import LATER
from odradek.broker.late import answer_late
from odradek.coordinators.errors import for_client
from odradek.coordinators.transactions.joining import check_id
from odradek.coordinators.transactions.transaction import Claim
from odradek.model.error_code import ErrorCode
from odradek.model.errors import BrokerError
from odradek.model.numbers import ProducerId
from odradek.replication.waiters import Wait
from odradek.wire.messages.add_offsets_to_txn import AddOffsetsToTxnRequest, AddOffsetsToTxnResponse

VERSIONS = (0, 4)
_FENCED_SINCE = 2
"""Older clients know a fenced producer by its epoch."""
_OLD_CLIENT = 0


class AddOffsetsToTxn:
    def __init__(self, transactions: Transactions, groups: Groups) -> None:
        self._transactions = transactions
        self._groups = groups

    def handle(self, call: Call, request: AddOffsetsToTxnRequest) -> AddOffsetsToTxnResponse | object:
        transactional_id = request.transactional_id
        who = Claim(transactional_id, ProducerId(request.producer_id), request.producer_epoch)
        partitions = (self._groups.partition_of(request.group_id),)
        try:
            check_id(transactional_id)
            unsettled = self._transactions.decide(
                transactional_id, lambda shard: shard.join(who, partitions, _OLD_CLIENT)
            )
        except BrokerError as error:
            return _response(call.version, error)
        if unsettled is None:
            return AddOffsetsToTxnResponse()

        def answer(errors: Mapping[str, BrokerError]) -> None:
            answer_late(call, lambda: _response(call.version, errors.get(transactional_id)))

        Wait({transactional_id: unsettled}, answer)
        return LATER


def _response(version: int, error: BrokerError | None) -> AddOffsetsToTxnResponse:
    code = ErrorCode.NONE if error is None else for_client(error).code
    if code is ErrorCode.PRODUCER_FENCED and version < _FENCED_SINCE:
        code = ErrorCode.INVALID_PRODUCER_EPOCH
    return AddOffsetsToTxnResponse(error_code=code)
