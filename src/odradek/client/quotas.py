"""Quotas of clients: found by whom they are for, set and taken back."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from enum import IntEnum
from functools import partial
from typing import NamedTuple

from odradek.client.client import Client
from odradek.client.errors import Refused, raise_if_not_controller, refusal
from odradek.wire.messages import alter_client_quotas as altering
from odradek.wire.messages.describe_client_quotas import (
    ComponentData,
    DescribeClientQuotasRequest,
    DescribeClientQuotasResponse,
)

USER, CLIENT_ID, IP = "user", "client-id", "ip"
ENTITY_TYPES = (USER, CLIENT_ID, IP)
DEFAULT = None
"""In place of a name: all that have no quotas of their own."""

Entity = Mapping[str, str | None]
"""Names by their types: whom quotas are for. A user and a client id may come together."""


class Match(IntEnum):
    NAME = 0
    DEFAULT = 1
    ANY = 2
    """Whatever is set: names and the default."""


class FilterComponent(NamedTuple):
    """What the entity of a quota must have."""

    type: str
    match: Match
    name: str | None = None


@dataclass(frozen=True, slots=True)
class EntityQuotas:
    entity: Entity
    """Its types in the order of `ENTITY_TYPES`."""
    quotas: Mapping[str, float]
    """By Kafka's names, in their order."""


def matching(entity: Entity) -> list[FilterComponent]:
    """What entities must have that have all of this one."""
    return [
        FilterComponent(type_, Match.DEFAULT) if name is DEFAULT else FilterComponent(type_, Match.NAME, name)
        for type_, name in entity.items()
    ]


async def describe_quotas(client: Client, wanted: Sequence[FilterComponent], *, strict: bool) -> list[EntityQuotas]:
    """Of all entities that have what is wanted, in order; with `strict`, of those that have nothing else."""
    components = tuple(ComponentData(entity_type=each.type, match_type=each.match, match=each.name) for each in wanted)
    request = DescribeClientQuotasRequest(components=components, strict=strict)
    return await client.persist(partial(_describe, client, request))


async def _describe(client: Client, request: DescribeClientQuotasRequest) -> list[EntityQuotas]:
    response = await client.ask(request, DescribeClientQuotasResponse)
    if response.error_code:
        raise Refused(response.error_code, response.error_message)
    found = [
        EntityQuotas(
            _in_order({each.entity_type: each.entity_name for each in entry.entity}),
            {each.key: each.value for each in sorted(entry.values, key=lambda value: value.key)},
        )
        for entry in response.entries or ()
    ]
    return sorted(found, key=lambda each: _rank(each.entity))


def _in_order(entity: Entity) -> Entity:
    types = [*ENTITY_TYPES, *sorted(entity.keys() - set(ENTITY_TYPES))]
    return {type_: entity[type_] for type_ in types if type_ in entity}


def _rank(entity: Entity) -> tuple[tuple[bool, bool, str], ...]:
    """Those with a user first, then client ids, then ips; the default before names."""
    return tuple(
        (type_ not in entity, entity.get(type_) is not DEFAULT, entity.get(type_) or "") for type_ in ENTITY_TYPES
    )


async def alter_quotas(
    client: Client, entity: Entity, changes: Mapping[str, float | None], *, validate_only: bool = False
) -> Refused | None:
    """Sets these quotas to their values, and takes back those whose value is None; the others stay."""
    ops = tuple(
        altering.OpData(key=name, value=0.0 if value is None else value, remove=value is None)
        for name, value in changes.items()
    )
    named = tuple(altering.EntityData(entity_type=type_, entity_name=name) for type_, name in entity.items())
    request = altering.AlterClientQuotasRequest(
        entries=(altering.EntryData(entity=named, ops=ops),), validate_only=validate_only
    )

    async def attempt() -> Refused | None:
        response = await client.ask_controller(request, altering.AlterClientQuotasResponse)
        (each,) = response.entries
        outcome = refusal(each.error_code, each.error_message)
        raise_if_not_controller([outcome])
        return outcome

    return await client.persist(attempt)
