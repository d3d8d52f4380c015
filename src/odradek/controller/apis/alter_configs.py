"""AlterConfigs: replaces all settings of topics, brokers, groups and client metrics."""

from odradek.controller import configs
from odradek.controller.configs import Altered, Replacement
from odradek.controller.context import Context
from odradek.controller.result import ControllerResult
from odradek.metadata.image import ConfigResource, Image
from odradek.model.errors import BrokerError
from odradek.wire.messages.alter_configs import (
    AlterConfigsRequest,
    AlterConfigsResource,
    AlterConfigsResourceResponse,
    AlterConfigsResponse,
)


def decide(image: Image, request: AlterConfigsRequest, context: Context) -> ControllerResult[AlterConfigsResponse]:
    wanted = [
        Replacement(
            ConfigResource(each.resource_type, each.resource_name),
            [(config.name, config.value) for config in each.configs],
        )
        for each in request.resources
    ]
    result = configs.replace(image, wanted, context, validate_only=request.validate_only)
    return ControllerResult(result.records, AlterConfigsResponse(responses=tuple(map(response_of, result.response))))


def refuse(request: AlterConfigsRequest, error: BrokerError) -> AlterConfigsResponse:
    resources = dict.fromkeys(_replacement(each).resource for each in request.resources)
    return AlterConfigsResponse(responses=tuple(response_of(Altered(each, error)) for each in resources))


def _replacement(asked: AlterConfigsResource) -> Replacement:
    resource = ConfigResource(asked.resource_type, asked.resource_name)
    return Replacement(resource, [(each.name, each.value) for each in asked.configs])


def response_of(altered: Altered) -> AlterConfigsResourceResponse:
    resource, error = altered
    return AlterConfigsResourceResponse(
        error_code=error.code if error else 0,
        error_message=str(error) if error else None,
        resource_type=resource.type,
        resource_name=resource.name,
    )
