"""Fetch sessions over a real socket."""

import asyncio
from pathlib import Path

import pytest

from odradek.model.error_code import ErrorCode
from odradek.wire.messages.fetch import FetchPartition, FetchRequest, FetchResponse, FetchTopic, ForgottenTopic
from odradek.wire.messages.metadata import MetadataRequest, MetadataResponse
from odradek.wire.schema import NO_UUID
from support.raw_client import RawClient
from support.running_node import create_topic, node_on, produce


def request(
    offsets: dict[int, int], session: int, epoch: int, topic_id: bytes = NO_UUID, forget: tuple[int, ...] = ()
) -> FetchRequest:
    parts = tuple(
        FetchPartition(partition=number, fetch_offset=offset, partition_max_bytes=1 << 20)
        for number, offset in offsets.items()
    )
    topic = FetchTopic(topic="" if topic_id != NO_UUID else "orders", topic_id=topic_id, partitions=parts)
    gone = ForgottenTopic(topic="" if topic_id != NO_UUID else "orders", topic_id=topic_id, partitions=forget)
    return FetchRequest(
        max_wait_ms=0,
        min_bytes=1,
        session_id=session,
        session_epoch=epoch,
        topics=(topic,) if parts else (),
        forgotten_topics_data=(gone,) if forget else (),
    )


def partitions(response: FetchResponse) -> dict[int, bool]:
    """Those in the answer, and whether they have records."""
    return {part.partition_index: bool(part.records) for topic in response.responses for part in topic.partitions}


async def id_of(client: RawClient) -> bytes:
    return (await client.ask(MetadataRequest(topics=None), MetadataResponse, 12)).topics[0].topic_id


@pytest.mark.parametrize("version", [7, 12, 13, 18])
def test_a_session_from_its_first_request_to_its_last(tmp_path: Path, version: int) -> None:
    async def main() -> None:
        async with node_on(tmp_path) as client:
            await create_topic(client, "orders", 3)
            topic_id = await id_of(client) if version >= 13 else NO_UUID

            async def fetch(
                offsets: dict[int, int], session: int, epoch: int, forget: tuple[int, ...] = ()
            ) -> FetchResponse:
                return await client.ask(request(offsets, session, epoch, topic_id, forget), FetchResponse, version)

            first = await fetch({0: 0, 1: 0, 2: 0}, 0, 0)
            assert first.session_id > 0
            assert partitions(first) == {0: False, 1: False, 2: False}
            id = first.session_id
            assert partitions(await fetch({}, id, 1)) == {}
            await produce(client, "orders", "a", partition=1)
            news = await fetch({}, id, 2)
            assert (news.session_id, partitions(news)) == (id, {1: True})
            assert partitions(await fetch({1: 1}, id, 3)) == {}
            await produce(client, "orders", "b", partition=2)
            assert partitions(await fetch({}, id, 4, forget=(2,))) == {}
            last = await fetch({0: 0}, id, -1)
            assert (last.session_id, partitions(last)) == (0, {0: False})
            gone = await fetch({}, id, 5)
            assert gone.error_code == ErrorCode.FETCH_SESSION_ID_NOT_FOUND

    asyncio.run(main())


def test_a_wrong_epoch_and_a_mix_of_names_and_ids(tmp_path: Path) -> None:
    async def main() -> None:
        async with node_on(tmp_path) as client:
            await create_topic(client, "orders")
            id = (await client.ask(request({0: 0}, 0, 0), FetchResponse, 12)).session_id
            answer = await client.ask(request({}, id, 7), FetchResponse, 12)
            assert (answer.error_code, answer.session_id) == (ErrorCode.INVALID_FETCH_SESSION_EPOCH, 0)
            answer = await client.ask(request({}, id, 1), FetchResponse, 13)
            assert answer.error_code == ErrorCode.FETCH_SESSION_TOPIC_ID_ERROR
            answer = await client.ask(request({}, id, 1), FetchResponse, 12)
            assert answer.error_code == ErrorCode.NONE

    asyncio.run(main())


def test_a_fetch_that_waits_is_woken_within_its_session(tmp_path: Path) -> None:
    async def main() -> None:
        async with node_on(tmp_path) as client:
            await create_topic(client, "orders", 2)
            id = (await client.ask(request({0: 0, 1: 0}, 0, 0), FetchResponse, 12)).session_id
            waiting = FetchRequest(max_wait_ms=30_000, min_bytes=1, session_id=id, session_epoch=1, topics=())
            client.send(waiting, 12)
            other = await client.another()
            await produce(other, "orders", "a", partition=1)
            assert partitions(await client.receive(FetchResponse, 12)) == {1: True}
            await other.close()

    asyncio.run(main())
