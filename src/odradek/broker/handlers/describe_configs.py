"""DescribeConfigs, versions 1 to 4, for topics and this broker.

Not described: the levels of loggers, settings of groups and of client metrics.
"""

from odradek.broker import shown_settings
from odradek.broker.broker import Broker
from odradek.broker.call import Call
from odradek.broker.settings import Settings
from odradek.broker.shown_settings import Shown
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
    def __init__(self, broker: Broker, settings: Settings) -> None:
        self._broker = broker
        self._settings = settings

    def handle(self, _call: Call, request: DescribeConfigsRequest) -> DescribeConfigsResponse:
        return DescribeConfigsResponse(results=tuple(self._describe(each, request) for each in request.resources))

    def _describe(self, asked: DescribeConfigsResource, request: DescribeConfigsRequest) -> DescribeConfigsResult:
        kind, name = asked.resource_type, asked.resource_name
        wanted = asked.configuration_keys or None
        try:
            found = self._find(kind, name)
        except BrokerError as error:
            return DescribeConfigsResult(
                error_code=error.code, error_message=str(error), resource_type=kind, resource_name=name, configs=()
            )
        configs = tuple(_result(each, request) for each in found if wanted is None or each.name in wanted)
        return DescribeConfigsResult(error_message="", resource_type=kind, resource_name=name, configs=configs)

    def _find(self, kind: int, name: str) -> list[Shown]:
        image = self._broker.image
        if kind == ResourceType.TOPIC:
            check_name(name)
            if name not in image.topics:
                raise UnknownTopicOrPartition(f"there is no topic {name}")
            return list(shown_settings.of_topic(self._settings, image, image.configs.of(kind, name)))
        if kind != ResourceType.BROKER:
            raise InvalidRequest(f"settings of resources of type {kind} are not kept")
        if not name:
            return list(shown_settings.of_all_brokers(image))
        if name != str(self._broker.node_id):
            raise InvalidRequest(f"this is broker {self._broker.node_id}, not {name[:40]!r}")
        return list(shown_settings.of_this_broker(self._settings, image))


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
        documentation=shown.key.doc if shown.key and request.include_documentation else None,
    )
