"""Changes to the offsets of groups: shown first, and carried out if that was asked for."""

import argparse
import json
import sys
from collections.abc import Awaitable, Callable, Iterable, Sequence
from typing import NamedTuple

from odradek.cli.groups_scope import complaint
from odradek.cli.main import EXIT_FAILED
from odradek.cli.quantities import count
from odradek.cli.streams import complain
from odradek.cli.table import table
from odradek.client.client import Client
from odradek.client.committed import Committed, commit_offsets
from odradek.client.errors import ClientError, Refused
from odradek.client.group_views import GroupView
from odradek.client.groups import describe_groups
from odradek.client.lag import Extent, extents
from odradek.model.error_code import ErrorCode
from odradek.model.errors import OdradekError
from odradek.model.numbers import Offset
from odradek.model.topic_partition import TopicPartition

_TITLES = ("group", "topic", "partition", "current", "new", "note")
_NUMBERS = ("partition", "current", "new")


class NoPlan(OdradekError):
    """Why offsets cannot be what they should: a line for each reason."""

    def __init__(self, reasons: Sequence[str]) -> None:
        super().__init__("; ".join(reasons))
        self.reasons = reasons


class Change(NamedTuple):
    partition: TopicPartition
    before: Offset | None
    after: Committed
    note: str | None = None


Plan = list[Change]


def add_arguments(parser: argparse.ArgumentParser) -> None:
    doing = parser.add_mutually_exclusive_group()
    doing.add_argument("--dry-run", action="store_true", help="only show what would be done, which is the default")
    doing.add_argument("--execute", action="store_true", help="do it")


async def known_extents(client: Client, partitions: Iterable[TopicPartition]) -> dict[TopicPartition, Extent]:
    """Of all of them, start and end. Raises NoPlan."""
    wanted = list(partitions)
    found = await extents(client, wanted)
    reasons = [f"partition {each} does not exist" for each in wanted if each not in found]
    reasons += [f"where {each} ends cannot be known now" for each, log in found.items() if log.end is None]
    if reasons:
        raise NoPlan(reasons)
    return found


def within(offset: int, log: Extent) -> tuple[Offset, str | None]:
    """The nearest offset that is in the log, and a word on it if that is another one."""
    if log.start is not None and offset < log.start:
        return log.start, f"{offset} is before the log's start"
    if log.end is not None and offset > log.end:
        return log.end, f"{offset} is behind the log's end"
    return Offset(offset), None


async def change_offsets(
    client: Client, group_ids: Sequence[str], make: Callable[[str], Awaitable[Plan]], options: argparse.Namespace
) -> int:
    """Makes a plan for each group that has no members, and shows it or carries it out.

    A group is changed as a whole or, where a part of its plan cannot be, not at all.
    """
    status = 0
    done: list[tuple[str, Change]] = []
    for group_id, view in (await describe_groups(client, group_ids)).items():
        try:
            _check_is_idle(group_id, view)
            plan = await make(group_id)
        except NoPlan as error:
            for reason in error.reasons:
                complain(f"{group_id}: {reason}")
            status = EXIT_FAILED
            continue
        if options.execute:
            carried_out = await _carry_out(client, group_id, plan)
            if len(carried_out) < len(plan):
                status = EXIT_FAILED
            plan = carried_out
        done += [(group_id, each) for each in plan]
    _show(done, options)
    return status


async def _carry_out(client: Client, group_id: str, plan: Plan) -> Plan:
    """What was done of it; it complains of the rest."""
    if not plan:
        return []
    outcomes = await commit_offsets(client, group_id, {each.partition: each.after for each in plan})
    for partition, refused in outcomes.items():
        if refused is not None:
            complain(complaint(f"{partition} of {group_id}", refused))
    return [each for each in plan if outcomes[each.partition] is None]


def _check_is_idle(group_id: str, view: GroupView | ClientError) -> None:
    """A group that is not there is made by the commit, as with Kafka's own tool."""
    if isinstance(view, GroupView):
        if view.members:
            raise NoPlan([f"it has {count(len(view.members), 'member')} ({view.state}): stop them first"])
    elif not isinstance(view, Refused) or view.code is not ErrorCode.GROUP_ID_NOT_FOUND:
        raise NoPlan([str(view)])


def _show(changes: Sequence[tuple[str, Change]], options: argparse.Namespace) -> None:
    if options.json:
        for group_id, (partition, before, after, note) in changes:
            fields = {"group": group_id, "topic": partition.topic, "partition": partition.partition}
            offsets = {"current": before, "new": after.offset, "note": note, "dry_run": not options.execute}
            print(json.dumps({**fields, **offsets}))
        return
    if changes:
        rows = [
            (group_id, partition.topic, partition.partition, before, after.offset, note)
            for group_id, (partition, before, after, note) in changes
        ]
        if not any(note for *_, note in rows):
            rows = [row[:-1] for row in rows]  # type: ignore[misc]  # a narrower table
        print(*table(_TITLES[: len(rows[0])], rows, right=_NUMBERS), sep="\n")
        if not options.execute:
            print("a dry run: nothing was changed, --execute does it", file=sys.stderr)
