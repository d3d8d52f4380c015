"""OffsetFetch, versions 1 to 10."""

import asyncio
from collections.abc import Callable, Mapping

from odradek.broker.call import Call
from odradek.broker.coordination.groups import Groups
from odradek.broker.dispatch import LATER, Handled
from odradek.broker.late import answer_late
from odradek.coordinators.errors import for_client
from odradek.model.error_code import ErrorCode
from odradek.model.errors import BrokerError
from odradek.model.numbers import NO_OFFSET
from odradek.replication.waiters import Unsettled, Wait, wait_for
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

    def handle(self, call: Call, request: OffsetFetchRequest) -> Handled:
        if call.version < _MANY_SINCE:
            reading = _Reading(self._groups, call, request)
            wanted = _only_group(request)
            reading.read(wanted)
            return reading.respond(lambda: _of_one_group(call.version, wanted, reading.found[0]))
        if len(request.groups) > _AT_ONCE:
            return self._fetch_many(call, request)
        reading = _Reading(self._groups, call, request)
        for each in request.groups:
            reading.read(each)
        return reading.respond(lambda: OffsetFetchResponse(groups=tuple(reading.found)))

    async def _fetch_many(self, call: Call, request: OffsetFetchRequest) -> OffsetFetchResponse:
        """Tools ask for all groups at once. The others have their turn in between."""
        reading = _Reading(self._groups, call, request)
        for number, group in enumerate(request.groups):
            reading.read(group)
            if number % _AT_ONCE == 0:
                await asyncio.sleep(0)
        reading.refuse(await wait_for(reading.unsettled))
        return OffsetFetchResponse(groups=tuple(reading.found))


class _Reading:
    """What a request finds, which is told once it is settled: nobody goes on from offsets that may be lost."""

    __slots__ = ("_call", "_groups", "_request", "found", "unsettled")

    def __init__(self, groups: Groups, call: Call, request: OffsetFetchRequest) -> None:
        self._groups = groups
        self._call = call
        self._request = request
        self.found: list[OffsetFetchResponseGroup] = []
        self.unsettled: dict[int, Unsettled] = {}
        """By the group's index in what was found."""

    def read(self, group: OffsetFetchRequestGroup) -> None:
        try:
            shard = self._groups.shard_of(group.group_id)
            found = shard.offsets.fetch(group, self._call.version, require_stable=self._request.require_stable)
            unsettled = self._groups.unsettled_of(group.group_id)
        except BrokerError as error:
            self.found.append(_refused_group(group.group_id, error))
            return
        if unsettled is not None:
            self.unsettled[len(self.found)] = unsettled
        self.found.append(found)

    def refuse(self, errors: Mapping[int, BrokerError]) -> None:
        for index, error in errors.items():
            self.found[index] = _refused_group(self.found[index].group_id, for_client(error))

    def respond(self, response: Callable[[], OffsetFetchResponse]) -> Handled:
        if not self.unsettled:
            return response()

        def answer(errors: Mapping[int, BrokerError]) -> None:
            self.refuse(errors)
            answer_late(self._call, response)

        Wait(self.unsettled, answer)
        return LATER


def _refused_group(group_id: str, error: BrokerError) -> OffsetFetchResponseGroup:
    return OffsetFetchResponseGroup(group_id=group_id, topics=(), error_code=error.code)


def _of_one_group(
    version: int, wanted: OffsetFetchRequestGroup, found: OffsetFetchResponseGroup
) -> OffsetFetchResponse:
    """For a client from before there could be several."""
    if found.error_code and version < _GROUP_ERROR_SINCE:
        return OffsetFetchResponse(topics=_refused(wanted, found.error_code))
    return OffsetFetchResponse(error_code=found.error_code, topics=_without_ids(found))


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
