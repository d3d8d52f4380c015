"""PushTelemetry, version 0: metrics of a client, which nobody takes. Not in ApiVersions, as with Kafka."""

from odradek.broker.call import Call
from odradek.broker.telemetry import Telemetry
from odradek.model.errors import BrokerError
from odradek.wire.messages.push_telemetry import PushTelemetryRequest, PushTelemetryResponse

VERSIONS = (0, 0)


class PushTelemetry:
    def __init__(self, telemetry: Telemetry) -> None:
        self._telemetry = telemetry

    def handle(self, call: Call, request: PushTelemetryRequest) -> PushTelemetryResponse:
        try:
            self._telemetry.push(call, request)
        except BrokerError as error:
            return PushTelemetryResponse(error_code=error.code)
        return PushTelemetryResponse()
