"""The topics of the cluster as consumer groups look at them: their ids, their hash, and which ones match."""

from collections.abc import Collection, Iterable
from struct import pack

from odradek.coordinators.groups.consumer.expressions import Expressions, Matched
from odradek.coordinators.groups.context import GroupContext
from odradek.coordinators.groups.xxh3 import xxh3_64
from odradek.metadata.delta import Delta
from odradek.metadata.image import Image, Topic
from odradek.wire.schema import uuid

_HASH_VERSION = 0


class TopicView:
    def __init__(self, context: GroupContext) -> None:
        self._context = context
        self._expressions = Expressions()
        self._hashes: dict[str, tuple[Topic, int]] = {}
        self.grown_at = 0
        """Offset of the metadata that last had new topics. Expressions that were matched before are matched again."""

    @property
    def image(self) -> Image:
        return self._context.image()

    def ids(self, names: Iterable[str]) -> frozenset[uuid]:
        """Of those that exist."""
        topics = self.image.topics
        return frozenset(topic.id for name in names if (topic := topics.get(name)) is not None)

    def match(self, pattern: str) -> Matched:
        image = self.image
        return Matched(self._expressions.match(pattern, image.topics), image.offset, self._context.clock.now_ms())

    def hash(self, names: Collection[str]) -> int:
        """As Kafka has it, so that it finds topics unchanged that it knows from us. 0 where none of them exists."""
        image = self.image
        topics = [topic for name in sorted(names) if (topic := image.topics.get(name)) is not None]
        hashes = b"".join(pack("<Q", self._hash(topic, image)) for topic in topics)
        return _signed(xxh3_64(hashes)) if hashes else 0

    def loaded(self) -> None:
        self.grown_at = self.image.offset

    def changed(self, delta: Delta, image: Image) -> frozenset[str]:
        """The names of topics that came, changed or went."""
        if delta.topics.created:
            self.grown_at = image.offset
        for topic in delta.topics.deleted:
            self._hashes.pop(topic.name, None)
        changed = [change.after for change in delta.topics.changed]
        return frozenset(topic.name for topic in (*delta.topics.created, *changed, *delta.topics.deleted))

    def _hash(self, topic: Topic, image: Image) -> int:
        known = self._hashes.get(topic.name)
        if known is None or known[0] is not topic:
            known = self._hashes[topic.name] = (topic, hash_of_topic(topic, image))
        return known[1]


def hash_of_topic(topic: Topic, image: Image) -> int:
    """Unsigned. What changes it: another id, more partitions, other racks."""
    most, least = int.from_bytes(topic.id[:8], "big"), int.from_bytes(topic.id[8:], "big")
    parts = [pack("<bQQ", _HASH_VERSION, most, least), _text(topic.name), pack("<i", len(topic.partitions))]
    for number in range(len(topic.partitions)):
        parts.append(pack("<i", number))
        partition = topic.partitions.get(number)
        brokers = () if partition is None else map(image.brokers.get, partition.replicas)
        for rack in sorted(broker.rack for broker in brokers if broker is not None and broker.rack is not None):
            parts += (pack("<i", len(rack.encode("utf-16-le")) // 2), _text(rack))
    return xxh3_64(b"".join(parts))


def _text(text: str) -> bytes:
    """As hash4j has it: the characters, then how many they are."""
    data = text.encode("utf-16-le")
    return data + pack("<i", len(data) // 2)


def _signed(number: int) -> int:
    return number - (1 << 64) if number >> 63 else number
