"""`odradek topics describe`: all that brokers say of topics, put together."""

import argparse
import json
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, field, replace
from enum import Enum
from typing import Any

from odradek.cli import reaching
from odradek.cli.main import EXIT_FAILED
from odradek.cli.quantities import count, size
from odradek.cli.streams import complain
from odradek.cli.table import table
from odradek.cli.verbs import Verbs
from odradek.client.client import Client
from odradek.client.cluster import PartitionView, TopicView
from odradek.client.configs import Resource, ResourceType, Source, describe_configs
from odradek.client.log_dirs import list_replicas
from odradek.client.offsets import EARLIEST, LATEST, Offsets, list_offsets
from odradek.metadata.uuids import to_text
from odradek.model.error_code import ErrorCode
from odradek.model.topic_partition import TopicPartition

_TITLES = ("partition", "leader", "replicas", "isr", "start", "end", "records", "size")
_MIN_IN_SYNC = "min.insync.replicas"
_NUMBERS = ("partition", "leader", "start", "end", "records", "size")


@dataclass(slots=True)
class Found:
    """What was found out about some topics, partition by partition. What nobody could say is not there."""

    starts: Offsets
    ends: Offsets
    sizes: dict[TopicPartition, int]
    """Of the leader's replica."""
    configs: dict[str, dict[str, str | None]] = field(default_factory=dict)
    """Those that were set for the topic itself."""
    min_in_sync: dict[str, int] = field(default_factory=dict)

    def of(self, partition: TopicPartition) -> tuple[int | None, int | None, int | None]:
        """First offset, end, and bytes on disk."""
        start, end = self.starts.get(partition), self.ends.get(partition)
        return (
            start if isinstance(start, int) else None,
            end if isinstance(end, int) else None,
            self.sizes.get(partition),
        )


class Trouble(Enum):
    """Which partitions are shown, in place of all of them."""

    UNDER_REPLICATED = "under-replicated"
    UNAVAILABLE = "unavailable"
    UNDER_MIN_ISR = "under-min-isr"
    AT_MIN_ISR = "at-min-isr"

    def has(self, partition: PartitionView, min_in_sync: int | None) -> bool:
        """Where nobody can say how many replicas must be in sync, neither too few nor just enough are."""
        in_sync = len(partition.in_sync)
        match self:
            case Trouble.UNDER_REPLICATED:
                return in_sync < len(partition.replicas)
            case Trouble.UNAVAILABLE:
                return partition.leader < 0
            case Trouble.UNDER_MIN_ISR:
                return min_in_sync is not None and in_sync < min_in_sync
            case Trouble.AT_MIN_ISR:
                return in_sync == min_in_sync


_TROUBLES = {
    Trouble.UNDER_REPLICATED: "partitions of which a replica is not in sync",
    Trouble.UNAVAILABLE: "partitions without a leader",
    Trouble.UNDER_MIN_ISR: "partitions with fewer replicas in sync than min.insync.replicas",
    Trouble.AT_MIN_ISR: "partitions with just as many replicas in sync",
}


def add_arguments(verbs: Verbs) -> None:
    parser = verbs.add("describe", describe, "show partitions, offsets, sizes and settings of topics")
    parser.add_argument("names", metavar="NAME", nargs="*", help="a topic; without one, all of them")
    parser.add_argument("--internal", action="store_true", help="without names: also those kept for Kafka itself")
    only = parser.add_mutually_exclusive_group()
    for trouble, text in _TROUBLES.items():
        only.add_argument(
            f"--{trouble.value}", dest="trouble", action="store_const", const=trouble, help=f"only {text}"
        )


def describe(options: argparse.Namespace) -> int:
    names = list(dict.fromkeys(options.names)) or None

    async def work(client: Client) -> int:
        view = await client.look_up(names)
        status = 0
        shown = []
        for topic in view.topics.values():
            if topic.error is not None:
                complain(_complaint(topic))
                status = EXIT_FAILED
            elif names or options.internal or not topic.is_internal:
                shown.append(topic)
        found = await _find_out(client, shown)
        if options.trouble is not None:
            shown = list(_in_trouble(shown, options.trouble, found))
        for at, topic in enumerate(shown):
            if options.json:
                print(json.dumps(_as_object(topic, found)))
            else:
                print(*([""] if at else []), *_as_text(topic, found), sep="\n")
        return status

    return reaching.run(options, work)


