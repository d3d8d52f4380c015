"""AllocateProducerIds: a block of ids for a broker."""

from odradek.controller import producer_ids
from odradek.controller.context import Context
from odradek.controller.result import ControllerResult
from odradek.metadata.image import Image
from odradek.model.errors import BrokerError
from odradek.wire.messages.allocate_producer_ids import AllocateProducerIdsRequest, AllocateProducerIdsResponse


def decide(
    image: Image, request: AllocateProducerIdsRequest, _context: Context
) -> ControllerResult[AllocateProducerIdsResponse]:
    result = producer_ids.allocate(image, request.broker_id, request.broker_epoch)
    first, size = result.response
    return ControllerResult(result.records, AllocateProducerIdsResponse(producer_id_start=first, producer_id_len=size))


def refuse(_request: AllocateProducerIdsRequest, error: BrokerError) -> AllocateProducerIdsResponse:
    return AllocateProducerIdsResponse(error_code=error.code)
