"""Requests that are wrong in one way each: the answers are those of Apache Kafka 4.3, but where it says otherwise.

`tests/interop/test_bad_requests.py` holds the same table to Apache Kafka itself.
"""

import asyncio
import logging
from collections.abc import Iterator
from struct import pack

import pytest

from odradek.model.error_code import ErrorCode
from odradek.server.node import Node, NodeSetting
from odradek.testing.bad_requests import CLOSED, Case, all_cases, outcome
from odradek.testing.raw_client import RawClient
from odradek.testing.running_node import create_topic, produce


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
