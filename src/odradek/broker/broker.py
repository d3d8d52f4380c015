"""What the handlers of one node share: the partitions that it leads, names of topics, the flusher."""

from odradek.broker.partition import Partition
from odradek.metadata.image import EMPTY, Image
from odradek.model.errors import UnknownTopicId, UnknownTopicOrPartition
from odradek.model.topic_partition import TopicPartition
from odradek.net.connection import Connection
from odradek.storage.flush import Flusher


class Broker:
    def __init__(self, node_id: int, cluster_id: str, flusher: Flusher) -> None:
        self.node_id = node_id
        self.cluster_id = cluster_id
        self.flusher = flusher
        self.image: Image = EMPTY
        """The newest committed metadata; replaced whole."""
        self.advertised: tuple[str, int] | None = None
        """The address that clients are told; None for the one that each of them connected to."""
        self.kraft_version = 0
        """Of the quorum, which keeps it beside the other features."""
        self.partitions: dict[TopicPartition, Partition] = {}

    def partition(self, topic: str, index: int) -> Partition:
        found = self.partitions.get(TopicPartition(topic, index))
        if found is None:
            raise UnknownTopicOrPartition(f"no partition {topic}-{index} here")
        return found

    def name_of(self, topic_id: bytes) -> str:
        topic = self.image.topics.by_id(topic_id)
        if topic is None:
            raise UnknownTopicId(f"no topic with id {topic_id.hex()}")
        return topic.name

    def address_for(self, connection: Connection) -> tuple[str, int]:
        """Where the client of this connection reaches us."""
        return self.advertised or connection.local
