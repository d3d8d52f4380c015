"""The groups of one partition of `__consumer_offsets`: all kinds together."""

from typing import Any

from odradek.coordinators.groups.classic.groups import ClassicGroups
from odradek.coordinators.groups.consumer.consumer_groups import ConsumerGroups
from odradek.coordinators.groups.context import Deadline, Due, GroupContext
from odradek.coordinators.groups.errors import GroupNotFound
from odradek.coordinators.groups.events import Event
from odradek.coordinators.groups.expiry import Expiry
from odradek.coordinators.groups.group import Group, GroupKind
from odradek.coordinators.groups.membership import GroupMembership
from odradek.coordinators.groups.offsets.offsets import Offsets
from odradek.coordinators.groups.offsets.transactional import TransactionalCommits
from odradek.coordinators.groups.unserved import UnservedGroups
from odradek.coordinators.result import CoordinatorResult, Stored
from odradek.metadata.delta import Delta
from odradek.metadata.image import Image
from odradek.model.numbers import NO_PRODUCER_ID, Offset, ProducerId

_OFFSETS = (0, 1)
_CLASSIC = (2,)
_CONSUMER = (*range(3, 9), 16)
_SHARE = range(10, 16)
_STREAMS = range(17, 24)
"""The types of records, as their keys are numbered."""


class GroupShard:
    def __init__(self, context: GroupContext) -> None:
        self._context = context
        self.groups: dict[str, Group] = {}
        self.classic = ClassicGroups(self.groups, context)
        self.consumer = ConsumerGroups(self.groups, context)
        self.membership = GroupMembership(self.groups, self.classic, self.consumer, context)
        """The requests of members, in either protocol."""
        self.offsets = Offsets(self.groups, context, self.classic)
        self.transactional = TransactionalCommits(self.groups, context)
        self._expiry = Expiry(self.groups, self.offsets, context)
        self._unserved = UnservedGroups(self.groups)

    def delete(self, group_id: str) -> tuple[Stored, ...]:
        """What deletes a group with its offsets. Raises a BrokerError if it is not there, or has members."""
        group = self.groups.get(group_id)
        if group is None:
            raise GroupNotFound(f"Group {group_id} not found")
        group.check_delete()
        return (*self.offsets.delete_all(group_id), *group.tombstones())

    # --- what the log says

    def replay(self, offset: Offset, key: Any, value: Any, producer_id: ProducerId = NO_PRODUCER_ID) -> None:
        number = key.spec.key
        if number in _OFFSETS:
            self.offsets.replay(offset, key, value, producer_id)
        elif number in _CLASSIC:
            self.classic.replay(key, value)
        elif number in _CONSUMER:
            self.consumer.replay(key, value)
        elif number in _SHARE:
            self._unserved.replay(GroupKind.SHARE, key, value)
        elif number in _STREAMS:
            self._unserved.replay(GroupKind.STREAMS, key, value)

    def end_transaction(self, producer_id: ProducerId, *, commit: bool) -> None:
        self.offsets.end_transaction(producer_id, commit=commit)

    def loaded(self) -> CoordinatorResult:
        self._expiry.begin()
        return self.classic.loaded() + self.consumer.loaded()

    def counts(self) -> dict[str, int]:
        return {"groups": len(self.groups), "offsets": sum(map(self.offsets.count, self.groups))}

    # --- what happens without being asked for

    def expired(self, deadline: Deadline) -> CoordinatorResult:
        if deadline.due is Due.EXPIRY:
            return self._expiry.due()
        return self.membership.expired(deadline)

    def topics_changed(self, delta: Delta, image: Image) -> CoordinatorResult:
        decision = self.consumer.topics_changed(delta, image)
        deleted = delta.topics.deleted
        records = self.offsets.topics_deleted(deleted) if deleted else ()
        if not records:
            return decision
        fields: dict[str, object] = {"topics": ",".join(topic.name for topic in deleted), "offsets": len(records)}
        expired = Event("offsets of deleted topics are gone", fields)
        return decision + CoordinatorResult(records, is_atomic=False, effects=(expired,))
