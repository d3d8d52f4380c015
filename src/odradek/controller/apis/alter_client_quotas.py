"""AlterClientQuotas."""

from ipaddress import ip_address

from odradek.controller import quotas
from odradek.controller.context import Context
from odradek.controller.quotas import IP, Alteration, Altered, Operation
from odradek.controller.result import ControllerResult
from odradek.metadata.image import Image
from odradek.model.errors import BrokerError
from odradek.wire.messages.alter_client_quotas import (
    AlterClientQuotasRequest,
    AlterClientQuotasResponse,
    EntityData,
    EntryData,
    EntryResult,
)


def decide(
    image: Image, request: AlterClientQuotasRequest, context: Context
) -> ControllerResult[AlterClientQuotasResponse]:
    wanted = list(map(_alteration, request.entries))
    result = quotas.alter(image, wanted, context.unknown_hosts, validate_only=request.validate_only)
    return ControllerResult(result.records, AlterClientQuotasResponse(entries=tuple(map(_result, result.response))))


def refuse(request: AlterClientQuotasRequest, error: BrokerError) -> AlterClientQuotasResponse:
    refused = (Altered(_alteration(entry).entity, error) for entry in request.entries)
    return AlterClientQuotasResponse(entries=tuple(map(_result, refused)))


def hosts(request: AlterClientQuotasRequest) -> frozenset[str]:
    """The hosts that the request names other than by their address."""
    names = (_alteration(entry).entity.get(IP) for entry in request.entries)
    return frozenset(name for name in names if name and not _is_address(name))


def _is_address(name: str) -> bool:
    try:
        ip_address(name)
    except ValueError:
        return False
    return True


def _alteration(entry: EntryData) -> Alteration:
    """Of a type that comes twice the last name counts, as with Kafka."""
    return Alteration(
        {each.entity_type: each.entity_name for each in entry.entity},
        [Operation(each.key, None if each.remove else each.value) for each in entry.ops],
    )


def _result(altered: Altered) -> EntryResult:
    entity = tuple(EntityData(entity_type=kind, entity_name=name) for kind, name in altered.entity.items())
    if altered.error is None:
        return EntryResult(entity=entity)
    return EntryResult(error_code=altered.error.code, error_message=str(altered.error), entity=entity)
