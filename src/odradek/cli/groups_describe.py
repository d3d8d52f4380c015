"""`odradek groups describe`: what groups have read, and what they have not."""

import argparse
import json
from collections.abc import Iterator, Mapping
from datetime import UTC, datetime
from typing import Any, NamedTuple

from odradek.cli import reaching
from odradek.cli.groups_scope import complaint
from odradek.cli.main import EXIT_FAILED
from odradek.cli.quantities import count
from odradek.cli.streams import CONTROLS, complain
from odradek.cli.table import table
from odradek.client.ages import record_times
from odradek.client.client import Client
from odradek.client.errors import ClientError
from odradek.client.group_views import CONSUMERS, GroupView, MemberView
from odradek.client.groups import describe_groups, list_groups
from odradek.client.lag import Position, Positions, positions
from odradek.model.topic_partition import TopicPartition

_TITLES = ("topic", "partition", "current", "end", "lag", "age", "member", "host", "client")
_NUMBERS = ("partition", "current", "end", "lag", "age")
_DESCRIBED = ("Classic", "Consumer")

Ages = Mapping[TopicPartition, float]


class Row(NamedTuple):
    partition: TopicPartition
    position: Position
    owner: MemberView | None
    age_s: float | None


class Described(NamedTuple):
    group: GroupView
    rows: list[Row]

    @property
    def lag(self) -> int | None:
        """Of all partitions whose lag is known; None where it is of none, as in a group that has committed nothing."""
        known = [row.position.lag for row in self.rows if row.position.lag is not None]
        return sum(known) if known or not self.rows else None


def describe(options: argparse.Namespace) -> int:
    async def work(client: Client) -> int:
        group_ids = list(dict.fromkeys(options.groups))
        if not group_ids:
            group_ids = [each.group_id for each in await list_groups(client, kinds=_DESCRIBED)]
        described, failures = await _find_out(client, group_ids, age=options.age)
        for name, error in failures.items():
            complain(complaint(name, error))
        for at, each in enumerate(described):
            if options.json:
                print(json.dumps(_as_object(each, age=options.age)))
            else:
                print(*([""] if at else []), *_as_text(each, age=options.age), sep="\n")
        return EXIT_FAILED if failures else 0

    return reaching.run(options, work)


async def _find_out(
    client: Client, group_ids: list[str], *, age: bool
) -> tuple[list[Described], dict[str, ClientError]]:
    views = await describe_groups(client, group_ids)
    groups = {name: view for name, view in views.items() if isinstance(view, GroupView)}
    failures = {name: error for name, error in views.items() if isinstance(error, ClientError)}
    owners = {name: group.owners() for name, group in groups.items()}
    described = []
    for name, found in (await positions(client, list(groups), owners)).items():
        if isinstance(found, ClientError):
            failures[name] = found
            continue
        ages = await _ages(client, found) if age else {}
        rows = [Row(each, position, owners[name].get(each), ages.get(each)) for each, position in found.items()]
        described.append(Described(groups[name], rows))
    return described, failures


async def _ages(client: Client, found: Positions) -> Ages:
    """In seconds, of the first record that was not read, where there is one."""
    unread = {each: position.next for each, position in found.items() if position.lag and position.next is not None}
    times = await record_times(client, unread)
    now = datetime.now(UTC).timestamp()
    return {each: max(0.0, now - time / 1000) for each, time in times.items() if time is not None and time >= 0}


def _as_object(described: Described, *, age: bool) -> dict[str, Any]:
    group = described.group
    return {
        "group": group.group_id,
        "kind": group.kind,
        "state": group.state,
        "protocol": group.protocol_type,
        "assignor": group.assignor or None,
        "epoch": group.epoch,
        "assignment_epoch": group.assignment_epoch,
        "coordinator": {"id": group.coordinator.node_id, "address": str(group.coordinator.address)},
        "members": len(group.members),
        "lag": described.lag,
        "partitions": [_row_object(row, age=age) for row in described.rows],
    }


def _row_object(row: Row, *, age: bool) -> dict[str, Any]:
    committed, log, owner = row.position.committed, row.position.log, row.owner
    return {
        "topic": row.partition.topic,
        "partition": row.partition.partition,
        "current": committed and committed.offset,
        "leader_epoch": committed.leader_epoch if committed and committed.leader_epoch >= 0 else None,
        "metadata": committed and committed.metadata,
        "start": log.start,
        "end": log.end,
        "lag": row.position.lag,
        **({"age_s": row.age_s and round(row.age_s, 3)} if age else {}),
        "note": row.position.note,
        "member": owner and owner.member_id,
        "instance": owner and owner.instance_id,
        "host": owner and owner.host,
        "client": owner and owner.client_id,
    }


def _as_text(described: Described, *, age: bool) -> Iterator[str]:
    yield heading(described.group, "lag unknown" if described.lag is None else f"lag {described.lag:,}")
    if described.rows:
        shown = [at for at, title in enumerate(_TITLES) if age or title != "age"]
        rows = [_row(row) for row in described.rows]
        titles = [_TITLES[at] for at in shown]
        yield from table(titles, [[row[at] for at in shown] for row in rows], right=_NUMBERS)
    for row in described.rows:
        if row.position.note:
            yield f"{row.partition}: {row.position.note}"


def heading(group: GroupView, *more: str) -> str:
    is_of_consumers = group.protocol_type in (CONSUMERS, "")
    parts = [
        group.state,
        f"{group.kind} group" if is_of_consumers else f"{group.kind} {group.protocol_type} group",
        *([f"assignor {group.assignor}"] if group.assignor else []),
        *([f"epoch {group.epoch}"] if group.epoch is not None else []),
        count(len(group.members), "member"),
        *more,
        f"coordinator {group.coordinator.node_id} ({group.coordinator.address})",
    ]
    return f"{group.group_id}: {', '.join(parts)}".translate(CONTROLS)


def _row(row: Row) -> tuple[object, ...]:
    committed, owner = row.position.committed, row.owner
    return (
        row.partition.topic,
        row.partition.partition,
        committed and committed.offset,
        row.position.log.end,
        row.position.lag,
        None if row.age_s is None else f"{row.age_s:.0f} s",
        owner and owner.member_id,
        owner and owner.host,
        owner and owner.client_id,
    )
