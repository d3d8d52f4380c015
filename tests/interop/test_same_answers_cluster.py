"""The cluster: its nodes, features, quorum, directories and coordinators, with the answers of Apache Kafka."""

import asyncio

import pytest

from odradek.wire.apis import APIS
from odradek.wire.messages.api_versions import ApiVersionsRequest
from odradek.wire.messages.describe_cluster import DescribeClusterRequest
from odradek.wire.messages.describe_log_dirs import DescribableLogDirTopic, DescribeLogDirsRequest
from odradek.wire.messages.describe_quorum import DescribeQuorumRequest, PartitionData, TopicData
from odradek.wire.messages.find_coordinator import FindCoordinatorRequest
from odradek.wire.messages.unregister_broker import UnregisterBrokerRequest
from odradek.wire.messages.update_features import FeatureUpdateKey, UpdateFeaturesRequest
from support.same_answers import Asker, Case, Level, Side, differences

UPGRADE, SAFE_DOWNGRADE, UNSAFE_DOWNGRADE = 1, 2, 3


# --- ApiVersions


async def api_versions(ask: Asker) -> None:
    """Without the list of what is served, which is each broker's own."""
    answers = [
        await ask.quietly(ApiVersionsRequest(client_software_name=name, client_software_version=version))
        for name, version in [
            ("a", "1"),
            ("", "1"),
            ("a", ""),
            ("-a", "1"),
            ("a b", "1"),
            ("a-b.c", "1.2-rc"),
            ("ä", "1"),
        ]
    ]
    for answer in answers:
        ask.keep(answer.error_code)
        ask.keep(sorted((each.name, each.min_version, each.max_version) for each in answer.supported_features))
        ask.keep(sorted((each.name, each.max_version_level) for each in answer.finalized_features))
        ask.keep(answer.zk_migration_ready)


async def unknown_versions(ask: Asker) -> None:
    """ApiVersions in a version to come is answered in version 0; anything else ends the connection."""
    for key, version in [(18, 5), (18, 100), (18, -1), (3, 14), (3, 100), (1, 3), (1, 19), (19, 1), (77, 0), (200, 0)]:
        ask.keep(await ask.raw(key, version))


async def not_for_clients(ask: Asker) -> None:
    """APIs of controllers alone end the connection; so do those that a broker does not have yet."""
    for api in APIS.values():
        if "broker" not in api.listeners:
            ask.keep(await ask.raw(api.key, api.versions[1]))


# --- DescribeCluster, DescribeQuorum


async def cluster(ask: Asker) -> None:
    for operations in (False, True):
        await ask(DescribeClusterRequest(include_cluster_authorized_operations=operations))
    for endpoint in (1, 2, 0, 3, -1):
        asked = DescribeClusterRequest(include_cluster_authorized_operations=False, endpoint_type=endpoint)
        await ask(asked)
    await ask(DescribeClusterRequest(include_cluster_authorized_operations=False, include_fenced_brokers=True))


async def quorum(ask: Asker) -> None:
    for name, index in [("__cluster_metadata", 0), ("__cluster_metadata", 1), ("orders", 0), ("", 0)]:
        answer = await ask.quietly(
            DescribeQuorumRequest(
                topics=(TopicData(topic_name=name, partitions=(PartitionData(partition_index=index),)),)
            )
        )
        ask.keep(answer.error_code)
        ask.keep([node.node_id for node in answer.nodes])
        for topic in answer.topics:
            for part in topic.partitions:
                ask.keep([topic.topic_name, part.partition_index, part.error_code, part.leader_id])
                ask.keep([voter.replica_id for voter in part.current_voters])
                ask.keep([voter.log_end_offset - part.high_watermark for voter in part.current_voters])
                ask.keep(len(part.observers))
    await ask(DescribeQuorumRequest(topics=()))


# --- UpdateFeatures


async def update(ask: Asker, *updates: FeatureUpdateKey, validate_only: bool = True) -> None:
    await ask(UpdateFeaturesRequest(feature_updates=updates, validate_only=validate_only))


async def features(ask: Asker) -> None:
    """All but the last are validated only, which version 0 cannot say: what it is asked must be refused anyway."""
    only = ask.level is not Level.LOWEST
    wanted = [
        ("no.such.feature", 1, UPGRADE),
        ("metadata.version", 31, UPGRADE),
        ("metadata.version", 29, UPGRADE),
        ("metadata.version", -1, UPGRADE),
        ("metadata.version", 0, UPGRADE),
        ("group.version", 2, UPGRADE),
        ("kraft.version", 2, UPGRADE),
        ("", 1, UPGRADE),
    ]
    if only:
        wanted += [
            ("metadata.version", 30, UPGRADE),
            ("metadata.version", 29, SAFE_DOWNGRADE),
            ("metadata.version", 25, SAFE_DOWNGRADE),
            ("metadata.version", 25, UNSAFE_DOWNGRADE),
            ("metadata.version", 7, UNSAFE_DOWNGRADE),
            ("metadata.version", 0, UNSAFE_DOWNGRADE),
            ("metadata.version", 31, SAFE_DOWNGRADE),
            ("group.version", 0, UPGRADE),
            ("group.version", 0, SAFE_DOWNGRADE),
            ("group.version", 1, SAFE_DOWNGRADE),
            ("transaction.version", 1, SAFE_DOWNGRADE),
            ("eligible.leader.replicas.version", 0, SAFE_DOWNGRADE),
            ("metadata.version", 30, 0),
            ("metadata.version", 30, 4),
            ("metadata.version", 30, -1),
        ]
    for name, level, kind in wanted:
        asked = FeatureUpdateKey(feature=name, max_version_level=level, upgrade_type=kind if only else UPGRADE)
        await update(ask, asked, validate_only=only)
    one = FeatureUpdateKey(feature="group.version", max_version_level=1)
    bad = FeatureUpdateKey(feature="no.such.feature", max_version_level=1)
    await update(ask, one, validate_only=only)
    await update(ask, one, one, validate_only=only)
    await update(ask, one, bad, validate_only=only)
    await update(ask, bad, one, validate_only=only)
    await update(ask, validate_only=only)


