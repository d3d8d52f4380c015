"""Setting the quotas of users, client ids and addresses, and finding them."""

from collections.abc import Container, Mapping, Sequence
from enum import Enum
from typing import NamedTuple

from odradek.controller.errors import InvalidRequest
from odradek.controller.result import ControllerResult
from odradek.metadata.image import Image, QuotaKey
from odradek.model.error_code import ErrorCode
from odradek.model.errors import BrokerError
from odradek.model.settings import INT_MAX, LONG_MAX
from odradek.wire.records.metadata import ClientQuotaRecord, EntityData
from odradek.wire.schema import Message

USER, CLIENT_ID, IP = "user", "client-id", "ip"
_TYPES = (USER, CLIENT_ID, IP)

PRODUCER_BYTE_RATE = "producer_byte_rate"
CONSUMER_BYTE_RATE = "consumer_byte_rate"
REQUEST_PERCENTAGE = "request_percentage"
CONTROLLER_MUTATION_RATE = "controller_mutation_rate"
CONNECTION_CREATION_RATE = "connection_creation_rate"

Entity = Mapping[str, str | None]
"""Names by type; None is the default of a type."""

_OF_CLIENTS: Mapping[str, int | None] = {
    PRODUCER_BYTE_RATE: LONG_MAX,
    CONSUMER_BYTE_RATE: LONG_MAX,
    REQUEST_PERCENTAGE: None,
    CONTROLLER_MUTATION_RATE: None,
}
"""Quotas of users and client ids. Those with a bound are whole numbers up to that; the others are any above 0."""
_OF_ADDRESSES: Mapping[str, int | None] = {CONNECTION_CREATION_RATE: INT_MAX}
_FRACTION_MAX = 1e-6


class UnsupportedType(BrokerError):
    code = ErrorCode.UNSUPPORTED_VERSION


class Operation(NamedTuple):
    key: str
    value: float | None
    """None to remove it."""


class Alteration(NamedTuple):
    entity: Entity
    operations: Sequence[Operation]


class Altered(NamedTuple):
    entity: Entity
    error: BrokerError | None


def alter(
    image: Image, alterations: Sequence[Alteration], unknown_hosts: Container[str | None] = (), *, validate_only: bool
) -> ControllerResult[tuple[Altered, ...]]:
    """What is wrong with one entity is its own outcome.

    One that comes twice is altered as it comes first, and its outcome is that it came twice, as with Kafka.
    `unknown_hosts` are those among the names of addresses that have none.
    """
    records: list[Message] = []
    outcomes: dict[tuple[tuple[str, str | None], ...], Altered] = {}
    for entity, operations in alterations:
        place = tuple(sorted(entity.items()))
        try:
            if place in outcomes:
                raise InvalidRequest("an entity comes more than once")
            values = _values(operations)
            _check(entity, values, unknown_hosts)
            records += _records(image, entity, values)
            outcomes[place] = Altered(entity, None)
        except BrokerError as error:
            outcomes[place] = Altered(entity, error)
    return ControllerResult(() if validate_only else tuple(records), tuple(outcomes.values()))


def _values(operations: Sequence[Operation]) -> dict[str, float | None]:
    values = dict(operations)
    if len(values) < len(operations):
        raise InvalidRequest("a quota comes more than once for the same entity")
    return values


def _check(entity: Entity, values: Mapping[str, float | None], unknown_hosts: Container[str | None]) -> None:
    if not entity:
        raise InvalidRequest("an entity without a type")
    for kind, name in entity.items():
        if kind not in _TYPES:
            raise InvalidRequest(f"{kind!r} is no type of entity")
        if name == "":
            raise InvalidRequest(f"an empty {kind}")
    if IP in entity and len(entity) > 1:
        raise InvalidRequest("an address together with a user or a client id")
    if IP in entity and entity[IP] in unknown_hosts:
        raise InvalidRequest(f"{entity[IP]!r} is neither an address nor a host that has one")
    bounds = _OF_ADDRESSES if IP in entity else _OF_CLIENTS
    for key, value in values.items():
        if value is not None:
            _check_value(bounds, key, value)


def _check_value(bounds: Mapping[str, int | None], key: str, value: float) -> None:
    if key not in bounds:
        raise InvalidRequest(f"{key!r} is no quota that such an entity can have")
    if value <= 0:
        raise InvalidRequest(f"{key} must be above 0")
    most = bounds[key]
    if most is None:
        return
    if value > float(most):
        raise InvalidRequest(f"{key} is too large")
    if value % 1.0 > _FRACTION_MAX:
        raise InvalidRequest(f"{key} must be a whole number")


def _records(image: Image, entity: Entity, values: Mapping[str, float | None]) -> list[Message]:
    """Only what changes anything."""
    data = tuple(EntityData(entity_type=kind, entity_name=name) for kind, name in entity.items())
    records: list[Message] = []
    for key, value in values.items():
        now = image.quotas.get(QuotaKey(tuple(sorted(entity.items())), key))
        if value is None:
            if now is not None:
                records.append(ClientQuotaRecord(entity=data, key=key, value=0.0, remove=True))
        elif now is None or now.value != value:
            records.append(ClientQuotaRecord(entity=data, key=key, value=value, remove=False))
    return records


# --- finding


class Match(Enum):
    """Numbered as the protocol numbers them."""

    EXACT = 0
    DEFAULT = 1
    SPECIFIED = 2
    """Any name, or the default."""


class Component(NamedTuple):
    """What is asked of one type."""

    type: str
    match: int
    name: str | None


class Found(NamedTuple):
    entity: Entity
    values: Mapping[str, float]


def find(image: Image, components: Sequence[Component], *, strict: bool) -> list[Found]:
    """Entities that match all components; if `strict`, only those that have no other type."""
    _check_filter(components)
    by_entity: dict[tuple[tuple[str, str | None], ...], dict[str, float]] = {}
    for (entity, key), record in image.quotas.items():
        by_entity.setdefault(entity, {})[key] = record.value
    return [
        Found(dict(entity), values)
        for entity, values in by_entity.items()
        if _matches(dict(entity), components) and (not strict or len(entity) == len(components))
    ]


def _matches(entity: Entity, components: Sequence[Component]) -> bool:
    return all(
        each.type in entity and (each.match == Match.SPECIFIED.value or entity[each.type] == each.name)
        for each in components
    )


def _check_filter(components: Sequence[Component]) -> None:
    met: set[str] = set()
    for kind, match, name in components:
        if not kind:
            raise InvalidRequest("an empty type of entity")
        if kind in met:
            raise InvalidRequest(f"{kind} is asked for more than once")
        if kind not in _TYPES:
            raise UnsupportedType(f"{kind!r} is no type of entity")
        if match not in tuple(each.value for each in Match):
            raise InvalidRequest(f"{match} is no way to match")
        if (match == Match.EXACT.value) != (name is not None):
            raise InvalidRequest(f"a name goes with an exact match, and only with that: {kind}")
        met.add(kind)
    if IP in met and len(met) > 1:
        raise InvalidRequest("an address together with a user or a client id")
