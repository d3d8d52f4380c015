"""`odradek groups members`: who is in a group, and what each of them has."""

import argparse
import json
from collections.abc import Iterator, Sequence
from typing import Any

from odradek.cli import reaching
from odradek.cli.groups_describe import heading
from odradek.cli.groups_scope import complaint
from odradek.cli.main import EXIT_FAILED
from odradek.cli.streams import complain
from odradek.cli.table import table
from odradek.cli.topic_scope import TopicScope
from odradek.client.client import Client
from odradek.client.errors import ClientError
from odradek.client.group_views import GroupView, MemberView
from odradek.client.groups import describe_groups
from odradek.model.topic_partition import TopicPartition

_TITLES = ("member", "instance", "host", "client", "partitions")
_MORE = ("kind", "epoch", "subscription", "assignment", "target")


def members(options: argparse.Namespace) -> int:
    async def work(client: Client) -> int:
        status = shown = 0
        for name, group in (await describe_groups(client, list(dict.fromkeys(options.groups)))).items():
            if isinstance(group, ClientError):
                complain(complaint(name, group))
                status = EXIT_FAILED
            elif options.json:
                for member in group.members:
                    print(json.dumps(_as_object(group, member)))
            else:
                print(*([""] if shown else []), *_as_text(group, verbose=options.verbose), sep="\n")
                shown += 1
        return status

    return reaching.run(options, work)


def _as_object(group: GroupView, member: MemberView) -> dict[str, Any]:
    return {
        "group": group.group_id,
        "member": member.member_id,
        "instance": member.instance_id,
        "host": member.host,
        "client": member.client_id,
        "kind": member.kind,
        "epoch": member.epoch,
        "topics": member.topics,
        "regex": member.regex,
        "assignment": _object_of(member.assignment),
        "target": _object_of(member.target),
    }


def _object_of(partitions: Sequence[TopicPartition] | None) -> dict[str, list[int]] | None:
    """The partitions of each topic."""
    if partitions is None:
        return None
    topics: dict[str, list[int]] = {}
    for topic, number in partitions:
        topics.setdefault(topic, []).append(number)
    return topics


def _as_text(group: GroupView, *, verbose: bool) -> Iterator[str]:
    yield heading(group)
    if group.members:
        titles = (*_TITLES, *_MORE) if verbose else _TITLES
        yield from table(titles, [_row(each)[: len(titles)] for each in group.members], right=("partitions", "epoch"))


def _row(member: MemberView) -> tuple[object, ...]:
    subscription = [*member.topics, *([f"/{member.regex}/"] if member.regex else [])]
    return (
        member.member_id,
        member.instance_id,
        member.host,
        member.client_id,
        None if member.assignment is None else len(member.assignment),
        member.kind,
        member.epoch,
        " ".join(subscription) or None,
        _text_of(member.assignment),
        _text_of(member.target),
    )


def _text_of(partitions: Sequence[TopicPartition] | None) -> str | None:
    topics = _object_of(partitions)
    return " ".join(str(TopicScope(name, tuple(numbers))) for name, numbers in (topics or {}).items()) or None
