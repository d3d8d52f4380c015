"""InitProducerId, versions 0 to 5, for idempotent producers. Transactional ids have no coordinator yet."""

from odradek.broker.call import Call
from odradek.broker.producer_ids import ProducerIds
from odradek.model.error_code import ErrorCode
from odradek.model.errors import BrokerError
from odradek.wire.messages.init_producer_id import InitProducerIdRequest, InitProducerIdResponse

VERSIONS = (0, 5)
_NONE = -1


class InitProducerId:
    def __init__(self, ids: ProducerIds) -> None:
        self._ids = ids

    async def handle(self, _call: Call, request: InitProducerIdRequest) -> InitProducerIdResponse:
        if (request.producer_id == _NONE) != (request.producer_epoch == _NONE) or request.transactional_id == "":
            return InitProducerIdResponse(error_code=ErrorCode.INVALID_REQUEST, producer_epoch=_NONE)
        if request.transactional_id is not None:
            return InitProducerIdResponse(error_code=ErrorCode.COORDINATOR_NOT_AVAILABLE, producer_epoch=_NONE)
        try:
            return InitProducerIdResponse(producer_id=await self._ids.take(), producer_epoch=0)
        except BrokerError as error:
            return InitProducerIdResponse(error_code=error.code, producer_epoch=_NONE)
