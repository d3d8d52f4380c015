"""IncrementalAlterConfigs, versions 0 and 1: changes some settings of a resource, and leaves the others.

The broker checks changes of brokers' settings against its own, and changes the levels of its loggers, which are not in
the metadata; the rest is the controller's.
"""

from collections import Counter

from odradek.broker.broker import Broker
from odradek.broker.call import Call
from odradek.broker.settings.live_changes import check_change
from odradek.broker.settings.loggers import Loggers
from odradek.broker.settings.settings import Settings
from odradek.controller import configs
from odradek.controller.apis.incremental_alter_configs import alteration, response_of
from odradek.controller.configs import Alteration, Altered
from odradek.controller.controller import Controller
from odradek.metadata.image import ConfigResource, ResourceType
from odradek.model.errors import BrokerError
from odradek.wire.messages.incremental_alter_configs import (
    AlterConfigsResourceResponse,
    IncrementalAlterConfigsRequest,
    IncrementalAlterConfigsResponse,
)
from odradek.wire.schema import replace

VERSIONS = (0, 1)


class IncrementalAlterConfigs:
    def __init__(self, controller: Controller, broker: Broker, settings: Settings, loggers: Loggers) -> None:
        self._controller = controller
        self._broker = broker
        self._settings = settings
        self._loggers = loggers

    async def handle(self, call: Call, request: IncrementalAlterConfigsRequest) -> IncrementalAlterConfigsResponse:
        wanted = list(map(alteration, request.resources))
        times = Counter(each.resource for each in wanted)
        responses: dict[ConfigResource, AlterConfigsResourceResponse] = {}
        left = []
        for asked, each in zip(request.resources, wanted, strict=True):
            try:
                if times[each.resource] > 1:
                    left.append(asked)  # which the controller refuses
                elif self._is_left(each, validate_only=request.validate_only):
                    left.append(asked)
                else:
                    responses[each.resource] = response_of(Altered(each.resource, None))
            except BrokerError as error:
                responses[each.resource] = response_of(Altered(each.resource, error))
        request = replace(request, resources=tuple(left))
        response = await self._controller.ask(request, call.request_context())
        assert isinstance(response, IncrementalAlterConfigsResponse)
        responses |= {ConfigResource(each.resource_type, each.resource_name): each for each in response.responses}
        return IncrementalAlterConfigsResponse(responses=tuple(responses[each.resource] for each in wanted))

    def _is_left(self, wanted: Alteration, *, validate_only: bool) -> bool:
        """Whether the controller is to do it; what this broker has to do and to check is done then."""
        resource, changes = wanted
        if resource.type == ResourceType.BROKER_LOGGER:
            self._settings.check_this(resource.name)
            self._loggers.change(changes, validate_only=validate_only)
            return False
        if resource.type == ResourceType.BROKER:
            image = self._broker.image
            check_change(self._settings, image, resource, configs.values_of(image, wanted))
        return True
