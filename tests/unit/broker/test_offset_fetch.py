"""Committed offsets are told once they are settled: nobody goes on from what lost power could take away."""

import asyncio
from collections.abc import Callable
from types import SimpleNamespace
from typing import TYPE_CHECKING, Any, cast

import pytest

from odradek.broker.call import Call
from odradek.broker.dispatch import LATER
from odradek.broker.handlers.offset_fetch import OffsetFetch
from odradek.model.error_code import ErrorCode
from odradek.model.errors import StorageFailed
from odradek.model.numbers import Offset
from odradek.replication.waiters import Unsettled, Waiters
from odradek.wire.messages.offset_fetch import (
    OffsetFetchRequest,
    OffsetFetchRequestGroup,
    OffsetFetchResponse,
    OffsetFetchResponseGroup,
)

if TYPE_CHECKING:
    from odradek.broker.coordination.groups import Groups


class Coordinator:
    """All groups are in one partition. It counts how often it is read."""

    def __init__(self) -> None:
        self.waiters = Waiters()
        self.is_settled = False
        self.reads = 0
        self.offsets = self

    def shard_of(self, _group_id: str) -> "Coordinator":
        return self

    def fetch(self, group: OffsetFetchRequestGroup, _version: int, *, require_stable: bool) -> OffsetFetchResponseGroup:
        self.reads += 1
        return OffsetFetchResponseGroup(group_id=group.group_id, topics=())

    def unsettled_of(self, _group_id: str) -> Unsettled | None:
        return None if self.is_settled else Unsettled(self.waiters, Offset(5))


class Asked:
    """A call whose answer is kept."""

    def __init__(self, version: int) -> None:
        self.response: OffsetFetchResponse | None = None
        self.version = version
        self.times = None
        self.connection = SimpleNamespace(is_closed=False)

    def guard(self) -> Any:
        return Call.guard(cast("Call", self))

    def fail(self, error: Exception) -> None:
        raise error

    def respond(self, response: OffsetFetchResponse) -> None:
        self.response = response

    @property
    def codes(self) -> list[int]:
        assert self.response is not None
        if self.version < 8:
            return [self.response.error_code]
        return [group.error_code for group in self.response.groups]


def request(version: int, groups: int = 2) -> OffsetFetchRequest:
    if version < 8:
        return OffsetFetchRequest(group_id="g", topics=None)
    many = tuple(OffsetFetchRequestGroup(group_id=f"g{number}", topics=None) for number in range(groups))
    return OffsetFetchRequest(groups=many)


@pytest.mark.parametrize("version", [5, 8])
@pytest.mark.parametrize(
    ("then", "code"),
    [
        (lambda waiters: waiters.settle(Offset(5), 1), ErrorCode.NONE),
        (lambda waiters: waiters.fail(StorageFailed("the disk")), ErrorCode.NOT_COORDINATOR),
    ],
)
def test_what_is_not_settled_is_waited_for(version: int, then: Callable[[Waiters], None], code: ErrorCode) -> None:
    async def scene() -> None:
        coordinator, call = Coordinator(), Asked(version)
        handler = OffsetFetch(cast("Groups", coordinator))
        assert handler.handle(cast("Call", call), request(version)) is LATER
        reads = coordinator.reads
        coordinator.waiters.settle(Offset(4), 1)
        await asyncio.sleep(0)
        assert call.response is None
        then(coordinator.waiters)
        await asyncio.sleep(0)
        assert set(call.codes) == {code}
        assert coordinator.reads == reads, "what was read before is told, not what came since"

    asyncio.run(scene())


def test_what_is_settled_is_told_at_once() -> None:
    coordinator = Coordinator()
    coordinator.is_settled = True
    handler = OffsetFetch(cast("Groups", coordinator))
    response = handler.handle(cast("Call", Asked(8)), request(8))
    assert isinstance(response, OffsetFetchResponse)


def test_a_tool_that_asks_for_all_groups_waits_too() -> None:
    async def scene() -> None:
        coordinator, call = Coordinator(), Asked(8)
        handler = OffsetFetch(cast("Groups", coordinator))
        response = asyncio.ensure_future(cast("Any", handler.handle(cast("Call", call), request(8, groups=50))))
        for _ in range(10):
            await asyncio.sleep(0)
        assert not response.done()
        coordinator.waiters.settle(Offset(5), 1)
        assert len((await response).groups) == 50

    asyncio.run(scene())
