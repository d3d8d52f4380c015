"""`__consumer_offsets`, which the coordinators of groups write: made when the first client asks for one."""

from odradek.broker.settings import Settings
from odradek.controller import topics
from odradek.controller.context import ContextOf
from odradek.controller.errors import TopicAlreadyExists
from odradek.controller.topics import Created, NewTopic
from odradek.metadata.decision import Decision
from odradek.metadata.image import Image
from odradek.model.errors import BrokerError
from odradek.quorum.metadata_log import MetadataLog

OFFSETS_TOPIC = "__consumer_offsets"


class OffsetsTopic:
    def __init__(self, metadata: MetadataLog, context: ContextOf, settings: Settings) -> None:
        self._metadata = metadata
        self._context = context
        self._settings = settings

    async def make(self) -> None:
        """It is there when this returns, made by us or by somebody else meanwhile. Raises a BrokerError."""
        (created,) = await self._metadata.perform(self._decide)
        if isinstance(created.outcome, BrokerError) and not isinstance(created.outcome, TopicAlreadyExists):
            raise created.outcome

    def _decide(self, image: Image) -> Decision[tuple[Created, ...]]:
        config = self._settings.now(image)
        brokers = sum(broker.active for broker in image.brokers.values())
        topic = NewTopic(
            OFFSETS_TOPIC,
            config.offsets_topic_num_partitions,
            max(min(config.offsets_topic_replication_factor, brokers), 1),
            configs={
                "cleanup.policy": "compact",
                "compression.type": "producer",
                "segment.bytes": str(config.offsets_topic_segment_bytes),
            },
        )
        return topics.create(image, [topic], self._context(image))
