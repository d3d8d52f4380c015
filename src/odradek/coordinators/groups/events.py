"""What happens in groups that those who run a broker want to know. Decisions carry it as effects, to be logged.

What happens all the time, as heartbeats and commits do, is none of it.
"""

from typing import NamedTuple

from odradek.coordinators.result import CoordinatorResult


class Event(NamedTuple):
    text: str
    """Always the same for what is the same. What differs is in the fields."""
    fields: dict[str, object]


def happened(text: str, group_id: str, **fields: object) -> CoordinatorResult:
    return CoordinatorResult(is_atomic=False, effects=(event(text, group_id, **fields),))


def event(text: str, group_id: str, **fields: object) -> Event:
    """Fields that are None are left out."""
    known = {name: value for name, value in fields.items() if value is not None}
    return Event(text, {"group": group_id, **known})


def removed(group_id: str, member_id: str, reason: str) -> CoordinatorResult:
    return happened("a member was removed", group_id, member=member_id, reason=reason)


def left(group_id: str, member_id: str, reason: str | None = None) -> CoordinatorResult:
    """`reason` is what the client says."""
    return happened("a member left", group_id, member=member_id, reason=reason or None)
