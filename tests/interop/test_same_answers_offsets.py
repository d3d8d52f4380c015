"""Committed offsets and who coordinates them, with the answers of Apache Kafka."""

from typing import Any

import pytest

from odradek.model.error_code import ErrorCode
from odradek.wire.messages.delete_topics import DeleteTopicsRequest, DeleteTopicState
from odradek.wire.messages.find_coordinator import FindCoordinatorRequest
from odradek.wire.messages.offset_commit import OffsetCommitRequest, OffsetCommitRequestTopic
from odradek.wire.messages.offset_delete import (
    OffsetDeleteRequest,
    OffsetDeleteRequestPartition,
    OffsetDeleteRequestTopic,
)
from odradek.wire.messages.offset_fetch import (
    OffsetFetchRequest,
    OffsetFetchRequestGroup,
    OffsetFetchRequestTopic,
    OffsetFetchRequestTopics,
    OffsetFetchResponseGroup,
)
from odradek.wire.schema import NO_UUID
from support.offset_stage import offsets
from support.same_answers import Asker, Case, Level, Side, differences

BY_ID_SINCE = 10
NOT_THERE_YET = (ErrorCode.COORDINATOR_LOAD_IN_PROGRESS, ErrorCode.NOT_COORDINATOR, ErrorCode.COORDINATOR_NOT_AVAILABLE)


async def group(ask: Asker, name: str) -> str:
    """The id of a group that has a coordinator, in a cluster that may not have made its topic yet."""
    group_id = ask.name(f"offsets-{name}")
    await coordinated(ask, group_id)
    return group_id


async def coordinated(ask: Asker, group_id: str) -> None:
    code: int = ErrorCode.NOT_COORDINATOR
    while code in NOT_THERE_YET:
        await ask.quietly(FindCoordinatorRequest(key_type=0, coordinator_keys=(group_id,)), 6)
        code = (await everything(ask, group_id)).error_code


async def everything(ask: Asker, group_id: str) -> OffsetFetchResponseGroup:
    """All that is committed."""
    asked = OffsetFetchRequestGroup(group_id=group_id, topics=None)
    found: OffsetFetchResponseGroup = (await ask.quietly(OffsetFetchRequest(groups=(asked,)), 8)).groups[0]
    return found


async def coordinator(ask: Asker) -> None:
    group_id = await group(ask, "found")
    if ask.level is Level.HIGHEST:
        await ask(FindCoordinatorRequest(key_type=0, coordinator_keys=(group_id, "", "another")))
    else:
        await ask(FindCoordinatorRequest(key=group_id))
        await ask(FindCoordinatorRequest(key=""))


class Committing:
    """A group that offsets are committed in, in words that the version of a level has."""

    def __init__(self, ask: Asker, group_id: str) -> None:
        self.ask = ask
        self.group_id = group_id
        self.version = ask.level.version_of(OffsetCommitRequest)

    async def topic(self, name: str) -> str | bytes:
        """As a commit names it."""
        return await self.ask.topic_id(name) if self.version >= BY_ID_SINCE else name

    async def commit(self, *topics: OffsetCommitRequestTopic, **fields: Any) -> None:
        request = {"group_id": self.group_id, "member_id": "", "topics": topics, **fields}
        await self.ask(OffsetCommitRequest(**request))

    async def fetch(self, *names: str, partitions: tuple[int, ...] = (0,), stable: bool = False) -> None:
        """All of the group's offsets where no topic is named."""
        if self.ask.level is not Level.HIGHEST:
            few = tuple(OffsetFetchRequestTopic(name=name, partition_indexes=partitions) for name in names)
            if self.ask.level is Level.LOWEST:
                await self.ask(OffsetFetchRequest(group_id=self.group_id, topics=few))
            else:
                await self.ask(OffsetFetchRequest(group_id=self.group_id, topics=few or None))
            return
        topics = [
            OffsetFetchRequestTopics(topic_id=await self.ask.topic_id(name), partition_indexes=partitions)
            for name in names
        ]
        wanted = OffsetFetchRequestGroup(group_id=self.group_id, topics=tuple(topics) or None)
        await self.ask(OffsetFetchRequest(groups=(wanted,), require_stable=stable))


async def simple_commits(ask: Asker) -> None:
    name = await ask.create("simple", 3)
    committing = Committing(ask, await group(ask, "simple"))
    topic = await committing.topic(name)
    await committing.fetch(name, partitions=(0, 1, 7))
    await committing.fetch()
    await committing.commit(offsets(topic, 5, 0, 1, metadata="some words", epoch=0))
    await committing.commit(offsets(topic, 7, 1, metadata=None))
    await committing.commit(offsets(topic, -3, 2))
    await committing.fetch(name, partitions=(0, 1, 2, 7))
    await committing.fetch()
    await committing.fetch(stable=True)
    await committing.commit()


