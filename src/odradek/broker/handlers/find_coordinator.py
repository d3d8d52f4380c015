"""FindCoordinator, versions 0 to 6, for groups and transactions. Share partitions have no coordinator yet."""

import logging
from collections.abc import Awaitable

from odradek.broker.broker import Broker
from odradek.broker.call import Call
from odradek.broker.coordination.coordinator_topics import OFFSETS_TOPIC, TRANSACTIONS_TOPIC, CoordinatorTopics
from odradek.coordinators.partitioning import partition_of
from odradek.metadata.uuids import from_text
from odradek.model.error_code import ErrorCode
from odradek.model.errors import BrokerError
from odradek.wire.messages.find_coordinator import Coordinator, FindCoordinatorRequest, FindCoordinatorResponse

logger = logging.getLogger(__name__)

VERSIONS = (0, 6)
_MANY_SINCE = 4
_SHARE_SINCE = 6
_SHARE = 2
_TOPICS = {0: OFFSETS_TOPIC, 1: TRANSACTIONS_TOPIC}
"""By what is coordinated."""


class FindCoordinator:
    def __init__(self, broker: Broker, topics: CoordinatorTopics) -> None:
        self._broker = broker
        self._topics = topics

    def handle(
        self, call: Call, request: FindCoordinatorRequest
    ) -> FindCoordinatorResponse | Awaitable[FindCoordinatorResponse]:
        is_asked = call.version < _MANY_SINCE or bool(request.coordinator_keys)
        topic = _TOPICS.get(request.key_type)
        if topic is not None and is_asked and topic not in self._broker.image.topics:
            return self._make_topic_first(topic, call, request)
        return self._respond(call, request)

    async def _make_topic_first(
        self, topic: str, call: Call, request: FindCoordinatorRequest
    ) -> FindCoordinatorResponse:
        try:
            await self._topics.make(topic)
        except BrokerError as error:
            fields = {"topic": topic, "reason": str(error)}
            logger.error("the topic of a coordinator cannot be made", extra=fields)
        return self._respond(call, request)

    def _respond(self, call: Call, request: FindCoordinatorRequest) -> FindCoordinatorResponse:
        if call.version >= _MANY_SINCE:
            found = tuple(self._find(call, request.key_type, key) for key in request.coordinator_keys)
            return FindCoordinatorResponse(coordinators=found)
        found_one = self._find(call, request.key_type, request.key)
        return FindCoordinatorResponse(
            error_code=found_one.error_code,
            error_message="" if found_one.error_code else "NONE",
            node_id=found_one.node_id,
            host=found_one.host,
            port=found_one.port,
        )

    def _find(self, call: Call, kind: int, key: str) -> Coordinator:
        code = ErrorCode.INVALID_REQUEST
        if kind in _TOPICS:
            if self._is_led_here(_TOPICS[kind], key):
                host, port = call.client.advertised
                return Coordinator(key=key, node_id=self._broker.node_id, host=host, port=port, error_message="")
            code = ErrorCode.COORDINATOR_NOT_AVAILABLE
        elif kind == _SHARE and call.version >= _SHARE_SINCE and _is_share_key(key):
            code = ErrorCode.COORDINATOR_NOT_AVAILABLE
        return Coordinator(key=key, node_id=-1, host="", port=-1, error_code=code, error_message="")

    def _is_led_here(self, topic_name: str, key: str) -> bool:
        topic = self._broker.image.topics.get(topic_name)
        if topic is None:
            return False
        placement = topic.partitions.get(partition_of(key, len(topic.partitions)))
        return placement is not None and placement.leader == self._broker.node_id


def _is_share_key(key: str) -> bool:
    """`group:topic-id:partition`, where the group may have colons too."""
    group, _, rest = key.rpartition(":")
    group, _, topic_id = group.rpartition(":")
    try:
        from_text(topic_id)
    except ValueError:
        return False
    return bool(group.strip()) and rest.isascii() and rest.isdecimal()
