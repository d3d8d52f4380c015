"""BrokerHeartbeat: a broker is alive, and says what it wants: to be fenced, to be unfenced, or to shut down."""

from odradek.controller import brokers
from odradek.controller.brokers import check_epoch
from odradek.controller.context import Context
from odradek.controller.result import ControllerResult
from odradek.metadata.image import Broker, Image
from odradek.model.errors import BrokerError
from odradek.wire.messages.broker_heartbeat import BrokerHeartbeatRequest, BrokerHeartbeatResponse
from odradek.wire.schema import Message


def decide(
    image: Image, request: BrokerHeartbeatRequest, context: Context
) -> ControllerResult[BrokerHeartbeatResponse]:
    broker = check_epoch(image, request.broker_id, request.broker_epoch)
    is_caught_up = request.current_metadata_offset >= broker.epoch
    records, is_fenced, should_shut_down = _next(image, broker, request, context)
    if request.cordoned_log_dirs is not None:
        directories = tuple(map(bytes, request.cordoned_log_dirs))
        records += brokers.cordon(image, broker.id, broker.epoch, directories).records
    response = BrokerHeartbeatResponse(
        is_caught_up=is_caught_up, is_fenced=is_fenced, should_shut_down=should_shut_down
    )
    return ControllerResult(records, response)


def refuse(_request: BrokerHeartbeatRequest, error: BrokerError) -> BrokerHeartbeatResponse:
    return BrokerHeartbeatResponse(error_code=error.code)


def _next(
    image: Image, broker: Broker, request: BrokerHeartbeatRequest, context: Context
) -> tuple[tuple[Message, ...], bool, bool]:
    """The records, whether the broker is fenced after them, and whether it should shut down."""
    who = (image, broker.id, broker.epoch, context)
    if request.want_shut_down:
        others = brokers.has_others(image, broker.id, context)
        if not broker.fenced and not request.want_fence and others and brokers.leads(image, broker.id):
            return brokers.begin_shutdown(*who).records, False, False
        return brokers.shut_down(*who).records, True, True
    if request.want_fence:
        return brokers.fence(*who).records, True, False
    if request.current_metadata_offset >= broker.epoch:
        return brokers.unfence(*who).records, False, False
    return (), broker.fenced, False