async def unknown_topics(ask: Asker) -> None:
    name = await ask.create("known", 2)
    committing = Committing(ask, await group(ask, "unknown-topics"))
    topic = await committing.topic(name)
    nothing: str | bytes = "nothing" if isinstance(topic, str) else bytes(range(16))
    await committing.commit(offsets(nothing, 1), offsets(topic, 1, 0, 2, -1))
    await committing.commit(offsets(nothing, 1, 0, 1))
    await committing.commit(offsets("" if isinstance(topic, str) else NO_UUID, 1))
    await committing.commit(offsets(topic, 2), offsets(nothing, 2), generation_id_or_member_epoch=1, member_id="nobody")
    await committing.fetch(name, "nothing", partitions=(0, 1))


async def members_that_are_none(ask: Asker) -> None:
    name = await ask.create("fenced")
    committing = Committing(ask, await group(ask, "no-members"))
    topic = await committing.topic(name)
    await committing.commit(offsets(topic, 1), generation_id_or_member_epoch=1, member_id="nobody")
    await committing.commit(offsets(topic, 1), generation_id_or_member_epoch=0)
    await committing.commit(offsets(topic, 1))
    await committing.commit(offsets(topic, 2), generation_id_or_member_epoch=1, member_id="nobody")
    await committing.commit(offsets(topic, 3), member_id="nobody")
    if ask.level is not Level.LOWEST:
        await committing.commit(offsets(topic, 4), group_instance_id="nobody")
    await committing.fetch(name)


async def metadata_limits(ask: Asker) -> None:
    name = await ask.create("metadata", 2)
    committing = Committing(ask, await group(ask, "metadata"))
    topic = await committing.topic(name)
    for text in ("x" * 4096, "x" * 4097, "\N{GRINNING FACE}" * 2048, "\N{GRINNING FACE}" * 2049, "ö" * 4096):
        await committing.commit(offsets(topic, 1, 0, metadata=text), offsets(topic, 1, 1))
        await committing.fetch(name)


async def odd_group_ids(ask: Asker) -> None:
    name = await ask.create("odd-ids")
    for group_id in ("", " ", "\N{SNOWMAN}" * 10, "x" * 1000):
        await coordinated(ask, group_id)
        committing = Committing(ask, group_id)
        await committing.commit(offsets(await committing.topic(name), 1))
        await committing.fetch(name)


async def several_groups(ask: Asker) -> None:
    name = await ask.create("several")
    first, second = await group(ask, "first"), await group(ask, "second")
    await Committing(ask, first).commit(offsets(await Committing(ask, first).topic(name), 4))
    if ask.level is Level.HIGHEST:
        topics = (OffsetFetchRequestTopics(topic_id=await ask.topic_id(name), partition_indexes=(0,)),)
        wanted = (
            OffsetFetchRequestGroup(group_id=first, topics=topics),
            OffsetFetchRequestGroup(group_id=second, topics=topics),
            OffsetFetchRequestGroup(group_id=first, topics=None),
            OffsetFetchRequestGroup(group_id=second, topics=()),
            OffsetFetchRequestGroup(group_id=first, member_id="nobody", member_epoch=4, topics=topics),
        )
        await ask(OffsetFetchRequest(groups=wanted))
        await ask(OffsetFetchRequest(groups=()))


async def deletions(ask: Asker) -> None:
    name = await ask.create("deleted", 3)
    committing = Committing(ask, await group(ask, "deletions"))

    async def delete(group_id: str, *topics: tuple[str, tuple[int, ...]]) -> None:
        wanted = tuple(
            OffsetDeleteRequestTopic(
                name=topic, partitions=tuple(OffsetDeleteRequestPartition(partition_index=each) for each in partitions)
            )
            for topic, partitions in topics
        )
        await ask(OffsetDeleteRequest(group_id=group_id, topics=wanted))

    await delete(committing.group_id, (name, (0,)))
    await delete("", (name, (0,)))
    await committing.commit(offsets(await committing.topic(name), 5, 0, 1))
    await delete(committing.group_id, (name, (0, 2, 9)), ("nothing", (0,)))
    await delete(committing.group_id)
    await committing.fetch(name, partitions=(0, 1, 2))


async def topics_that_go(ask: Asker) -> None:
    name, other = await ask.create("going"), await ask.create("staying")
    committing = Committing(ask, await group(ask, "going"))
    for each in (name, other):
        await committing.commit(offsets(await committing.topic(each), 5))
    gone = DeleteTopicsRequest(topics=(DeleteTopicState(name=name, topic_id=NO_UUID),), timeout_ms=30_000)
    await ask.quietly(gone, 6)
    await ask.settle()
    while len((await everything(ask, committing.group_id)).topics) > 1:  # its offsets go some time later
        continue
    await ask.create("going")
    await committing.fetch(name)
    await committing.fetch()


CASES: list[Case] = [
    coordinator,
    simple_commits,
    unknown_topics,
    members_that_are_none,
    metadata_limits,
    odd_group_ids,
    several_groups,
    deletions,
    topics_that_go,
]


@pytest.mark.parametrize("level", Level, ids=lambda level: level.value)
@pytest.mark.parametrize("case", CASES, ids=lambda case: case.__name__)
def test_kafka_answers_the_same(both: tuple[Side, Side], case: Case, level: Level) -> None:
    found = differences(case, level, both)
    assert not found, found