# --- UnregisterBroker


async def nobody_to_unregister(ask: Asker) -> None:
    """Who is there is not asked for here: Kafka would be of no use to the other cases. See test_same_records.py."""
    for broker_id in (7, 0, -1, 2_147_483_647):
        await ask(UnregisterBrokerRequest(broker_id=broker_id))


# --- DescribeLogDirs


async def log_dirs(ask: Asker) -> None:
    name = await ask.create("in-directories", 2)

    async def describe(*topics: tuple[str, tuple[int, ...]]) -> None:
        asked = tuple(DescribableLogDirTopic(topic=topic, partitions=indexes) for topic, indexes in topics)
        await ask(DescribeLogDirsRequest(topics=asked))

    await describe((name, (0, 1)))
    await describe((name, (1, 0, 1, 7, -1)))
    await describe((name, ()))
    await describe((ask.name("nobody"), (0,)), ("", (0,)), (name, (0,)), (name, (1,)))
    await describe()
    everything = await ask.quietly(DescribeLogDirsRequest(topics=None))
    ask.keep([len(everything.results), everything.results[0].error_code])
    ask.keep([topic for topic in everything.results[0].topics if topic.name == name])


# --- coordinators


async def coordinators(ask: Asker) -> None:
    """What cannot have one; who has is a matter of groups and transactions."""

    async def find(kind: int, *keys: str) -> None:
        if ask.level is Level.LOWEST:
            await ask(FindCoordinatorRequest(key=keys[0]))
        elif ask.level is Level.MIDDLE:
            await ask(FindCoordinatorRequest(key=keys[0], key_type=kind))
        else:
            await ask(FindCoordinatorRequest(key_type=kind, coordinator_keys=keys))

    if ask.level is not Level.LOWEST:
        for kind in (3, -1, 99):
            await find(kind, "group")
        await find(2, "no-share-key")
        await find(2, "group:topic:0")
    if ask.level is Level.HIGHEST:
        await ask(FindCoordinatorRequest(key_type=0, coordinator_keys=()))
        await ask(FindCoordinatorRequest(key_type=99, coordinator_keys=()))


CASES: list[Case] = [
    api_versions,
    unknown_versions,
    not_for_clients,
    cluster,
    quorum,
    features,
    nobody_to_unregister,
    log_dirs,
    coordinators,
]


@pytest.mark.parametrize("level", Level, ids=lambda level: level.value)
@pytest.mark.parametrize("case", CASES, ids=lambda case: case.__name__)
def test_kafka_answers_the_same(both: tuple[Side, Side], case: Case, level: Level) -> None:
    found = differences(case, level, both)
    assert not found, found


def test_what_is_served_is_told_in_kafkas_versions(both: tuple[Side, Side]) -> None:
    """No API that Kafka has not, none in other versions; what Kafka has and we have not is not there yet."""

    async def served(side: Side) -> dict[int, tuple[int, int]]:
        asker = Asker(side, Level.HIGHEST)
        try:
            answer = await asker.quietly(ApiVersionsRequest(client_software_name="a", client_software_version="1"))
        finally:
            await asker.close()
        return {each.api_key: (each.min_version, each.max_version) for each in answer.api_keys}

    kafka, odradek = (asyncio.run(served(side)) for side in both)
    assert odradek.items() <= kafka.items()
    assert {APIS[key].name for key in kafka.keys() - odradek.keys()} == NOT_YET


NOT_YET = {
    *("SaslHandshake", "DescribeAcls", "CreateAcls", "DeleteAcls", "SaslAuthenticate"),
    *("CreateDelegationToken", "RenewDelegationToken", "ExpireDelegationToken", "DescribeDelegationToken"),
    *("ShareGroupHeartbeat", "ShareGroupDescribe", "ShareFetch"),
    *("ShareAcknowledge", "AddRaftVoter", "RemoveRaftVoter", "InitializeShareGroupState", "ReadShareGroupState"),
    *("WriteShareGroupState", "DeleteShareGroupState", "ReadShareGroupStateSummary", "StreamsGroupHeartbeat"),
    *("StreamsGroupDescribe", "DescribeShareGroupOffsets", "AlterShareGroupOffsets", "DeleteShareGroupOffsets"),
}
