"""The table of what a node serves: each API by its key, with its versions and its handler."""

from collections.abc import Callable
from concurrent.futures import Executor
from dataclasses import dataclass
from functools import partial

from odradek.broker.broker import Broker
from odradek.broker.coordination.coordinator_topics import CoordinatorTopics
from odradek.broker.coordination.groups import Groups
from odradek.broker.coordination.markers import Markers
from odradek.broker.coordination.producer_ids import ProducerIds
from odradek.broker.coordination.transactions import Transactions
from odradek.broker.dispatch import Served
from odradek.broker.fetching.fetch_sessions import FetchSessions
from odradek.broker.fetching.read_ahead import ReadAhead
from odradek.broker.handlers import (
    add_offsets_to_txn,
    add_partitions_to_txn,
    alter_configs,
    alter_replica_log_dirs,
    api_versions,
    consumer_group_describe,
    consumer_group_heartbeat,
    delete_groups,
    delete_records,
    describe_client_quotas,
    describe_cluster,
    describe_configs,
    describe_groups,
    describe_log_dirs,
    describe_producers,
    describe_quorum,
    describe_topic_partitions,
    describe_transactions,
    describe_user_scram_credentials,
    end_txn,
    fetch,
    find_coordinator,
    forwarded,
    get_telemetry_subscriptions,
    heartbeat,
    incremental_alter_configs,
    init_producer_id,
    join_group,
    leave_group,
    list_config_resources,
    list_groups,
    list_offsets,
    list_partition_reassignments,
    list_transactions,
    metadata,
    offset_commit,
    offset_delete,
    offset_fetch,
    offset_for_leader_epoch,
    produce,
    push_telemetry,
    sync_group,
    txn_offset_commit,
    write_txn_markers,
)
from odradek.broker.partitions.moves import Moves
from odradek.broker.partitions.validations import Validations
from odradek.broker.producing.transactional_produce import TransactionalProduce
from odradek.broker.quotas.quotas import Quotas
from odradek.broker.settings.loggers import Loggers
from odradek.broker.settings.settings import Settings
from odradek.broker.telemetry import Telemetry
from odradek.broker.topics_on_demand import TopicsOnDemand
from odradek.controller.controller import Controller
from odradek.model.broker_config import BrokerConfig
from odradek.model.settings import INT_MAX
from odradek.process.machine import Machine
from odradek.process.tasks import Tasks
from odradek.quorum.metadata_log import MetadataLog
from odradek.storage.log_dirs import LogDirs


@dataclass(frozen=True, slots=True, kw_only=True)
class Services:
    """The objects of a node that handlers work with."""

    broker: Broker
    metadata: MetadataLog
    controller: Controller
    settings: Settings
    logs: LogDirs
    pool: Executor
    read_ahead: ReadAhead
    tasks: Tasks
    machine: Machine
    producer_ids: ProducerIds
    groups: Groups
    transactions: Transactions
    markers: Markers
    moves: Moves


