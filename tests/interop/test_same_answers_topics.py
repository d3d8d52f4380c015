"""Topics: created, grown, deleted and looked up, with the answers of Apache Kafka."""

from collections.abc import Sequence
from typing import Any

import pytest

from odradek.wire.messages.create_partitions import (
    CreatePartitionsAssignment,
    CreatePartitionsRequest,
    CreatePartitionsTopic,
)
from odradek.wire.messages.create_topics import (
    CreatableReplicaAssignment,
    CreatableTopic,
    CreatableTopicConfig,
    CreateTopicsRequest,
)
from odradek.wire.messages.delete_topics import DeleteTopicsRequest, DeleteTopicState
from odradek.wire.messages.describe_topic_partitions import Cursor, DescribeTopicPartitionsRequest, TopicRequest
from odradek.wire.messages.metadata import MetadataRequest, MetadataRequestTopic
from odradek.wire.schema import NO_UUID
from support.same_answers import Asker, Case, Level, Side, differences

NOBODYS_ID = bytes(range(16))


def new(
    name: str,
    partitions: int = 1,
    replicas: int = 1,
    assignments: Sequence[tuple[int, tuple[int, ...]]] = (),
    **configs: str | None,
) -> CreatableTopic:
    return CreatableTopic(
        name=name,
        num_partitions=partitions,
        replication_factor=replicas,
        assignments=tuple(
            CreatableReplicaAssignment(partition_index=index, broker_ids=brokers) for index, brokers in assignments
        ),
        configs=tuple(CreatableTopicConfig(name=key.replace("_", "."), value=value) for key, value in configs.items()),
    )


async def create(ask: Asker, *topics: CreatableTopic, validate_only: bool = False) -> None:
    await ask(CreateTopicsRequest(topics=topics, validate_only=validate_only))


# --- CreateTopics


async def created(ask: Asker) -> None:
    await create(ask, new(ask.name("plain"), 3))
    await look_up(ask, ask.name("plain"))
    await create(ask, new(ask.name("defaults"), -1, -1))
    await create(ask, new(ask.name("set"), retention_ms="5", cleanup_policy="compact,delete", segment_bytes="2000000"))
    await create(ask, new(ask.name("several-a")), new(ask.name("several-b")))


async def created_twice(ask: Asker) -> None:
    await create(ask, new(ask.name("again")))
    await create(ask, new(ask.name("again")))
    await create(ask, new(ask.name("again"), 0))
    await create(ask, new(ask.name("twice")), new(ask.name("once")), new(ask.name("twice")))
    await create(ask)


async def created_for_validation(ask: Asker) -> None:
    await create(ask, new(ask.name("validated"), 2, retention_ms="7"), validate_only=True)
    await create(ask, new(ask.name("validated"), 2, 2), validate_only=True)
    await look_up(ask, ask.name("validated"), create=False)


async def partition_counts(ask: Asker) -> None:
    for count in (0, -2, -100, 10_001, 2_147_483_647):
        await create(ask, new(ask.name("count"), count), validate_only=True)
    await create(ask, new(ask.name("count-a"), 6_000), new(ask.name("count-b"), 6_000), validate_only=True)


async def replication_factors(ask: Asker) -> None:
    for factor in (2, 0, -2, 32_767):
        await create(ask, new(ask.name("factor"), 1, factor))


async def assignments(ask: Asker) -> None:
    name = ask.name("assigned")
    await create(ask, new(name, -1, -1, [(0, (1,)), (1, (1,))]))
    wrong: list[tuple[int, int, list[tuple[int, tuple[int, ...]]]]] = [
        (1, -1, [(0, (1,))]),
        (-1, 1, [(0, (1,))]),
        (-1, -1, [(0, ())]),
        (-1, -1, [(0, (7,))]),
        (-1, -1, [(0, (-1,))]),
        (-1, -1, [(0, (1, 1))]),
        (-1, -1, [(1, (1,))]),
        (-1, -1, [(0, (1,)), (2, (1,))]),
        (-1, -1, [(0, (1,)), (0, (1,))]),
        (-1, -1, [(-1, (1,))]),
        (-1, -1, [(0, (1,)), (1, (1, 7))]),
    ]
    for at, (partitions, replicas, chosen) in enumerate(wrong):
        await create(ask, new(f"{name}-{at}", partitions, replicas, chosen))


