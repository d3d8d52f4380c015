"""Requests that are wrong in one way each: the answers are those of Apache Kafka 4.3, but where it says otherwise.

`tests/interop/test_bad_requests.py` holds the same table to Apache Kafka itself.
"""

import asyncio
import logging
from collections.abc import Iterator
from struct import pack
from typing import TypeVar

import pytest

from odradek.model.error_code import ErrorCode
from odradek.model.numbers import NO_TIMESTAMP, Offset
from odradek.records.builder import build_batch
from odradek.records.record import Record
from odradek.server.node import Node
from odradek.server.node_setting import NodeSetting
from odradek.wire.frame import request_frame
from odradek.wire.messages.find_coordinator import FindCoordinatorRequest, FindCoordinatorResponse
from odradek.wire.messages.heartbeat import HeartbeatRequest, HeartbeatResponse
from odradek.wire.messages.offset_commit import OffsetCommitRequest, OffsetCommitResponse
from odradek.wire.messages.produce import PartitionProduceData, ProduceRequest, ProduceResponse, TopicProduceData
from odradek.wire.schema import Message
from support.bad_requests import CLOSED, Case, all_cases, outcome
from support.offset_stage import offsets
from support.raw_client import RawClient
from support.running_node import create_topic, produce

M = TypeVar("M", bound=Message)


@pytest.fixture(scope="module")
def runner() -> Iterator[asyncio.Runner]:
    with asyncio.Runner() as runner:
        yield runner


@pytest.fixture(scope="module")
def node(runner: asyncio.Runner, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Node]:
    directory = str(tmp_path_factory.mktemp("data"))

    async def start() -> Node:
        node = await Node.start(NodeSetting(directories=[directory], port=0))
        client = await RawClient.connect(*node.address)
        for name in ("plain", "col.liding", "good"):
            assert await create_topic(client, name) == 0
        assert await create_topic(client, "keyed", 1, cleanup_policy="compact") == 0
        await client.close()
        return node

    node = runner.run(start())
    yield node
    runner.run(node.stop())


@pytest.mark.parametrize("case", all_cases(), ids=lambda case: case.name.replace(" ", "-"))
def test_it_is_refused_as_by_kafka(
    case: Case, runner: asyncio.Runner, node: Node, caplog: pytest.LogCaptureFixture
) -> None:
    async def main() -> int | str:
        async with asyncio.timeout(60):
            found = await outcome(node.address, case)
            good = await RawClient.connect(*node.address)
            assert (await produce(good, "good", "still served")).error_code == 0
            await good.close()
            return found

    with caplog.at_level(logging.WARNING):
        found = runner.run(main())
    assert found == (case.expected if case.ours is None else case.ours)
    assert [record.message for record in caplog.records] == (["closed a connection"] if found == CLOSED else [])


async def ask_broken(client: RawClient, request: Message, kind: type[M], version: int) -> M:
    """With a name that is not UTF-8 in the place of `plain`."""
    sent = b"".join(map(bytes, request_frame(request, version, 1, "bad")))  # type: ignore[arg-type]
    client.send_bytes(sent.replace(b"plain", b"\xfflain"))
    return await client.receive(kind, version)


@pytest.mark.parametrize("version", [7, 8, 9])
def test_a_commit_for_a_name_that_is_not_utf8(
    version: int, runner: asyncio.Runner, node: Node, caplog: pytest.LogCaptureFixture
) -> None:
    async def main() -> OffsetCommitResponse:
        async with asyncio.timeout(60):
            client = await RawClient.connect(*node.address)
            await client.ask(FindCoordinatorRequest(coordinator_keys=("g",)), FindCoordinatorResponse, 4)
            request = OffsetCommitRequest(group_id="g", member_id="", topics=(offsets("plain", 7),))
            assert (await client.ask(request, OffsetCommitResponse, version)).topics[0].partitions[0].error_code == 0
            told = await ask_broken(client, request, OffsetCommitResponse, version)
            assert (await produce(client, "good", "still served")).error_code == 0
            await client.close()
            return told

    with caplog.at_level(logging.WARNING):
        (topic,) = runner.run(main()).topics
    assert topic.name == "\ufffdlain"
    assert [each.error_code for each in topic.partitions] == [ErrorCode.UNKNOWN_TOPIC_OR_PARTITION]
    assert caplog.records == []


