"""What a node tells of itself: directories, topics, producers, the quorum, features, versions."""

import asyncio
from pathlib import Path

from odradek.model.error_code import ErrorCode
from odradek.records.builder import BatchSpec
from odradek.wire.messages import describe_producers as producers
from odradek.wire.messages import describe_quorum as quorum
from odradek.wire.messages.api_versions import ApiVersionsRequest, ApiVersionsResponse
from odradek.wire.messages.create_topics import CreatableTopic, CreateTopicsRequest, CreateTopicsResponse
from odradek.wire.messages.describe_cluster import DescribeClusterRequest, DescribeClusterResponse
from odradek.wire.messages.describe_log_dirs import (
    DescribableLogDirTopic,
    DescribeLogDirsRequest,
    DescribeLogDirsResponse,
)
from odradek.wire.messages.describe_topic_partitions import (
    Cursor,
    DescribeTopicPartitionsRequest,
    DescribeTopicPartitionsResponse,
    TopicRequest,
)
from odradek.wire.messages.update_features import FeatureUpdateKey, UpdateFeaturesRequest, UpdateFeaturesResponse
from support.raw_client import RawClient
from support.running_node import create_topic, node_on, produce

ALL_TOPIC_OPERATIONS, ALL_CLUSTER_OPERATIONS = 3576, 8096
"""Apache Kafka's answers without an authorizer."""


def test_log_directories_and_their_sizes(tmp_path: Path) -> None:
    async def main() -> None:
        async with node_on(tmp_path / "a", tmp_path / "b") as client:
            await create_topic(client, "orders", 2)
            await produce(client, "orders", "x" * 500)
            response = await client.ask(DescribeLogDirsRequest(topics=None), DescribeLogDirsResponse, 5)
            assert {each.log_dir for each in response.results} == {str(tmp_path / "a"), str(tmp_path / "b")}
            sizes = {
                part.partition_index: (part.partition_size > 500, part.offset_lag, part.is_future_key)
                for each in response.results
                for topic in each.topics
                for part in topic.partitions
            }
            assert sizes == {0: (True, 0, False), 1: (False, 0, False)}
            assert all(each.total_bytes > each.usable_bytes > 0 for each in response.results)
            one = DescribableLogDirTopic(topic="orders", partitions=(1,))
            response = await client.ask(DescribeLogDirsRequest(topics=(one,)), DescribeLogDirsResponse, 1)
            found = [
                part.partition_index for each in response.results for top in each.topics for part in top.partitions
            ]
            assert found == [1]

    asyncio.run(main())


def test_topics_come_page_by_page(tmp_path: Path) -> None:
    async def pages(client: RawClient, limit: int) -> list[list[tuple[str | None, int]]]:
        found, cursor = [], None
        while True:
            request = DescribeTopicPartitionsRequest(topics=(), response_partition_limit=limit, cursor=cursor)
            page = await client.ask(request, DescribeTopicPartitionsResponse, 0)
            found.append([(topic.name, part.partition_index) for topic in page.topics for part in topic.partitions])
            cursor = page.next_cursor
            if cursor is None:
                return found

    async def main() -> None:
        async with node_on(tmp_path) as client:
            await create_topic(client, "b", 2)
            await create_topic(client, "a", 3)
            every = [("a", 0), ("a", 1), ("a", 2), ("b", 0), ("b", 1)]
            assert await pages(client, 2000) == [every]
            assert await pages(client, 2) == [every[:2], every[2:4], every[4:]]
            assert await pages(client, 3) == [every[:3], every[3:]]
            asked = tuple(TopicRequest(name=name) for name in ("b", "nothing", "b b"))
            page = await client.ask(DescribeTopicPartitionsRequest(topics=asked), DescribeTopicPartitionsResponse, 0)
            assert {each.name: each.error_code for each in page.topics} == {
                "b": ErrorCode.NONE,
                "b b": ErrorCode.INVALID_TOPIC_EXCEPTION,
                "nothing": ErrorCode.UNKNOWN_TOPIC_OR_PARTITION,
            }
            assert {each.topic_authorized_operations for each in page.topics} == {ALL_TOPIC_OPERATIONS}
            elsewhere = Cursor(topic_name="a", partition_index=0)
            request = DescribeTopicPartitionsRequest(topics=(TopicRequest(name="b"),), cursor=elsewhere)
            page = await client.ask(request, DescribeTopicPartitionsResponse, 0)
            assert [each.error_code for each in page.topics] == [ErrorCode.INVALID_REQUEST]

    asyncio.run(main())


def test_producers_of_a_partition(tmp_path: Path) -> None:
    async def ask(client: RawClient, topic: str, index: int = 0) -> producers.PartitionResponse:
        asked = producers.TopicRequest(name=topic, partition_indexes=(index,))
        request = producers.DescribeProducersRequest(topics=(asked,))
        return (await client.ask(request, producers.DescribeProducersResponse, 0)).topics[0].partitions[0]

    async def main() -> None:
        async with node_on(tmp_path) as client:
            await create_topic(client, "orders")
            assert (await ask(client, "orders")).active_producers == ()
            spec = BatchSpec(producer_id=7, producer_epoch=2, base_sequence=0)  # type: ignore[arg-type]
            await produce(client, "orders", "a", "b", spec=spec)
            (found,) = (await ask(client, "orders")).active_producers
            assert (found.producer_id, found.producer_epoch, found.last_sequence) == (7, 2, 1)
            assert (found.coordinator_epoch, found.current_txn_start_offset) == (-1, -1)
            assert (await ask(client, "orders", 3)).error_code == ErrorCode.UNKNOWN_TOPIC_OR_PARTITION
            assert (await ask(client, "b b")).error_code == ErrorCode.INVALID_TOPIC_EXCEPTION

    asyncio.run(main())


