"""InitProducerId, versions 0 to 5: for idempotent producers, and for those with a transactional id."""

from collections.abc import Callable

from odradek.broker.call import Call
from odradek.broker.coordination.producer_ids import ProducerIds
from odradek.broker.coordination.transactions import Transactions
from odradek.coordinators.transactions.initializing import check_request
from odradek.model.broker_config import BrokerConfig
from odradek.model.error_code import ErrorCode
from odradek.model.errors import BrokerError
from odradek.wire.messages.init_producer_id import InitProducerIdRequest, InitProducerIdResponse
from odradek.wire.schema import Message

VERSIONS = (0, 5)
_FENCED_SINCE = 4
"""Older clients know a fenced producer by its epoch."""
_NONE = -1


class InitProducerId:
    def __init__(self, ids: ProducerIds, transactions: Transactions, config: Callable[[], BrokerConfig]) -> None:
        self._ids = ids
        self._transactions = transactions
        self._config = config

    async def handle(self, call: Call, request: InitProducerIdRequest) -> Message:
        transactional_id = request.transactional_id
        try:
            if (request.producer_id == _NONE) != (request.producer_epoch == _NONE):
                return _refusal(call.version, ErrorCode.INVALID_REQUEST)
            if transactional_id is None:
                return InitProducerIdResponse(producer_id=await self._ids.take(), producer_epoch=0)
            check_request(request, self._config())
            await self._ids.have_some()
        except BrokerError as error:
            return _refusal(call.version, error.code)
        return await self._transactions.answer(
            call,
            transactional_id,
            lambda shard, asked: shard.init_producer_id(asked, request),
            lambda code: _refusal(call.version, code),
        )


def _refusal(version: int, code: ErrorCode) -> InitProducerIdResponse:
    if code is ErrorCode.PRODUCER_FENCED and version < _FENCED_SINCE:
        code = ErrorCode.INVALID_PRODUCER_EPOCH
    return InitProducerIdResponse(error_code=code, producer_epoch=_NONE)
