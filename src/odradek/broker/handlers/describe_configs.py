"""DescribeConfigs, versions 1 to 4, for topics and this broker.

Not described: the levels of loggers, settings of groups and of client metrics.
"""

from collections.abc import Iterable

from odradek.broker.broker import Broker
from odradek.broker.call import Call
from odradek.broker.settings import Origin, Settings, Source
from odradek.controller.errors import InvalidRequest
from odradek.controller.topic_names import check_name
from odradek.metadata.image import ResourceType
from odradek.model.broker_config import BROKER_KEYS
from odradek.model.broker_config.names import key_of
from odradek.model.errors import BrokerError, UnknownTopicOrPartition
from odradek.model.settings import Key, attribute_of
from odradek.model.topic_config import TOPIC_KEYS
from odradek.wire.messages.describe_configs import (
    DescribeConfigsRequest,
    DescribeConfigsResource,
    DescribeConfigsResourceResult,
    DescribeConfigsResponse,
    DescribeConfigsResult,
    DescribeConfigsSynonym,
)

VERSIONS = (1, 4)
_UNKNOWN_KIND = 0


class _Entry:
    def __init__(
        self, name: str, key: Key[object] | None, text: str | None, origins: tuple[Origin, ...], read_only: bool = False
    ) -> None:
        self.name = name
        self._key = key
        self._text = text
        self._origins = origins
        self._read_only = read_only

    def result(self, request: DescribeConfigsRequest) -> DescribeConfigsResourceResult:
        hidden = self._key is None or self._key.is_sensitive  # of what nobody knows, it may be a password
        synonyms = tuple(
            DescribeConfigsSynonym(name=each.name, value=None if hidden else each.text, source=each.source)
            for each in self._origins
            if request.include_synonyms
        )
        return DescribeConfigsResourceResult(
            name=self.name,
            value=None if hidden else self._text,
            read_only=self._read_only,
            config_source=self._origins[0].source if self._origins else Source.DEFAULT,
            is_sensitive=hidden,
            synonyms=synonyms,
            config_type=self._key.kind if self._key else _UNKNOWN_KIND,
            documentation=self._key.doc if self._key and request.include_documentation else None,
        )


class DescribeConfigs:
    def __init__(self, broker: Broker, settings: Settings) -> None:
        self._broker = broker
        self._settings = settings

    def handle(self, _call: Call, request: DescribeConfigsRequest) -> DescribeConfigsResponse:
        return DescribeConfigsResponse(results=tuple(self._describe(each, request) for each in request.resources))

    def _describe(self, asked: DescribeConfigsResource, request: DescribeConfigsRequest) -> DescribeConfigsResult:
        kind, name = asked.resource_type, asked.resource_name
        wanted = asked.configuration_keys or None
        try:
            entries = list(self._entries(kind, name))
        except BrokerError as error:
            return DescribeConfigsResult(
                error_code=error.code, error_message=str(error), resource_type=kind, resource_name=name, configs=()
            )
        configs = tuple(entry.result(request) for entry in entries if wanted is None or entry.name in wanted)
        return DescribeConfigsResult(error_message="", resource_type=kind, resource_name=name, configs=configs)

    def _entries(self, kind: int, name: str) -> Iterable[_Entry]:
        if kind == ResourceType.TOPIC:
            return self._of_topic(name)
        if kind != ResourceType.BROKER:
            raise InvalidRequest(f"settings of resources of type {kind} are not kept")
        if not name:
            return self._of_all_brokers()
        if not (name.isascii() and name.isdecimal()):
            raise InvalidRequest(f"{name[:40]!r} is no broker's id")
        if int(name) != self._broker.node_id:
            raise InvalidRequest(f"this is broker {self._broker.node_id}, not {name}")
        return self._of_this_broker()

    def _of_topic(self, name: str) -> Iterable[_Entry]:
        check_name(name)
        image = self._broker.image
        if name not in image.topics:
            raise UnknownTopicOrPartition(f"there is no topic {name}")
        own = image.configs.of(ResourceType.TOPIC, name)
        config = self._settings.of_topic(image, name)
        for key in TOPIC_KEYS.values():
            if key.internal and key.name not in own:
                continue
            text = key.format(getattr(config, attribute_of(key.name)))
            below = self._settings.origins(image, key.synonyms[0].name) if key.synonyms else ()
            above = (Origin(key.name, own[key.name], Source.TOPIC),) if key.name in own else ()
            yield _Entry(key.name, key, text, (*above, *below))

    def _of_all_brokers(self) -> Iterable[_Entry]:
        for name, text in sorted(self._broker.image.configs.of(ResourceType.BROKER, "").items()):
            yield _Entry(
                name, key_of(name, BROKER_KEYS), text, (Origin(name, text, Source.DYNAMIC_ALL_BROKERS),), _fixed(name)
            )

    def _of_this_broker(self) -> Iterable[_Entry]:
        image = self._broker.image
        config, given = self._settings.now(image), self._settings.texts(image)
        shown = {name for name, key in BROKER_KEYS.items() if not key.internal}
        for name in sorted(shown | given.keys()):
            key = BROKER_KEYS.get(name)
            text = key.format(getattr(config, attribute_of(name))) if key else given[name]
            yield _Entry(
                name, key or key_of(name, BROKER_KEYS), text, self._settings.origins(image, name), _fixed(name)
            )


def _fixed(name: str) -> bool:
    """Whether it is read at the start and stays. What only a plugin knows cannot be changed either."""
    key = key_of(name, BROKER_KEYS)
    return key is None or key.live is None
