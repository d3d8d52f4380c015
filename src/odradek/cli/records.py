"""`odradek records`: how many there are, where a time is among them, and how the oldest are deleted."""

import argparse
import json
from collections.abc import Iterable, Mapping, Sequence
from typing import Any

from odradek.cli import reaching, records_delete
from odradek.cli.main import EXIT_FAILED
from odradek.cli.quantities import count
from odradek.cli.streams import complain
from odradek.cli.table import table
from odradek.cli.times import TIME_HELP, parse_time
from odradek.cli.topic_scope import parse_scope, partitions_of
from odradek.cli.verbs import Verbs
from odradek.client.client import Client
from odradek.client.counting import count_records
from odradek.client.errors import ClientError
from odradek.client.lag import Extent, extents
from odradek.client.offsets import EARLIEST, LATEST, MAX_TIMESTAMP, list_offsets
from odradek.model.numbers import TimestampMs
from odradek.model.topic_partition import TopicPartition

_COUNT_TITLES = ("topic", "partition", "start", "end", "records")
_AT_TITLES = ("topic", "partition", "offset", "note")
_NUMBERS = ("partition", "start", "end", "records", "offset")
_MOMENTS = {"earliest": EARLIEST, "latest": LATEST, "max-timestamp": MAX_TIMESTAMP}


def add_arguments(parser: argparse.ArgumentParser) -> None:
    verbs = Verbs(parser)
    counting = verbs.add("count", show_counts, "count records: end minus start, or what is really there")
    counting.add_argument("--exact", action="store_true", help="read them all: compaction and transactions leave gaps")
    finding = verbs.add("offsets-at", show_offsets, "show the offset of the first record at or after a time")
    finding.add_argument("time", metavar="TIME", type=_moment, help=f"{TIME_HELP}; or {', '.join(_MOMENTS)}")
    deleting = records_delete.add_arguments(verbs)
    for each in (counting, finding, deleting):
        each.add_argument(
            "scopes", metavar="TOPIC[:0,1]", nargs="+", type=parse_scope, help="a topic, or some partitions of it"
        )


def _moment(text: str) -> TimestampMs:
    return _MOMENTS[text] if text in _MOMENTS else TimestampMs(parse_time(text))


def show_counts(options: argparse.Namespace) -> int:
    async def work(client: Client) -> int:
        logs = await extents(client, await partitions_of(client, options.scopes))
        known = {each: log for each, log in logs.items() if log.start is not None and log.end is not None}
        counts: Mapping[TopicPartition, int | ClientError] = {each: _offsets(log) for each, log in known.items()}
        if options.exact:
            counts = await count_records(client, known)
        failures = [(each, "nobody can say now") for each in sorted(logs.keys() - known.keys())]
        failures += [(each, str(error)) for each, error in counts.items() if isinstance(error, ClientError)]
        counted = {each: found for each, found in counts.items() if isinstance(found, int)}
        if options.json:
            for each, number in sorted(counted.items()):
                log = {"start": known[each].start, "end": known[each].end}
                print(json.dumps({**_place(each), **log, "records": number, "exact": options.exact}))
        elif counted:
            rows = [(*each, known[each].start, known[each].end, number) for each, number in sorted(counted.items())]
            print(*table(_COUNT_TITLES, rows, right=_NUMBERS), sep="\n")
            print(_total(sum(counted.values()), exact=options.exact))
        return _complain(failures)

    return reaching.run(options, work)


def _offsets(log: Extent) -> int:
    return (log.end or 0) - (log.start or 0)


def _total(number: int, *, exact: bool) -> str:
    if exact:
        return f"{count(number, 'record')}, all of them read"
    return f"{count(number, 'record')} at most: this is end minus start, and --exact reads them"


def show_offsets(options: argparse.Namespace) -> int:
    async def work(client: Client) -> int:
        partitions = await partitions_of(client, options.scopes)
        found = await list_offsets(client, dict.fromkeys(partitions, options.time))
        ends = await list_offsets(client, dict.fromkeys(partitions, LATEST))
        rows: list[tuple[TopicPartition, int | None, str | None]] = []
        failures: list[tuple[TopicPartition, str]] = []
        for each, offset in found.items():
            end = ends[each]
            if isinstance(offset, ClientError):
                failures.append((each, str(offset)))
            elif offset >= 0:
                rows.append((each, offset, None))
            else:
                rows.append((each, None, f"no record is that late; the end is {end}"))
        _show_offsets(rows, options)
        return _complain(failures)

    return reaching.run(options, work)


def _show_offsets(rows: Sequence[tuple[TopicPartition, int | None, str | None]], options: argparse.Namespace) -> None:
    if options.json:
        for partition, offset, _ in rows:
            print(json.dumps({**_place(partition), "offset": offset}))
    elif rows:
        cells = [(*partition, offset, note) for partition, offset, note in rows]
        width = 4 if any(note for *_, note in rows) else 3
        print(*table(_AT_TITLES[:width], [each[:width] for each in cells], right=_NUMBERS), sep="\n")


def _place(partition: TopicPartition) -> dict[str, Any]:
    return {"topic": partition.topic, "partition": partition.partition}


def _complain(failures: Iterable[tuple[TopicPartition, str]]) -> int:
    status = 0
    for partition, reason in failures:
        complain(f"{partition}: {reason}")
        status = EXIT_FAILED
    return status
