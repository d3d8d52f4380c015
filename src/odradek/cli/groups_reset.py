"""`odradek groups reset`: sets groups to other offsets, while nobody is in them."""

import argparse
from collections.abc import Mapping
from datetime import UTC, datetime
from functools import partial
from pathlib import Path

from odradek.cli import groups_plan, offsets_file, reaching
from odradek.cli.groups_plan import Change, NoPlan, Plan, change_offsets, known_extents, within
from odradek.cli.groups_scope import add_topics
from odradek.cli.main import Misused
from odradek.cli.times import DURATION_HELP, TIME_HELP, parse_duration, parse_time
from odradek.cli.verbs import Verbs
from odradek.client.client import Client
from odradek.client.committed import Committed, fetch_committed
from odradek.client.errors import ClientError
from odradek.client.lag import Extent
from odradek.client.offsets import list_offsets
from odradek.model.numbers import Offset, TimestampMs
from odradek.model.topic_partition import TopicPartition

Positions = Mapping[TopicPartition, Committed]
Target = tuple[int, str | None]
"""An offset, and a word on it."""


def add_arguments(verbs: Verbs) -> None:
    parser = verbs.add("reset", reset, "set groups that have no members to other offsets")
    parser.add_argument("groups", metavar="GROUP", nargs="+", help="a group; one that is not there is made")
    where = parser.add_mutually_exclusive_group(required=True)
    where.add_argument("--to-earliest", action="store_true", help="where the logs begin")
    where.add_argument("--to-latest", action="store_true", help="where they end")
    where.add_argument("--to-offset", metavar="N", type=int)
    where.add_argument("--to-time", metavar="TIME", type=parse_time, help=TIME_HELP)
    where.add_argument("--by-duration", metavar="TIME", type=parse_duration, help=f"so long ago: {DURATION_HELP}")
    where.add_argument("--shift-by", metavar="N", type=int, help="from where they are: back, if N is negative")
    where.add_argument("--to-current", action="store_true", help="where they are; where they are nowhere, the end")
    where.add_argument("--from-file", metavar="FILE", help="what `groups export` or Kafka's tool wrote")
    add_topics(parser)
    parser.add_argument("--all-topics", action="store_true", help="all that the group has offsets of")
    groups_plan.add_arguments(parser)


def reset(options: argparse.Namespace) -> int:
    if (options.from_file is not None) + bool(options.topic) + options.all_topics != 1:
        raise Misused("give either --topic or --all-topics; --from-file needs neither")
    group_ids = list(dict.fromkeys(options.groups))
    given = _read(options.from_file, group_ids) if options.from_file is not None else None

    async def work(client: Client) -> int:
        async def make(group_id: str) -> Plan:
            if given is None:
                return await _plan(client, group_id, options)
            return await plan_of(client, group_id, given.get(group_id, {}))

        return await change_offsets(client, group_ids, make, options)

    return reaching.run(options, work)


def _read(file: str, group_ids: list[str]) -> dict[str, offsets_file.Offsets]:
    try:
        given = offsets_file.read_offsets(Path(file).read_text(encoding="utf-8"), group_ids)
    except (offsets_file.BadFile, UnicodeDecodeError) as error:
        raise Misused(f"{file}: {error}") from None
    for group_id in group_ids:
        if group_id not in given:
            raise Misused(f"{file}: has no offsets of {group_id}")
    return given


async def plan_of(client: Client, group_id: str, offsets: Positions) -> Plan:
    """To these offsets, or as near to them as the logs go. Raises NoPlan."""
    logs = await known_extents(client, offsets)
    now_at = await _committed(client, group_id)
    plan = []
    for partition, wanted in offsets.items():
        offset, note = within(wanted.offset, logs[partition])
        plan.append(Change(partition, _offset(now_at, partition), Committed(offset, wanted.metadata), note))
    return plan


async def _plan(client: Client, group_id: str, options: argparse.Namespace) -> Plan:
    now_at = await _committed(client, group_id)
    partitions = await _in_scope(client, now_at, options)
    logs = await known_extents(client, partitions)
    targets = await _targets(client, now_at, logs, options)
    return [
        Change(each, _offset(now_at, each), Committed(Offset(offset)), note)
        for each, (offset, note) in sorted(targets.items())
    ]


async def _committed(client: Client, group_id: str) -> Positions:
    (found,) = (await fetch_committed(client, [group_id])).values()
    if isinstance(found, ClientError):
        raise NoPlan([str(found)])
    return {partition: each for partition, each in found.items() if isinstance(each, Committed)}


def _offset(now_at: Positions, partition: TopicPartition) -> Offset | None:
    committed = now_at.get(partition)
    return None if committed is None else committed.offset


async def _in_scope(client: Client, now_at: Positions, options: argparse.Namespace) -> list[TopicPartition]:
    if options.all_topics:
        return list(now_at)
    view = await client.persist(partial(client.look_up, sorted({each.topic for each in options.topic})))
    chosen: dict[TopicPartition, None] = {}
    for scope in options.topic:
        topic = view.topics[scope.topic]
        if topic.error is not None:
            raise NoPlan([f"Topic '{scope.topic}' does not exist" if topic.error.is_retriable else str(topic.error)])
        numbers = [each.partition for each in topic.partitions] if scope.partitions is None else scope.partitions
        chosen |= dict.fromkeys(TopicPartition(scope.topic, number) for number in numbers)
    return list(chosen)


async def _targets(
    client: Client, now_at: Positions, logs: Mapping[TopicPartition, Extent], options: argparse.Namespace
) -> dict[TopicPartition, Target]:
    if options.to_time is not None:
        return await _at_time(client, logs, options.to_time)
    if options.by_duration is not None:
        moment = datetime.now(UTC) - options.by_duration
        return await _at_time(client, logs, round(moment.timestamp() * 1000))
    if options.shift_by is not None:
        nowhere = [f"{each} has no committed offset to shift" for each in logs if each not in now_at]
        if nowhere:
            raise NoPlan(nowhere)
        return {each: within(now_at[each].offset + options.shift_by, log) for each, log in logs.items()}
    if options.to_offset is not None:
        return {each: within(options.to_offset, log) for each, log in logs.items()}
    if options.to_current:
        return {each: _current(now_at.get(each), log) for each, log in logs.items()}
    return {each: ((log.start if options.to_earliest else log.end) or 0, None) for each, log in logs.items()}


def _current(committed: Committed | None, log: Extent) -> Target:
    if committed is not None:
        return committed.offset, None
    return log.end or 0, "nothing was committed: the log's end"


async def _at_time(client: Client, logs: Mapping[TopicPartition, Extent], time_ms: int) -> dict[TopicPartition, Target]:
    found = await list_offsets(client, dict.fromkeys(logs, TimestampMs(time_ms)))
    targets: dict[TopicPartition, Target] = {}
    for partition, offset in found.items():
        if isinstance(offset, ClientError):
            raise NoPlan([f"{partition}: {offset}"])
        is_there = offset >= 0
        targets[partition] = (
            (offset, None) if is_there else (logs[partition].end or 0, "no record is that late: the end")
        )
    return targets
