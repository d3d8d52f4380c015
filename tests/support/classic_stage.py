"""Classic groups without a broker: what members ask, what they are answered, and time that is moved by hand.

Records go through their bytes before they are replayed, as they would on the way through a log.
"""

from collections.abc import Mapping
from typing import TYPE_CHECKING

from odradek.coordinators.groups.classic.group import ClassicGroup
from odradek.coordinators.groups.classic.groups import ClassicGroups
from odradek.coordinators.groups.context import Deadline, GroupContext
from odradek.coordinators.result import CoordinatorResult, Effect, RequestContext
from odradek.coordinators.timers import Timers
from odradek.metadata.image import EMPTY
from odradek.model.broker_config import BrokerConfig
from odradek.model.error_code import ErrorCode
from odradek.model.group_config import GroupConfig
from odradek.wire.group_requests import Heartbeat
from odradek.wire.messages.heartbeat import HeartbeatRequest, HeartbeatResponse
from odradek.wire.messages.join_group import JoinGroupRequest, JoinGroupRequestProtocol, JoinGroupResponse
from odradek.wire.messages.leave_group import LeaveGroupRequest, LeaveGroupResponse, MemberIdentity
from odradek.wire.messages.sync_group import SyncGroupRequest, SyncGroupRequestAssignment, SyncGroupResponse
from odradek.wire.records.classic_group import GroupMetadataKey, GroupMetadataValue
from odradek.wire.stored import CONSUMER_OFFSETS, write_coordinator_key, write_coordinator_value
from support.clock import ManualClock

if TYPE_CHECKING:
    from odradek.coordinators.groups.group import Group
    from odradek.wire.schema import Message

GROUP = "readers"
SESSION_MS = 10_000
REBALANCE_MS = 60_000
Record = tuple[bytes, bytes | None]


