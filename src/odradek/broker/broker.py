"""What the handlers of one node share: the partitions that it leads, names of topics, the flusher."""

from typing import TYPE_CHECKING, NamedTuple, cast

from odradek.broker.partitions.partition import Partition
from odradek.metadata.image import EMPTY, NO_LEADER, Image
from odradek.metadata.uuids import to_text
from odradek.model.error_code import ErrorCode
from odradek.model.errors import StorageFailed, UnknownTopicId, UnknownTopicOrPartition
from odradek.storage.flush import Flusher

if TYPE_CHECKING:
    from collections.abc import Callable

    from odradek.metadata import image
    from odradek.metadata.delta import Delta
    from odradek.model.topic_partition import TopicPartition


class Leadership(NamedTuple):
    """Of a partition, as clients see it in Metadata."""

    leader: int
    error: ErrorCode
    isr: tuple[int, ...]
    eligible: tuple[int, ...]
    """To lead, beside those in sync."""
    offline: tuple[int, ...]
    """Replicas whose log directory is offline."""


class Broker:
    def __init__(self, node_id: int, cluster_id: str, flusher: Flusher) -> None:
        self.node_id = node_id
        self.cluster_id = cluster_id
        self.flusher = flusher
        self.image: Image = EMPTY
        """The newest committed metadata; replaced whole, by `begin` and `change`."""
        self.partitions: dict[TopicPartition, Partition] = {}
        self.make: Callable[[TopicPartition], Partition | None] = _nothing
        """Asked for partitions that are not among these: there may be one whose log is still to be made."""
        self.offline: frozenset[TopicPartition] = frozenset()
        """Partitions that this node leads whose log directory is offline, or may be."""

    def begin(self, image: Image) -> None:
        """Told of the first image, before all other listeners."""
        self.image = image

    def change(self, _delta: "Delta", image: Image) -> None:
        """Told of every committed batch of metadata, before all other listeners."""
        self.image = image

    @property
    def rack(self) -> str | None:
        """Where this node said that it stands."""
        me = self.image.brokers.get(self.node_id)
        return None if me is None else me.rack

    @property
    def is_registered(self) -> bool:
        """Not after somebody has unregistered it, until it starts anew."""
        return self.node_id in self.image.brokers

    def partition(self, topic: str, index: int) -> Partition:
        where = cast("TopicPartition", (topic, index))  # equal to one, and made sooner
        found = self.partitions.get(where) or self.make(where)
        if found is None:
            if where in self.offline:
                raise StorageFailed(f"{topic}-{index} may be in a log directory that cannot be used")
            raise UnknownTopicOrPartition(topic, index)
        return found

    def leads(self, where: "TopicPartition") -> bool:
        return where in self.partitions or self.make(where) is not None

    def leadership(self, topic: str, index: int, partition: "image.Partition") -> Leadership:
        if self.offline and (topic, index) in self.offline:
            # Nobody is in sync with a leader that is not there; but who was may lead again.
            return Leadership(NO_LEADER, ErrorCode.LEADER_NOT_AVAILABLE, (), partition.isr, (self.node_id,))
        error = ErrorCode.LEADER_NOT_AVAILABLE if partition.leader == NO_LEADER else ErrorCode.NONE
        return Leadership(partition.leader, error, partition.isr, partition.eligible_leaders, ())

    def name_of(self, topic_id: bytes) -> str:
        topic = self.image.topics.by_id(topic_id)
        if topic is None:
            raise UnknownTopicId(f"This server does not host this topic ID: {to_text(topic_id)}")
        return topic.name


def _nothing(_where: "TopicPartition") -> None:
    return
