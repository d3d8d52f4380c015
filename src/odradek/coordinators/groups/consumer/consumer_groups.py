"""The consumer groups of a shard: what a heartbeat, silence and other topics come to."""

from collections.abc import Iterable

from odradek.coordinators.groups.consumer import records
from odradek.coordinators.groups.consumer.answers import assignment_of, refused
from odradek.coordinators.groups.consumer.assignors import assignors_of
from odradek.coordinators.groups.consumer.change import Change
from odradek.coordinators.groups.consumer.description import describe
from odradek.coordinators.groups.consumer.group import ConsumerGroup, topics_of
from odradek.coordinators.groups.consumer.member import (
    JOINING,
    LEAVING,
    LEAVING_FOR_A_WHILE,
    ConsumerMember,
    MemberState,
)
from odradek.coordinators.groups.consumer.membership import (
    check_epoch,
    check_room,
    joining_static_member,
    removal,
    replacement,
    static_member,
)
from odradek.coordinators.groups.consumer.replay import REPLAY
from odradek.coordinators.groups.consumer.topics import TopicView
from odradek.coordinators.groups.consumer.validation import check_heartbeat
from odradek.coordinators.groups.context import Deadline, Due, GroupContext
from odradek.coordinators.groups.errors import GroupNotFound
from odradek.coordinators.groups.events import left, removed
from odradek.coordinators.groups.group import Group, GroupKind
from odradek.coordinators.result import NOTHING, CoordinatorResult, RequestContext, Stored
from odradek.metadata.delta import Delta
from odradek.metadata.image import Image
from odradek.model.errors import BrokerError
from odradek.wire.messages.consumer_group_describe import DescribedGroup
from odradek.wire.messages.consumer_group_heartbeat import (
    ConsumerGroupHeartbeatRequest,
    ConsumerGroupHeartbeatResponse,
)
from odradek.wire.records.consumer_group import ConsumerGroupMetadataKey
from odradek.wire.schema import Message

EXPIRY_REASONS = {
    Due.CONSUMER_SESSION: "no heartbeat within its session",
    Due.CONSUMER_REVOCATION: "it did not give partitions back in time",
    Due.CONSUMER_JOIN: "it did not join again in time",
    Due.CONSUMER_SYNC: "it did not ask for its assignment in time",
}
"""The deadlines of members, and why a member is removed when one is due."""
_REMOVE_AGAIN_MS = 1_000


