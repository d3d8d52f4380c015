"""AlterConfigs, versions 0 to 2: replaces all settings of topics, brokers, groups and client metrics."""

from odradek.broker.call import Call
from odradek.broker.cordons import Cordons
from odradek.broker.live_changes import check_change
from odradek.broker.settings import Settings
from odradek.controller import configs
from odradek.controller.configs import Replacement
from odradek.controller.context import ContextOf
from odradek.metadata.image import ConfigResource
from odradek.model.errors import BrokerError
from odradek.quorum.metadata_log import MetadataLog
from odradek.wire.messages.alter_configs import (
    AlterConfigsRequest,
    AlterConfigsResource,
    AlterConfigsResourceResponse,
    AlterConfigsResponse,
)

VERSIONS = (0, 2)


class AlterConfigs:
    def __init__(self, metadata: MetadataLog, context: ContextOf, settings: Settings, cordons: Cordons) -> None:
        self._metadata = metadata
        self._context = context
        self._settings = settings
        self._cordons = cordons

    async def handle(self, _call: Call, request: AlterConfigsRequest) -> AlterConfigsResponse:
        outcomes: dict[ConfigResource, BrokerError | None] = {}
        wanted = []
        for each in request.resources:
            values = [(config.name, config.value) for config in each.configs]
            try:
                now = self._metadata.latest.configs.of(*_resource(each))
                texts = {**dict.fromkeys(now), **dict(values)}
                check_change(self._settings, self._metadata.latest, _resource(each), texts)
                wanted.append(Replacement(_resource(each), values))
            except BrokerError as error:
                outcomes[_resource(each)] = error
        try:
            altered = await self._metadata.perform(
                lambda image: configs.replace(image, wanted, self._context(image), validate_only=request.validate_only)
            )
            outcomes |= altered
            await self._cordons.follow()
        except BrokerError as error:
            outcomes |= {each.resource: error for each in wanted}
        return AlterConfigsResponse(responses=tuple(_result(each, outcomes) for each in request.resources))


def _resource(each: AlterConfigsResource) -> ConfigResource:
    return ConfigResource(each.resource_type, each.resource_name)


def _result(
    asked: AlterConfigsResource, outcomes: dict[ConfigResource, BrokerError | None]
) -> AlterConfigsResourceResponse:
    error = outcomes[_resource(asked)]
    return AlterConfigsResourceResponse(
        error_code=error.code if error else 0,
        error_message=str(error) if error else None,
        resource_type=asked.resource_type,
        resource_name=asked.resource_name,
    )
