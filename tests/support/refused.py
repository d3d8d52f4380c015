"""Requests that a broker refuses. Each function asks for one thing; what it returns has a code and a text."""

import time
from collections.abc import Awaitable, Callable, Mapping
from itertools import count
from typing import Any

from odradek.model.numbers import Offset, ProducerId, TimestampMs
from odradek.records.builder import BatchSpec, build_batch
from odradek.records.record import Record
from odradek.wire.messages.alter_client_quotas import (
    AlterClientQuotasRequest,
    EntityData,
    EntryData,
    OpData,
)
from odradek.wire.messages.alter_partition_reassignments import (
    AlterPartitionReassignmentsRequest,
    ReassignablePartition,
    ReassignableTopic,
)
from odradek.wire.messages.alter_user_scram_credentials import (
    AlterUserScramCredentialsRequest,
    ScramCredentialDeletion,
    ScramCredentialUpsertion,
)
from odradek.wire.messages.consumer_group_describe import ConsumerGroupDescribeRequest
from odradek.wire.messages.consumer_group_heartbeat import ConsumerGroupHeartbeatRequest
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
from odradek.wire.messages.describe_configs import DescribeConfigsRequest, DescribeConfigsResource
from odradek.wire.messages.describe_groups import DescribeGroupsRequest
from odradek.wire.messages.describe_producers import DescribeProducersRequest, TopicRequest
from odradek.wire.messages.describe_user_scram_credentials import DescribeUserScramCredentialsRequest, UserName
from odradek.wire.messages.elect_leaders import ElectLeadersRequest, TopicPartitions
from odradek.wire.messages.incremental_alter_configs import (
    AlterableConfig,
    AlterConfigsResource,
    IncrementalAlterConfigsRequest,
)
from odradek.wire.messages.produce import PartitionProduceData, ProduceRequest, TopicProduceData
from odradek.wire.messages.unregister_broker import UnregisterBrokerRequest
from odradek.wire.messages.update_features import FeatureUpdateKey, UpdateFeaturesRequest
from odradek.wire.schema import NO_UUID
from support.same_answers import Asker
from support.transactional_writer import group_of, writer_of

TOPIC, BROKER, LOGGER, CLIENT_METRICS, GROUP = 2, 4, 8, 16, 32
SET, APPEND = 0, 2
SHA_256 = 1
UPGRADE = 1
NOBODYS_ID = bytes(range(16))
DAY_MS = 86_400_000
_numbers = count()

Refusal = Any
"""The part of an answer that has an error."""
Ask = Callable[[Asker], Awaitable[Refusal]]


async def a_topic(ask: Asker, name: str = "refused", **configs: str) -> str:
    """That nobody else has."""
    return await ask.create(f"{name}-{next(_numbers)}", 1, **configs)


# --- topics


def new(
    name: str,
    partitions: int = 1,
    replicas: int = 1,
    assignments: Mapping[int, tuple[int, ...]] | None = None,
    **configs: str | None,
) -> CreatableTopic:
    return CreatableTopic(
        name=name,
        num_partitions=partitions,
        replication_factor=replicas,
        assignments=tuple(
            CreatableReplicaAssignment(partition_index=index, broker_ids=brokers)
            for index, brokers in (assignments or {}).items()
        ),
        configs=tuple(CreatableTopicConfig(name=key.replace("_", "."), value=value) for key, value in configs.items()),
    )


def creating(*topics: CreatableTopic) -> Ask:
    async def ask_for_it(ask: Asker) -> Refusal:
        answer = await ask.quietly(CreateTopicsRequest(topics=topics, validate_only=True))
        return answer.topics[0]

    return ask_for_it


def creating_one(name: str = "new", partitions: int = 1, replicas: int = 1, **configs: str | None) -> Ask:
    return creating(new(name, partitions, replicas, None, **configs))


def assigned(*brokers: int, first: int = 0, partitions: int = -1, replicas: int = -1) -> Ask:
    return creating(new("assigned", partitions, replicas, {first: brokers}))


async def created_again(ask: Asker) -> Refusal:
    return await creating(new(await ask.create("there")))(ask)


async def created_beside(ask: Asker) -> Refusal:
    await ask.create("with.dot")
    return await creating(new(ask.name("with_dot")))(ask)


async def created_too_often(ask: Asker) -> Refusal:
    """Until a quota of one partition a second is used up, which is taken away again."""
    await _limit_mutations(ask, 1.0)
    refusal = None
    while refusal is None or not refusal.error_code:
        request = CreateTopicsRequest(topics=(new(ask.name("limited"), 5),), validate_only=True)
        refusal = (await ask.quietly(request)).topics[0]
    await _limit_mutations(ask, None)
    return refusal


