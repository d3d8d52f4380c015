"""Changes of the metadata that were acknowledged are there, whatever happened to the node since."""

from typing import TYPE_CHECKING, NamedTuple

from odradek.metadata.image import ResourceType
from support.sim.violations import Violation

if TYPE_CHECKING:
    from odradek.metadata.image import Image

RETENTION = "retention.ms"


class TopicState(NamedTuple):
    partitions: int
    retention: str | None
    """What is set for it."""


class Metadata:
    def __init__(self) -> None:
        self._may_be: dict[str, tuple[TopicState | None, ...]] = {}
        """By topic: what it may be; None for one that is not there."""

    def now(self, topic: str) -> TopicState | None:
        """What it is, if nothing is under way for it."""
        return self._may_be.get(topic, (None,))[-1]

    def asked(self, topic: str, wanted: TopicState | None) -> None:
        self._may_be[topic] = (self.now(topic), wanted)

    def acked(self, topic: str) -> None:
        self._may_be[topic] = (self.now(topic),)

    def check(self, image: "Image") -> None:
        for name, may_be in self._may_be.items():
            topic = image.topics.get(name)
            found = None
            if topic is not None:
                set_for_it = image.configs.of(ResourceType.TOPIC, name)
                found = TopicState(len(topic.partitions), set_for_it.get(RETENTION))
            if found not in may_be:
                raise Violation(f"{name} is {found}, and should be {' or '.join(map(str, may_be))}")