def served_by(node: Services, quotas: Quotas) -> dict[int, Served]:
    broker, controller, settings = node.broker, node.controller, node.settings
    groups, clock = node.groups, node.machine.clock
    config = settings.now(broker.image)
    sessions = FetchSessions(clock, node.machine.random, config.max_incremental_fetch_session_cache_slots)
    on_demand = TopicsOnDemand(controller, node.tasks)
    coordinator_topics = CoordinatorTopics(controller, broker, settings)
    loggers = Loggers()
    transactions = node.transactions
    current = partial(_current, broker, settings)
    is_verifying = partial(_is_verifying, current)
    gates = TransactionalProduce(broker, transactions, clock, is_verifying)
    producing = produce.Produce(broker, gates.gate_for, quotas.produced, Validations(node.pool))
    committing, beating = offset_commit.OffsetCommit(groups), heartbeat.Heartbeat(groups)
    offsets_in_txn = txn_offset_commit.TxnOffsetCommit(broker, groups, transactions, clock, is_verifying)
    has_consumer_protocol = _has_consumer_protocol(broker, config)
    served: dict[int, Served] = {
        0: Served(produce.VERSIONS, producing.handle, INT_MAX, producing.handle_single),
        1: Served(
            fetch.VERSIONS,
            fetch.Fetch(broker, sessions, node.read_ahead, quotas.fetched, config.fetch_max_bytes).handle,
        ),
        2: Served(list_offsets.VERSIONS, list_offsets.ListOffsets(broker).handle),
        3: Served(metadata.VERSIONS, metadata.Metadata(broker, settings, on_demand).handle),
        8: Served(offset_commit.VERSIONS, committing.handle, handle_body=committing.handle_single),
        9: Served(offset_fetch.VERSIONS, offset_fetch.OffsetFetch(groups).handle),
        10: Served(find_coordinator.VERSIONS, find_coordinator.FindCoordinator(broker, coordinator_topics).handle),
        11: Served(join_group.VERSIONS, join_group.JoinGroup(groups).handle),
        12: Served(heartbeat.VERSIONS, beating.handle, handle_body=beating.handle_body),
        13: Served(leave_group.VERSIONS, leave_group.LeaveGroup(groups).handle),
        14: Served(sync_group.VERSIONS, sync_group.SyncGroup(groups).handle),
        15: Served(describe_groups.VERSIONS, describe_groups.DescribeGroups(groups).handle),
        16: Served(list_groups.VERSIONS, list_groups.ListGroups(groups).handle),
        21: Served(delete_records.VERSIONS, delete_records.DeleteRecords(broker, node.logs, node.pool).handle),
        22: Served(
            init_producer_id.VERSIONS,
            init_producer_id.InitProducerId(node.producer_ids, transactions, current).handle,
        ),
        23: Served(offset_for_leader_epoch.VERSIONS, offset_for_leader_epoch.OffsetForLeaderEpoch(broker).handle),
        24: Served(
            add_partitions_to_txn.VERSIONS, add_partitions_to_txn.AddPartitionsToTxn(broker, transactions).handle
        ),
        25: Served(add_offsets_to_txn.VERSIONS, add_offsets_to_txn.AddOffsetsToTxn(transactions, groups).handle),
        26: Served(end_txn.VERSIONS, end_txn.EndTxn(transactions).handle),
        27: Served(write_txn_markers.VERSIONS, write_txn_markers.WriteTxnMarkers(node.markers).handle),
        28: Served(txn_offset_commit.VERSIONS, offsets_in_txn.handle),
        32: Served(describe_configs.VERSIONS, describe_configs.DescribeConfigs(broker, settings, loggers).handle),
        33: Served(alter_configs.VERSIONS, alter_configs.AlterConfigs(controller, broker, settings).handle),
        34: Served(alter_replica_log_dirs.VERSIONS, alter_replica_log_dirs.AlterReplicaLogDirs(node.moves).handle),
        35: Served(describe_log_dirs.VERSIONS, describe_log_dirs.DescribeLogDirs(broker, node.logs, node.pool).handle),
        42: Served(delete_groups.VERSIONS, delete_groups.DeleteGroups(groups).handle),
        44: Served(
            incremental_alter_configs.VERSIONS,
            incremental_alter_configs.IncrementalAlterConfigs(controller, broker, settings, loggers).handle,
        ),
        46: Served(
            list_partition_reassignments.VERSIONS,
            list_partition_reassignments.ListPartitionReassignments(broker).handle,
        ),
        47: Served(offset_delete.VERSIONS, offset_delete.OffsetDelete(groups).handle),
        50: Served(
            describe_user_scram_credentials.VERSIONS,
            describe_user_scram_credentials.DescribeUserScramCredentials(broker).handle,
        ),
        48: Served(describe_client_quotas.VERSIONS, describe_client_quotas.DescribeClientQuotas(broker).handle),
        55: Served(
            describe_quorum.VERSIONS, describe_quorum.DescribeQuorum(node.metadata, broker.node_id, clock).handle
        ),
        60: Served(describe_cluster.VERSIONS, describe_cluster.DescribeCluster(broker).handle),
        61: Served(describe_producers.VERSIONS, describe_producers.DescribeProducers(broker).handle),
        65: Served(describe_transactions.VERSIONS, describe_transactions.DescribeTransactions(transactions).handle),
        66: Served(list_transactions.VERSIONS, list_transactions.ListTransactions(transactions, clock).handle),
        68: Served(
            consumer_group_heartbeat.VERSIONS,
            consumer_group_heartbeat.ConsumerGroupHeartbeat(groups, has_consumer_protocol).handle,
        ),
        69: Served(
            consumer_group_describe.VERSIONS,
            consumer_group_describe.ConsumerGroupDescribe(groups, has_consumer_protocol).handle,
        ),
        74: Served(list_config_resources.VERSIONS, list_config_resources.ListConfigResources(broker).handle),
        75: Served(
            describe_topic_partitions.VERSIONS,
            describe_topic_partitions.DescribeTopicPartitions(broker, settings).handle,
        ),
    }
    forward = forwarded.Forwarded(controller).handle
    served |= {key: Served(versions, forward) for key, versions in forwarded.FORWARDED.items()}
    served[18] = Served(api_versions.VERSIONS, api_versions.ApiVersions(served, broker).handle)
    return served | _unlisted(node, config)


def _unlisted(node: Services, config: BrokerConfig) -> dict[int, Served]:
    """What Kafka answers and ApiVersions does not tell of."""
    telemetry = Telemetry(node.broker, node.machine.clock, node.machine.new_uuid, config.telemetry_max_bytes)
    return {
        71: Served(
            get_telemetry_subscriptions.VERSIONS,
            get_telemetry_subscriptions.GetTelemetrySubscriptions(telemetry).handle,
        ),
        72: Served(push_telemetry.VERSIONS, push_telemetry.PushTelemetry(telemetry).handle, INT_MAX),
    }


def _has_consumer_protocol(broker: Broker, config: BrokerConfig) -> Callable[[], bool]:
    is_served = "consumer" in config.group_coordinator_rebalance_protocols
    return lambda: is_served and broker.image.has_consumer_protocol


def _current(broker: Broker, settings: Settings) -> BrokerConfig:
    """The settings as they are now."""
    return settings.now(broker.image)


def _is_verifying(config: Callable[[], BrokerConfig]) -> bool:
    return config().transaction_partition_verification_enable
