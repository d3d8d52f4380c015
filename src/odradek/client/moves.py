"""Replicas on their way: to other brokers, and between the log directories of one."""

from collections.abc import Mapping
from typing import NamedTuple

from odradek.client.client import Client
from odradek.client.errors import Refused, raise_if_not_controller, refusal
from odradek.client.log_dirs import LogDirView, describe_log_dirs
from odradek.model.topic_partition import TopicPartition
from odradek.wire.messages.alter_partition_reassignments import (
    AlterPartitionReassignmentsRequest,
    AlterPartitionReassignmentsResponse,
    ReassignablePartition,
    ReassignableTopic,
)
from odradek.wire.messages.alter_replica_log_dirs import (
    AlterReplicaLogDir,
    AlterReplicaLogDirsRequest,
    AlterReplicaLogDirsResponse,
    AlterReplicaLogDirTopic,
)
from odradek.wire.messages.list_partition_reassignments import (
    ListPartitionReassignmentsRequest,
    ListPartitionReassignmentsResponse,
)

Replicas = tuple[int, ...]
Outcomes = dict[TopicPartition, Refused | None]


class Reassignment(NamedTuple):
    """A partition whose replicas move to other brokers."""

    partition: TopicPartition
    replicas: Replicas
    adding: Replicas
    removing: Replicas


class DirectoryMove(NamedTuple):
    """A replica that moves to another log directory of its broker."""

    node_id: int
    partition: TopicPartition
    source: str | None
    """None where the replica itself is in no directory that is in service."""
    target: str
    lag: int
    """Offsets that the copy is behind."""
    copied: int
    """Bytes of the copy."""
    size: int


# --- between brokers


async def alter_reassignments(client: Client, wanted: Mapping[TopicPartition, Replicas | None]) -> Outcomes:
    """Give partitions other replicas; None ends a reassignment before its time."""
    topics: dict[str, list[ReassignablePartition]] = {}
    for (topic, number), replicas in wanted.items():
        topics.setdefault(topic, []).append(ReassignablePartition(partition_index=number, replicas=replicas))
    request = AlterPartitionReassignmentsRequest(
        timeout_ms=_timeout_ms(client),
        topics=tuple(ReassignableTopic(name=name, partitions=tuple(parts)) for name, parts in topics.items()),
    )

    async def attempt() -> Outcomes:
        response = await client.ask_controller(request, AlterPartitionReassignmentsResponse)
        if response.error_code:
            raise Refused(response.error_code, response.error_message)
        outcomes = {
            TopicPartition(topic.name, each.partition_index): refusal(each.error_code, each.error_message)
            for topic in response.responses
            for each in topic.partitions
        }
        raise_if_not_controller(outcomes.values())
        return outcomes

    return await client.persist(attempt)


async def list_reassignments(client: Client) -> list[Reassignment]:
    request = ListPartitionReassignmentsRequest(timeout_ms=_timeout_ms(client), topics=None)

    async def attempt() -> ListPartitionReassignmentsResponse:
        response = await client.ask_controller(request, ListPartitionReassignmentsResponse)
        if response.error_code:
            raise Refused(response.error_code, response.error_message)
        return response

    response = await client.persist(attempt)
    return sorted(
        Reassignment(
            TopicPartition(topic.name, each.partition_index),
            each.replicas,
            each.adding_replicas,
            each.removing_replicas,
        )
        for topic in response.topics
        for each in topic.partitions
    )


# --- between log directories


async def move_to_log_dirs(client: Client, node_id: int, wanted: Mapping[TopicPartition, str]) -> Outcomes:
    """Have replicas of a broker begin to move to these of its directories, by their absolute paths."""
    paths: dict[str, dict[str, list[int]]] = {}
    for (topic, number), path in wanted.items():
        paths.setdefault(path, {}).setdefault(topic, []).append(number)
    request = AlterReplicaLogDirsRequest(
        dirs=tuple(
            AlterReplicaLogDir(
                path=path,
                topics=tuple(
                    AlterReplicaLogDirTopic(name=name, partitions=tuple(each)) for name, each in topics.items()
                ),
            )
            for path, topics in paths.items()
        )
    )

    async def attempt() -> AlterReplicaLogDirsResponse:
        return await client.ask_node(node_id, request, AlterReplicaLogDirsResponse)

    response = await client.persist(attempt)
    return {
        TopicPartition(topic.topic_name, each.partition_index): refusal(each.error_code)
        for topic in response.results
        for each in topic.partitions
    }


async def list_directory_moves(client: Client) -> list[DirectoryMove]:
    """Those that are under way on any broker."""
    return directory_moves(await describe_log_dirs(client))


def directory_moves(views: list[LogDirView]) -> list[DirectoryMove]:
    replicas = [each for view in views for each in view.replicas]
    homes = {(each.node_id, each.partition): each for each in replicas if not each.is_future}
    moves = []
    for each in replicas:
        if each.is_future:
            home = homes.get((each.node_id, each.partition))
            source, size = (None, each.size) if home is None else (home.log_dir, home.size)
            moves.append(DirectoryMove(each.node_id, each.partition, source, each.log_dir, each.lag, each.size, size))
    return sorted(moves)


def _timeout_ms(client: Client) -> int:
    """For the broker to carry it out: not longer than the answer is waited for."""
    return int(client.setting.request_timeout_s * 1000)