def _in_trouble(topics: Iterable[TopicView], trouble: Trouble, found: Found) -> Iterator[TopicView]:
    """Those that have some, with these partitions alone."""
    for topic in topics:
        least = found.min_in_sync.get(topic.name)
        partitions = tuple(each for each in topic.partitions if trouble.has(each, least))
        if partitions:
            yield replace(topic, partitions=partitions)


def _complaint(topic: TopicView) -> str:
    if topic.error is not None and topic.error.code is ErrorCode.UNKNOWN_TOPIC_OR_PARTITION:
        return f"Topic '{topic.name}' does not exist"
    return f"{topic.name}: {topic.error}"


async def _find_out(client: Client, topics: Sequence[TopicView]) -> Found:
    led = {
        TopicPartition(topic.name, each.partition): each.leader
        for topic in topics
        for each in topic.partitions
        if each.leader >= 0
    }
    replicas = await list_replicas(
        client, {topic.name: [each.partition for each in topic.partitions] for topic in topics}, set(led.values())
    )
    found = Found(
        starts=await list_offsets(client, dict.fromkeys(led, EARLIEST)),
        ends=await list_offsets(client, dict.fromkeys(led, LATEST)),
        sizes={each.partition: each.size for each in replicas if led.get(each.partition) == each.node_id},
    )
    resources = [Resource(ResourceType.TOPIC, topic.name) for topic in topics]
    for resource, configs in (await describe_configs(client, resources)).items():
        if isinstance(configs, list):
            found.configs[resource.name] = {each.name: each.value for each in configs if each.source is Source.TOPIC}
            least = next((each.value for each in configs if each.name == _MIN_IN_SYNC), None)
            if least is not None:
                found.min_in_sync[resource.name] = int(least)
    return found


def _as_object(topic: TopicView, found: Found) -> dict[str, Any]:
    return {
        "topic": topic.name,
        "topic_id": to_text(topic.topic_id),
        "internal": topic.is_internal,
        "partitions": [_partition_object(topic, each, found) for each in topic.partitions],
        "configs": found.configs.get(topic.name),
    }


def _partition_object(topic: TopicView, partition: PartitionView, found: Found) -> dict[str, Any]:
    start, end, bytes_on_disk = found.of(TopicPartition(topic.name, partition.partition))
    return {
        "partition": partition.partition,
        "leader": partition.leader if partition.leader >= 0 else None,
        "leader_epoch": partition.leader_epoch,
        "replicas": partition.replicas,
        "isr": partition.in_sync,
        "offline": partition.offline,
        "start": start,
        "end": end,
        "size": bytes_on_disk,
    }


def _as_text(topic: TopicView, found: Found) -> Iterator[str]:
    of = [found.of(TopicPartition(topic.name, each.partition)) for each in topic.partitions]
    records = sum(end - start for start, end, _ in of if start is not None and end is not None)
    total = sum(each or 0 for *_, each in of)
    yield (
        f"{topic.name}: {count(len(topic.partitions), 'partition')}, replication factor {topic.replication_factor}, "
        f"{count(records, 'record')}, {size(total)}, id {to_text(topic.topic_id)}"
    )
    for name, value in found.configs.get(topic.name, {}).items():
        yield f"  {name}={value}"
    rows = [_row(each, *numbers) for each, numbers in zip(topic.partitions, of, strict=True)]
    yield from table(_TITLES, rows, right=_NUMBERS)


def _row(partition: PartitionView, start: int | None, end: int | None, bytes_on_disk: int | None) -> tuple[object, ...]:
    return (
        partition.partition,
        partition.leader if partition.leader >= 0 else None,
        ",".join(map(str, partition.replicas)),
        ",".join(map(str, partition.in_sync)),
        start,
        end,
        None if start is None or end is None else end - start,
        None if bytes_on_disk is None else size(bytes_on_disk),
    )
