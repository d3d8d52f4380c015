"""Which member has a partition now: none is given to a second one before the first gave it back."""

from odradek.coordinators.groups.consumer.member import Partitions
from odradek.wire.schema import uuid


class Ownership:
    def __init__(self) -> None:
        self._owners: dict[uuid, dict[int, str]] = {}

    def owner(self, topic_id: uuid, partition: int) -> str | None:
        return self._owners.get(topic_id, {}).get(partition)

    def take(self, member_id: str, partitions: Partitions) -> None:
        for topic_id, epochs in partitions.items():
            self._owners.setdefault(topic_id, {}).update(dict.fromkeys(epochs, member_id))

    def release(self, member_id: str, partitions: Partitions) -> None:
        """A partition that is another's by now stays with it."""
        for topic_id, epochs in partitions.items():
            owners = self._owners.get(topic_id, {})
            for partition in epochs:
                if owners.get(partition) == member_id:
                    del owners[partition]
            if not owners:
                self._owners.pop(topic_id, None)
