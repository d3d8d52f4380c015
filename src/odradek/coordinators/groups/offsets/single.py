"""A commit of one offset, from the bytes of the request to those of the record.

Where nothing speaks against it, what comes of it is what comes of `Offsets.commit`, in half the time. All else is
left to that; a test holds the two against each other.
"""

from typing import TYPE_CHECKING

from odradek.model.numbers import Offset, TimestampMs
from odradek.wire.group_requests import SingleOffset
from odradek.wire.offset_commit_record import key_of, value_of

if TYPE_CHECKING:
    from odradek.coordinators.groups.shard import GroupShard
    from odradek.metadata.image import Topic


class SingleCommit:
    """What the runtime is given to put."""

    __slots__ = ("_asked", "_now", "_topic", "_version")

    def __init__(self, asked: SingleOffset, version: int) -> None:
        self._asked = asked
        self._version = version
        self._topic: Topic
        self._now: TimestampMs

    def record(self, shard: "GroupShard", now: TimestampMs) -> tuple[bytes, bytes] | None:
        asked = self._asked
        topic = shard.offsets.admit(asked, self._version)
        if topic is None:
            return None
        self._topic, self._now = topic, now
        return (
            key_of(asked.group, topic.name.encode(), asked.partition),
            value_of(asked.offset, asked.leader_epoch, asked.metadata, now, topic.id),
        )

    def replay(self, shard: "GroupShard", offset: Offset) -> None:
        shard.offsets.replay_single(offset, self._asked, self._topic, self._now)
