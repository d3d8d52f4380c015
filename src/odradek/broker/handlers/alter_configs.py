"""AlterConfigs, versions 0 to 2: replaces all settings of topics, brokers, groups and client metrics.

The broker checks changes of brokers' settings against its own; the rest is the controller's.
"""

from odradek.broker.broker import Broker
from odradek.broker.call import Call
from odradek.broker.settings.live_changes import check_change
from odradek.broker.settings.settings import Settings
from odradek.controller.apis.alter_configs import response_of
from odradek.controller.configs import Altered
from odradek.controller.controller import Controller
from odradek.metadata.image import ConfigResource
from odradek.model.errors import BrokerError
from odradek.wire.messages.alter_configs import (
    AlterConfigsRequest,
    AlterConfigsResource,
    AlterConfigsResourceResponse,
    AlterConfigsResponse,
)
from odradek.wire.schema import replace

VERSIONS = (0, 2)


class AlterConfigs:
    def __init__(self, controller: Controller, broker: Broker, settings: Settings) -> None:
        self._controller = controller
        self._broker = broker
        self._settings = settings

    async def handle(self, call: Call, request: AlterConfigsRequest) -> AlterConfigsResponse:
        responses: dict[ConfigResource, AlterConfigsResourceResponse] = {}
        left = []
        for each in request.resources:
            try:
                self._check(each)
                left.append(each)
            except BrokerError as error:
                responses[_resource(each)] = response_of(Altered(_resource(each), error))
        asked = replace(request, resources=tuple(left))
        response = await self._controller.ask(asked, call.request_context())
        assert isinstance(response, AlterConfigsResponse)
        responses |= {ConfigResource(each.resource_type, each.resource_name): each for each in response.responses}
        return AlterConfigsResponse(responses=tuple(responses[_resource(each)] for each in request.resources))

    def _check(self, asked: AlterConfigsResource) -> None:
        image, resource = self._broker.image, _resource(asked)
        now = image.configs.of(*resource)
        texts = {**dict.fromkeys(now), **{config.name: config.value for config in asked.configs}}
        check_change(self._settings, image, resource, texts)


def _resource(each: AlterConfigsResource) -> ConfigResource:
    return ConfigResource(each.resource_type, each.resource_name)
