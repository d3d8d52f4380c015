"""DescribeClientQuotas, versions 0 and 1."""

from odradek.broker.broker import Broker
from odradek.broker.call import Call
from odradek.controller import quotas
from odradek.controller.quotas import Component, Found
from odradek.model.errors import BrokerError
from odradek.wire.messages.describe_client_quotas import (
    DescribeClientQuotasRequest,
    DescribeClientQuotasResponse,
    EntityData,
    EntryData,
    ValueData,
)

VERSIONS = (0, 1)


class DescribeClientQuotas:
    def __init__(self, broker: Broker) -> None:
        self._broker = broker

    def handle(self, _call: Call, request: DescribeClientQuotasRequest) -> DescribeClientQuotasResponse:
        components = [Component(each.entity_type, each.match_type, each.match) for each in request.components]
        try:
            found = quotas.find(self._broker.image, components, strict=request.strict)
        except BrokerError as error:
            return DescribeClientQuotasResponse(error_code=error.code, error_message=str(error), entries=None)
        return DescribeClientQuotasResponse(error_message="", entries=tuple(map(_entry, found)))  # as Kafka has it


def _entry(found: Found) -> EntryData:
    return EntryData(
        entity=tuple(EntityData(entity_type=kind, entity_name=name) for kind, name in found.entity.items()),
        values=tuple(ValueData(key=key, value=value) for key, value in found.values.items()),
    )
