"""IncrementalAlterConfigs, versions 0 and 1: changes some settings of a resource, and leaves the others.

Levels of loggers are of this node, and not in the metadata.
"""

from collections import Counter

from odradek.broker.call import Call
from odradek.broker.cordons import Cordons
from odradek.broker.live_changes import check_change
from odradek.broker.loggers import Loggers
from odradek.broker.settings import Settings
from odradek.controller import configs
from odradek.controller.configs import Alteration, Change
from odradek.controller.context import ContextOf
from odradek.metadata.image import ConfigResource, ResourceType
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
    def __init__(
        self, metadata: MetadataLog, context: ContextOf, settings: Settings, loggers: Loggers, cordons: Cordons
    ) -> None:
        self._metadata = metadata
        self._context = context
        self._settings = settings
        self._loggers = loggers
        self._cordons = cordons

    async def handle(self, _call: Call, request: IncrementalAlterConfigsRequest) -> IncrementalAlterConfigsResponse:
        outcomes: dict[ConfigResource, BrokerError | None] = {}
        asked = Counter(map(_resource, request.resources))
        wanted = []
        for each in request.resources:
            resource = _resource(each)
            changes = [Change(config.name, config.config_operation, config.value) for config in each.configs]
            try:
                if asked[resource] == 1:  # else the controller refuses
                    self._check(resource, changes, validate_only=request.validate_only)
                if resource.type == ResourceType.BROKER_LOGGER and asked[resource] == 1:
                    outcomes[resource] = None
                else:
                    wanted.append(Alteration(resource, changes))
            except BrokerError as error:
                outcomes[resource] = error
        try:
            altered = await self._metadata.perform(
                lambda image: configs.alter(image, wanted, self._context(image), validate_only=request.validate_only)
            )
            outcomes |= altered
            await self._cordons.follow()
        except BrokerError as error:
            outcomes |= {each.resource: error for each in wanted}
        return IncrementalAlterConfigsResponse(responses=tuple(_result(each, outcomes) for each in request.resources))

    def _check(self, resource: ConfigResource, changes: list[Change], *, validate_only: bool) -> None:
        """What this broker itself has to say, and has to do."""
        if resource.type == ResourceType.BROKER_LOGGER:
            self._settings.check_this(resource.name)
            self._loggers.change(changes, validate_only=validate_only)
        elif resource.type == ResourceType.BROKER:
            image = self._metadata.latest
            check_change(self._settings, image, resource, configs.values_of(image, Alteration(resource, changes)))


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
