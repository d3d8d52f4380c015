"""Requests about partitions, which have to go to those who lead them."""

import asyncio
from collections.abc import Awaitable, Callable, Collection, Mapping, Sequence
from typing import TypeVar

from odradek.client.client import Client
from odradek.client.cluster import PartitionView
from odradek.client.errors import ClientError, Refused, TooOld
from odradek.model.error_code import ErrorCode
from odradek.model.errors import UnsupportedVersion
from odradek.model.topic_partition import TopicPartition

T = TypeVar("T")

Outcomes = dict[TopicPartition, T | ClientError]
Ask = Callable[[int, Mapping[TopicPartition, PartitionView]], Awaitable[Mapping[TopicPartition, T | ClientError]]]


async def ask_leaders(client: Client, partitions: Collection[TopicPartition], ask: Ask[T]) -> Outcomes[T]:
    """What the leaders of these partitions say of them, all asked at the same time.

    `ask` sends one request for some partitions of one leader. Partitions whose leader cannot say are asked for again,
    until the time for it is up: then they have the error.
    """
    found: Outcomes[T] = {}

    async def attempt() -> None:
        missing = [each for each in partitions if each not in found or isinstance(found[each], ClientError)]
        found.update(await _ask_once(client, missing, ask))
        for outcome in found.values():
            if isinstance(outcome, ClientError) and outcome.is_retriable:
                raise outcome

    try:
        await client.persist(attempt)
    except ClientError:
        if found.keys() != set(partitions):
            raise
    return {each: found[each] for each in partitions}


async def _ask_once(client: Client, partitions: Sequence[TopicPartition], ask: Ask[T]) -> Outcomes[T]:
    view = await client.look_up({each.topic for each in partitions})
    led = {
        TopicPartition(name, each.partition): each for name, topic in view.topics.items() for each in topic.partitions
    }
    found: Outcomes[T] = {}
    by_leader: dict[int, dict[TopicPartition, PartitionView]] = {}
    for partition in partitions:
        if partition not in led:
            found[partition] = Refused(ErrorCode.UNKNOWN_TOPIC_OR_PARTITION)
        elif led[partition].leader < 0:
            found[partition] = Refused(ErrorCode.LEADER_NOT_AVAILABLE)
        else:
            by_leader.setdefault(led[partition].leader, {})[partition] = led[partition]

    async def ask_one(
        leader: int, mine: Mapping[TopicPartition, PartitionView]
    ) -> Mapping[TopicPartition, T | ClientError]:
        try:
            return await ask(leader, mine)
        except ClientError as error:
            return dict.fromkeys(mine, error)
        except UnsupportedVersion as error:
            return dict.fromkeys(mine, TooOld(f"the broker is too old: {error}"))

    async with asyncio.TaskGroup() as tasks:
        asked = [tasks.create_task(ask_one(node, mine), name=f"leader-{node}") for node, mine in by_leader.items()]
    for task in asked:
        found |= task.result()
    return found
