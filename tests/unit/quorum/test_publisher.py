"""Who hears of committed metadata, in which order, and what becomes of a listener that fails."""

import asyncio
from typing import TYPE_CHECKING, Any

import pytest

from odradek.metadata.delta import Delta
from odradek.metadata.image import Image
from odradek.quorum.publisher import MetadataListener, MetadataNotPublished, MetadataPublisher
from odradek.wire.records.metadata import TopicRecord
from support.metadata import commit_now
from support.pool import AtOncePool

if TYPE_CHECKING:
    from odradek.quorum.metadata_log import MetadataLog


def topic(name: str) -> TopicRecord:
    return TopicRecord(name=name, topic_id=name.encode().ljust(16))


class Heard:
    """What listeners heard, in the order of time."""

    def __init__(self) -> None:
        self.events: list[tuple[str, str]] = []

    def listener(self, name: str, *, fails_at: str | None = None) -> MetadataListener:
        def change(delta: Delta, _image: Image) -> None:
            (created,) = delta.topics.created
            if created.name == fails_at:
                raise ValueError(f"no place for {created.name}")
            self.events.append((name, created.name))

        return MetadataListener(name, change, lambda _: self.events.append((name, "the first")))


def test_all_hear_of_one_batch_before_any_hears_of_the_next(node: Any) -> None:
    heard, metadata = Heard(), node.open()
    commit_now(metadata, [topic("before")])
    node.publisher.begin([heard.listener("one"), heard.listener("two")], metadata.image)
    for name in ("a", "b"):
        metadata._append([topic(name)])
    metadata._sync()
    assert heard.events == [
        ("one", "the first"),
        ("two", "the first"),
        ("one", "a"),
        ("two", "a"),
        ("one", "b"),
        ("two", "b"),
    ]


def test_a_listener_that_fails_ends_the_node_and_no_commit_succeeds(node: Any) -> None:
    heard, failures = Heard(), list[str]()
    node.publisher_of_next = MetadataPublisher(failures.append)
    metadata: MetadataLog = node.open(AtOncePool())
    listeners = [heard.listener("one"), heard.listener("two", fails_at="b"), heard.listener("three")]
    node.publisher.begin(listeners, metadata.image)
    heard.events.clear()

    async def story() -> None:
        await metadata.commit([topic("a")])
        with pytest.raises(MetadataNotPublished, match="listener two failed"):
            await metadata.commit([topic("b")])
        with pytest.raises(MetadataNotPublished):
            await metadata.commit([topic("c")])
        with pytest.raises(MetadataNotPublished):
            await metadata.commit([])

    asyncio.run(story())
    assert heard.events == [("one", "a"), ("two", "a"), ("three", "a"), ("one", "b")]
    offset = metadata.image.offset - 1
    assert failures == [f"metadata listener two failed at offset {offset}: no place for b"]
