"""Every API that is served answers in every version that is told, in what goes well and in what does not."""

import asyncio
from collections.abc import AsyncIterator, Iterator
from pathlib import Path
from typing import Any

from odradek.model.error_code import ErrorCode
from odradek.model.numbers import NO_TIMESTAMP, Offset
from odradek.records.builder import build_batch
from odradek.records.record import Record
from odradek.wire.apis import APIS
from odradek.wire.messages import add_partitions_to_txn as add_partitions
from odradek.wire.messages import alter_configs as whole
from odradek.wire.messages import alter_partition_reassignments as reassignments
from odradek.wire.messages import alter_user_scram_credentials as users
from odradek.wire.messages import create_partitions as growth
from odradek.wire.messages import delete_records as cut
from odradek.wire.messages import describe_client_quotas as found_quotas
from odradek.wire.messages import describe_log_dirs as log_dirs
from odradek.wire.messages import describe_producers as producers
from odradek.wire.messages import describe_quorum as quorum
from odradek.wire.messages import elect_leaders as elections
from odradek.wire.messages import fetch, find_coordinator, init_producer_id, list_config_resources, list_offsets
from odradek.wire.messages import incremental_alter_configs as some
from odradek.wire.messages import offset_commit as commits
from odradek.wire.messages import offset_delete as deletions
from odradek.wire.messages import offset_fetch as fetches
from odradek.wire.messages import offset_for_leader_epoch as epochs
from odradek.wire.messages import txn_offset_commit as txn_offsets
from odradek.wire.messages import write_txn_markers as txn_markers
from odradek.wire.messages.add_offsets_to_txn import AddOffsetsToTxnRequest
from odradek.wire.messages.api_versions import ApiVersionsRequest, ApiVersionsResponse
from odradek.wire.messages.consumer_group_describe import ConsumerGroupDescribeRequest
from odradek.wire.messages.consumer_group_heartbeat import ConsumerGroupHeartbeatRequest
from odradek.wire.messages.create_topics import CreatableTopic, CreateTopicsRequest
from odradek.wire.messages.delete_groups import DeleteGroupsRequest
from odradek.wire.messages.delete_topics import DeleteTopicsRequest, DeleteTopicState
from odradek.wire.messages.describe_cluster import DescribeClusterRequest
from odradek.wire.messages.describe_configs import DescribeConfigsRequest, DescribeConfigsResource
from odradek.wire.messages.describe_groups import DescribeGroupsRequest
from odradek.wire.messages.describe_topic_partitions import DescribeTopicPartitionsRequest, TopicRequest
from odradek.wire.messages.describe_transactions import DescribeTransactionsRequest
from odradek.wire.messages.describe_user_scram_credentials import DescribeUserScramCredentialsRequest, UserName
from odradek.wire.messages.end_txn import EndTxnRequest
from odradek.wire.messages.heartbeat import HeartbeatRequest
from odradek.wire.messages.join_group import JoinGroupRequest, JoinGroupRequestProtocol
from odradek.wire.messages.leave_group import LeaveGroupRequest, MemberIdentity
from odradek.wire.messages.list_groups import ListGroupsRequest
from odradek.wire.messages.list_partition_reassignments import (
    ListPartitionReassignmentsRequest,
    ListPartitionReassignmentsTopics,
)
from odradek.wire.messages.list_transactions import ListTransactionsRequest
from odradek.wire.messages.metadata import MetadataRequest, MetadataRequestTopic, MetadataResponse
from odradek.wire.messages.produce import PartitionProduceData, ProduceRequest, TopicProduceData
from odradek.wire.messages.sync_group import SyncGroupRequest
from odradek.wire.messages.unregister_broker import UnregisterBrokerRequest
from odradek.wire.messages.update_features import FeatureUpdateKey, UpdateFeaturesRequest
from odradek.wire.schema import NO_UUID, Message
from support.places import move_request
from support.quotas import alteration
from support.raw_client import RawClient
from support.running_node import create_topic, node_on

THERE, NOT_THERE = "orders", "nobody"
NOBODYS_ID = bytes(range(16))


