"""A coordinator of this node, as handlers reach it."""

import asyncio
from collections.abc import Callable, Iterator
from typing import Generic, TypeAlias, TypeVar

from odradek.broker.call import Call
from odradek.broker.dispatch import LATER
from odradek.coordinators.result import CoordinatorResult, RequestContext
from odradek.coordinators.runtime import Runtime, Single, Ticket
from odradek.coordinators.shard import Shard
from odradek.model.error_code import ErrorCode
from odradek.model.errors import BrokerError
from odradek.replication.waiters import Unsettled
from odradek.wire.schema import Message

S = TypeVar("S", bound=Shard)

Refusal: TypeAlias = Callable[[ErrorCode], Message]
"""Makes the response that says nothing but this."""


class Coordinator(Generic[S]):
    """Keys are what it coordinates: groups, or transactional ids."""

    def __init__(self, runtime: Runtime[S]) -> None:
        self._runtime = runtime

    def ask(
        self, call: Call, key: str, command: Callable[[S, RequestContext], CoordinatorResult], refusal: Refusal
    ) -> object:
        """Have the shard of a key decide; the answer leaves once that is recorded, or when its time comes.

        What a handler returns. A BrokerError of the command, or of a coordinator that is not there, becomes a refusal.
        """
        ticket = _CallTicket(call, refusal)
        asked = RequestContext(ticket, call.version, call.client_id or "", f"/{call.client.host}")
        self._runtime.submit(key, ticket, lambda shard: command(shard, asked))
        return LATER

    async def answer(
        self, call: Call, key: str, command: Callable[[S, RequestContext], CoordinatorResult], refusal: Refusal
    ) -> Message:
        """The same for one who waits himself."""
        ticket = _FutureTicket(asyncio.get_running_loop().create_future())
        asked = RequestContext(ticket, call.version, call.client_id or "", f"/{call.client.host}")
        self._runtime.submit(key, ticket, lambda shard: command(shard, asked))
        try:
            return await ticket.outcome
        except BrokerError as error:
            return refusal(error.code)

    def submit(self, key: str, ticket: Ticket, command: Callable[[S], CoordinatorResult]) -> None:
        """Have the shard of a key decide. The ticket hears of the outcome, now or later."""
        self._runtime.submit(key, ticket, command)

    def put(self, key: str, single: Single[S]) -> bool:
        """Do at once what the caller answers, if that can be; see the runtime's."""
        return self._runtime.put(key, single)

    def decide(self, key: str, command: Callable[[S], CoordinatorResult]) -> Unsettled | None:
        """Have the shard of a key decide something that is answered to nobody. Raises a BrokerError.

        What is returned is to be waited for by one who relies on it.
        """
        return self._runtime.decide(key, command)

    def unsettled_of(self, key: str) -> Unsettled | None:
        """What one who has read from the shard of a key has to wait for. Raises what `shard_of` does."""
        return self._runtime.unsettled_of(key)

    def shard_of(self, key: str) -> S:
        """To read from. Raises NotCoordinator or CoordinatorLoading."""
        return self._runtime.shard_of(key)

    def settled_shard_of(self, key: str) -> S | None:
        """If what it says may be told at once."""
        return self._runtime.settled_shard_of(key)

    def shards(self) -> Iterator[S]:
        """All of this node that can be used. Raises CoordinatorLoading."""
        return self._runtime.shards()


class _CallTicket:
    """Answers a call."""

    __slots__ = ("_call", "_refusal")

    def __init__(self, call: Call, refusal: Refusal) -> None:
        self._call = call
        self._refusal = refusal

    def answer(self, response: Message) -> None:
        self._call.answer(response)

    def fail(self, error: BrokerError) -> None:
        self._call.answer(self._refusal(error.code))


class _FutureTicket:
    """Answers a coroutine, which may have been cancelled meanwhile."""

    __slots__ = ("outcome",)

    def __init__(self, outcome: "asyncio.Future[Message]") -> None:
        self.outcome = outcome

    def answer(self, response: Message) -> None:
        if not self.outcome.done():
            self.outcome.set_result(response)

    def fail(self, error: BrokerError) -> None:
        if not self.outcome.done():
            self.outcome.set_exception(error)
