"""What follows when a member of a group says something: for its subscription, for the target, for what it has."""

from collections.abc import Mapping, Sequence

from odradek.coordinators.groups.consumer import records
from odradek.coordinators.groups.consumer.assignors.spec import NO_PARTITIONS, Assignment, Assignor
from odradek.coordinators.groups.consumer.expressions import Matched, check_expression
from odradek.coordinators.groups.consumer.group import ConsumerGroup, topics_of
from odradek.coordinators.groups.consumer.member import ConsumerMember, MemberState
from odradek.coordinators.groups.consumer.reconciliation import Reconciliation
from odradek.coordinators.groups.consumer.targets import is_due, next_target
from odradek.coordinators.groups.consumer.topics import TopicView
from odradek.coordinators.groups.context import Deadline, Due, GroupContext
from odradek.coordinators.groups.events import Event, event
from odradek.coordinators.result import CoordinatorResult, RequestContext, Stored
from odradek.wire.messages.consumer_group_heartbeat import TopicPartitions
from odradek.wire.schema import Message


class Change:
    """Of one member, worked through the group step by step. `records` is what comes of it, in their order."""

    def __init__(
        self,
        context: GroupContext,
        topics: TopicView,
        assignors: Mapping[str, Assignor],
        group: ConsumerGroup,
        records_before: Sequence[Stored] = (),
    ) -> None:
        self._context = context
        self._topics = topics
        self._assignors = assignors
        self._group = group
        self._matched: Mapping[str, Matched] = group.matched
        self._epoch = group.epoch
        self.records = list(records_before)
        self._events: list[Event] = []

    def answer(self, asked: RequestContext, response: Message) -> CoordinatorResult:
        """All that came of it."""
        decision = asked.answer(response, *self.records)
        return decision._replace(effects=tuple(self._events)) if self._events else decision

    def update_member(
        self, before: ConsumerMember, after: ConsumerMember, owned: Sequence[TopicPartitions] | None
    ) -> ConsumerMember:
        """The member with what it has now.

        `before` is how it was known, and may be new or take a static member's place. Raises InvalidExpression, and
        FencedMemberEpoch where only joining anew helps.
        """
        group = self._group
        if after is before and group.is_at_rest(after):
            return after  # as nearly always
        if after != before:
            self.records.append(records.member(group.group_id, after))
        names_changed = after.subscription.names != before.subscription.names
        expression_changed = after.subscription.expression != before.subscription.expression
        replaced = self._replaced(after)
        self._tell_who_came(after, replaced)
        must_rise = self._match(before, after, replaced) or names_changed
        if must_rise or expression_changed or not group.is_checked:
            self._check_topics(after, replaced, must_rise=must_rise)
        epoch, target = self._target(after, replaced)
        resubscribed = names_changed or expression_changed
        if not resubscribed and after.is_reconciled_to(epoch):
            return after
        return self._reconcile(after, epoch, target, owned, resubscribed=resubscribed)

    def _replaced(self, after: ConsumerMember) -> ConsumerMember | None:
        """Whom the group has in its place: itself as it was, or another static member of its instance."""
        return self._group.members.get(after.member_id) or self._group.static_member(after.instance_id)

    def _tell_who_came(self, after: ConsumerMember, replaced: ConsumerMember | None) -> None:
        if replaced is None:
            protocol = "consumer" if after.classic is None else "classic"
            fields = {"member": after.member_id, "instance": after.instance_id, "protocol": protocol}
            self._events.append(event("a member joined", self._group.group_id, **fields))
        elif replaced.member_id != after.member_id:
            fields = {"instance": after.instance_id, "member": after.member_id, "was": replaced.member_id}
            self._events.append(event("a static member is back", self._group.group_id, **fields))

    # --- its subscription

    def _match(self, before: ConsumerMember, after: ConsumerMember, replaced: ConsumerMember | None) -> bool:
        """Look for topics that match. Whether the epoch must rise for it."""
        group = self._group
        old, new = before.subscription.expression, after.subscription.expression
        if not (old or new or group.matched):
            return False
        gone = () if replaced is None else (replaced,)
        wanted = {each.expression for each in group.subscriptions_after(gone, after) if each.expression}
        if new and new not in group.matched:
            check_expression(new)
        for pattern in sorted(group.matched.keys() - wanted):
            self.records.append(records.no_expression(group.group_id, pattern))
        matched = {pattern: group.matched[pattern] for pattern in sorted(wanted & group.matched.keys())}
        must_rise = old != new and (not new or new in matched)
        stale = self._is_stale(matched)
        for pattern in sorted(wanted):
            if stale or pattern not in matched:
                found = self._topics.match(pattern)
                must_rise |= found.topics != matched.get(pattern, Matched()).topics
                matched[pattern] = found
                self.records.append(records.expression(group.group_id, pattern, found))
        self._matched = matched
        return must_rise

    def _is_stale(self, matched: Mapping[str, Matched]) -> bool:
        """Whether all are to be looked for again: there are new topics, or the last time was long ago."""
        oldest_ms = self._context.clock.now_ms() - self._context.config().group_consumer_regex_refresh_interval_ms
        return any(each.version < self._topics.grown_at or each.matched_ms < oldest_ms for each in matched.values())

    def _check_topics(self, after: ConsumerMember, replaced: ConsumerMember | None, *, must_rise: bool) -> None:
        """Raise the epoch where the topics that anybody wants are others, or are not as they were."""
        group = self._group
        subscriptions = group.subscriptions_after(() if replaced is None else (replaced,), after)
        metadata_hash = self._topics.hash(topics_of(subscriptions, self._matched))
        if must_rise or metadata_hash != group.metadata_hash:
            self._epoch += 1
            self.records.append(records.group_epoch(group.group_id, self._epoch, metadata_hash))
        group.checked(self._epoch)
        if group.has_partition_metadata:
            self.records.append(records.no_partition_metadata(group.group_id))

    # --- the target

    def _target(self, after: ConsumerMember, replaced: ConsumerMember | None) -> tuple[int, Assignment]:
        """Its epoch, and what the member should have. A new one, if it is time for it."""
        group = self._group
        now_ms = self._context.clock.now_ms()
        interval_ms = self._context.group_config(group.group_id).consumer_assignment_interval_ms
        if group.target_epoch >= self._epoch or not is_due(group.target_ms, interval_ms, now_ms):
            return group.target_epoch, group.target(after)
        members, targets = dict(group.members), dict(group.targets)
        if replaced is not None and replaced.member_id != after.member_id:
            del members[replaced.member_id]
            targets[after.member_id] = group.target(after)
        members[after.member_id] = after
        wanted = group.preferred_assignor(replaced, after)
        name = wanted if wanted and wanted in self._assignors else next(iter(self._assignors))
        new = next_target(members, targets, self._matched, self._topics, self._assignors[name])
        for member_id in members:
            target = new.get(member_id, NO_PARTITIONS)
            if member_id not in group.targets or target != group.targets[member_id]:
                self.records.append(records.target(group.group_id, member_id, target))
        self.records.append(records.target_epoch(group.group_id, self._epoch, now_ms))
        fields = {"epoch": self._epoch, "members": len(members), "assignor": name}
        self._events.append(event("a group is assigned anew", group.group_id, **fields))
        return self._epoch, new.get(after.member_id, NO_PARTITIONS)

    # --- what it has

    def _reconcile(
        self,
        member: ConsumerMember,
        epoch: int,
        target: Assignment,
        owned: Sequence[TopicPartitions] | None,
        *,
        resubscribed: bool,
    ) -> ConsumerMember:
        subscribed = self._topics.ids(topics_of((member.subscription,), self._matched))
        way = Reconciliation(epoch, target, subscribed, self._group.ownership, owned)
        moved = way.advance(member, resubscribed=resubscribed)
        if moved is not member:
            self.records.append(records.assignment(self._group.group_id, moved))
            deadline = Deadline(Due.CONSUMER_REVOCATION, self._group.group_id, moved.member_id)
            if moved.state is MemberState.UNREVOKED_PARTITIONS and moved.classic is None:
                self._context.timers.set(deadline, moved.rebalance_timeout_ms)
            else:
                self._context.timers.cancel(deadline)
        return moved
