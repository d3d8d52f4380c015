"""Settings of topics, brokers and others: shown with their synonyms, and changed one by one."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from enum import IntEnum
from functools import partial
from typing import NamedTuple

from odradek.client.client import Client
from odradek.client.errors import Refused, raise_if_not_controller, refusal
from odradek.wire.messages.describe_configs import (
    DescribeConfigsRequest,
    DescribeConfigsResource,
    DescribeConfigsResourceResult,
    DescribeConfigsResponse,
)
from odradek.wire.messages.incremental_alter_configs import (
    AlterableConfig,
    AlterConfigsResource,
    IncrementalAlterConfigsRequest,
    IncrementalAlterConfigsResponse,
)

_SET, _DELETE = 0, 1


class ResourceType(IntEnum):
    TOPIC = 2
    BROKER = 4
    BROKER_LOGGER = 8
    CLIENT_METRICS = 16
    GROUP = 32


class Source(IntEnum):
    """Which layer a value comes from; a layer wins over those with larger numbers, apart from the unknown."""

    UNKNOWN = 0
    TOPIC = 1
    BROKER = 2
    ALL_BROKERS = 3
    SERVER_PROPERTIES = 4
    DEFAULT = 5
    BROKER_LOGGER = 6
    CLIENT_METRICS = 7
    GROUP = 8


class Resource(NamedTuple):
    type: ResourceType
    name: str
    """Empty with BROKER for what holds for all brokers."""


class ConfigSynonym(NamedTuple):
    name: str
    """The setting's name in this layer, which is not always the same."""
    value: str | None
    source: Source


@dataclass(frozen=True, slots=True)
class ConfigView:
    name: str
    value: str | None
    """None where there is none, or where it is hidden."""
    source: Source
    is_sensitive: bool
    is_read_only: bool
    synonyms: tuple[ConfigSynonym, ...]
    """The value itself and what it hides, the strongest first."""

    @property
    def default(self) -> str | None:
        return next((each.value for each in self.synonyms if each.source is Source.DEFAULT), None)


Described = dict[Resource, list[ConfigView] | Refused]


async def describe_configs(client: Client, resources: Sequence[Resource]) -> Described:
    """All settings of each, in the order of their names."""
    found: Described = {}
    for node_id, group in _by_node(resources).items():
        found |= await client.persist(partial(_describe, client, node_id, group))
    return {each: found[each] for each in resources}


async def _describe(client: Client, node_id: int | None, resources: Sequence[Resource]) -> Described:
    wanted = tuple(
        DescribeConfigsResource(resource_type=each.type, resource_name=each.name, configuration_keys=None)
        for each in resources
    )
    request = DescribeConfigsRequest(resources=wanted, include_synonyms=True)
    if node_id is None:
        response = await client.ask(request, DescribeConfigsResponse)
    else:
        response = await client.ask_node(node_id, request, DescribeConfigsResponse)
    return {
        Resource(ResourceType(each.resource_type), each.resource_name): refusal(each.error_code, each.error_message)
        or sorted(map(_view, each.configs), key=lambda config: config.name)
        for each in response.results
    }


async def alter_configs(
    client: Client, resource: Resource, changes: Mapping[str, str | None], *, validate_only: bool = False
) -> Refused | None:
    """Sets these settings to their values, and takes back those whose value is None; the others stay."""
    configs = tuple(
        AlterableConfig(name=name, config_operation=_DELETE if value is None else _SET, value=value)
        for name, value in changes.items()
    )
    altered = AlterConfigsResource(resource_type=resource.type, resource_name=resource.name, configs=configs)
    request = IncrementalAlterConfigsRequest(resources=(altered,), validate_only=validate_only)

    async def attempt() -> Refused | None:
        node_id = _node_of(resource)
        if node_id is None:
            response = await client.ask_controller(request, IncrementalAlterConfigsResponse)
        else:
            response = await client.ask_node(node_id, request, IncrementalAlterConfigsResponse)
        (each,) = response.responses
        outcome = refusal(each.error_code, each.error_message)
        raise_if_not_controller([outcome])
        return outcome

    return await client.persist(attempt)


def _node_of(resource: Resource) -> int | None:
    """A broker itself knows its settings and loggers; None where any node does."""
    is_one_broker = resource.type in (ResourceType.BROKER, ResourceType.BROKER_LOGGER) and resource.name.isdecimal()
    return int(resource.name) if is_one_broker else None


def _by_node(resources: Sequence[Resource]) -> dict[int | None, list[Resource]]:
    groups: dict[int | None, list[Resource]] = {}
    for resource in resources:
        groups.setdefault(_node_of(resource), []).append(resource)
    return groups


def _view(config: DescribeConfigsResourceResult) -> ConfigView:
    return ConfigView(
        name=config.name,
        value=config.value,
        source=_source(config.config_source),
        is_sensitive=config.is_sensitive,
        is_read_only=config.read_only,
        synonyms=tuple(ConfigSynonym(each.name, each.value, _source(each.source)) for each in config.synonyms),
    )


def _source(number: int) -> Source:
    return Source(number) if number in Source.__members__.values() else Source.UNKNOWN
