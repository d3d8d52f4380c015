"""Which settings resources may have."""

from collections.abc import Mapping
from typing import Any

from odradek.controller.context import Context
from odradek.controller.errors import BrokerNotRegistered, InvalidConfiguration, InvalidRequest
from odradek.controller.topic_names import check_name
from odradek.metadata.features import CORDONED_DIRECTORIES
from odradek.metadata.image import ConfigResource, Image, ResourceType
from odradek.model.broker_config import BROKER_KEYS, THROTTLES
from odradek.model.broker_config.names import key_of, may_change
from odradek.model.client_metrics_config import (
    CLIENT_METRICS_KEYS,
    INTERVAL_MS_LEAST,
    INTERVAL_MS_MOST,
    ClientMetricsConfig,
)
from odradek.model.errors import InvalidConfig, UnknownTopicOrPartition
from odradek.model.group_config import GROUP_KEYS, GroupConfig
from odradek.model.settings import Key
from odradek.model.topic_config import TOPIC_KEYS, TopicConfig

MIN_INSYNC = "min.insync.replicas"
CORDONED = "cordoned.log.dirs"
PROVIDERS = "config.providers"
VALUE_LENGTH_MAX = 32_767

Values = dict[str, str | None]
"""What settings become; None for the default."""

_KEYS: dict[int, Mapping[str, Key[Any]]] = {
    ResourceType.TOPIC: TOPIC_KEYS,
    ResourceType.GROUP: GROUP_KEYS,
    ResourceType.CLIENT_METRICS: CLIENT_METRICS_KEYS,
}


def declared(resource_type: int, name: str) -> Key[Any] | None:
    """The setting of this name that resources of this type have."""
    if resource_type == ResourceType.BROKER:
        return key_of(name, BROKER_KEYS) or THROTTLES.get(name)
    return _KEYS.get(resource_type, {}).get(name)


def check(image: Image, resource: ConfigResource, values: Values, context: Context) -> None:
    """What is to change, and all that would be set then."""
    after = {name: value for name, value in {**image.configs.of(*resource), **values}.items() if value is not None}
    if resource.type == ResourceType.TOPIC:
        _check_topic_of(image, resource.name, after, context)
    elif resource.type == ResourceType.BROKER:
        _check_broker_name(image, resource.name)
        _check_broker(image, resource, values)
    elif resource.type == ResourceType.GROUP:
        _check_group(resource.name, after, context)
    elif resource.type == ResourceType.CLIENT_METRICS:
        _check_client_metrics(resource.name, after)
    else:
        raise InvalidRequest(f"Unknown resource type {resource.type}")
    for name, value in values.items():
        if value is not None and len(value) > VALUE_LENGTH_MAX:
            raise InvalidConfiguration(f"the value of {name} has more than {VALUE_LENGTH_MAX} characters")


def _check_topic_of(image: Image, name: str, after: Mapping[str, str], context: Context) -> None:
    if not name:
        raise InvalidRequest("Default topic resources are not allowed: settings of brokers are the defaults of topics")
    check_name(name)
    check_topic(after, context)
    if name not in image.topics:
        raise UnknownTopicOrPartition(name, None)


def check_topic(values: Mapping[str, str], context: Context) -> None:
    """All that is set for a topic; raises InvalidConfiguration."""
    try:
        config = TopicConfig.parse(values, context.topic_defaults)
    except InvalidConfig as error:
        raise InvalidConfiguration(str(error)) from None
    if config.remote_storage_enable:
        raise InvalidConfiguration(
            "Tiered Storage functionality is disabled in this cluster: remote.storage.enable cannot be true"
        )


def _check_group(name: str, after: Mapping[str, str], context: Context) -> None:
    if not name:
        raise InvalidRequest("Default group resources are not allowed: settings of brokers are the defaults of groups")
    try:
        GroupConfig.parse(after, context.broker).check_allowed(after, context.broker)
    except InvalidConfig as error:
        raise InvalidConfiguration(str(error)) from None


def _check_client_metrics(name: str, after: Mapping[str, str]) -> None:
    if not name:
        raise InvalidRequest("Subscription name can't be empty")
    unknown = [each for each in after if each not in CLIENT_METRICS_KEYS]
    if unknown:
        raise InvalidRequest(f"Unknown client metrics configuration: {unknown[0]}")
    try:
        config = ClientMetricsConfig.parse(after)
    except InvalidConfig as error:
        raise InvalidConfiguration(str(error)) from None
    if not INTERVAL_MS_LEAST <= config.interval_ms <= INTERVAL_MS_MOST:
        raise InvalidRequest(
            f"Invalid value {config.interval_ms} for interval.ms: "
            f"it must be between {INTERVAL_MS_LEAST} and {INTERVAL_MS_MOST}"
        )


# --- brokers


def _check_broker_name(image: Image, name: str) -> None:
    if not name:
        return
    if not (name.isascii() and name.isdecimal()):
        raise InvalidRequest(f"Node id must be an integer, but it is: {name[:40]}")
    if int(name) not in image.brokers:
        raise BrokerNotRegistered(f"Broker ID {name} is not currently registered")


def _check_broker(image: Image, resource: ConfigResource, values: Values) -> None:
    keys = {name: declared(resource.type, name) for name in values}
    fixed = sorted(
        name
        for name, key in keys.items()
        if values[name] is not None and not may_change(name, key, for_all=not resource.name)
    )
    if fixed:
        raise InvalidRequest(f"Cannot update these configs dynamically: [{', '.join(fixed)}] {_where(resource)}")
    if MIN_INSYNC in values and image.has_eligible_leaders:
        if resource.name:
            raise InvalidConfiguration(f"Broker-level {MIN_INSYNC} cannot be altered while ELR is enabled")
        if values[MIN_INSYNC] is None:
            raise InvalidConfiguration(f"Cluster-level {MIN_INSYNC} cannot be removed while ELR is enabled")
    if CORDONED in values and image.metadata_version < CORDONED_DIRECTORIES:
        raise InvalidConfiguration(f"{CORDONED} needs metadata.version {CORDONED_DIRECTORIES}")
    for name, value in values.items():
        key = keys[name]
        if key is not None and key.live is not None and value is not None:
            _check_value(key, value)


def _where(resource: ConfigResource) -> str:
    return f"for broker {resource.name}" if resource.name else "for all brokers"


def _check_value(key: Key[Any], value: str) -> None:
    if key.name == PROVIDERS:
        return  # Kafka looks at it where other settings refer to it, and takes anything here
    try:
        key.parse(value)
    except InvalidConfig as error:
        raise InvalidRequest(str(error)) from None
