"""Offsets that a client deletes: OffsetDelete, partition by partition."""

from collections.abc import Callable

from odradek.coordinators.groups.group import Group
from odradek.coordinators.groups.offsets.records import tombstone
from odradek.coordinators.result import CoordinatorResult, RequestContext, Stored
from odradek.metadata.image import Image
from odradek.model.error_code import ErrorCode
from odradek.wire.messages.offset_delete import (
    OffsetDeleteRequest,
    OffsetDeleteResponse,
    OffsetDeleteResponsePartition,
    OffsetDeleteResponseTopic,
)


def delete(
    asked: RequestContext,
    request: OffsetDeleteRequest,
    group: Group,
    image: Image,
    has: Callable[[str, str, int], bool],
) -> CoordinatorResult:
    """`has` tells whether the group has an offset of a topic's partition. Those of no known topic are told first."""
    refused: dict[str, list[OffsetDeleteResponsePartition]] = {}
    done: dict[str, list[OffsetDeleteResponsePartition]] = {}
    records: list[Stored] = []
    for asked_topic in request.topics:
        name = asked_topic.name
        topic = image.topics.get(name)
        is_subscribed = group.is_subscribed(name)
        for index in dict.fromkeys(each.partition_index for each in asked_topic.partitions):
            if topic is None or index not in topic.partitions:
                refused.setdefault(name, []).append(_told(index, ErrorCode.UNKNOWN_TOPIC_OR_PARTITION))
            elif is_subscribed:
                done.setdefault(name, []).append(_told(index, ErrorCode.GROUP_SUBSCRIBED_TO_TOPIC))
            else:
                done.setdefault(name, []).append(_told(index, ErrorCode.NONE))
                if has(request.group_id, name, index):
                    records.append(tombstone(request.group_id, name, index))
    topics = {name: refused.get(name, []) + done.get(name, []) for name in (*refused, *done)}
    return asked.answer(
        OffsetDeleteResponse(
            topics=tuple(
                OffsetDeleteResponseTopic(name=name, partitions=tuple(partitions))
                for name, partitions in topics.items()
            )
        ),
        *records,
    )


def _told(index: int, code: ErrorCode) -> OffsetDeleteResponsePartition:
    return OffsetDeleteResponsePartition(partition_index=index, error_code=code)