def test_the_quorum_is_this_node(tmp_path: Path) -> None:
    async def ask(client: RawClient, topic: str, version: int = 2) -> quorum.DescribeQuorumResponse:
        part = quorum.TopicData(topic_name=topic, partitions=(quorum.PartitionData(partition_index=0),))
        return await client.ask(quorum.DescribeQuorumRequest(topics=(part,)), quorum.DescribeQuorumResponse, version)

    async def main() -> None:
        async with node_on(tmp_path) as client:
            response = await ask(client, "__cluster_metadata")
            (found,) = response.topics[0].partitions
            assert (found.error_code, found.leader_id, found.leader_epoch) == (ErrorCode.NONE, 1, 1)
            (voter,) = found.current_voters
            assert voter.replica_id == 1
            assert voter.log_end_offset >= found.high_watermark > 0
            assert voter.last_caught_up_timestamp > 0
            assert [(each.node_id, each.listeners) for each in response.nodes] == [(1, ())]
            for version in (0, 1):  # which have no nodes
                assert (await ask(client, "__cluster_metadata", version)).topics[0].partitions[0].leader_id == 1
            (found,) = (await ask(client, "orders")).topics[0].partitions
            assert found.error_code == ErrorCode.UNKNOWN_TOPIC_OR_PARTITION

    asyncio.run(main())


def test_features_are_told_and_changed(tmp_path: Path) -> None:
    async def ask(client: RawClient, version: int) -> ApiVersionsResponse:
        request = ApiVersionsRequest(client_software_name="raw", client_software_version="1.0")
        return await client.ask(request, ApiVersionsResponse, version)

    async def level(client: RawClient, name: str) -> int:
        found = {each.name: each.max_version_level for each in (await ask(client, 4)).finalized_features}
        return found.get(name, 0)

    async def update(
        client: RawClient, name: str, level: int, kind: int = 1, version: int = 2, *, dry: bool = False
    ) -> UpdateFeaturesResponse:
        key = FeatureUpdateKey(feature=name, max_version_level=level, upgrade_type=kind)
        request = UpdateFeaturesRequest(feature_updates=(key,), validate_only=dry)
        return await client.ask(request, UpdateFeaturesResponse, version)

    async def main() -> None:
        async with node_on(tmp_path) as client:
            assert [each.name for each in (await ask(client, 3)).supported_features] == ["metadata.version"]
            supported = {
                each.name: (each.min_version, each.max_version) for each in (await ask(client, 4)).supported_features
            }
            assert supported["kraft.version"] == (0, 1)
            assert len(supported) == 7
            assert await level(client, "group.version") == 1
            before = (await ask(client, 4)).finalized_features_epoch
            assert (await update(client, "group.version", 0, kind=2, dry=True)).error_code == ErrorCode.NONE
            assert await level(client, "group.version") == 1
            assert (await update(client, "group.version", 0)).error_code == ErrorCode.INVALID_UPDATE_VERSION
            assert (await update(client, "group.version", 0, kind=2, version=1)).results[0].feature == "group.version"
            assert await level(client, "group.version") == 0
            assert (await ask(client, 4)).finalized_features_epoch > before
            assert (await update(client, "group.version", 9)).error_code == ErrorCode.INVALID_UPDATE_VERSION
            assert (await update(client, "no.such", 1)).error_code == ErrorCode.INVALID_UPDATE_VERSION

    asyncio.run(main())


def test_a_client_without_a_name_is_refused(tmp_path: Path) -> None:
    async def main() -> None:
        async with node_on(tmp_path) as client:
            response = await client.ask(ApiVersionsRequest(), ApiVersionsResponse, 3)
            assert (response.error_code, response.api_keys) == (ErrorCode.INVALID_REQUEST, ())

    asyncio.run(main())


def test_the_cluster_as_its_brokers_see_it(tmp_path: Path) -> None:
    async def ask(client: RawClient, endpoint_type: int = 1) -> DescribeClusterResponse:
        request = DescribeClusterRequest(include_cluster_authorized_operations=True, endpoint_type=endpoint_type)
        return await client.ask(request, DescribeClusterResponse, 1)

    async def main() -> None:
        async with node_on(tmp_path) as client:
            response = await ask(client)
            assert response.cluster_authorized_operations == ALL_CLUSTER_OPERATIONS
            assert [each.broker_id for each in response.brokers] == [1]
            assert (await ask(client, 2)).error_code == ErrorCode.MISMATCHED_ENDPOINT_TYPE
            assert (await ask(client, 7)).error_code == ErrorCode.UNSUPPORTED_ENDPOINT_TYPE

    asyncio.run(main())


def test_a_new_topic_is_answered_with_all_its_settings(tmp_path: Path) -> None:
    async def main() -> None:
        async with node_on(tmp_path) as client:
            topic = CreatableTopic(name="orders", num_partitions=1, replication_factor=1, assignments=(), configs=())
            response = await client.ask(CreateTopicsRequest(topics=(topic,)), CreateTopicsResponse, 7)
            shown = {each.name: (each.value, each.config_source) for each in response.topics[0].configs or ()}
            assert shown["retention.ms"] == ("604800000", 5)
            assert shown["min.insync.replicas"] == ("1", 3)

    asyncio.run(main())
