"""A broker that coordinates groups: the real handlers and the real shard, and in place of the runtime virtual time.

A request comes as a frame and leaves as one. When the broker is killed, everything but its log is gone.
"""

from collections.abc import Callable, Sequence
from functools import partial
from random import Random
from typing import TYPE_CHECKING, Any, cast

from odradek.broker.dispatch import LATER, NOT_MINE
from odradek.broker.handlers.consumer_group_heartbeat import ConsumerGroupHeartbeat
from odradek.broker.handlers.heartbeat import Heartbeat
from odradek.broker.handlers.join_group import JoinGroup
from odradek.broker.handlers.leave_group import LeaveGroup
from odradek.broker.handlers.offset_commit import OffsetCommit
from odradek.broker.handlers.offset_fetch import OffsetFetch
from odradek.broker.handlers.sync_group import SyncGroup
from odradek.coordinators.errors import CoordinatorLoading
from odradek.coordinators.groups.context import Deadline, GroupContext
from odradek.coordinators.groups.shard import GroupShard
from odradek.coordinators.result import CoordinatorResult, RequestContext, Stored
from odradek.coordinators.runtime import Single
from odradek.coordinators.timers import Timers
from odradek.metadata.delta import Delta
from odradek.metadata.image import Image
from odradek.model.broker_config import BrokerConfig
from odradek.model.error_code import ErrorCode
from odradek.model.errors import BrokerError
from odradek.model.group_config import GroupConfig
from odradek.wire.apis import APIS
from odradek.wire.codec import decode
from odradek.wire.frame import response_frame
from odradek.wire.header import read_request_head, read_response_head
from odradek.wire.messages.consumer_group_heartbeat import ConsumerGroupHeartbeatRequest
from odradek.wire.messages.find_coordinator import Coordinator, FindCoordinatorRequest, FindCoordinatorResponse
from odradek.wire.messages.heartbeat import HeartbeatRequest
from odradek.wire.messages.join_group import JoinGroupRequest
from odradek.wire.messages.leave_group import LeaveGroupRequest
from odradek.wire.messages.offset_commit import OffsetCommitRequest
from odradek.wire.messages.offset_fetch import OffsetFetchRequest, OffsetFetchResponse
from odradek.wire.messages.sync_group import SyncGroupRequest
from odradek.wire.schema import Message
from odradek.wire.stored import CONSUMER_OFFSETS
from support.sim.events import Events, WallClock
from support.sim.groups.cluster import Cluster
from support.sim.groups.log import GroupLog
from support.sim.network import Connection

if TYPE_CHECKING:
    from odradek.broker.call import Call
    from odradek.broker.groups import Command, Groups, Refusal
    from support.sim.groups.watching import Checker

_HOST = "/127.0.0.1"
_AGAIN_MS = 500
"""When the runtime comes back to a deadline whose records could not be written."""


class Ticket:
    """A request that the broker has, and the way back. Handlers take it for a Call."""

    def __init__(self, connection: Connection | None, request: Message, version: int, correlation_id: int = 0) -> None:
        self.connection = connection
        self.request = request
        self.version = version
        self.correlation_id = correlation_id
        self.client_id = ""
        self.refusal: Refusal | None = None
        self.reply = self
        self.frame: bytes | None = None
        """An answer that a handler made by itself."""

    def send(self, parts: Sequence[bytes]) -> None:
        self.frame = b"".join(parts)


