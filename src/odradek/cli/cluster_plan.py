"""What is to move where: from a line of options, or from a file as Kafka's tool reads it."""

import json
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any, NamedTuple, TypeGuard

from odradek.cli.main import Misused
from odradek.model.topic_partition import TopicPartition

ANYWHERE = "any"
"""In place of a log directory: wherever the broker likes."""

Replicas = tuple[int, ...]


class Goal(NamedTuple):
    """What is to become of a partition."""

    partition: TopicPartition
    replicas: Replicas | None = None
    """None: those that it has."""
    directories: Mapping[int, str] | None = None
    """Absolute paths by broker; where a broker is not named, it chooses."""


def read_plan(path: str) -> list[Goal]:
    """A plan of `kafka-reassign-partitions.sh`: JSON with a list of partitions, their replicas and log directories."""
    try:
        plan = json.loads(Path(path).read_text(encoding="utf-8"))
    except ValueError as error:
        raise Misused(f"{path}: not JSON: {error}") from None
    if not isinstance(plan, dict) or not isinstance(plan.get("partitions"), list) or plan.get("version", 1) != 1:
        raise Misused(f'{path}: must be {{"version": 1, "partitions": [...]}}')
    goals = [_goal(path, number, each) for number, each in enumerate(plan["partitions"])]
    if len({goal.partition for goal in goals}) < len(goals):
        raise Misused(f"{path}: a partition comes twice")
    return goals


def _goal(path: str, number: int, given: Any) -> Goal:
    place = f"{path}, partition {number} of the list"
    if not isinstance(given, dict):
        raise Misused(f"{place}: must be an object")
    topic, partition = given.get("topic"), given.get("partition")
    if not isinstance(topic, str) or not _is_number(partition):
        raise Misused(f"{place}: needs a topic and a partition")
    replicas, directories = given.get("replicas"), given.get("log_dirs")
    if not _is_list(replicas) or not all(map(_is_number, replicas)):
        raise Misused(f"{place}: needs replicas, a list of ids of brokers")
    if directories is None:
        directories = [ANYWHERE] * len(replicas)
    if not _is_list(directories) or len(directories) != len(replicas) or not all(map(_is_path, directories)):
        raise Misused(f'{place}: log_dirs must have an absolute path or "any" for each replica')
    named = {broker: each for broker, each in zip(replicas, directories, strict=True) if each != ANYWHERE}
    return Goal(TopicPartition(topic, partition), tuple(replicas), named or None)


def _is_number(value: Any) -> TypeGuard[int]:
    return isinstance(value, int) and not isinstance(value, bool) and value >= 0


def _is_list(value: Any) -> TypeGuard[list[Any]]:
    return isinstance(value, list) and bool(value)


def _is_path(value: Any) -> bool:
    return isinstance(value, str) and (value == ANYWHERE or value.startswith("/"))


def to_directory(replicas: Mapping[TopicPartition, Replicas], path: str, broker: int | None) -> list[Goal]:
    """Of these partitions the replica on that broker. Raises Misused where there are several and none is named."""
    goals = []
    for partition, brokers in replicas.items():
        if broker is None and len(brokers) != 1:
            raise Misused(f"{partition} has replicas on brokers {_listed(brokers)}: which? give --broker")
        goals.append(Goal(partition, None, {brokers[0] if broker is None else broker: path}))
    return goals


def _listed(brokers: Sequence[int]) -> str:
    return ", ".join(map(str, brokers))
