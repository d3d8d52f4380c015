"""`odradek records delete`: the oldest records of partitions, for ever."""

import argparse
import json
import sys
from collections.abc import Mapping, Sequence
from typing import NamedTuple

from odradek.cli import reaching
from odradek.cli.main import EXIT_FAILED
from odradek.cli.quantities import count
from odradek.cli.streams import complain, confirmed
from odradek.cli.table import table
from odradek.cli.times import TIME_HELP, parse_time
from odradek.cli.topic_scope import partitions_of
from odradek.cli.verbs import Verbs
from odradek.client.client import Client
from odradek.client.deleting import delete_records
from odradek.client.errors import ClientError, Refused
from odradek.client.lag import Extent, extents
from odradek.client.offsets import list_offsets
from odradek.model.error_code import ErrorCode
from odradek.model.numbers import Offset, TimestampMs
from odradek.model.topic_partition import TopicPartition

_TITLES = ("topic", "partition", "was", "start", "deleted")
_REASONS = {
    ErrorCode.OFFSET_OUT_OF_RANGE: "the log does not go that far",
    ErrorCode.POLICY_VIOLATION: "the topic is compacted, and keeps the last record of each key",
    ErrorCode.INVALID_TOPIC_EXCEPTION: "the topic is kept for Kafka itself",
}
"""In place of messages: the protocol has none for these."""


class Cut(NamedTuple):
    """Where a partition begins, and where it is to begin."""

    partition: TopicPartition
    was: Offset
    start: Offset

    @property
    def deleted(self) -> int:
        """Records at most: compaction and transactions leave offsets without one."""
        return self.start - self.was


def add_arguments(verbs: Verbs) -> argparse.ArgumentParser:
    parser = verbs.add("delete", delete, "delete the oldest records of partitions")
    where = parser.add_mutually_exclusive_group(required=True)
    where.add_argument("--before-offset", metavar="N", type=_offset, help="records with lower offsets")
    where.add_argument("--before-time", metavar="TIME", type=parse_time, help=f"records older than that: {TIME_HELP}")
    where.add_argument("--all", action="store_true", help="all that are there now")
    parser.add_argument("--dry-run", action="store_true", help="only show what would be deleted")
    parser.add_argument("--yes", action="store_true", help="do not ask first; nobody is asked without a terminal")
    return parser


def _offset(text: str) -> Offset:
    """For argparse."""
    if not (text.isascii() and text.isdecimal()):
        raise argparse.ArgumentTypeError(f"{text!r} must be a number")
    return Offset(int(text))


def delete(options: argparse.Namespace) -> int:
    async def work(client: Client) -> int:
        logs = await extents(client, await partitions_of(client, options.scopes))
        planned = await _plan(client, logs, options)
        refused = [each for each in planned if isinstance(each, str)]
        for each in refused:
            complain(each)
        cuts = [each for each in planned if isinstance(each, Cut)]
        if refused:
            complain("nothing was deleted")
            return EXIT_FAILED
        if options.dry_run:
            _show(cuts, options)
            return 0
        todo = [each for each in cuts if each.deleted > 0]
        if todo and not _is_wanted(todo, options):
            complain("nothing was deleted")
            return EXIT_FAILED
        return await _carry_out(client, cuts, options)

    return reaching.run(options, work)


async def _plan(client: Client, logs: Mapping[TopicPartition, Extent], options: argparse.Namespace) -> list[Cut | str]:
    """A cut for each partition, or why there is none: what cannot be undone is done for all of them or for none."""
    times = {}
    if options.before_time is not None:
        times = await list_offsets(client, dict.fromkeys(logs, TimestampMs(options.before_time)))
    planned: list[Cut | str] = []
    for partition, log in sorted(logs.items()):
        if log.start is None or log.end is None:
            planned.append(f"{partition}: where it begins and ends cannot be known now")
            continue
        wanted: Offset | ClientError = log.end
        if options.before_offset is not None:
            wanted = options.before_offset
        elif partition in times and times[partition] != -1:  # -1: no record is that late, so all are older
            wanted = times[partition]
        if isinstance(wanted, ClientError):
            planned.append(f"{partition}: {wanted}")
        elif wanted > log.end:
            planned.append(f"{partition}: ends at {log.end}, so nothing is before {wanted} that could be deleted")
        else:
            planned.append(Cut(partition, log.start, max(wanted, log.start)))
    return planned


def _is_wanted(todo: Sequence[Cut], options: argparse.Namespace) -> bool:
    if options.yes or not sys.stdin.isatty():
        return True
    records = count(sum(each.deleted for each in todo), "record")
    names = ", ".join(map(str, options.scopes))
    return confirmed(f"delete up to {records} of {names} in {count(len(todo), 'partition')}?")


async def _carry_out(client: Client, cuts: Sequence[Cut], options: argparse.Namespace) -> int:
    outcomes = await delete_records(client, {each.partition: each.start for each in cuts})
    done = []
    status = 0
    for cut in cuts:
        outcome = outcomes[cut.partition]
        if not isinstance(outcome, ClientError):
            done.append(cut._replace(start=outcome))
            continue
        complain(f"{cut.partition}: {_reason(outcome)}")
        status = EXIT_FAILED
        if options.json and isinstance(outcome, Refused):
            print(json.dumps({**_place(cut.partition), "error": outcome.code.name, "message": _reason(outcome)}))
    _show(done, options)
    return status


def _reason(error: ClientError) -> str:
    if isinstance(error, Refused) and error.code in _REASONS:
        return f"{_REASONS[error.code]} ({error.code.name})"
    return str(error)


def _show(cuts: Sequence[Cut], options: argparse.Namespace) -> None:
    if options.json:
        for each in cuts:
            fields = {"was": each.was, "start": each.start, "deleted": each.deleted, "dry_run": options.dry_run}
            print(json.dumps({**_place(each.partition), **fields}))
    elif cuts:
        rows = [(*each.partition, each.was, each.start, each.deleted) for each in cuts]
        print(*table(_TITLES, rows, right=_TITLES[1:]), sep="\n")
        if options.dry_run:
            print("a dry run: nothing was deleted", file=sys.stderr)


def _place(partition: TopicPartition) -> dict[str, object]:
    return {"topic": partition.topic, "partition": partition.partition}