class Broker:
    def __init__(self, events: Events, rng: Random, cluster: Cluster, config: BrokerConfig) -> None:
        self._events = events
        self._rng = rng
        self._cluster = cluster
        self._config = config
        self.log = GroupLog()
        self.life = 0
        self._handlers = _handlers(cast("Groups", self))
        self._short = _short_ways(cast("Groups", self))
        self.checkers: Sequence[Checker] = ()
        self.waiting: dict[Ticket, int] = {}
        """Requests without an answer, and when they came."""
        self._shard: GroupShard | None = None
        self._timers = Timers(lambda: events.now_ms)
        self._alarm_ms: int | None = None
        self.is_loading = False
        self.append_failure = 0.0
        """The chance that a batch cannot be written: those to be answered hear of it, and nothing has changed."""
        self._open: dict[Connection, None] = {}
        cluster.changed = self._topics_changed

    # --- its lives

    @property
    def is_up(self) -> bool:
        return self._shard is not None

    @property
    def is_active(self) -> bool:
        return self.is_up and not self.is_loading

    @property
    def shard(self) -> GroupShard:
        assert self._shard is not None
        return self._shard

    def start(self, loading_ms: int = 0) -> None:
        self.life += 1
        self._timers = Timers(lambda: self._events.now_ms)
        self._timers.sooner = self._set_alarm
        self._alarm_ms = None
        self._shard = self._new_shard()
        self.is_loading = True
        self._events.after(loading_ms, partial(self._load, self.life))

    def kill(self) -> None:
        self._shard = None
        self.waiting.clear()
        self._timers.clear()
        for connection in self._open:
            connection.close()
        self._open.clear()
        for checker in self.checkers:
            checker.killed()

    def _new_shard(self) -> GroupShard:
        return GroupShard(
            GroupContext(
                config=lambda: self._config,
                group_config=lambda group_id: GroupConfig.parse({}, self._config),
                image=lambda: self._cluster.image,
                clock=WallClock(self._events),
                timers=self._timers,
                new_id=partial(new_id, self._rng),
            )
        )

    def _load(self, life: int) -> None:
        if life != self.life or self._shard is None:
            return
        for offset, key, value in self.log.read(compacted=self._rng.random() < 0.5):
            self._shard.replay(offset, key, value)
        self.is_loading = False
        self._carry_out(self._shard.loaded())
        for checker in self.checkers:
            checker.loaded()

    # --- requests

    def receive(self, connection: Connection, frame: bytes) -> None:
        self._open[connection] = None
        head = read_request_head(memoryview(frame)[4:])
        request = decode(APIS[head.api_key].request, head.version, head.body)
        ticket = Ticket(connection, request, head.version, head.correlation_id)
        ticket.client_id = head.client_id or ""
        if isinstance(request, FindCoordinatorRequest):
            self._send(ticket, _found(request))
            return
        self.waiting[ticket] = self._events.now_ms
        handle_body = self._short.get(type(request))
        handled: Any = handle_body(ticket, head.body) if handle_body else NOT_MINE
        if handled is NOT_MINE:
            handled = self._handlers[type(request)](ticket, request)
        elif ticket.frame is not None:
            api = APIS[head.api_key].response
            _, body = read_response_head(memoryview(ticket.frame)[4:], api, head.version)
            handled = decode(api, head.version, body)
        if handled is not LATER:
            self._answer(ticket, handled)

    def ask(self, call: "Call", group_id: str, command: "Command", refusal: "Refusal") -> object:
        """As handlers ask for a decision. There is one shard for all groups."""
        ticket = cast("Ticket", call)
        ticket.refusal = refusal
        try:
            decision = command(self.shard_of(group_id), RequestContext(ticket, ticket.version, ticket.client_id, _HOST))
        except BrokerError as error:
            return refusal(error.code)
        self._carry_out(decision)
        return LATER

    def put(self, group_id: str, single: Single[GroupShard]) -> bool:
        """As handlers have a record written at once. What fails is tried again in the usual way."""
        shard = self.settled_shard_of(group_id)
        now = WallClock(self._events).now_ms()
        record = single.record(shard, now) if shard is not None else None
        if shard is None or record is None or self._rng.random() < self.append_failure:
            return False
        key = CONSUMER_OFFSETS.read_key(record[0])
        value, version = CONSUMER_OFFSETS.read_value(key, record[1])
        for offset, records in self.log.append((Stored(key, value, version),), now, is_atomic=True):
            single.replay(shard, offset)
            for checker in self.checkers:
                checker.appended(records)
        return True

    def settled_shard_of(self, _group_id: str) -> GroupShard | None:
        return None if self.is_loading else self.shard

    def unsettled_of(self, _group_id: str) -> None:
        """What is appended is settled."""

    def shard_of(self, group_id: str) -> GroupShard:
        if self.is_loading:
            raise CoordinatorLoading(f"group {group_id} is being loaded")
        return self.shard

    def fetch(self, version: int, request: OffsetFetchRequest) -> OffsetFetchResponse:
        """What a client would read."""
        response = self._handlers[OffsetFetchRequest](Ticket(None, request, version), request)
        assert isinstance(response, OffsetFetchResponse)
        return response

    def _carry_out(self, decision: CoordinatorResult) -> bool:
        """Whether its records are written, or there are none."""
        is_failing = bool(decision.records) and self._rng.random() < self.append_failure
        if is_failing:
            for answer in decision.answers:
                self._refuse(cast("Ticket", answer.ticket))
        else:
            self._append(decision)
        self._set_alarm()
        return not is_failing

    def _append(self, decision: CoordinatorResult) -> None:
        now = WallClock(self._events).now_ms()
        for offset, records in self.log.append(decision.records, now, is_atomic=decision.is_atomic):
            for number, record in enumerate(records):
                self.shard.replay(type(offset)(offset + number), record.key, record.value)
            for checker in self.checkers:
                checker.appended(records)
        for answer in decision.answers:
            self._answer(cast("Ticket", answer.ticket), answer.response)

    def _refuse(self, ticket: Ticket) -> None:
        """What it was answered with could not be written."""
        assert ticket.refusal is not None
        self._answer(ticket, ticket.refusal(ErrorCode.COORDINATOR_NOT_AVAILABLE))

    def _answer(self, ticket: Ticket, response: Message) -> None:
        for checker in self.checkers:
            checker.answered(ticket, response)
        self.waiting.pop(ticket, None)
        self._send(ticket, response)

    def _send(self, ticket: Ticket, response: Message) -> None:
        assert ticket.connection is not None
        parts = response_frame(response, ticket.version, ticket.correlation_id)
        ticket.connection.reply(b"".join(parts))  # type: ignore[arg-type]

    # --- time and topics

    def _set_alarm(self) -> None:
        at_ms = self._timers.next_ms
        if at_ms is not None and (self._alarm_ms is None or at_ms < self._alarm_ms):
            self._alarm_ms = at_ms
            self._events.after(at_ms - self._events.now_ms, partial(self._ring, self.life, at_ms))

    def _ring(self, life: int, at_ms: int) -> None:
        if life != self.life or self._shard is None or at_ms != self._alarm_ms:
            return
        self._alarm_ms = None
        for deadline in self._timers.due():
            assert isinstance(deadline, Deadline)
            is_done = self._carry_out(self._shard.expired(deadline))
            if not is_done and deadline not in self._timers:
                self._timers.set(deadline, _AGAIN_MS)
        self._set_alarm()

    def _topics_changed(self, delta: Delta, image: Image) -> None:
        if self.is_active:
            self._carry_out(self.shard.topics_changed(delta, image))


