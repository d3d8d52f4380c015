"""Looks through the groups of a shard from time to time: offsets and groups that nobody uses any more go.

There may be very many, and the loop has other things to do: some are looked at, then it goes on a little later.
"""

from odradek.coordinators.groups.context import Deadline, Due, GroupContext
from odradek.coordinators.groups.events import happened
from odradek.coordinators.groups.group import Group
from odradek.coordinators.groups.offsets.offsets import Offsets
from odradek.coordinators.result import NOTHING, CoordinatorResult
from odradek.model.errors import BrokerError

_DEADLINE = Deadline(Due.EXPIRY, "")
_AT_ONCE = 1_000
"""Offsets and groups. A group is looked at whole."""
_PAUSE_MS = 5


class Expiry:
    def __init__(self, groups: dict[str, Group], offsets: Offsets, context: GroupContext) -> None:
        self._groups = groups
        self._offsets = offsets
        self._context = context
        self._left: list[str] = []
        """Groups that are still to be looked at in this round, the next one last."""

    def begin(self) -> None:
        """From now on, a round begins each offsets.retention.check.interval.ms."""
        self._context.timers.set(_DEADLINE, self._context.config().offsets_retention_check_interval_ms)

    def due(self) -> CoordinatorResult:
        """The deadline of EXPIRY has come."""
        if not self._left:
            self._left = list(self._groups)[::-1]
        decision = NOTHING
        room = _AT_ONCE
        while self._left and room > 0:
            group = self._groups.get(self._left.pop())
            if group is not None:
                room -= 1 + self._offsets.count(group.group_id)
                decision += self._out_of_use(group)
        if self._left:
            self._context.timers.set(_DEADLINE, _PAUSE_MS)
        else:
            self.begin()
        return decision

    def _out_of_use(self, group: Group) -> CoordinatorResult:
        """Deletes offsets that expired, and the group if it has neither members nor offsets then."""
        records, is_all = self._offsets.expire(group)
        decision = CoordinatorResult(records, is_atomic=False)
        if records:
            decision += happened("offsets expired", group.group_id, offsets=len(records))
        if is_all and _is_over(group):
            decision += CoordinatorResult(tuple(group.tombstones()), is_atomic=False)
            decision += happened("a group is forgotten: it has neither members nor offsets", group.group_id)
        return decision


def _is_over(group: Group) -> bool:
    try:
        group.check_delete()
    except BrokerError:
        return False
    return True
