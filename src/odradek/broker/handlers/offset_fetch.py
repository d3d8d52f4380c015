"""OffsetFetch, versions 1 to 10."""

import asyncio
from collections.abc import Awaitable

from odradek.broker.call import Call
from odradek.broker.groups import Groups
from odradek.model.error_code import ErrorCode
from odradek.model.errors import BrokerError
from odradek.model.numbers import NO_OFFSET
from odradek.wire.messages.offset_fetch import (
    OffsetFetchRequest,
    OffsetFetchRequestGroup,
    OffsetFetchRequestTopics,
    OffsetFetchResponse,
    OffsetFetchResponseGroup,
    OffsetFetchResponsePartition,
    OffsetFetchResponseTopic,
)

VERSIONS = (1, 10)
_MANY_SINCE = 8
_GROUP_ERROR_SINCE = 2
_AT_ONCE = 16


class OffsetFetch:
    def __init__(self, groups: Groups) -> None:
        self._groups = groups

    def handle(self, call: Call, request: OffsetFetchRequest) -> OffsetFetchResponse | Awaitable[OffsetFetchResponse]:
        if call.version >= _MANY_SINCE:
            if len(request.groups) > _AT_ONCE:
                return self._fetch_many(call, request)
            return OffsetFetchResponse(groups=tuple(self._fetch(call, request, each) for each in request.groups))
        wanted = _only_group(request)
        found = self._fetch(call, request, wanted)
        if found.error_code and call.version < _GROUP_ERROR_SINCE:
            return OffsetFetchResponse(topics=_refused(wanted, found.error_code))
        return OffsetFetchResponse(error_code=found.error_code, topics=_without_ids(found))

    async def _fetch_many(self, call: Call, request: OffsetFetchRequest) -> OffsetFetchResponse:
        """Tools ask for all groups at once. The others have their turn in between."""
        found = []
        for number, group in enumerate(request.groups):
            found.append(self._fetch(call, request, group))
            if number % _AT_ONCE == 0:
                await asyncio.sleep(0)
        return OffsetFetchResponse(groups=tuple(found))

    def _fetch(
        self, call: Call, request: OffsetFetchRequest, group: OffsetFetchRequestGroup
    ) -> OffsetFetchResponseGroup:
        try:
            shard = self._groups.shard_of(group.group_id)
            return shard.offsets.fetch(group, call.version, require_stable=request.require_stable)
        except BrokerError as error:
            return OffsetFetchResponseGroup(group_id=group.group_id, topics=(), error_code=error.code)


def _only_group(request: OffsetFetchRequest) -> OffsetFetchRequestGroup:
    """That of a request from before there could be several."""
    if request.topics is None:
        return OffsetFetchRequestGroup(group_id=request.group_id, topics=None)
    topics = tuple(
        OffsetFetchRequestTopics(name=each.name, partition_indexes=each.partition_indexes) for each in request.topics
    )
    return OffsetFetchRequestGroup(group_id=request.group_id, topics=topics)


def _without_ids(group: OffsetFetchResponseGroup) -> tuple[OffsetFetchResponseTopic, ...]:
    return tuple(
        OffsetFetchResponseTopic(
            name=topic.name,
            partitions=tuple(
                OffsetFetchResponsePartition(
                    partition_index=each.partition_index,
                    committed_offset=each.committed_offset,
                    committed_leader_epoch=each.committed_leader_epoch,
                    metadata=each.metadata,
                    error_code=each.error_code,
                )
                for each in topic.partitions
            ),
        )
        for topic in group.topics
    )


def _refused(group: OffsetFetchRequestGroup, code: ErrorCode | int) -> tuple[OffsetFetchResponseTopic, ...]:
    return tuple(
        OffsetFetchResponseTopic(
            name=topic.name,
            partitions=tuple(
                OffsetFetchResponsePartition(
                    partition_index=each, committed_offset=NO_OFFSET, metadata="", error_code=code
                )
                for each in topic.partition_indexes
            ),
        )
        for topic in group.topics or ()
    )