class ClassicStage:
    """Tickets are numbers; `answers` has what came for them."""

    def __init__(self, config: BrokerConfig | None = None, clock: ManualClock | None = None) -> None:
        self.config = config or BrokerConfig()
        self.clock = clock or ManualClock()
        self.timers = Timers(self.clock.now_ms)
        self.groups: dict[str, Group] = {}
        self.answers: dict[object, Message] = {}
        self.log: list[Record] = []
        self.events: list[Effect] = []
        self.is_full = False
        """Whether the disk is: then nothing is appended, and those who wait for that are told nothing."""
        self.asked = 0
        """How many tickets there are, from 1."""
        self._ids = 0
        context = GroupContext(
            config=lambda: self.config,
            group_config=lambda _: GroupConfig(),
            image=lambda: EMPTY,
            clock=self.clock,
            timers=self.timers,
            new_id=self._new_id,
        )
        self.classic = ClassicGroups(self.groups, context)

    def restarted(self) -> "ClassicStage":
        """Another broker on the same log, at the same time."""
        stage = ClassicStage(self.config, self.clock)
        stage._ids = self._ids
        stage.log = list(self.log)
        for record in stage.log:
            stage._replay(record)
        stage.perform(stage.classic.loaded())
        return stage

    def group(self, group_id: str = GROUP) -> ClassicGroup:
        found = self.groups[group_id]
        assert isinstance(found, ClassicGroup)
        return found

    @property
    def values(self) -> list[GroupMetadataValue | None]:
        """The records, read."""
        return [self._read(record)[1] for record in self.log]

    # --- what members ask; each returns its ticket

    def join(
        self,
        member_id: str = "",
        *,
        instance_id: str | None = None,
        protocols: Mapping[str, bytes] | None = None,
        version: int = 9,
        group_id: str = GROUP,
        **fields: object,
    ) -> int:
        offered = {"range": b""} if protocols is None else protocols
        known = {
            "session_timeout_ms": SESSION_MS,
            "rebalance_timeout_ms": REBALANCE_MS,
            "protocol_type": "consumer",
            "protocols": tuple(JoinGroupRequestProtocol(name=name, metadata=offered[name]) for name in offered),
        }
        request = JoinGroupRequest(
            group_id=group_id,
            member_id=member_id,
            group_instance_id=instance_id,
            **{**known, **fields},  # type: ignore[arg-type]
        )
        asked = self._asked(version)
        self.perform(self.classic.join(asked, request))
        return self.asked

    def sync(
        self,
        member_id: str,
        generation: int,
        assignments: Mapping[str, bytes] | None = None,
        *,
        version: int = 5,
        **fields: object,
    ) -> int:
        given = tuple(
            SyncGroupRequestAssignment(member_id=each, assignment=assignment)
            for each, assignment in (assignments or {}).items()
        )
        known = {"group_id": GROUP, "protocol_type": "consumer", "protocol_name": "range"}
        request = SyncGroupRequest(
            generation_id=generation,
            member_id=member_id,
            assignments=given,
            **{**known, **fields},  # type: ignore[arg-type]
        )
        asked = self._asked(version)
        self.perform(self.classic.sync(asked, request))
        return self.asked

    def heartbeat(self, member_id: str, generation: int, instance_id: str | None = None, group_id: str = GROUP) -> int:
        """Returns the error code: nobody waits for an answer to this. The short way says nothing else."""
        is_heard = self.classic.hears(Heartbeat(group_id, generation, member_id, instance_id))
        asked = self._asked(4)
        request = HeartbeatRequest(
            group_id=group_id, generation_id=generation, member_id=member_id, group_instance_id=instance_id
        )
        self.perform(self.classic.heartbeat(asked, request))
        answer = self.answers[asked.ticket]
        assert isinstance(answer, HeartbeatResponse)
        assert not is_heard or answer.error_code == ErrorCode.NONE
        return answer.error_code

    def leave(self, *members: MemberIdentity, version: int = 5, group_id: str = GROUP) -> LeaveGroupResponse:
        asked = self._asked(version)
        if version < 3:
            request = LeaveGroupRequest(group_id=group_id, member_id=members[0].member_id)
        else:
            request = LeaveGroupRequest(group_id=group_id, members=members)
        self.perform(self.classic.leave(asked, request))
        answer = self.answers[asked.ticket]
        assert isinstance(answer, LeaveGroupResponse)
        return answer

    # --- what they are answered

    def joined(self, ticket: int) -> JoinGroupResponse:
        answer = self.answers[ticket]
        assert isinstance(answer, JoinGroupResponse)
        return answer

    def synced(self, ticket: int) -> SyncGroupResponse:
        answer = self.answers[ticket]
        assert isinstance(answer, SyncGroupResponse)
        return answer

    def enter(self, **fields: object) -> tuple[str, int]:
        """A new member, up to where it waits for its generation: its id, and the ticket that waits."""
        told = self.joined(self.join(**fields))  # type: ignore[arg-type]
        return told.member_id, self.join(told.member_id, **fields)  # type: ignore[arg-type]

    def stable(self, *members: str | None) -> list[str]:
        """A new group, stable with these members; None for a dynamic one, else its instance id. Gives their ids."""
        tickets = [self.enter()[1] if instance is None else self.join(instance_id=instance) for instance in members]
        self.wait_for(tickets[-1])
        told = [self.joined(ticket) for ticket in tickets]
        ids = [each.member_id for each in told]
        self.sync(told[0].leader, told[0].generation_id, {each: each.encode() for each in ids})
        for each in ids:
            self.sync(each, told[0].generation_id)
        return ids

    # --- time, and what decisions come to

    def advance(self, ms: int) -> None:
        """All that is due on the way is done in its time."""
        end = self.clock.now_ms() + ms
        while (at := self.timers.next_ms) is not None and at <= end:
            self.clock.advance(max(at - self.clock.now_ms(), 0))
            for deadline in self.timers.due():
                assert isinstance(deadline, Deadline)
                self.perform(self.classic.expired(deadline))
        self.clock.advance(end - self.clock.now_ms())

    def wait_for(self, ticket: int) -> None:
        while ticket not in self.answers:
            at = self.timers.next_ms
            assert at is not None, "it waits for ever"
            self.advance(max(at - self.clock.now_ms(), 0))

    def perform(self, decision: CoordinatorResult) -> None:
        if decision.records and self.is_full:
            return
        for stored in decision.records:
            value = None if stored.value is None else write_coordinator_value(stored.value, stored.version)
            record = (write_coordinator_key(stored.key), value)
            self.log.append(record)
            self._replay(record)
        for ticket, response in decision.answers:
            assert ticket not in self.answers, f"{ticket} is answered twice"
            self.answers[ticket] = response
        self.events += decision.effects

    def _replay(self, record: Record) -> None:
        self.classic.replay(*self._read(record))

    def _read(self, record: Record) -> tuple[GroupMetadataKey, GroupMetadataValue | None]:
        key = CONSUMER_OFFSETS.read_key(record[0])
        assert isinstance(key, GroupMetadataKey)
        if record[1] is None:
            return key, None
        value, _ = CONSUMER_OFFSETS.read_value(key, record[1])
        assert isinstance(value, GroupMetadataValue)
        return key, value

    def _asked(self, version: int) -> RequestContext:
        self.asked += 1
        return RequestContext(self.asked, version, "client", "/127.0.0.1")

    def _new_id(self) -> str:
        self._ids += 1
        return f"id{self._ids}"
