"""What the handlers of one node share: the partitions that it leads, names of topics, the flusher."""

from odradek.broker.partition import Partition
from odradek.model.errors import UnknownTopicId, UnknownTopicOrPartition
from odradek.model.topic_partition import TopicPartition
from odradek.storage.flush import Flusher


class Broker:
    def __init__(self, node_id: int, cluster_id: str, flusher: Flusher) -> None:
        self.node_id = node_id
        self.cluster_id = cluster_id
        self.flusher = flusher
        self.partitions: dict[TopicPartition, Partition] = {}
        self.names: dict[bytes, str] = {}
        """Of topics, by their id."""

    def partition(self, topic: str, index: int) -> Partition:
        found = self.partitions.get(TopicPartition(topic, index))
        if found is None:
            raise UnknownTopicOrPartition(f"no partition {topic}-{index} here")
        return found

    def name_of(self, topic_id: bytes) -> str:
        found = self.names.get(topic_id)
        if found is None:
            raise UnknownTopicId(f"no topic with id {topic_id.hex()}")
        return found
