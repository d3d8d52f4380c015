"""Who waits for a partition: until an offset is settled, or for more to read.

Records are settled once every in-sync replica has them durably enough: they lie below the high watermark. A leader
appends at once, and what follows from the append (an answer, the effects of a coordinator's command) waits here.

Nobody is called within the append that settles an offset: the one who appended goes on first.
"""

import asyncio
from collections.abc import Callable, Hashable, Mapping, Sequence
from functools import partial
from typing import Generic, NamedTuple, Protocol, TypeVar

from odradek.model.error_code import ErrorCode
from odradek.model.errors import BrokerError
from odradek.model.numbers import Offset
from odradek.process.guard import Guard, report

K = TypeVar("K", bound=Hashable)


class RequestTimedOut(BrokerError):
    """Replicas took longer than the client wants to wait. The records may be settled later all the same."""

    code = ErrorCode.REQUEST_TIMED_OUT


class Waiter(Protocol):
    """Waits for an offset. It hears once: that the offset is settled, or why it will not be."""

    def settled(self) -> None: ...

    def failed(self, error: BrokerError) -> None: ...


class Reader(Protocol):
    """Waits for bytes to read, wherever they come from. It hears of all that settle until it leaves."""

    def arrived(self, size: int) -> None: ...

    def end(self) -> None:
        """There is nothing more to wait for: the partition is gone."""
        ...


class Waiters:
    """The one list of a partition. Waiters of offsets are called in the order in which they came."""

    __slots__ = ("error", "offsets", "readers", "settled")

    def __init__(self) -> None:
        self.settled = Offset(0)
        """All below it is settled."""
        self.error: BrokerError | None = None
        """Why nothing settles any more."""
        self.readers: dict[Reader, None] = {}
        self.offsets: dict[Waiter, Offset] = {}
        """Never falling: what comes later waits for as much at least."""

    def add(self, offset: Offset, waiter: Waiter) -> None:
        """Call `waiter` when all below `offset` is settled, and all that others wait for already.

        That is one who asks for an older offset, such as a batch that was sent again, is called with those before him.
        """
        if self.error is not None:
            asyncio.get_running_loop().call_soon(_call_failed, (waiter,), self.error)
            return
        if offset <= self.settled and not self.offsets:
            asyncio.get_running_loop().call_soon(_call_settled, (waiter,))
            return
        last = next(reversed(self.offsets.values()), offset)
        self.offsets[waiter] = max(offset, last)

    def remove(self, waiter: Waiter) -> None:
        """It waits no more. Nothing happens where it was called already."""
        self.offsets.pop(waiter, None)

    def settle(self, offset: Offset, size: int) -> None:
        """All below `offset` is settled; `size` is how many bytes that is more than before."""
        self.settled = offset
        for reader in tuple(self.readers):
            reader.arrived(size)
        due = []
        for waiter, end in self.offsets.items():
            if end > offset:
                break
            due.append(waiter)
        if due:
            for waiter in due:
                del self.offsets[waiter]
            asyncio.get_running_loop().call_soon(_call_settled, due)

    def fail(self, error: BrokerError) -> None:
        """The disk failed, or this node leads the partition no more. Readers look once more, and find out why."""
        self.error = error
        for reader in tuple(self.readers):
            reader.end()
        if self.offsets:
            due = list(self.offsets)
            self.offsets.clear()
            asyncio.get_running_loop().call_soon(_call_failed, due, error)


class Unsettled(NamedTuple):
    """Records that are appended to a partition, and not settled yet."""

    waiters: Waiters
    end: Offset
    """That of the last of them, plus one."""


class Wait(Generic[K]):
    """Waits for several partitions at once. It has one timer, if any, however many they are."""

    __slots__ = ("_done", "_errors", "_left", "_timer")

    def __init__(
        self,
        unsettled: Mapping[K, Unsettled],
        done: Callable[[Mapping[K, BrokerError]], None],
        timeout_ms: int | None = None,
    ) -> None:
        """`done` is called once, with the errors of those that failed, by their keys in `unsettled`."""
        self._done = done
        self._errors: dict[K, BrokerError] = {}
        self._left = {key: _Part(self, key, waiters) for key, (waiters, _) in unsettled.items()}
        for key, part in self._left.items():
            part.waiters.add(unsettled[key].end, part)
        self._timer = None
        if timeout_ms is not None:
            self._timer = asyncio.get_running_loop().call_later(max(timeout_ms, 0) / 1000, self._time_out)

    def cancel(self) -> None:
        """Wait no more: `done` is not called."""
        for part in self._left.values():
            part.waiters.remove(part)
        self._left.clear()
        if self._timer is not None:
            self._timer.cancel()
            self._timer = None

    def ended(self, key: K, error: BrokerError | None) -> None:
        """One of the partitions is done."""
        if self._left.pop(key, None) is None:
            return  # it was cancelled, or timed out, when this was on its way already
        if error is not None:
            self._errors[key] = error
        if not self._left:
            self.cancel()
            self._done(self._errors)

    def _time_out(self) -> None:
        for key in self._left:
            self._errors[key] = RequestTimedOut("the records were not replicated in time")
        self.cancel()
        with _GUARD:
            self._done(self._errors)


class _Part(Generic[K]):
    """Waits for one of the partitions."""

    __slots__ = ("_key", "_wait", "waiters")

    def __init__(self, wait: Wait[K], key: K, waiters: Waiters) -> None:
        self._wait = wait
        self._key = key
        self.waiters = waiters

    def settled(self) -> None:
        self._wait.ended(self._key, None)

    def failed(self, error: BrokerError) -> None:
        self._wait.ended(self._key, error)


async def wait_for(unsettled: Mapping[K, Unsettled]) -> Mapping[K, BrokerError]:
    """For one who has a task anyway. Returns what `done` of a Wait is told."""
    if not unsettled:
        return {}
    done: asyncio.Future[Mapping[K, BrokerError]] = asyncio.get_running_loop().create_future()
    wait = Wait(unsettled, done.set_result)
    try:
        return await done
    finally:
        wait.cancel()


def _call_settled(due: Sequence[Waiter]) -> None:
    for waiter in due:
        with _GUARD:
            waiter.settled()


def _call_failed(due: Sequence[Waiter], error: BrokerError) -> None:
    for waiter in due:
        with _GUARD:
            waiter.failed(error)


_GUARD = Guard(partial(report, work="what waited for an offset"))
"""Around each waiter: if one of them fails, the others are called all the same."""
