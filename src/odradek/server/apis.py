"""The table of what a node serves: each API by its key, with its versions and its handler."""

from dataclasses import dataclass

from odradek.broker.broker import Broker
from odradek.broker.dispatch import Served
from odradek.broker.handlers import (
    api_versions,
    create_topics,
    delete_topics,
    describe_cluster,
    fetch,
    find_coordinator,
    init_producer_id,
    list_offsets,
    metadata,
    produce,
)
from odradek.broker.producer_ids import ProducerIds
from odradek.controller.context import Context
from odradek.quorum.metadata_log import MetadataLog


@dataclass(frozen=True, slots=True, kw_only=True)
class Parts:
    """The objects of a node that handlers work with."""

    broker: Broker
    metadata: MetadataLog
    context: Context
    broker_epoch: int


def served_by(node: Parts) -> dict[int, Served]:
    broker, log, context = node.broker, node.metadata, node.context
    ids = ProducerIds(log, broker.node_id, node.broker_epoch)
    served: dict[int, Served] = {
        0: Served(produce.VERSIONS, produce.Produce(broker).handle),
        1: Served(fetch.VERSIONS, fetch.Fetch(broker).handle),
        2: Served(list_offsets.VERSIONS, list_offsets.ListOffsets(broker).handle),
        3: Served(metadata.VERSIONS, metadata.Metadata(broker).handle),
        10: Served(find_coordinator.VERSIONS, find_coordinator.FindCoordinator().handle),
        19: Served(create_topics.VERSIONS, create_topics.CreateTopics(log, context).handle),
        20: Served(delete_topics.VERSIONS, delete_topics.DeleteTopics(log, context).handle),
        22: Served(init_producer_id.VERSIONS, init_producer_id.InitProducerId(ids).handle),
        60: Served(describe_cluster.VERSIONS, describe_cluster.DescribeCluster(broker).handle),
    }
    served[18] = Served(api_versions.VERSIONS, api_versions.ApiVersions(served).handle)
    return served