def requests(topic_id: bytes) -> Iterator[tuple[int, int, Message]]:
    """Some of each API, each with the versions that can say it."""
    for name, id in ((THERE, topic_id), (NOT_THERE, NOBODYS_ID)):
        yield from _of_records(name, id)
        yield from _of_topics(name)
        yield from _of_quotas()
        yield from _of_replicas(name)
        yield from _of_offsets(name, id)
        yield from _of_transactions(name)
        resource = DescribeConfigsResource(resource_type=2, resource_name=name, configuration_keys=None)
        yield 0, 99, DescribeConfigsRequest(resources=(resource,), include_synonyms=True)
        change = some.AlterableConfig(name="retention.ms", config_operation=0, value="5")
        changed = some.AlterConfigsResource(resource_type=2, resource_name=name, configs=(change,))
        yield 0, 99, some.IncrementalAlterConfigsRequest(resources=(changed,), validate_only=True)
        replaced = whole.AlterConfigsResource(resource_type=2, resource_name=name, configs=())
        yield 0, 99, whole.AlterConfigsRequest(resources=(replaced,), validate_only=True)
    yield from _of_the_node()
    yield from _of_users()
    for group in ("group", NOT_THERE, ""):
        yield from _of_members(group)


def _of_records(name: str, topic_id: bytes) -> Iterator[tuple[int, int, Message]]:
    batch = build_batch([Record(Offset(0), NO_TIMESTAMP, b"k", b"v")])
    data = (PartitionProduceData(index=0, records=batch), PartitionProduceData(index=0, records=b""))
    topic = TopicProduceData(name=name, topic_id=topic_id, partition_data=data)
    yield 3, 99, ProduceRequest(acks=1, timeout_ms=1000, topic_data=(topic,))
    parts = tuple(fetch.FetchPartition(partition=n, fetch_offset=0, partition_max_bytes=1000) for n in range(2))
    fetched = (fetch.FetchTopic(topic=name, topic_id=topic_id, partitions=parts),)
    for isolation in (0, 1):
        asked = fetch.FetchRequest(max_wait_ms=0, min_bytes=1, isolation_level=isolation, topics=fetched)
        yield 0, 99, asked
    yield 7, 99, fetch.FetchRequest(max_wait_ms=0, min_bytes=1, session_epoch=0, topics=fetched)
    for stamp in (-1, -2, -3, 0):
        times = (list_offsets.ListOffsetsPartition(partition_index=0, timestamp=stamp),)
        listed = (list_offsets.ListOffsetsTopic(name=name, partitions=times),)
        yield 0, 99, list_offsets.ListOffsetsRequest(replica_id=-1, topics=listed)
    ends = (epochs.OffsetForLeaderPartition(partition=0, leader_epoch=0),)
    yield 0, 99, epochs.OffsetForLeaderEpochRequest(topics=(epochs.OffsetForLeaderTopic(topic=name, partitions=ends),))
    deleted = (cut.DeleteRecordsPartition(partition_index=0, offset=0),)
    yield 0, 99, cut.DeleteRecordsRequest(topics=(cut.DeleteRecordsTopic(name=name, partitions=deleted),), timeout_ms=9)
    asked_of = (producers.TopicRequest(name=name, partition_indexes=(0,)),)
    yield 0, 99, producers.DescribeProducersRequest(topics=asked_of)


def _of_topics(name: str) -> Iterator[tuple[int, int, Message]]:
    yield 0, 99, MetadataRequest(topics=(MetadataRequestTopic(name=name),))
    yield 1, 99, MetadataRequest(topics=None)
    yield 0, 99, DescribeTopicPartitionsRequest(topics=(TopicRequest(name=name),))
    topic = CreatableTopic(name=name, num_partitions=1, replication_factor=1, assignments=(), configs=())
    yield 0, 99, CreateTopicsRequest(topics=(topic,), validate_only=True)
    grown = growth.CreatePartitionsTopic(name=name, count=9, assignments=None)
    yield 0, 99, growth.CreatePartitionsRequest(topics=(grown,), timeout_ms=1000, validate_only=True)
    described = (log_dirs.DescribableLogDirTopic(topic=name, partitions=(0,)),)
    yield 0, 99, log_dirs.DescribeLogDirsRequest(topics=described)
    yield 0, 5, DeleteTopicsRequest(topic_names=(NOT_THERE,), timeout_ms=1000)
    yield 6, 99, DeleteTopicsRequest(topics=(DeleteTopicState(name=NOT_THERE, topic_id=NO_UUID),), timeout_ms=1000)


def _of_quotas() -> Iterator[tuple[int, int, Message]]:
    for entity, value in (({"user": "nobody"}, 5.0), ({"user": "nobody"}, None), ({"user": ""}, 5.0)):
        yield 0, 99, alteration(entity, {"producer_byte_rate": value})
    for kind in ("user", "nothing"):
        component = found_quotas.ComponentData(entity_type=kind, match_type=2, match=None)
        yield 0, 99, found_quotas.DescribeClientQuotasRequest(components=(component,), strict=False)


