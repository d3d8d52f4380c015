"""What metadata say of a cluster: its brokers, its topics, and who leads which partition."""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import NamedTuple

from odradek.client.errors import Refused, refusal
from odradek.model.address import Address
from odradek.wire.messages.metadata import MetadataResponse, MetadataResponsePartition, MetadataResponseTopic

NO_NODE = -1


class PartitionView(NamedTuple):
    partition: int
    leader: int
    """-1 while there is none."""
    leader_epoch: int
    replicas: tuple[int, ...]
    in_sync: tuple[int, ...]
    offline: tuple[int, ...]


class Coordinator(NamedTuple):
    """Of groups or of transactions."""

    node_id: int
    address: Address


@dataclass(frozen=True, slots=True)
class TopicView:
    name: str
    topic_id: bytes
    """Zeros where the broker is too old to say."""
    is_internal: bool
    partitions: tuple[PartitionView, ...]
    """In the order of their numbers."""
    error: Refused | None = None

    @property
    def replication_factor(self) -> int:
        return max((len(each.replicas) for each in self.partitions), default=0)


@dataclass(frozen=True, slots=True)
class ClusterView:
    cluster_id: str | None
    controller_id: int
    brokers: Mapping[int, Address]
    topics: Mapping[str, TopicView]
    """Those that were asked for, in the order of their names."""


def read_cluster(response: MetadataResponse) -> ClusterView:
    topics = sorted((_read_topic(each) for each in response.topics), key=lambda topic: topic.name)
    return ClusterView(
        cluster_id=response.cluster_id,
        controller_id=response.controller_id,
        brokers={each.node_id: Address(each.host, each.port) for each in response.brokers},
        topics={topic.name: topic for topic in topics},
    )


def _read_topic(topic: MetadataResponseTopic) -> TopicView:
    partitions = sorted(map(_read_partition, topic.partitions))
    return TopicView(topic.name or "", topic.topic_id, topic.is_internal, tuple(partitions), refusal(topic.error_code))


def _read_partition(partition: MetadataResponsePartition) -> PartitionView:
    return PartitionView(
        partition.partition_index,
        partition.leader_id,
        partition.leader_epoch,
        partition.replica_nodes,
        partition.isr_nodes,
        partition.offline_replicas,
    )
