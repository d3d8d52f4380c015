"""Moves that are begun, and waited for."""

import argparse
import asyncio
import json
import sys
from collections.abc import Sequence
from typing import TYPE_CHECKING, NamedTuple

from odradek.cli.cluster_plan import Goal
from odradek.cli.main import EXIT_FAILED
from odradek.cli.quantities import count
from odradek.cli.streams import complain
from odradek.client.client import Client
from odradek.client.log_dirs import LogDirView, describe_log_dirs
from odradek.client.moves import (
    DirectoryMove,
    Outcomes,
    alter_reassignments,
    directory_moves,
    list_reassignments,
    move_to_log_dirs,
)
from odradek.model.error_code import ErrorCode
from odradek.model.topic_partition import TopicPartition

if TYPE_CHECKING:
    from odradek.client.errors import Refused

_LOOK_S = 0.5
_LOOKS_MAX = 4
"""At replicas that are not where they should be while nothing is on its way. Two directories that change places do so
one after the other: in between, Apache Kafka tells of the old one alone."""
_REASONS = {
    ErrorCode.LOG_DIR_NOT_FOUND: "the broker has no such log directory",
    ErrorCode.KAFKA_STORAGE_ERROR: "the log directory is offline",
    ErrorCode.REPLICA_NOT_AVAILABLE: "the broker has no replica of it",
    ErrorCode.INVALID_REPLICA_ASSIGNMENT: "the log directory takes no new replicas",
    ErrorCode.INVALID_TOPIC_EXCEPTION: "its name is too long for a directory that is to become another",
}
"""In place of messages: the protocol has none for these."""


class Missed(NamedTuple):
    partition: TopicPartition
    why: str


async def begin(client: Client, goals: Sequence[Goal], options: argparse.Namespace) -> int:
    """Have all of it begin. What is refused is complained of; the rest goes on."""
    refused: list[tuple[TopicPartition, Refused]] = []
    # Directories first: a replica that is still to come is then made in the right one.
    for broker, outcomes in (await _begin_in_directories(client, goals)).items():
        coming = {each.partition for each in goals if each.replicas is not None and broker in each.replicas}
        for partition, error in outcomes.items():
            is_to_come = error is not None and error.code is ErrorCode.REPLICA_NOT_AVAILABLE and partition in coming
            if error is not None and not is_to_come:
                refused.append((partition, error))
    wanted = {each.partition: each.replicas for each in goals if each.replicas is not None}
    if wanted:
        outcomes = await alter_reassignments(client, wanted)
        refused += [(partition, error) for partition, error in outcomes.items() if error is not None]
    for partition, error in refused:
        reason = error.message or _REASONS.get(error.code)
        complain(f"{partition}: {reason} ({error.code.name})" if reason else f"{partition}: {error}")
        if options.json:
            print(json.dumps({**_place(partition), "error": error.code.name, "message": reason}))
    if options.no_wait:
        failed = {partition for partition, _ in refused}
        _tell([each for each in goals if each.partition not in failed], "begun", options)
    return EXIT_FAILED if refused else 0


async def _begin_in_directories(client: Client, goals: Sequence[Goal]) -> dict[int, Outcomes]:
    wanted: dict[int, dict[TopicPartition, str]] = {}
    for goal in goals:
        for broker, path in (goal.directories or {}).items():
            wanted.setdefault(broker, {})[goal.partition] = path
    return {broker: await move_to_log_dirs(client, broker, paths) for broker, paths in wanted.items()}


async def wait(client: Client, goals: Sequence[Goal], options: argparse.Namespace) -> int:
    """Until nothing of it is on its way, with a word on how far it is. It goes on also if nobody waits for it."""
    meant = {each.partition for each in goals}
    last = ""
    looks = 0
    missed: list[Missed] = []
    while True:
        between_brokers = [each for each in await list_reassignments(client) if each.partition in meant]
        views = await describe_log_dirs(client)
        between_dirs = [each for each in directory_moves(views) if each.partition in meant]
        if between_brokers or between_dirs:
            looks = 0
            said = _progress(len(between_brokers), between_dirs)
            if said != last:
                print(said, file=sys.stderr, flush=True)
                last = said
        else:
            looks += 1
            missed = _missed(goals, views)
            if not missed or looks == _LOOKS_MAX:
                break
        await asyncio.sleep(_LOOK_S)
    for each in missed:
        complain(f"{each.partition}: {each.why}")
    lost = {each.partition for each in missed}
    _tell([each for each in goals if each.partition not in lost], "moved", options)
    return EXIT_FAILED if missed else 0


def _missed(goals: Sequence[Goal], views: Sequence[LogDirView]) -> list[Missed]:
    places = {(each.node_id, each.partition): each.log_dir for view in views for each in view.replicas}
    return [
        Missed(goal.partition, f"it did not get to {path} on broker {broker}; the broker's log says why")
        for goal in goals
        for broker, path in (goal.directories or {}).items()
        if places.get((broker, goal.partition)) != path
    ]


def _progress(between_brokers: int, between_dirs: Sequence[DirectoryMove]) -> str:
    parts = []
    if between_dirs:
        behind = sum(each.lag for each in between_dirs)
        parts.append(f"{count(len(between_dirs), 'replica')} on the way, {count(behind, 'offset')} behind")
    if between_brokers:
        parts.append(f"{count(between_brokers, 'partition')} on the way to other brokers")
    return ", ".join(parts)


def _tell(goals: Sequence[Goal], outcome: str, options: argparse.Namespace) -> None:
    for goal in goals:
        if options.json:
            result = {"replicas": goal.replicas, "directories": goal.directories, "outcome": outcome}
            print(json.dumps({**_place(goal.partition), **result}))
            continue
        ways = [f"to brokers {','.join(map(str, goal.replicas))}"] if goal.replicas is not None else []
        ways += [f"to {path} on broker {broker}" for broker, path in (goal.directories or {}).items()]
        print(f"{goal.partition} {'moves' if outcome == 'begun' else 'moved'} {' and '.join(ways)}")


def _place(partition: TopicPartition) -> dict[str, object]:
    return {"topic": partition.topic, "partition": partition.partition}
