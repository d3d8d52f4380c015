"""IncrementalAlterConfigs: changes some settings of a resource, and leaves the others."""

from odradek.controller import configs
from odradek.controller.configs import Alteration, Altered, Change
from odradek.controller.context import Context
from odradek.controller.result import ControllerResult
from odradek.metadata.image import ConfigResource, Image
from odradek.model.errors import BrokerError
from odradek.wire.messages.incremental_alter_configs import (
    AlterConfigsResource,
    AlterConfigsResourceResponse,
    IncrementalAlterConfigsRequest,
    IncrementalAlterConfigsResponse,
)


def decide(
    image: Image, request: IncrementalAlterConfigsRequest, context: Context
) -> ControllerResult[IncrementalAlterConfigsResponse]:
    wanted = list(map(alteration, request.resources))
    result = configs.alter(image, wanted, context, validate_only=request.validate_only)
    responses = tuple(map(response_of, result.response))
    return ControllerResult(result.records, IncrementalAlterConfigsResponse(responses=responses))


def refuse(request: IncrementalAlterConfigsRequest, error: BrokerError) -> IncrementalAlterConfigsResponse:
    resources = dict.fromkeys(alteration(each).resource for each in request.resources)
    return IncrementalAlterConfigsResponse(responses=tuple(response_of(Altered(each, error)) for each in resources))


def alteration(asked: AlterConfigsResource) -> Alteration:
    return Alteration(
        ConfigResource(asked.resource_type, asked.resource_name),
        [Change(each.name, each.config_operation, each.value) for each in asked.configs],
    )


def response_of(altered: Altered) -> AlterConfigsResourceResponse:
    resource, error = altered
    return AlterConfigsResourceResponse(
        error_code=error.code if error else 0,
        error_message=str(error) if error else None,
        resource_type=resource.type,
        resource_name=resource.name,
    )
