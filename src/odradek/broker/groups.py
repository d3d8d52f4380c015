"""The groups that this node coordinates, as handlers reach them."""

from collections.abc import Callable, Iterator
from typing import TypeAlias

from odradek.broker.call import Call
from odradek.broker.dispatch import LATER
from odradek.coordinators.decision import Asked, Decision
from odradek.coordinators.groups.shard import GroupShard
from odradek.coordinators.runtime import Runtime, Waiter
from odradek.model.error_code import ErrorCode
from odradek.model.errors import BrokerError
from odradek.wire.schema import Message

Command: TypeAlias = Callable[[GroupShard, Asked], Decision]
Refusal: TypeAlias = Callable[[ErrorCode], Message]
"""Makes the response that says nothing but this."""


class Groups:
    def __init__(self, runtime: Runtime[GroupShard]) -> None:
        self._runtime = runtime

    def ask(self, call: Call, group_id: str, command: Command, refusal: Refusal) -> object:
        """Have the shard of a group decide; the answer leaves once that is recorded, or when its time comes.

        What a handler returns. A BrokerError of the command, or of a coordinator that is not there, becomes a refusal.
        """
        ticket = _Ticket(call, refusal)
        asked = Asked(ticket, call.version, call.client_id or "", f"/{call.connection.peer[0]}")
        self._runtime.submit(group_id, ticket, lambda shard: command(shard, asked))
        return LATER

    def submit(self, group_id: str, ticket: Waiter, command: Callable[[GroupShard], Decision]) -> None:
        """Have the shard of a group decide. The ticket hears of the outcome, now or later."""
        self._runtime.submit(group_id, ticket, command)

    def shard_of(self, group_id: str) -> GroupShard:
        """To read from. Raises NotCoordinator or CoordinatorLoading."""
        return self._runtime.shard_of(group_id)

    def shards(self) -> Iterator[GroupShard]:
        """All of this node. Raises as `shard_of` does where one of them cannot be read."""
        return self._runtime.shards()


class _Ticket:
    """Answers a call."""

    __slots__ = ("_call", "_refusal")

    def __init__(self, call: Call, refusal: Refusal) -> None:
        self._call = call
        self._refusal = refusal

    def answer(self, response: Message) -> None:
        self._call.respond(response)

    def fail(self, error: BrokerError) -> None:
        self._call.respond(self._refusal(error.code))
