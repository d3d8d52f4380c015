"""Changing the settings of topics, brokers, groups and client metrics."""

from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from enum import IntEnum
from functools import partial
from typing import NamedTuple

from odradek.controller.config_checks import MIN_INSYNC, Values, check, declared
from odradek.controller.context import Context
from odradek.controller.errors import InvalidConfiguration, InvalidRequest
from odradek.controller.result import ControllerResult
from odradek.metadata.image import ConfigResource, Image, ResourceType
from odradek.model.errors import BrokerError
from odradek.model.settings import Kind
from odradek.wire.records.metadata import ClearElrRecord, ConfigRecord
from odradek.wire.schema import Message

_WITH_LISTS = (ResourceType.TOPIC, ResourceType.BROKER)
"""Kafka takes lists of other resources as a whole only."""


class Operation(IntEnum):
    SET = 0
    DELETE = 1
    APPEND = 2
    SUBTRACT = 3


class Change(NamedTuple):
    name: str
    operation: int
    value: str | None = None


class Alteration(NamedTuple):
    resource: ConfigResource
    changes: Sequence[Change]


class Replacement(NamedTuple):
    """All settings of a resource: those that are not named go back to their defaults."""

    resource: ConfigResource
    values: Sequence[tuple[str, str | None]]


class Altered(NamedTuple):
    resource: ConfigResource
    error: BrokerError | None


def alter(
    image: Image, alterations: Sequence[Alteration], context: Context, *, validate_only: bool = False
) -> ControllerResult[tuple[Altered, ...]]:
    """Change some settings and leave the others. What is wrong with one resource is its own outcome."""
    wanted = [(each.resource, partial(values_of, image, each)) for each in alterations]
    return _decide(image, wanted, context, validate_only)


def replace(
    image: Image, replacements: Sequence[Replacement], context: Context, *, validate_only: bool = False
) -> ControllerResult[tuple[Altered, ...]]:
    """Settings that are not named go back to their defaults. What is wrong with one resource is its own outcome."""
    wanted = [(each.resource, partial(_whole, image, each)) for each in replacements]
    return _decide(image, wanted, context, validate_only)


def _decide(
    image: Image,
    wanted: Sequence[tuple[ConfigResource, Callable[[], Values]]],
    context: Context,
    validate_only: bool,
) -> ControllerResult[tuple[Altered, ...]]:
    asked = Counter(resource for resource, _ in wanted)
    records: list[Message] = []
    outcomes: dict[ConfigResource, BrokerError | None] = {}
    for resource, values_of in wanted:
        try:
            if asked[resource] > 1:
                raise InvalidRequest(f"Each resource must appear at most once: {resource.name!r} comes again")
            values = values_of()
            check(image, resource, values, context)
            records += records_of(image, resource, values)
            outcomes[resource] = None
        except BrokerError as error:
            outcomes[resource] = error
    reply = tuple(Altered(resource, error) for resource, error in outcomes.items())
    return ControllerResult(() if validate_only else tuple(records), reply)


def records_of(image: Image, resource: ConfigResource, values: Mapping[str, str | None]) -> tuple[Message, ...]:
    """What is set already is not written again; to a broker it is, which may then read a file anew."""
    now = image.configs.of(*resource)
    changed = {
        name: value for name, value in values.items() if resource.type == ResourceType.BROKER or now.get(name) != value
    }
    records: list[Message] = [
        ConfigRecord(resource_type=resource.type, resource_name=resource.name, name=name, value=value)
        for name, value in changed.items()
    ]
    if MIN_INSYNC in changed and image.has_eligible_leaders:
        # Who is eligible depends on it: what is known of that is of no use now. Without a name, of all topics.
        records.append(ClearElrRecord(topic_name=resource.name if resource.type == ResourceType.TOPIC else ""))
    return tuple(records)


# --- what is asked for


def values_of(image: Image, alteration: Alteration) -> Values:
    """What settings become, with lists as a whole. Raises InvalidRequest or InvalidConfiguration."""
    resource, changes = alteration
    if len({change.name for change in changes}) < len(changes):
        raise InvalidRequest("The request has duplicate config keys")
    now = image.configs.of(*resource)
    return {change.name: _changed(resource, change, now.get(change.name)) for change in changes}


def _changed(resource: ConfigResource, change: Change, now: str | None) -> str | None:
    if change.operation not in tuple(Operation):
        raise InvalidRequest(f"Unknown operation type {change.operation}")
    operation = Operation(change.operation)
    if operation is Operation.DELETE:
        return None
    if change.value is None:
        raise InvalidRequest(f"Null value not supported for: {change.name}")
    if operation is Operation.SET:
        return change.value
    entries = _entries(resource, change.name, now, operation)
    asked = change.value.split(",")
    if operation is Operation.APPEND:
        entries += [entry for entry in dict.fromkeys(asked) if entry not in entries]
    else:
        entries = [entry for entry in entries if entry not in asked]
    return ",".join(entries)


def _entries(resource: ConfigResource, name: str, now: str | None, operation: Operation) -> list[str]:
    """Of a list, as it is set or by default."""
    key = declared(resource.type, name) if resource.type in _WITH_LISTS else None
    if key is None or key.kind is not Kind.LIST:
        raise InvalidConfiguration(f"Can't {operation.name} to key {name}: its type is not LIST")
    text = key.format(key.default) if now is None else now
    return [entry for entry in (text or "").split(",") if entry]


def _whole(image: Image, replacement: Replacement) -> Values:
    resource, given = replacement
    values = dict(given)
    if len(values) < len(given):
        raise InvalidRequest("The request has duplicate config keys")
    missing = [name for name, value in given if value is None]
    if missing:
        raise InvalidRequest(f"Null value not supported for: {', '.join(missing)}")
    return {**dict.fromkeys(image.configs.of(*resource)), **values}
