"""The way of an image through a node: who hears of committed metadata, in this order."""

from dataclasses import dataclass

from odradek.broker.broker import Broker
from odradek.broker.cordons import Cordons
from odradek.broker.partitions.log_settings import LogSettings
from odradek.broker.partitions.replicas import Replicas
from odradek.broker.quotas.quotas import Quotas
from odradek.quorum.publisher import MetadataListener
from odradek.server.admission import ConnectionAdmission
from odradek.server.coordinators import Coordinators
from odradek.server.upkeep import Upkeep


@dataclass(frozen=True, slots=True, kw_only=True)
class Hearing:
    """The parts of a node that act on metadata."""

    broker: Broker
    log_settings: LogSettings
    replicas: Replicas
    coordinators: Coordinators
    quotas: Quotas
    admission: ConnectionAdmission
    cordons: Cordons
    upkeep: Upkeep


def listeners_of(node: Hearing) -> tuple[MetadataListener, ...]:
    return (
        # First: all others, and all requests from now on, read the image that the broker has.
        MetadataListener("metadata cache", node.broker.change, node.broker.begin),
        # Before replicas: new logs are made with the settings of their topics.
        MetadataListener("log settings", node.log_settings.change, node.log_settings.begin),
        # Before coordinators, which ask the broker for its partitions.
        MetadataListener("replicas", node.replicas.change, node.replicas.begin),
        MetadataListener("coordinators", node.coordinators.change, node.coordinators.begin),
        MetadataListener("quotas", node.quotas.change, node.quotas.begin),
        MetadataListener("admission", node.admission.change, node.admission.begin),
        MetadataListener("cordons", node.cordons.change, node.cordons.begin),
        MetadataListener("cleaner", node.upkeep.settings_changed),
        MetadataListener("snapshots", node.upkeep.metadata_grew),
    )