async def names(ask: Asker) -> None:
    for name in (
        "",
        ".",
        "..",
        "with space",
        "sl/ash",
        "naïve",
        "x" * 249,
        "x" * 250,
        "tab\t",
        "a:b",
        "__cluster_metadata",
    ):
        await create(ask, new(name), validate_only=True)
    await create(ask, new(ask.name("dot.ted")))
    await create(ask, new(ask.name("dot_ted")))
    await create(ask, new(ask.name("dot.ted_")), validate_only=True)


async def topic_configs(ask: Asker) -> None:
    name = ask.name("configured")
    given: list[dict[str, Any]] = [
        {"no_such_setting": "1"},
        {"retention_ms": "soon"},
        {"retention_ms": "-2"},
        {"retention_ms": None},
        {"retention_ms": ""},
        {"cleanup_policy": "compact"},
        {"cleanup_policy": ""},
        {"cleanup_policy": "shred"},
        {"cleanup_policy": "delete, compact"},
        {"compression_type": "GZIP"},
        {"segment_bytes": "1"},
        {"min_compaction_lag_ms": "10", "max_compaction_lag_ms": "5"},
        {"remote_storage_enable": "true"},
        {"message_timestamp_type": "LogAppendTime"},
        {"message_timestamp_type": "logappendtime"},
        {"preallocate": "TRUE"},
        {"min_insync_replicas": "2"},
        {"max_message_bytes": "99999999999"},
        {"leader_replication_throttled_replicas": "0:1,1:1"},
        {"leader_replication_throttled_replicas": "x"},
        {"message_downconversion_enable": "true"},
        {"message_format_version": "3.0"},
        {"flush_messages": " 5 "},
        {"min_cleanable_dirty_ratio": "0.25"},
        {"internal_segment_bytes": "100"},
    ]
    for at, configs in enumerate(given):
        await create(ask, new(f"{name}-{at}", **configs))
    twice = new(name)
    setting = CreatableTopicConfig(name="retention.ms", value="1")
    await create(
        ask,
        CreatableTopic(
            name=twice.name, num_partitions=1, replication_factor=1, assignments=(), configs=(setting, setting)
        ),
    )


# --- CreatePartitions


async def grow(ask: Asker, *topics: CreatePartitionsTopic, validate_only: bool = False) -> None:
    await ask(CreatePartitionsRequest(topics=topics, timeout_ms=30_000, validate_only=validate_only))


def to(name: str, count: int, *chosen: tuple[int, ...]) -> CreatePartitionsTopic:
    assignments = tuple(CreatePartitionsAssignment(broker_ids=brokers) for brokers in chosen)
    return CreatePartitionsTopic(name=name, count=count, assignments=assignments or None)


async def grown(ask: Asker) -> None:
    name = await ask.create("grown", 2)
    await grow(ask, to(name, 3), validate_only=True)
    for count in (3, 3, 2, 0, -1):
        await grow(ask, to(name, count))
    await grow(ask, to(name, 5, (1,), (1,)))
    for chosen in ([(1,), (1,)], [(2,)], [()], [(1, 1)], [(-1,)], [(1, 2)]):
        await grow(ask, to(name, 6, *chosen))
    await grow(ask, CreatePartitionsTopic(name=name, count=6, assignments=()))
    await grow(ask, to(name, 7), to(ask.name("nobody"), 2), to(name, 8))
    await grow(ask, to("", 2), to("..", 2), to("__cluster_metadata", 2))
    await grow(ask)
    await look_up(ask, name)


# --- DeleteTopics


async def deleted(ask: Asker) -> None:
    names = [await ask.create(f"deleted-{n}") for n in range(4)]
    missing = ask.name("nobody")
    await delete(ask, names[0])
    await delete(ask, names[0], missing, "", "..")
    await delete(ask, names[1], names[1], missing, missing)
    await delete(ask)
    await look_up(ask, *names, create=False)


async def delete(ask: Asker, *names: str | None) -> None:
    if ask.level is Level.HIGHEST:
        topics = tuple(DeleteTopicState(name=name, topic_id=NO_UUID) for name in names)
        await ask(DeleteTopicsRequest(topics=topics, timeout_ms=30_000))
    else:
        await ask(DeleteTopicsRequest(topic_names=tuple(name or "" for name in names), timeout_ms=30_000))


async def deleted_by_id(ask: Asker) -> None:
    name = await ask.create("deleted-by-id")
    topic_id = await ask.topic_id(name)
    for topics in (
        [DeleteTopicState(name=None, topic_id=NOBODYS_ID)],
        [DeleteTopicState(name=None, topic_id=NO_UUID)],
        [DeleteTopicState(name=name, topic_id=topic_id)],
        [DeleteTopicState(name=name, topic_id=NO_UUID), DeleteTopicState(name=None, topic_id=topic_id)],
        [DeleteTopicState(name=None, topic_id=topic_id), DeleteTopicState(name=None, topic_id=topic_id)],
        [DeleteTopicState(name=None, topic_id=topic_id)],
        [DeleteTopicState(name=None, topic_id=topic_id)],
    ):
        await ask(DeleteTopicsRequest(topics=tuple(topics), timeout_ms=30_000), 6)