class ConsumerGroups:
    def __init__(self, groups: dict[str, Group], context: GroupContext) -> None:
        self._groups = groups
        self._context = context
        self.topics = TopicView(context)
        self._assignors = assignors_of(context.config().group_consumer_assignors)

    # --- commands

    def heartbeat(self, asked: RequestContext, request: ConsumerGroupHeartbeatRequest) -> CoordinatorResult:
        try:
            check_heartbeat(request, asked.version, self._assignors)
            if request.member_epoch in (LEAVING, LEAVING_FOR_A_WHILE):
                return self._leave(asked, request)
            return self._stay(asked, request)
        except BrokerError as error:
            return asked.answer(refused(error))

    def loaded(self) -> CoordinatorResult:
        """Members have all of their time again."""
        self.topics.loaded()
        for group in self._own():
            self.schedule_timers(group)
        return NOTHING

    def expired(self, deadline: Deadline) -> CoordinatorResult:
        """A member was silent for too long, or has kept what it was to give back."""
        group = self._groups.get(deadline.group_id)
        if not isinstance(group, ConsumerGroup) or deadline.member_id not in group.members:
            return NOTHING
        member = group.members[deadline.member_id]
        is_revoking = member.state is MemberState.UNREVOKED_PARTITIONS and member.epoch != LEAVING_FOR_A_WHILE
        if deadline.due is Due.CONSUMER_REVOCATION and not is_revoking:
            return NOTHING
        reason = EXPIRY_REASONS[deadline.due]
        return CoordinatorResult(self.remove(group, (member,))) + removed(group.group_id, member.member_id, reason)

    def topics_changed(self, delta: Delta, image: Image) -> CoordinatorResult:
        """Groups that read them find out what it means when a member asks next."""
        names = self.topics.changed(delta, image)
        if names:
            for group in self._own():
                if not names.isdisjoint(topics_of(group.subscriptions, group.matched)):
                    group.call_for_check()
        return NOTHING

    # --- questions

    def describe(self, group_id: str) -> DescribedGroup:
        """Raises GroupNotFound."""
        default = next(iter(self._assignors))
        return describe(self._group(group_id), default, self._context.image().topics)

    # --- replay

    def replay(self, key: Message, value: Message | None) -> None:
        """A record of a consumer group. Those that delete what is not there change nothing."""
        group_id: str = key.group_id  # type: ignore[attr-defined]
        group = self._groups.get(group_id)
        if not isinstance(group, ConsumerGroup):
            if value is None:
                return
            # A group that only had offsets until now, or one whose records compaction left behind.
            group = self._groups[group_id] = ConsumerGroup(group_id)
        if value is None and isinstance(key, ConsumerGroupMetadataKey):
            del self._groups[group_id]
        else:
            REPLAY[type(key)](group, key, value)

    # --- staying

    def _stay(self, asked: RequestContext, request: ConsumerGroupHeartbeatRequest) -> CoordinatorResult:
        is_joining = request.member_epoch == JOINING
        group, converted = self._group_to_join(request.group_id) if is_joining else (self._group(request.group_id), ())
        check_room(group, request.member_id, self._context.config().group_consumer_max_size)
        before, replaced = self._speaker(group, request)
        after = before.told_by(request, asked)
        change = self.change(group, (*converted, *replaced))
        now = change.update_member(before, after, request.topic_partitions)
        self._reschedule_session(group, now)
        is_full = request.rebalance_timeout_ms != -1 and request.topic_partitions is not None
        is_full &= request.subscribed_topic_names is not None or request.subscribed_topic_regex is not None
        response = ConsumerGroupHeartbeatResponse(
            member_id=now.member_id,
            member_epoch=now.epoch,
            heartbeat_interval_ms=self._context.group_config(group.group_id).consumer_heartbeat_interval_ms,
            assignment=assignment_of(now.assigned)
            if is_joining or is_full or now.assigned != before.assigned
            else None,
        )
        return change.answer(asked, response)

    def change(self, group: ConsumerGroup, records_before: Iterable[Stored] = ()) -> Change:
        """Of a member, whatever protocol it speaks."""
        return Change(self._context, self.topics, self._assignors, group, tuple(records_before))

    def _speaker(
        self, group: ConsumerGroup, request: ConsumerGroupHeartbeatRequest
    ) -> tuple[ConsumerMember, Iterable[Stored]]:
        """Whom the request comes from, and what puts it into the group in another's place."""
        member_id = request.member_id or self._context.new_id()
        is_joining = request.member_epoch == JOINING
        if request.instance_id is not None and is_joining:
            member = joining_static_member(group, member_id, request.instance_id)
            return member, replacement(group, member)
        if request.instance_id is not None:
            member = static_member(group, member_id, request.instance_id)
        elif is_joining:
            member = group.members.get(member_id) or ConsumerMember(member_id=member_id)
        else:
            member = group.member(member_id)
        check_epoch(member, request.member_epoch, request.topic_partitions)
        return member, ()

    def _reschedule_session(self, group: ConsumerGroup, member: ConsumerMember) -> None:
        """To hear of the member within its session."""
        timeout_ms = self._context.group_config(group.group_id).consumer_session_timeout_ms
        self._context.timers.set(Deadline(Due.CONSUMER_SESSION, group.group_id, member.member_id), timeout_ms)

    def schedule_timers(self, group: ConsumerGroup) -> None:
        """As if all members had just been heard of."""
        for member in group.members.values():
            self._reschedule_session(group, member)
            if member.state is MemberState.UNREVOKED_PARTITIONS:
                deadline = Deadline(Due.CONSUMER_REVOCATION, group.group_id, member.member_id)
                self._context.timers.set(deadline, member.rebalance_timeout_ms)

    def cancel_timers(self, group: ConsumerGroup, member_id: str) -> None:
        """Of a member that is about to be none any more."""
        for due in EXPIRY_REASONS:
            self._context.timers.cancel(Deadline(due, group.group_id, member_id))

    # --- leaving

    def _leave(self, asked: RequestContext, request: ConsumerGroupHeartbeatRequest) -> CoordinatorResult:
        group = self._group(request.group_id)
        if request.instance_id is None:
            member = group.member(request.member_id)
        else:
            member = static_member(group, request.member_id, request.instance_id)
        response = ConsumerGroupHeartbeatResponse(member_id=member.member_id, member_epoch=request.member_epoch)
        if request.member_epoch == LEAVING_FOR_A_WHILE:
            result = left(group.group_id, member.member_id, "for a while: it is static")
            return asked.answer(response, records.assignment(group.group_id, member.away())) + result
        return asked.answer(response, *self.remove(group, (member,))) + left(group.group_id, member.member_id)

    def remove(self, group: ConsumerGroup, members: Iterable[ConsumerMember]) -> tuple[Stored, ...]:
        """What takes members out, of whatever protocol. Their deadlines are gone, but for one in case that the records
        cannot be written: then they are taken out again."""
        gone = {member.member_id: member for member in members}
        for member_id in gone:
            self.cancel_timers(group, member_id)
            self._context.timers.set(Deadline(Due.CONSUMER_SESSION, group.group_id, member_id), _REMOVE_AGAIN_MS)
        return tuple(removal(group, gone, self.topics))

    # --- groups

    def _own(self) -> list[ConsumerGroup]:
        return [group for group in self._groups.values() if isinstance(group, ConsumerGroup)]

    def _group(self, group_id: str) -> ConsumerGroup:
        """Raises GroupNotFound."""
        group = self._groups.get(group_id)
        if group is None:
            raise GroupNotFound(f"Group {group_id} not found")
        if not isinstance(group, ConsumerGroup):
            raise GroupNotFound(f"Group {group_id} is not a consumer group")
        return group

    def _group_to_join(self, group_id: str) -> tuple[ConsumerGroup, tuple[Stored, ...]]:
        """There or new, with what makes it one of ours. Raises GroupNotFound where it stays one of another kind."""
        group = self._groups.get(group_id)
        if isinstance(group, ConsumerGroup):
            return group, ()
        if group is None:
            return ConsumerGroup(group_id), ()
        if group.kind is GroupKind.CLASSIC and group.state_name == "Empty":
            return ConsumerGroup(group_id), tuple(group.tombstones())
        raise GroupNotFound(f"Group {group_id} is not a consumer group: it is a {group.kind.value} group with members")