async def _limit_mutations(ask: Asker, rate: float | None) -> None:
    operation = OpData(key="controller_mutation_rate", value=rate or 0.0, remove=rate is None)
    entity = EntityData(entity_type="client-id", entity_name="raw-client")
    entry = EntryData(entity=(entity,), ops=(operation,))
    await ask.beside(AlterClientQuotasRequest(entries=(entry,), validate_only=False))
    await ask.settle()


def growing(count: int, *assignments: tuple[int, ...]) -> Ask:
    """A topic of three partitions."""

    async def ask_for_it(ask: Asker) -> Refusal:
        chosen = tuple(CreatePartitionsAssignment(broker_ids=brokers) for brokers in assignments) or None
        await ask.quietly(CreateTopicsRequest(topics=(new("grown", 3),)), 7)  # or it is there
        await ask.settle()
        topic = CreatePartitionsTopic(name="grown", count=count, assignments=chosen)
        answer = await ask.quietly(CreatePartitionsRequest(topics=(topic,), timeout_ms=30_000, validate_only=True))
        return answer.results[0]

    return ask_for_it


async def growing_nobody(ask: Asker) -> Refusal:
    topic = CreatePartitionsTopic(name="nobody", count=5, assignments=None)
    answer = await ask.quietly(CreatePartitionsRequest(topics=(topic,), timeout_ms=30_000, validate_only=True))
    return answer.results[0]


def deleting(name: str | None, topic_id: bytes = NO_UUID, times: int = 1) -> Ask:
    async def ask_for_it(ask: Asker) -> Refusal:
        topics = (DeleteTopicState(name=name, topic_id=topic_id),) * times
        answer = await ask.quietly(DeleteTopicsRequest(topics=topics, timeout_ms=30_000))
        return answer.responses[0]

    return ask_for_it


# --- settings


def changing(kind: int, name: str, key: str, value: str | None, operation: int = SET) -> Ask:
    async def ask_for_it(ask: Asker) -> Refusal:
        where = await a_topic(ask) if kind == TOPIC and name == "changed" else name
        config = AlterableConfig(name=key, config_operation=operation, value=value)
        resource = AlterConfigsResource(resource_type=kind, resource_name=where, configs=(config,))
        answer = await ask.quietly(IncrementalAlterConfigsRequest(resources=(resource,), validate_only=True))
        return answer.responses[0]

    return ask_for_it


def describing(kind: int, name: str) -> Ask:
    async def ask_for_it(ask: Asker) -> Refusal:
        resource = DescribeConfigsResource(resource_type=kind, resource_name=name, configuration_keys=None)
        answer = await ask.quietly(DescribeConfigsRequest(resources=(resource,)))
        return answer.results[0]

    return ask_for_it


# --- partitions, brokers, features


def electing(name: str, kind: int = 0, partition: int = 0) -> Ask:
    async def ask_for_it(ask: Asker) -> Refusal:
        where = await a_topic(ask) if name == "elected" else name
        topic = TopicPartitions(topic=where, partitions=(partition,))
        answer = await ask.quietly(ElectLeadersRequest(election_type=kind, topic_partitions=(topic,)))
        return answer.replica_election_results[0].partition_result[0]

    return ask_for_it


def reassigning(name: str, replicas: tuple[int, ...] | None) -> Ask:
    async def ask_for_it(ask: Asker) -> Refusal:
        where = await a_topic(ask) if name == "reassigned" else name
        partition = ReassignablePartition(partition_index=0, replicas=replicas)
        topic = ReassignableTopic(name=where, partitions=(partition,))
        answer = await ask.quietly(AlterPartitionReassignmentsRequest(topics=(topic,)))
        return answer.responses[0].partitions[0]

    return ask_for_it


async def unregistering(ask: Asker) -> Refusal:
    return await ask.quietly(UnregisterBrokerRequest(broker_id=7))


def updating(feature: str, level: int) -> Ask:
    async def ask_for_it(ask: Asker) -> Refusal:
        update = FeatureUpdateKey(feature=feature, max_version_level=level, upgrade_type=UPGRADE)
        return await ask.quietly(UpdateFeaturesRequest(feature_updates=(update,), validate_only=True))

    return ask_for_it


# --- users


def crediting(*users: str, iterations: int = 4096, mechanism: int = SHA_256) -> Ask:
    async def ask_for_it(ask: Asker) -> Refusal:
        credentials = tuple(
            ScramCredentialUpsertion(
                name=user, mechanism=mechanism, iterations=iterations, salt=b"salt", salted_password=b"salted"
            )
            for user in users
        )
        answer = await ask.quietly(AlterUserScramCredentialsRequest(deletions=(), upsertions=credentials))
        return answer.results[0]

    return ask_for_it


