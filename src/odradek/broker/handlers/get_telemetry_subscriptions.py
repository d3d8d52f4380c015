"""GetTelemetrySubscriptions, version 0: which metrics are wanted of a client.

Answered, and not in ApiVersions: as by a Kafka that has nobody who takes them.
"""

from odradek.broker.call import Call
from odradek.broker.telemetry import Telemetry
from odradek.model.errors import BrokerError
from odradek.records.batch import Codec
from odradek.wire.messages.get_telemetry_subscriptions import (
    GetTelemetrySubscriptionsRequest,
    GetTelemetrySubscriptionsResponse,
)

VERSIONS = (0, 0)
_CODECS = (Codec.ZSTD, Codec.LZ4, Codec.GZIP, Codec.SNAPPY)
"""Those that we like best first."""


class GetTelemetrySubscriptions:
    def __init__(self, telemetry: Telemetry) -> None:
        self._telemetry = telemetry

    def handle(self, call: Call, request: GetTelemetrySubscriptionsRequest) -> GetTelemetrySubscriptionsResponse:
        try:
            instance_id, instance = self._telemetry.ask(call, request.client_instance_id)
        except BrokerError as error:
            return GetTelemetrySubscriptionsResponse(error_code=error.code)
        return GetTelemetrySubscriptionsResponse(
            client_instance_id=instance_id,
            subscription_id=instance.subscription_id,
            accepted_compression_types=_CODECS,
            push_interval_ms=instance.wanted.interval_ms,
            telemetry_max_bytes=self._telemetry.bytes_max,
            delta_temporality=True,
            requested_metrics=instance.wanted.metrics,
        )
