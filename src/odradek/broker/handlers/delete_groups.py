"""DeleteGroups, versions 0 to 2."""

from odradek.broker.call import Call
from odradek.broker.coordination.groups import Groups
from odradek.broker.dispatch import LATER
from odradek.coordinators.groups.events import happened
from odradek.coordinators.groups.shard import GroupShard
from odradek.coordinators.result import Answer, CoordinatorResult
from odradek.model.error_code import ErrorCode
from odradek.model.errors import BrokerError
from odradek.wire.messages.delete_groups import DeletableGroupResult, DeleteGroupsRequest, DeleteGroupsResponse
from odradek.wire.schema import Message

VERSIONS = (0, 2)


class DeleteGroups:
    def __init__(self, groups: Groups) -> None:
        self._groups = groups

    def handle(self, call: Call, request: DeleteGroupsRequest) -> object:
        results: dict[str, ErrorCode | None] = dict.fromkeys(request.groups_names)
        if not results:
            return DeleteGroupsResponse()
        for group_id in list(results):
            part = _Part(call, results, group_id)
            self._groups.submit(group_id, part, part.delete)
        return LATER


class _Part:
    """One of the groups. The last that is heard of answers for all: their shards need not be done at the same time."""

    __slots__ = ("_call", "_group_id", "_results")

    def __init__(self, call: Call, results: dict[str, ErrorCode | None], group_id: str) -> None:
        self._call = call
        self._results = results
        """None for those that are not heard of yet."""
        self._group_id = group_id

    def delete(self, shard: GroupShard) -> CoordinatorResult:
        decision = CoordinatorResult(shard.delete(self._group_id), (Answer(self, DeleteGroupsResponse()),))
        return decision + happened("a group was deleted", self._group_id)

    def answer(self, response: Message) -> None:
        with self._call.guard():
            self._hear(ErrorCode.NONE)

    def fail(self, error: BrokerError) -> None:
        with self._call.guard():
            self._hear(error.code)

    def _hear(self, code: ErrorCode) -> None:
        self._results[self._group_id] = code
        codes = [(group_id, heard) for group_id, heard in self._results.items() if heard is not None]
        if len(codes) == len(self._results):
            results = tuple(DeletableGroupResult(group_id=group_id, error_code=heard) for group_id, heard in codes)
            self._call.respond(DeleteGroupsResponse(results=results))
