"""ListConfigResources, versions 0 and 1: what has settings. Version 0 asks for client metrics alone."""

from odradek.broker.broker import Broker
from odradek.broker.call import Call
from odradek.metadata.image import Image, ResourceType
from odradek.model.error_code import ErrorCode
from odradek.wire.messages.list_config_resources import (
    ConfigResource,
    ListConfigResourcesRequest,
    ListConfigResourcesResponse,
)

VERSIONS = (0, 1)


class ListConfigResources:
    def __init__(self, broker: Broker) -> None:
        self._broker = broker

    def handle(self, call: Call, request: ListConfigResourcesRequest) -> ListConfigResourcesResponse:
        known = tuple(ResourceType) if call.version > 0 else (ResourceType.CLIENT_METRICS,)
        asked = [each for each in known if each in (request.resource_types or known)]
        if not set(request.resource_types) <= set(known):
            return ListConfigResourcesResponse(error_code=ErrorCode.UNSUPPORTED_VERSION)
        found = tuple(
            ConfigResource(resource_name=name, resource_type=kind)
            for kind in reversed(asked)
            for name in _names(self._broker.image, kind)
        )
        return ListConfigResourcesResponse(config_resources=found)


def _names(image: Image, kind: ResourceType) -> list[str]:
    if kind is ResourceType.TOPIC:
        return sorted(image.topics.names)
    if kind in (ResourceType.BROKER, ResourceType.BROKER_LOGGER):
        return [str(number) for number in sorted(image.brokers)]
    return sorted(resource.name for resource in image.configs.resources if resource.type == kind)
