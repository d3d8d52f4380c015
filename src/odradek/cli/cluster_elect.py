"""`odradek cluster elect`: new leaders for partitions."""

import argparse
import json
import sys
from collections.abc import Mapping

from odradek.cli import reaching
from odradek.cli.main import EXIT_FAILED, Misused
from odradek.cli.streams import complain, confirmed
from odradek.cli.table import table
from odradek.cli.topic_scope import parse_scope, partitions_of
from odradek.cli.verbs import Verbs
from odradek.client.client import Client
from odradek.client.elections import Election, elect_leaders
from odradek.client.errors import Refused
from odradek.model.error_code import ErrorCode
from odradek.model.topic_partition import TopicPartition

_TITLES = ("topic", "partition", "outcome")
_ELECTED, _NOT_NEEDED = "elected", "not needed"
_REASONS = {
    ErrorCode.PREFERRED_LEADER_NOT_AVAILABLE: "its first replica is not in sync, or out of service",
    ErrorCode.ELIGIBLE_LEADERS_NOT_AVAILABLE: "it has no replica in service",
}
"""In place of messages: the protocol has none for these."""


def add_arguments(verbs: Verbs) -> None:
    parser = verbs.add("elect", elect, "elect leaders: the first replica, or any where there is none")
    parser.add_argument(
        "kind",
        choices=[each.name.lower() for each in Election],
        help="preferred: the first replica, if it is in sync; unclean: any replica, where nobody leads",
    )
    parser.add_argument(
        "scopes", metavar="TOPIC[:0,1]", nargs="*", type=parse_scope, help="a topic, or some partitions of it"
    )
    parser.add_argument("--all", action="store_true", help="in all partitions")
    parser.add_argument("--yes", action="store_true", help="do not ask first; nobody is asked without a terminal")


def elect(options: argparse.Namespace) -> int:
    if options.all == bool(options.scopes):
        raise Misused("give either topics or --all")
    election = Election[options.kind.upper()]
    if election is Election.UNCLEAN and not _is_wanted(options):
        complain("nobody was elected")
        return EXIT_FAILED

    async def work(client: Client) -> int:
        wanted = None if options.all else await partitions_of(client, options.scopes)
        return _show(await elect_leaders(client, election, wanted), options)

    return reaching.run(options, work)


def _is_wanted(options: argparse.Namespace) -> bool:
    if options.yes or not sys.stdin.isatty():
        return True
    return confirmed("elect leaders that are not in sync? records may be lost")


def _show(outcomes: Mapping[TopicPartition, Refused | None], options: argparse.Namespace) -> int:
    status = 0
    rows = []
    for partition, refused in sorted(outcomes.items()):
        place = {"topic": partition.topic, "partition": partition.partition}
        if refused is None or refused.code is ErrorCode.ELECTION_NOT_NEEDED:
            outcome = _ELECTED if refused is None else _NOT_NEEDED
            rows.append((*partition, outcome))
            if options.json:
                print(json.dumps({**place, "outcome": outcome}))
            continue
        reason = _REASONS.get(refused.code, refused.message)
        complain(f"{partition}: {reason} ({refused.code.name})" if reason else f"{partition}: {refused}")
        status = EXIT_FAILED
        if options.json:
            print(json.dumps({**place, "error": refused.code.name, "message": reason}))
    if rows and not options.json:
        print(*table(_TITLES, rows, right=("partition",)), sep="\n")
    return status
