"""DescribeConfigs, versions 1 to 4: of topics, this broker and its loggers, groups, and client metrics."""

from collections.abc import Iterable

from odradek.broker.broker import Broker
from odradek.broker.call import Call
from odradek.broker.settings import shown_settings
from odradek.broker.settings.loggers import Loggers
from odradek.broker.settings.settings import Settings, Source
from odradek.broker.settings.shown_settings import Shown
from odradek.controller.errors import InvalidRequest
from odradek.controller.topic_names import check_name
from odradek.metadata.image import ResourceType
from odradek.model.errors import BrokerError, UnknownTopicOrPartition
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


class DescribeConfigs:
    def __init__(self, broker: Broker, settings: Settings, loggers: Loggers) -> None:
        self._broker = broker
        self._settings = settings
        self._loggers = loggers

    def handle(self, _call: Call, request: DescribeConfigsRequest) -> DescribeConfigsResponse:
        return DescribeConfigsResponse(results=tuple(self._describe(each, request) for each in request.resources))

    def _describe(self, asked: DescribeConfigsResource, request: DescribeConfigsRequest) -> DescribeConfigsResult:
        kind, name = asked.resource_type, asked.resource_name
        wanted = asked.configuration_keys or None
        try:
            found = self._levels(name) if kind == ResourceType.BROKER_LOGGER else self._settings_of(asked, request)
        except BrokerError as error:
            return DescribeConfigsResult(
                error_code=error.code, error_message=str(error), resource_type=kind, resource_name=name, configs=()
            )
        configs = tuple(each for each in found if wanted is None or each.name in wanted)
        return DescribeConfigsResult(error_message="", resource_type=kind, resource_name=name, configs=configs)

    def _levels(self, name: str) -> list[DescribeConfigsResourceResult]:
        self._settings.check_this(name)
        return [
            DescribeConfigsResourceResult(
                name=name, value=level, read_only=False, config_source=Source.LOGGER, is_sensitive=False, synonyms=()
            )
            for name, level in self._loggers.levels().items()
        ]

    def _settings_of(
        self, asked: DescribeConfigsResource, request: DescribeConfigsRequest
    ) -> list[DescribeConfigsResourceResult]:
        return [_result(each, request) for each in self._find(asked.resource_type, asked.resource_name)]

    def _find(self, kind: int, name: str) -> Iterable[Shown]:
        image = self._broker.image
        if kind == ResourceType.TOPIC:
            return self._of_topic(name)
        if kind == ResourceType.BROKER:
            return self._of_broker(name)
        if kind not in (ResourceType.GROUP, ResourceType.CLIENT_METRICS):
            raise InvalidRequest(f"Unknown resource type {kind}")
        if not name:
            raise InvalidRequest("Name of a group or of a subscription must not be empty")
        if kind == ResourceType.GROUP:
            return shown_settings.of_group(self._settings, image, image.configs.of(kind, name))
        return shown_settings.of_client_metrics(image.configs.of(kind, name))

    def _of_topic(self, name: str) -> Iterable[Shown]:
        image = self._broker.image
        check_name(name)
        if name not in image.topics:
            raise UnknownTopicOrPartition(name, None)
        return shown_settings.of_topic(self._settings, image, image.configs.of(ResourceType.TOPIC, name))

    def _of_broker(self, name: str) -> Iterable[Shown]:
        if not name:
            return shown_settings.of_all_brokers(self._broker.image)
        self._settings.check_this(name)
        return shown_settings.of_this_broker(self._settings, self._broker.image)


def _result(shown: Shown, request: DescribeConfigsRequest) -> DescribeConfigsResourceResult:
    synonyms = tuple(
        DescribeConfigsSynonym(name=each.name, value=None if shown.is_sensitive else each.text, source=each.source)
        for each in shown.origins
        if request.include_synonyms
    )
    return DescribeConfigsResourceResult(
        name=shown.name,
        value=shown.value,
        read_only=shown.read_only,
        config_source=shown.source,
        is_sensitive=shown.is_sensitive,
        synonyms=synonyms,
        config_type=shown.key.kind if shown.key else _UNKNOWN_KIND,
        documentation=shown.documentation if request.include_documentation else None,
    )