def _handlers(groups: "Groups") -> dict[type[Message], Callable[[Any, Any], Any]]:
    return {
        JoinGroupRequest: JoinGroup(groups).handle,
        SyncGroupRequest: SyncGroup(groups).handle,
        HeartbeatRequest: Heartbeat(groups).handle,
        LeaveGroupRequest: LeaveGroup(groups).handle,
        ConsumerGroupHeartbeatRequest: ConsumerGroupHeartbeat(groups, lambda: True).handle,
        OffsetCommitRequest: OffsetCommit(groups).handle,
        OffsetFetchRequest: OffsetFetch(groups).handle,
    }


def _short_ways(groups: "Groups") -> dict[type[Message], Callable[[Any, memoryview], Any]]:
    """Those who are asked first, with the body as it came."""
    return {
        HeartbeatRequest: Heartbeat(groups).handle_body,
        OffsetCommitRequest: OffsetCommit(groups).handle_single,
    }


def new_id(rng: Random) -> str:
    """A UUID as text."""
    digits = f"{rng.getrandbits(128):032x}"
    return "-".join((digits[:8], digits[8:12], digits[12:16], digits[16:20], digits[20:]))


def _found(request: FindCoordinatorRequest) -> FindCoordinatorResponse:
    return FindCoordinatorResponse(
        coordinators=tuple(
            Coordinator(key=key, node_id=1, host="localhost", port=9092) for key in request.coordinator_keys
        )
    )
