"""IncrementalAlterConfigs, versions 0 and 1: changes some settings of topics and brokers, and leaves the others.

Not kept: settings of groups and of client metrics.
"""

from odradek.broker.call import Call
from odradek.broker.settings import Settings
from odradek.controller import configs
from odradek.controller.configs import Alteration, Change, Operation
from odradek.controller.context import Context
from odradek.metadata.image import ConfigResource
from odradek.model.errors import BrokerError
from odradek.quorum.metadata_log import MetadataLog
from odradek.wire.messages.incremental_alter_configs import (
    AlterConfigsResource,
    AlterConfigsResourceResponse,
    IncrementalAlterConfigsRequest,
    IncrementalAlterConfigsResponse,
)

VERSIONS = (0, 1)


class IncrementalAlterConfigs:
    def __init__(self, metadata: MetadataLog, context: Context, settings: Settings) -> None:
        self._metadata = metadata
        self._context = context
        self._settings = settings

    async def handle(self, _call: Call, request: IncrementalAlterConfigsRequest) -> IncrementalAlterConfigsResponse:
        outcomes: dict[ConfigResource, BrokerError | None] = {}
        wanted = []
        for each in request.resources:
            changes = [Change(config.name, config.config_operation, config.value) for config in each.configs]
            try:
                kept = {change.name: change.value for change in changes if change.operation == Operation.SET}
                self._settings.check_change(self._metadata.latest, _resource(each), kept)
                wanted.append(Alteration(_resource(each), changes))
            except BrokerError as error:
                outcomes[_resource(each)] = error
        try:
            altered = await self._metadata.perform(
                lambda image: configs.alter(image, wanted, self._context, validate_only=request.validate_only)
            )
            outcomes |= altered
        except BrokerError as error:
            outcomes |= {each.resource: error for each in wanted}
        return IncrementalAlterConfigsResponse(responses=tuple(_result(each, outcomes) for each in request.resources))


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