def _of_replicas(name: str) -> Iterator[tuple[int, int, Message]]:
    elected = (elections.TopicPartitions(topic=name, partitions=(0, 9)),)
    yield 0, 99, elections.ElectLeadersRequest(topic_partitions=elected)
    yield 1, 99, elections.ElectLeadersRequest(election_type=1, topic_partitions=None)
    for replicas in ((1,), (2,), None):
        part = (reassignments.ReassignablePartition(partition_index=0, replicas=replicas),)
        topic = reassignments.ReassignableTopic(name=name, partitions=part)
        yield 0, 99, reassignments.AlterPartitionReassignmentsRequest(topics=(topic,))
    listed = (ListPartitionReassignmentsTopics(name=name, partition_indexes=(0,)),)
    yield 0, 99, ListPartitionReassignmentsRequest(topics=listed)
    yield 0, 99, move_request(name, "/none")


def _of_offsets(name: str, topic_id: bytes) -> Iterator[tuple[int, int, Message]]:
    # Somebody has to ask for a coordinator before there is one.
    yield 4, 4, find_coordinator.FindCoordinatorRequest(coordinator_keys=("group",))
    part = commits.OffsetCommitRequestPartition(partition_index=0, committed_offset=5, committed_metadata="m")
    topic = commits.OffsetCommitRequestTopic(name=name, topic_id=topic_id, partitions=(part,))
    yield 0, 99, commits.OffsetCommitRequest(group_id="group", member_id="", topics=(topic,))
    few = (fetches.OffsetFetchRequestTopic(name=name, partition_indexes=(0, 9)),)
    yield 0, 7, fetches.OffsetFetchRequest(group_id="group", topics=few)
    yield 2, 7, fetches.OffsetFetchRequest(group_id="group", topics=None)
    some_topics = (fetches.OffsetFetchRequestTopics(name=name, topic_id=topic_id, partition_indexes=(0, 9)),)
    for topics in (some_topics, None):
        groups = tuple(fetches.OffsetFetchRequestGroup(group_id=each, topics=topics) for each in ("group", NOT_THERE))
        yield 8, 99, fetches.OffsetFetchRequest(groups=groups, require_stable=True)
    gone = deletions.OffsetDeleteRequestTopic(
        name=name, partitions=(deletions.OffsetDeleteRequestPartition(partition_index=0),)
    )
    for group in ("group", NOT_THERE):
        yield 0, 99, deletions.OffsetDeleteRequest(group_id=group, topics=(gone,))


def _of_members(group: str) -> Iterator[tuple[int, int, Message]]:
    """None of them waits: nobody is a member."""
    protocols = (JoinGroupRequestProtocol(name="range", metadata=b""),)
    yield (
        *(0, 99),
        JoinGroupRequest(
            group_id=group,
            session_timeout_ms=10_000,
            rebalance_timeout_ms=10_000,
            member_id="nobody",
            protocol_type="consumer",
            protocols=protocols,
        ),
    )
    yield 0, 99, SyncGroupRequest(group_id=group, generation_id=1, member_id="nobody", assignments=())
    yield 0, 99, HeartbeatRequest(group_id=group, generation_id=1, member_id="nobody")
    yield 0, 2, LeaveGroupRequest(group_id=group, member_id="nobody")
    yield 3, 99, LeaveGroupRequest(group_id=group, members=(MemberIdentity(member_id="nobody"),))
    yield 0, 99, DescribeGroupsRequest(groups=(group,))
    yield 0, 99, ListGroupsRequest()
    yield 0, 99, DeleteGroupsRequest(groups_names=(group,))
    yield 0, 99, ConsumerGroupHeartbeatRequest(group_id=group, member_id="nobody", member_epoch=1)
    yield 0, 99, ConsumerGroupDescribeRequest(group_ids=(group,), include_authorized_operations=True)


def _of_transactions(name: str) -> Iterator[tuple[int, int, Message]]:
    who: dict[str, Any] = {"transactional_id": "t", "producer_id": 0, "producer_epoch": 0}
    topics = (add_partitions.AddPartitionsToTxnTopic(name=name, partitions=(0, 1)),)
    old = {f"v3_and_below_{key}": value for key, value in {**who, "topics": topics}.items()}
    yield 0, 3, add_partitions.AddPartitionsToTxnRequest(**old)
    for verify_only in (False, True):
        asked = add_partitions.AddPartitionsToTxnTransaction(topics=topics, verify_only=verify_only, **who)
        yield 4, 99, add_partitions.AddPartitionsToTxnRequest(transactions=(asked,))
    yield 0, 99, AddOffsetsToTxnRequest(group_id="group", **who)
    part = (
        txn_offsets.TxnOffsetCommitRequestPartition(partition_index=0, committed_offset=1, committed_metadata=None),
    )
    offsets = (txn_offsets.TxnOffsetCommitRequestTopic(name=name, partitions=part),)
    yield 0, 99, txn_offsets.TxnOffsetCommitRequest(group_id="group", topics=offsets, **who)
    yield 0, 99, EndTxnRequest(committed=True, **who)
    marked = (txn_markers.WritableTxnMarkerTopic(name=name, partition_indexes=(0,)),)
    marker = txn_markers.WritableTxnMarker(
        producer_id=7, producer_epoch=0, transaction_result=True, topics=marked, coordinator_epoch=0
    )
    yield 0, 99, txn_markers.WriteTxnMarkersRequest(markers=(marker,))
    yield 0, 99, DescribeTransactionsRequest(transactional_ids=("t", ""))
    yield 0, 99, ListTransactionsRequest(state_filters=("Ongoing", "nonsense"), producer_id_filters=(1,))


