"""kill -9 of a broker under commits: what was acknowledged is committed, and nothing that nobody sent.

ODRADEK_EXAMPLES=15 ./run test tests/crash/test_commits_kill.py      75 kills instead of 5
"""

import asyncio
from pathlib import Path
from random import Random

import pytest

from odradek.model.error_code import ErrorCode
from odradek.testing.broker import RunningBroker, running_broker
from odradek.wire.messages.find_coordinator import FindCoordinatorRequest, FindCoordinatorResponse
from odradek.wire.messages.offset_commit import OffsetCommitRequest, OffsetCommitResponse
from odradek.wire.messages.offset_fetch import OffsetFetchRequest, OffsetFetchRequestGroup, OffsetFetchResponse
from support.examples import examples
from support.offset_stage import offsets
from support.raw_client import RawClient

pytestmark = pytest.mark.slow

GROUPS = tuple(f"group-{number}" for number in range(6))
SETTINGS = {"offsets.topic.num.partitions": "3"}
IN_FLIGHT = 20
LIMIT_S = 120


class Ledger:
    """For each group, the last offset that was sent and the last that was acknowledged."""

    def __init__(self) -> None:
        self.next = 0
        self.sent = dict.fromkeys(GROUPS, -1)
        self.acknowledged = dict.fromkeys(GROUPS, -1)


async def commit_until_cut_off(port: int, ledger: Ledger, rng: Random, kill_after: int, broker: RunningBroker) -> None:
    """Some requests are under way at any moment; the broker is killed after so many answers."""
    client = await RawClient.connect("127.0.0.1", port)
    under_way: list[tuple[str, int]] = []
    answers = 0
    try:
        while True:
            while len(under_way) < IN_FLIGHT:
                group, offset = rng.choice(GROUPS), ledger.next
                ledger.next += 1
                request = OffsetCommitRequest(group_id=group, member_id="", topics=(offsets("orders", offset, 0, 1),))
                client.send(request, 8)
                ledger.sent[group] = offset
                under_way.append((group, offset))
            if answers == kill_after:
                broker.kill()
            response = await client.receive(OffsetCommitResponse, 8)
            assert {each.error_code for each in response.topics[0].partitions} == {ErrorCode.NONE}
            group, offset = under_way.pop(0)
            ledger.acknowledged[group] = offset
            answers += 1
    except (asyncio.IncompleteReadError, ConnectionError):
        await client.close()


async def check(port: int, ledger: Ledger) -> None:
    client = await RawClient.connect("127.0.0.1", port)
    for group in GROUPS:
        while True:
            request = OffsetFetchRequest(groups=(OffsetFetchRequestGroup(group_id=group, topics=None),))
            (found,) = (await client.ask(request, OffsetFetchResponse, 8)).groups
            if found.error_code != ErrorCode.COORDINATOR_LOAD_IN_PROGRESS:
                break
        assert found.error_code == ErrorCode.NONE
        committed = [each.committed_offset for topic in found.topics for each in topic.partitions] or [-1, -1]
        assert committed[0] == committed[1], "a commit is there as a whole"
        assert ledger.acknowledged[group] <= committed[0] <= ledger.sent[group]
        ledger.acknowledged[group] = committed[0]
    await client.close()


async def find_all(port: int) -> None:
    client = await RawClient.connect("127.0.0.1", port)
    await client.ask(FindCoordinatorRequest(coordinator_keys=GROUPS), FindCoordinatorResponse, 4)
    await client.close()


def test_acknowledged_commits_outlive_the_broker(tmp_path: Path) -> None:
    seed = Random().randrange(1 << 32)
    print(f"seed {seed}")  # noqa: T201 - shown if it fails
    rng = Random(seed)
    ledger = Ledger()

    async def life(broker: RunningBroker) -> None:
        async with asyncio.timeout(LIMIT_S):
            await commit_until_cut_off(broker.port, ledger, rng, rng.randrange(1_500), broker)
            broker.start()
            await check(broker.port, ledger)

    with running_broker(SETTINGS, directory=tmp_path / "data") as broker:
        broker.create_topic("orders", 2)
        asyncio.run(find_all(broker.port))
        for _ in range(examples(5)):
            asyncio.run(life(broker))
        unexpected = [line for line in broker.log if "ERROR" in line or "Traceback" in line]
        assert unexpected == []
