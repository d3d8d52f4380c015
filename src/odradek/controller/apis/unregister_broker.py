"""UnregisterBroker: a broker is gone for good. One that still runs leads nothing until it starts anew."""

from odradek.controller import brokers
from odradek.controller.context import Context
from odradek.controller.result import ControllerResult
from odradek.metadata.image import Image
from odradek.model.errors import BrokerError
from odradek.wire.messages.unregister_broker import UnregisterBrokerRequest, UnregisterBrokerResponse


def decide(
    image: Image, request: UnregisterBrokerRequest, context: Context
) -> ControllerResult[UnregisterBrokerResponse]:
    result = brokers.unregister(image, request.broker_id, context)
    return ControllerResult(result.records, UnregisterBrokerResponse(error_message=""))


def refuse(_request: UnregisterBrokerRequest, error: BrokerError) -> UnregisterBrokerResponse:
    return UnregisterBrokerResponse(error_code=error.code, error_message=str(error))
