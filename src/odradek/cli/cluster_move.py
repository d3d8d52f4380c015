"""`odradek cluster move`: replicas to other log directories, and to other brokers."""

import argparse
import json
import sys
from collections.abc import Collection, Sequence
from functools import partial

from odradek.cli import reaching
from odradek.cli.cluster_moving import begin, wait
from odradek.cli.cluster_plan import Goal, Replicas, read_plan, to_directory
from odradek.cli.main import EXIT_FAILED, Misused
from odradek.cli.quantities import size
from odradek.cli.streams import complain
from odradek.cli.table import table
from odradek.cli.topic_scope import TopicScope, chosen, parse_scope
from odradek.cli.verbs import Verbs
from odradek.client.client import Client
from odradek.client.errors import Refused
from odradek.client.moves import (
    DirectoryMove,
    Reassignment,
    alter_reassignments,
    list_directory_moves,
    list_reassignments,
    move_to_log_dirs,
)
from odradek.model.error_code import ErrorCode
from odradek.model.topic_partition import TopicPartition

_TITLES = ("topic", "partition", "broker", "from", "to", "behind", "copied")


def add_arguments(verbs: Verbs) -> None:
    parser = verbs.add("move", move, "move replicas to another log directory or to other brokers, show moves, end them")
    parser.add_argument(
        "scopes", metavar="TOPIC[:0,1]", nargs="*", type=parse_scope, help="a topic, or some partitions of it"
    )
    what = parser.add_mutually_exclusive_group(required=True)
    what.add_argument("--to", metavar="DIRECTORY", help="to this log directory, by its absolute path")
    what.add_argument("--replicas", metavar="ID,...", type=_brokers, help="to these brokers, the first to lead")
    what.add_argument("--plan", metavar="FILE", help="as in this file, which is as kafka-reassign-partitions.sh has it")
    what.add_argument("--status", action="store_true", help="show what is on its way")
    what.add_argument("--cancel", action="store_true", help="end moves: replicas stay, or go back to, where they were")
    parser.add_argument("--broker", metavar="ID", type=int, help="with --to: whose replica, where there are several")
    parser.add_argument("--no-wait", action="store_true", help="do not wait until all is where it is to be")


def _brokers(text: str) -> Replicas:
    """For argparse."""
    words = [word.strip() for word in text.split(",")]
    if not all(word.isascii() and word.isdecimal() for word in words):
        raise argparse.ArgumentTypeError(f"{text!r} must be ids of brokers with commas between")
    return tuple(map(int, words))


def move(options: argparse.Namespace) -> int:
    _check(options)

    async def work(client: Client) -> int:
        if options.status:
            return await _show_moves(client, options)
        if options.cancel:
            return await _cancel(client, options)
        goals = await _goals(client, options)
        status = await begin(client, goals, options)
        if status or options.no_wait:
            return status
        return await wait(client, goals, options)

    return reaching.run(options, work)


def _check(options: argparse.Namespace) -> None:
    if options.plan is not None and options.scopes:
        raise Misused("the plan says which partitions: give none beside it")
    if (options.to is not None or options.replicas is not None) and not options.scopes:
        raise Misused("which partitions? give TOPIC or TOPIC:0,1")
    if options.broker is not None and options.to is None:
        raise Misused("--broker goes with --to")
    if options.to is not None and not options.to.startswith("/"):
        raise Misused(f"--to {options.to}: must be an absolute path, as the broker has it")


async def _goals(client: Client, options: argparse.Namespace) -> list[Goal]:
    if options.plan is not None:
        return read_plan(options.plan)
    replicas = await _replicas(client, options.scopes)
    if options.replicas is not None:
        return [Goal(partition, options.replicas) for partition in replicas]
    return to_directory(replicas, options.to, options.broker)


async def _replicas(client: Client, scopes: Collection[TopicScope]) -> dict[TopicPartition, Replicas]:
    view = await client.persist(partial(client.look_up, sorted({each.topic for each in scopes})))
    known = {
        TopicPartition(name, each.partition): each.replicas
        for name, topic in view.topics.items()
        for each in topic.partitions
    }
    return {each: known[each] for each in chosen(view, scopes)}


# --- what is on its way


async def _under_way(client: Client, scopes: Sequence[TopicScope]) -> tuple[list[Reassignment], list[DirectoryMove]]:
    """In these partitions, or in all."""

    def is_meant(partition: TopicPartition) -> bool:
        return not scopes or any(scope.has(partition) for scope in scopes)

    between_brokers = [each for each in await list_reassignments(client) if is_meant(each.partition)]
    between_dirs = [each for each in await list_directory_moves(client) if is_meant(each.partition)]
    return between_brokers, between_dirs


async def _show_moves(client: Client, options: argparse.Namespace) -> int:
    between_brokers, between_dirs = await _under_way(client, options.scopes)
    if options.json:
        for each in between_brokers:
            moving = {"replicas": each.replicas, "adding": each.adding, "removing": each.removing}
            print(json.dumps({**_place(each.partition), **moving}))
        for one in between_dirs:
            ways = {"broker": one.node_id, "from": one.source, "to": one.target}
            print(json.dumps({**_place(one.partition), **ways, "behind": one.lag, "copied": one.copied}))
        return 0
    rows: list[tuple[object, ...]] = [
        (*each.partition, None, _listed(each.removing), _listed(each.adding), None, None) for each in between_brokers
    ]
    rows += [
        (*each.partition, each.node_id, each.source, each.target, each.lag, size(each.copied)) for each in between_dirs
    ]
    if rows:
        print(*table(_TITLES, rows, right=("partition", "broker", "behind", "copied")), sep="\n")
    return 0


def _listed(brokers: Replicas) -> str | None:
    return f"broker {','.join(map(str, brokers))}" if brokers else None


# --- ending


async def _cancel(client: Client, options: argparse.Namespace) -> int:
    """Without partitions: all that there are."""
    between_brokers, between_dirs = await _under_way(client, options.scopes)
    outcomes: dict[str, Refused | None] = {}
    if between_brokers:
        ended = await alter_reassignments(client, {each.partition: None for each in between_brokers})
        outcomes |= {str(partition): refused for partition, refused in ended.items()}
    for each in between_dirs:
        name = f"{each.partition} on broker {each.node_id}"
        if each.source is None:
            outcomes[name] = Refused(ErrorCode.KAFKA_STORAGE_ERROR, "the directory that it comes from is offline")
            continue
        back = await move_to_log_dirs(client, each.node_id, {each.partition: each.source})
        outcomes[name] = back[each.partition]
    status = 0
    for name, refused in outcomes.items():
        if refused is not None and refused.code is not ErrorCode.NO_REASSIGNMENT_IN_PROGRESS:
            complain(f"{name}: {refused}")
            status = EXIT_FAILED
        elif options.json:
            print(json.dumps({"ended": name}))
        else:
            print(f"ended the move of {name}")
    if not outcomes:
        print("nothing is on its way", file=sys.stderr)
    return status


def _place(partition: TopicPartition) -> dict[str, object]:
    return {"topic": partition.topic, "partition": partition.partition}