# --- Metadata


async def look_up(ask: Asker, *names: str, create: bool = True, operations: bool = False) -> None:
    topics = tuple(MetadataRequestTopic(name=name) for name in names)
    await ask.settle()
    await ask(
        MetadataRequest(
            topics=topics,
            allow_auto_topic_creation=create or ask.level is Level.LOWEST,
            include_topic_authorized_operations=operations and ask.level is not Level.LOWEST,
        )
    )


async def metadata(ask: Asker) -> None:
    name = await ask.create("looked-up", 3)
    first, second = ask.name("missing-1"), ask.name("missing-2")  # the lowest version makes what it asks for
    await look_up(ask, name)
    await look_up(ask, name, name)
    await look_up(ask, name, first, create=False, operations=True)
    await look_up(ask, second, name, "..", "", "a b", create=False)
    if ask.level is not Level.LOWEST:  # which has no way not to create it
        await look_up(ask, "__share_group_state", "__cluster_metadata", create=False)
    await ask(MetadataRequest(topics=(), include_cluster_authorized_operations=True))
    await ask(MetadataRequest(topics=(), include_cluster_authorized_operations=True), 8)


async def metadata_by_id(ask: Asker) -> None:
    name = await ask.create("looked-up-by-id")
    topic_id = await ask.topic_id(name)
    for version in (10, 11, 12, 13):
        for topics in (
            [MetadataRequestTopic(name=None, topic_id=topic_id)],
            [MetadataRequestTopic(name=None, topic_id=NOBODYS_ID)],
            [MetadataRequestTopic(name=None, topic_id=topic_id), MetadataRequestTopic(name=None, topic_id=topic_id)],
            [MetadataRequestTopic(name=name, topic_id=topic_id)],
            [MetadataRequestTopic(name=name, topic_id=NOBODYS_ID)],
            [MetadataRequestTopic(name=None, topic_id=topic_id), MetadataRequestTopic(name=name)],
        ):
            asked = MetadataRequest(topics=tuple(topics), include_topic_authorized_operations=True)
            await ask(asked, version)


async def made_on_demand(ask: Asker) -> None:
    name = ask.name("on-demand")
    await look_up(ask, name, create=ask.level is not Level.MIDDLE)
    if ask.level is Level.MIDDLE:
        await look_up(ask, name)
    asked = MetadataRequest(topics=(MetadataRequestTopic(name=name),))
    while not (await ask.quietly(asked)).topics[0].partitions:
        pass
    await look_up(ask, name)


# --- DescribeTopicPartitions


async def pages(ask: Asker) -> None:
    names = [await ask.create(f"page-{letter}", 3) for letter in "cab"]
    missing = ask.name("page-missing")

    async def page(topics: Sequence[str], limit: int = 2000, cursor: tuple[str, int] | None = None) -> None:
        at = Cursor(topic_name=cursor[0], partition_index=cursor[1]) if cursor else None
        asked = tuple(TopicRequest(name=name) for name in topics)
        await ask(DescribeTopicPartitionsRequest(topics=asked, response_partition_limit=limit, cursor=at))

    await page(names)
    for limit in (0, -1, 1, 2, 3, 4, 6, 9, 2_147_483_647):
        await page(names, limit)
    for cursor in [(names[1], 0), (names[1], 2), (names[1], 3), (names[1], 99), (names[1], -1), (missing, 0), ("", 0)]:
        await page(names, 4, cursor)
        await page([*names, missing], 4, cursor)
    await page([missing, "..", names[0]])
    await page([names[0], names[0]], 4)
    await page([missing], 4, (names[0], 1))


CASES: list[Case] = [
    created,
    created_twice,
    created_for_validation,
    partition_counts,
    replication_factors,
    assignments,
    names,
    topic_configs,
    grown,
    deleted,
    deleted_by_id,
    metadata,
    metadata_by_id,
    made_on_demand,
    pages,
]


@pytest.mark.parametrize("level", Level, ids=lambda level: level.value)
@pytest.mark.parametrize("case", CASES, ids=lambda case: case.__name__)
def test_kafka_answers_the_same(both: tuple[Side, Side], case: Case, level: Level) -> None:
    found = differences(case, level, both)
    assert not found, found
