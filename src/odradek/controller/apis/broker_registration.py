"""BrokerRegistration: a broker starts. It is fenced until a heartbeat asks for anything else."""

from odradek.controller import brokers
from odradek.controller.brokers import Registration
from odradek.controller.context import Context
from odradek.controller.errors import InconsistentClusterId
from odradek.controller.result import ControllerResult
from odradek.metadata.features import Levels
from odradek.metadata.image import Endpoint, Image
from odradek.model.errors import BrokerError
from odradek.wire.messages.broker_registration import BrokerRegistrationRequest, BrokerRegistrationResponse


def decide(
    image: Image, request: BrokerRegistrationRequest, context: Context
) -> ControllerResult[BrokerRegistrationResponse]:
    if request.cluster_id != context.cluster_id:
        raise InconsistentClusterId(f"broker {request.broker_id} is of cluster {request.cluster_id}")
    registration = Registration(
        broker_id=request.broker_id,
        incarnation_id=bytes(request.incarnation_id),
        endpoints={each.name: Endpoint(each.host, each.port, each.security_protocol) for each in request.listeners},
        directories=tuple(map(bytes, request.log_dirs)),
        rack=request.rack,
        features={
            each.name: Levels(each.min_supported_version, each.max_supported_version) for each in request.features
        },
    )
    result = brokers.register(image, registration, context)
    return ControllerResult(result.records, BrokerRegistrationResponse(broker_epoch=result.response))


def refuse(_request: BrokerRegistrationRequest, error: BrokerError) -> BrokerRegistrationResponse:
    return BrokerRegistrationResponse(error_code=error.code)
