"""What a heartbeat must look like, before anybody looks at the group."""

from collections.abc import Collection

from odradek.coordinators.groups.consumer.errors import InvalidHeartbeat, UnsupportedAssignor
from odradek.coordinators.groups.consumer.member import JOINING, LEAVING, LEAVING_FOR_A_WHILE
from odradek.wire.messages.consumer_group_heartbeat import ConsumerGroupHeartbeatRequest

_CLIENT_MAKES_ID_SINCE = 1


def check_heartbeat(request: ConsumerGroupHeartbeatRequest, version: int, assignors: Collection[str]) -> None:
    """Raises InvalidHeartbeat or UnsupportedAssignor."""
    epoch = request.member_epoch
    # In version 0 the coordinator makes the id of a member that joins.
    if version >= _CLIENT_MAKES_ID_SINCE or epoch > JOINING or epoch == LEAVING:
        _check_text("MemberId", request.member_id)
    _check_text("GroupId", request.group_id)
    _check_text("InstanceId", request.instance_id)
    _check_text("RackId", request.rack_id)
    if epoch == JOINING:
        _check_joining(request)
    elif epoch == LEAVING_FOR_A_WHILE and request.instance_id is None:
        raise InvalidHeartbeat("InstanceId can't be null of a member that leaves for a while")
    elif epoch < LEAVING_FOR_A_WHILE:
        raise InvalidHeartbeat(f"MemberEpoch is invalid: {epoch}")
    if request.server_assignor is not None and request.server_assignor not in assignors:
        raise UnsupportedAssignor(
            f"ServerAssignor {request.server_assignor} is not supported, only {', '.join(assignors)}"
        )


def _check_text(what: str, text: str | None) -> None:
    if text is not None and not text.strip():
        raise InvalidHeartbeat(f"{what} can't be empty")


def _check_joining(request: ConsumerGroupHeartbeatRequest) -> None:
    if request.rebalance_timeout_ms == -1:
        raise InvalidHeartbeat("RebalanceTimeoutMs must be provided by a member that joins")
    if request.topic_partitions is None or request.topic_partitions:
        raise InvalidHeartbeat("TopicPartitions must be empty, not null, of a member that joins")
    if request.subscribed_topic_names is None and request.subscribed_topic_regex is None:
        raise InvalidHeartbeat("SubscribedTopicNames or SubscribedTopicRegex must be non-null of a member that joins")
