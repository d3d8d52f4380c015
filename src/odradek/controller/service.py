"""The active controller: a request is decided on, its records are written and committed, and the response is given."""

from collections.abc import Awaitable, Callable, Sequence
from dataclasses import dataclass, field, replace
from typing import Protocol

from odradek.controller.apis.table import CONTROLLER_APIS, ControllerApi
from odradek.controller.context import ContextOf
from odradek.controller.controller_request_context import ControllerRequestContext
from odradek.metadata.image import Image
from odradek.model.errors import BrokerError
from odradek.wire.messages.broker_heartbeat import BrokerHeartbeatRequest
from odradek.wire.messages.broker_registration import BrokerRegistrationRequest
from odradek.wire.schema import Message
from odradek.wire.schema import replace as replace_fields


class RecordLog(Protocol):
    """The metadata log, of which this node is the leader."""

    @property
    def latest(self) -> Image:
        """All that is appended, committed or not: two requests for one name must not both get it."""
        ...

    async def commit(self, records: Sequence[Message]) -> Image:
        """Append records as one batch; returns when they, and all before them, are committed and published.

        Raises a BrokerError where that cannot be.
        """
        ...


class MutationAccount(Protocol):
    """What one request takes of its client's quota."""

    def charge(self, partitions: int) -> object:
        """May raise a BrokerError."""
        ...

    def wait_ms(self) -> int:
        """How long the client is to wait."""
        ...


class Mutations(Protocol):
    """The quota of partitions that clients create and delete."""

    def account(self, client: ControllerRequestContext, *, is_strict: bool) -> MutationAccount: ...


@dataclass(frozen=True, slots=True, kw_only=True)
class ActiveController:
    """A `Controller` on the node that leads the metadata log."""

    log: RecordLog
    context_of: ContextOf
    mutations: Mutations
    unknown_hosts: Callable[[frozenset[str]], Awaitable[frozenset[str]]]
    """Which of some hosts have no address."""
    heard: set[int] = field(default_factory=set)
    """Brokers whose registration or heartbeat was taken since this controller is the active one."""

    async def ask(self, request: Message, context: ControllerRequestContext) -> Message:
        api = CONTROLLER_APIS[type(request).spec.key or -1]
        unknown_hosts = frozenset[str]()
        if api.hosts is not None and (hosts := api.hosts(request)):
            unknown_hosts = await self.unknown_hosts(hosts)
        account = self._account(api, context)
        try:
            image = self.log.latest
            given = replace(self.context_of(image), version=context.version, unknown_hosts=unknown_hosts)
            given = replace(given, is_alive=self.heard.__contains__)
            if account is not None:
                given = replace(given, charge=account.charge)
            result = api.decide(image, request, given)
            if isinstance(request, (BrokerRegistrationRequest, BrokerHeartbeatRequest)):
                self.heard.add(request.broker_id)
            # Without records, too: the response may leave when all that the decision saw is committed.
            await self.log.commit(result.records)
            response = result.response
        except BrokerError as error:
            response = api.refuse(request, error)
        if account is not None and (wait_ms := account.wait_ms()):
            return replace_fields(response, throttle_time_ms=wait_ms)
        return response

    def _account(self, api: ControllerApi, context: ControllerRequestContext) -> MutationAccount | None:
        if api.strict_since is None or context.principal is None:
            return None
        return self.mutations.account(context, is_strict=context.version >= api.strict_since)