def test_names_that_are_not_utf8_in_what_is_read_by_hand(
    runner: asyncio.Runner, node: Node, caplog: pytest.LogCaptureFixture
) -> None:
    async def main() -> None:
        async with asyncio.timeout(60):
            client = await RawClient.connect(*node.address)
            await client.ask(FindCoordinatorRequest(coordinator_keys=("g",)), FindCoordinatorResponse, 4)
            assert (await produce(client, "plain", "once")).error_code == 0
            part = PartitionProduceData(index=0, records=build_batch([Record(Offset(0), NO_TIMESTAMP, b"k", b"v")]))
            topic = TopicProduceData(name="plain", partition_data=(part,))
            for version in (9, 12):
                request = ProduceRequest(acks=-1, timeout_ms=1000, topic_data=(topic,))
                (told,) = (await ask_broken(client, request, ProduceResponse, version)).responses
                assert told.name == "\ufffdlain"
                assert told.partition_responses[0].error_code == ErrorCode.UNKNOWN_TOPIC_OR_PARTITION
            for fields in ({"group_id": "plain", "member_id": "m"}, {"group_id": "g", "member_id": "plain"}):
                beat = HeartbeatRequest(generation_id=1, **fields)
                heard = await ask_broken(client, beat, HeartbeatResponse, 4)
                assert heard.error_code == ErrorCode.UNKNOWN_MEMBER_ID
            await client.close()

    with caplog.at_level(logging.WARNING):
        runner.run(main())
    assert caplog.records == []


def test_half_a_request_and_silence_keeps_nobody_waiting(runner: asyncio.Runner, node: Node) -> None:
    frame = next(case.make() for case in all_cases() if case.name == "a batch in order")

    async def main() -> None:
        silent = [await RawClient.connect(*node.address) for _ in range(20)]
        for number, each in enumerate(silent):
            each.send_bytes(frame[: 1 + number * 4])
        good = await RawClient.connect(*node.address)
        for _ in range(20):
            assert (await produce(good, "good", "served")).error_code == 0
        for each in (good, *silent):
            await each.close()

    runner.run(main())


def test_one_byte_at_a_time(runner: asyncio.Runner, node: Node) -> None:
    cases = {case.name: case for case in all_cases()}

    async def main(case: Case) -> bytes:
        reader, writer = await asyncio.open_connection(*node.address)
        writer.get_extra_info("socket").setsockopt(6, 1, 1)  # each byte leaves by itself
        sent = case.make()
        for at in range(len(sent)):
            writer.write(sent[at : at + 1])
            await asyncio.sleep(0)
        answer = await reader.readexactly(int.from_bytes(await reader.readexactly(4), "big"))
        writer.close()
        return answer

    assert runner.run(main(cases["ApiVersions of the future"]))[4:6] == b"\x00\x23"
    assert runner.run(main(cases["a batch in order"]))[:4] == b"\x00\x00\x00\x01"


def test_only_what_carries_records_may_be_large(runner: asyncio.Runner, node: Node) -> None:
    async def main() -> tuple[bool, int]:
        client, large = await RawClient.connect(*node.address), await RawClient.connect(*node.address)
        names = (2 << 20) + 1
        large.send_bytes(pack(">ihhihi", 14 + 2 * names, 3, 1, 1, -1, names) + bytes(2 * names))
        cut_off = await large.is_cut_off()
        code = (await produce(client, "plain", "x" * (5 << 20))).error_code
        for each in (client, large):
            await each.close()
        return cut_off, code

    assert runner.run(main()) == (True, ErrorCode.MESSAGE_TOO_LARGE)