def _of_the_node() -> Iterator[tuple[int, int, Message]]:
    yield 0, 99, ApiVersionsRequest(client_software_name="a", client_software_version="1")
    yield 0, 3, find_coordinator.FindCoordinatorRequest(key="group")
    yield 4, 99, find_coordinator.FindCoordinatorRequest(coordinator_keys=("group",))
    for transactional_id in (None, "t"):
        request = init_producer_id.InitProducerIdRequest(transactional_id=transactional_id, transaction_timeout_ms=1)
        yield 0, 99, request
    for kind, name in ((4, "1"), (4, ""), (8, "1"), (16, "m"), (32, "g")):
        resource = DescribeConfigsResource(resource_type=kind, resource_name=name, configuration_keys=None)
        yield 0, 99, DescribeConfigsRequest(resources=(resource,), include_synonyms=True)
    yield 0, 99, list_config_resources.ListConfigResourcesRequest()
    part = (quorum.PartitionData(partition_index=0),)
    for name in ("__cluster_metadata", NOT_THERE):
        asked = quorum.TopicData(topic_name=name, partitions=part)
        yield 0, 99, quorum.DescribeQuorumRequest(topics=(asked,))
    for level in (1, 99):
        feature = FeatureUpdateKey(feature="group.version", max_version_level=level)
        yield 0, 99, UpdateFeaturesRequest(feature_updates=(feature,))
    yield 0, 99, UnregisterBrokerRequest(broker_id=7)
    yield 0, 99, DescribeClusterRequest(include_cluster_authorized_operations=True)
    yield 1, 99, DescribeClusterRequest(include_cluster_authorized_operations=True, endpoint_type=2)


def _of_users() -> Iterator[tuple[int, int, Message]]:
    for iterations in (4096, 1):
        credential = users.ScramCredentialUpsertion(
            name="ann", mechanism=1, iterations=iterations, salt=b"salt", salted_password=b"salted"
        )
        gone = users.ScramCredentialDeletion(name=NOT_THERE, mechanism=2)
        yield 0, 99, users.AlterUserScramCredentialsRequest(deletions=(gone,), upsertions=(credential,))
    for names in (None, (UserName(name="ann"), UserName(name=NOT_THERE))):
        yield 0, 99, DescribeUserScramCredentialsRequest(users=names)


def test_every_version_is_answered(tmp_path: Path) -> None:
    async def main() -> None:
        async with node_on(tmp_path) as client:
            assert await create_topic(client, THERE, partitions=2) == ErrorCode.NONE
            asked = MetadataRequest(topics=(MetadataRequestTopic(name=THERE),))
            topic_id = (await client.ask(asked, MetadataResponse, 13)).topics[0].topic_id
            tried = [each async for each in _ask_all(client, topic_id)]
            served = (await _served(client)).items()
            told = {(key, version) for key, (least, most) in served for version in range(least, most + 1)}
            assert told - set(tried) == {(0, 0), (0, 1), (0, 2)}  # these versions of Produce are told, and refused

    asyncio.run(main())


async def _ask_all(client: RawClient, topic_id: bytes) -> AsyncIterator[tuple[int, int]]:
    served = await _served(client)
    for least, most, request in requests(topic_id):
        key = request.spec.key
        assert key is not None
        for version in range(max(least, served[key][0]), min(most, served[key][1]) + 1):
            await client.ask(request, APIS[key].response, version)  # else the connection ends, and this raises
            yield key, version


async def _served(client: RawClient) -> dict[int, tuple[int, int]]:
    request = ApiVersionsRequest(client_software_name="a", client_software_version="1")
    answer = await client.ask(request, ApiVersionsResponse, 4)
    return {each.api_key: (each.min_version, each.max_version) for each in answer.api_keys}