async def discrediting(ask: Asker) -> Refusal:
    deletion = ScramCredentialDeletion(name="nobody", mechanism=SHA_256)
    answer = await ask.quietly(AlterUserScramCredentialsRequest(deletions=(deletion,), upsertions=()))
    return answer.results[0]


def describing_users(*users: str) -> Ask:
    async def ask_for_it(ask: Asker) -> Refusal:
        asked = tuple(UserName(name=user) for user in users)
        answer = await ask.quietly(DescribeUserScramCredentialsRequest(users=asked))
        return answer.results[0]

    return ask_for_it


# --- records


def batch(*values: str, key: bytes | None = b"k", days: int = 0, **spec: Any) -> bytearray:
    """Of records that many days from now."""
    now = int(time.time() * 1000)  # noqa: TID251 - brokers refuse what is far from their own time
    at = TimestampMs(now + days * DAY_MS)
    return bytearray(
        build_batch([Record(Offset(n), at, key, value.encode()) for n, value in enumerate(values)], BatchSpec(**spec))
    )


def numbered(epoch: int, sequence: int) -> bytearray:
    """A batch of an idempotent producer."""
    return batch("a", producer_id=ProducerId(5), producer_epoch=epoch, base_sequence=sequence)


def producing(*batches: bytearray, index: int = 0, acks: int = -1, **configs: str) -> Ask:
    """To a topic of one partition. The answer to the last of them."""

    async def ask_for_it(ask: Asker) -> Refusal:
        topic_id = await ask.topic_id(await a_topic(ask, **configs))
        refusal = None
        for each in batches:
            refusal = await _produce(ask, topic_id, each, index, acks)
        return refusal

    return ask_for_it


async def producing_to_nobody(ask: Asker) -> Refusal:
    return await _produce(ask, NOBODYS_ID, batch("a"), 0, -1)


async def _produce(ask: Asker, topic_id: bytes, records: bytearray, index: int, acks: int) -> Refusal:
    data = TopicProduceData(topic_id=topic_id, partition_data=(PartitionProduceData(index=index, records=records),))
    answer = await ask.quietly(ProduceRequest(acks=acks, timeout_ms=30_000, topic_data=(data,)))
    return answer.responses[0].partition_responses[0]


def transacting(version: int, **other: int) -> Ask:
    """A batch of a transaction that its partition was not added to, or of another producer."""

    async def ask_for_it(ask: Asker) -> Refusal:
        writer = await writer_of(ask, f"transacting-{version}-{'-'.join(other)}")
        await writer.init()
        topic = await a_topic(ask)
        known = {"producer_id": writer.producer_id, "producer_epoch": writer.epoch}
        changed = {name: known[name] + by for name, by in other.items()}
        answer = await ask.quietly(await writer.batch(topic, version, **changed), version)
        return answer.responses[0].partition_responses[0]

    return ask_for_it


async def describing_producers(ask: Asker) -> Refusal:
    topic = TopicRequest(name="nobody", partition_indexes=(0,))
    answer = await ask.quietly(DescribeProducersRequest(topics=(topic,)))
    return answer.topics[0].partitions[0]


# --- groups


async def describing_group(ask: Asker) -> Refusal:
    await group_of(ask, "nobody")
    return (await ask.quietly(DescribeGroupsRequest(groups=("nobody",)))).groups[0]


async def describing_consumer_group(ask: Asker) -> Refusal:
    await group_of(ask, "nobody")
    return (
        await ask.quietly(ConsumerGroupDescribeRequest(group_ids=("nobody",), include_authorized_operations=False))
    ).groups[0]


def beating(**fields: Any) -> Ask:
    """In a group whose one member is `there`, a static one. Its epoch rises with each question."""

    async def ask_for_it(ask: Asker) -> Refusal:
        group_id = await group_of(ask, "beating")
        joining: dict[str, Any] = {
            "member_epoch": 0,
            "rebalance_timeout_ms": 300_000,
            "subscribed_topic_names": ("none",),
            "topic_partitions": (),
        }
        there: dict[str, Any] = {"group_id": group_id, "member_id": "there", "instance_id": "one"}
        await ask.quietly(ConsumerGroupHeartbeatRequest(**there, **joining), 1)
        known = joining if fields.get("member_epoch") == 0 else {}
        refused = ConsumerGroupHeartbeatRequest(**{"group_id": group_id, "member_id": "new", **known, **fields})
        refusal = await ask.quietly(refused, 1)
        await ask.quietly(ConsumerGroupHeartbeatRequest(**there, member_epoch=-1), 1)
        return refusal

    return ask_for_it
