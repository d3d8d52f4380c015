"""`odradek groups`: who reads what, how far they are, and how to set them back."""

import argparse
import json
import sys
from collections.abc import Mapping

from odradek.cli import groups_describe, groups_files, groups_members, groups_reset, reaching
from odradek.cli.choices import one_of
from odradek.cli.groups_scope import add_topics, complaint
from odradek.cli.main import EXIT_FAILED, Misused
from odradek.cli.streams import complain, confirmed
from odradek.cli.table import table
from odradek.cli.verbs import Verbs
from odradek.client.client import Client
from odradek.client.committed import delete_committed, fetch_committed
from odradek.client.errors import ClientError, Refused
from odradek.client.group_views import GroupView, ListedGroup
from odradek.client.groups import Described, delete_groups, describe_groups, list_groups
from odradek.model.error_code import ErrorCode

STATES = (
    "PreparingRebalance",
    "CompletingRebalance",
    "Stable",
    "Empty",
    "Dead",
    "Assigning",
    "Reconciling",
    "NotReady",
)
KINDS = ("Classic", "Consumer", "Share", "Streams")

_TITLES = ("group", "kind", "state", "protocol", "members")


def add_arguments(parser: argparse.ArgumentParser) -> None:
    verbs = Verbs(parser)
    listing = verbs.add("list", list_all, "list groups")
    listing.add_argument("--state", metavar="STATE,...", type=one_of(STATES), default=(), help=", ".join(STATES))
    listing.add_argument("--type", metavar="KIND,...", type=one_of(KINDS), default=(), help=", ".join(KINDS))
    describing = verbs.add("describe", groups_describe.describe, "show how far groups are, partition by partition")
    describing.add_argument("groups", metavar="GROUP", nargs="*", help="a group; without one, all of them")
    describing.add_argument("--age", action="store_true", help="also how old the first unread record is: reads it")
    members = verbs.add("members", groups_members.members, "show the members of groups, and what each of them reads")
    members.add_argument("groups", metavar="GROUP", nargs="+", help="a group")
    members.add_argument("--verbose", action="store_true", help="also subscriptions, partitions and where they go")
    groups_reset.add_arguments(verbs)
    groups_files.add_arguments(verbs)
    deleting = verbs.add("delete", delete, "delete groups without members, or some of their offsets")
    deleting.add_argument("groups", metavar="GROUP", nargs="+", help="a group")
    deleting.add_argument("--offsets", action="store_true", help="only the offsets of the topics that --topic names")
    add_topics(deleting)
    deleting.add_argument("--yes", action="store_true", help="do not ask first; nobody is asked without a terminal")
    deleting.add_argument("--if-exists", action="store_true", help="a group that is not there is no failure")


def list_all(options: argparse.Namespace) -> int:
    async def work(client: Client) -> int:
        listed = await list_groups(client, options.state, options.type)
        described = await describe_groups(client, [each.group_id for each in listed])
        rows = [(each, _members(each, described)) for each in listed]
        if options.json:
            for group, members in rows:
                fields = {
                    "group": group.group_id,
                    "kind": group.kind,
                    "state": group.state,
                    "protocol": group.protocol_type,
                    "members": members,
                }
                print(json.dumps(fields))
        elif rows:
            cells = [
                (group.group_id, group.kind, group.state, group.protocol_type or None, members)
                for group, members in rows
            ]
            print(*table(_TITLES, cells, right=("members",)), sep="\n")
        return 0

    return reaching.run(options, work)


def _members(group: ListedGroup, described: Described) -> int | None:
    """None for kinds of groups that are not described here."""
    view = described[group.group_id]
    return len(view.members) if isinstance(view, GroupView) else None


def delete(options: argparse.Namespace) -> int:
    if options.offsets != bool(options.topic):
        raise Misused("--offsets and --topic go together: they delete offsets, and leave the group")
    group_ids = list(dict.fromkeys(options.groups))
    what = "some offsets of " if options.offsets else ""
    question = f"delete {what}{', '.join(group_ids)}?"
    if not options.yes and sys.stdin.isatty() and not confirmed(question):
        complain("nothing was deleted")
        return EXIT_FAILED

    async def work(client: Client) -> int:
        if options.offsets:
            return max([await _delete_offsets(client, each, options) for each in group_ids])
        outcomes = await delete_groups(client, group_ids)
        return max([_report({"group": group}, outcome, group, options) for group, outcome in outcomes.items()])

    return reaching.run(options, work)


async def _delete_offsets(client: Client, group_id: str, options: argparse.Namespace) -> int:
    """Those that the group has: what was never committed need not be deleted."""
    (committed,) = (await fetch_committed(client, [group_id])).values()
    if isinstance(committed, ClientError):
        return _report({"group": group_id}, committed, group_id, options)
    status = 0
    chosen = []
    for scope in options.topic:
        mine = [each for each in committed if scope.has(each)]
        if not mine:
            complain(f"{group_id} has no offsets of {scope}")
            status = EXIT_FAILED
        chosen += mine
    outcomes = await delete_committed(client, group_id, dict.fromkeys(chosen)) if chosen else {}
    for partition, outcome in outcomes.items():
        fields = {"group": group_id, "topic": partition.topic, "partition": partition.partition}
        status = max(status, _report(fields, outcome, f"{partition} of {group_id}", options))
    return status


def _report(fields: Mapping[str, object], outcome: ClientError | None, name: str, options: argparse.Namespace) -> int:
    is_excused = (
        isinstance(outcome, Refused) and outcome.code is ErrorCode.GROUP_ID_NOT_FOUND and bool(options.if_exists)
    )
    result: dict[str, str | None] = {"outcome": "unchanged" if is_excused else "deleted"}
    if outcome is not None and not is_excused:
        result = {"error": outcome.code.name if isinstance(outcome, Refused) else None, "message": str(outcome)}
        complain(complaint(name, outcome))
    if options.json:
        print(json.dumps({**fields, **result}))
    elif outcome is None:
        print(f"deleted {name}")
    return EXIT_FAILED if "message" in result else 0
