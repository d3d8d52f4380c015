"""Setting quotas on a broker, in tests."""

from collections.abc import Mapping

from odradek.wire.messages.alter_client_quotas import (
    AlterClientQuotasRequest,
    AlterClientQuotasResponse,
    EntityData,
    EntryData,
    OpData,
)
from support.raw_client import RawClient

EVERYBODY: Mapping[str, str | None] = {"user": "ANONYMOUS"}
"""All who connect without a word about themselves: they share what this user has."""


def alteration(
    entity: Mapping[str, str | None], values: Mapping[str, float | None], *, validate_only: bool = False
) -> AlterClientQuotasRequest:
    """None removes a quota."""
    entry = EntryData(
        entity=tuple(EntityData(entity_type=kind, entity_name=name) for kind, name in entity.items()),
        ops=tuple(OpData(key=key, value=value or 0.0, remove=value is None) for key, value in values.items()),
    )
    return AlterClientQuotasRequest(entries=(entry,), validate_only=validate_only)


async def set_quotas(client: RawClient, entity: Mapping[str, str | None] = EVERYBODY, **values: float | None) -> None:
    response = await client.ask(alteration(entity, values), AlterClientQuotasResponse, 1)
    assert [each.error_code for each in response.entries] == [0], response
