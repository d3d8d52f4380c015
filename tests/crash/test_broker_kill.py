"""kill -9 of a whole broker at any moment, under load: what was acknowledged is there.

ODRADEK_EXAMPLES=15 ./run test tests/crash/test_broker_kill.py      300 rounds instead of 20
"""

import asyncio
import importlib.util
import json
import subprocess
import sys
from collections import defaultdict
from pathlib import Path
from random import Random
from types import ModuleType
from typing import Any

import pytest

from odradek.testing.broker import RunningBroker, running_broker
from odradek.testing.examples import examples
from odradek.testing.raw_client import RawClient
from odradek.testing.reading import EARLIEST, Found, fetch, offset_of, read_partition, records_of
from odradek.wire.messages.describe_configs import (
    DescribeConfigsRequest,
    DescribeConfigsResource,
    DescribeConfigsResponse,
)
from odradek.wire.messages.metadata import MetadataRequest, MetadataResponse

pytestmark = pytest.mark.slow

CHILD = Path(__file__).with_name("loading_child.py")
SETTINGS = {
    "log.flush.offset.checkpoint.interval.ms": "100",
    "log.retention.check.interval.ms": "50",
    "log.segment.delete.delay.ms": "100",
    "metadata.log.max.record.bytes.between.snapshots": "2000",
    "metadata.max.retention.bytes": "50000",
    "internal.metadata.log.segment.bytes": "20000",
}
SMALL = {"internal.segment.bytes": "60000", "index.interval.bytes": "500"}
AGED = {**SMALL, "retention.bytes": "200000"}
KILLS = 10
"""On one directory; then all of it is checked."""


@pytest.fixture(scope="module")
def child() -> ModuleType:
    spec = importlib.util.spec_from_file_location("loading_child", CHILD)
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


def test_nothing_acknowledged_is_lost(tmp_path: Path, child: ModuleType) -> None:
    seed = Random().randrange(1 << 32)
    print(f"seed {seed}")  # noqa: T201 - shown if it fails
    rng = Random(seed)
    for number in range(examples(2)):
        told = live_and_die(tmp_path / str(number), rng, child)
        print(f"life {number}: {told}")  # noqa: T201


def live_and_die(directory: Path, rng: Random, child: ModuleType) -> str:
    directory.mkdir()
    with running_broker(SETTINGS, directory=directory / "data") as broker:
        broker.create_topic("orders", 3, SMALL)
        broker.create_topic("aged", 2, AGED)
        broker.create_topic("cut", 1, SMALL)
        broker.create_topic("settings")
        ledger = load_and_kill(broker, rng, directory / "ledger.json")
        assert ledger["errors"] == []
        told = asyncio.run(check_all(broker.port, ledger, rng, child))
        unexpected = [line for line in broker.log if "ERROR" in line or "Traceback" in line or "internal error" in line]
        assert unexpected == []
    verified = subprocess.run(
        [sys.executable, "-m", "odradek", "log", "verify", "--deep", str(directory / "data")],
        capture_output=True,
        text=True,
        check=False,
    )
    assert verified.returncode == 0, verified.stdout
    return f"{told}; {verified.stdout.splitlines()[-1]}"


def load_and_kill(broker: RunningBroker, rng: Random, path: Path) -> dict[str, Any]:
    """Returns what the child was told, after the broker was killed some times and started again."""
    command = [sys.executable, str(CHILD), str(broker.port), str(rng.randrange(1 << 32)), str(path)]
    with subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE) as process:
        try:
            for _ in range(KILLS):
                wait_for_answers(process, rng.randrange(400))
                broker.kill()
                if rng.random() < 0.3:
                    die_while_starting(broker, rng.random() * 0.4)
                broker.start()
            process.communicate()
        except BaseException:
            process.kill()  # it would wait for ever for a broker that does not start
            raise
    assert process.returncode == 0
    ledger: dict[str, Any] = json.loads(path.read_text(encoding="utf-8"))
    return ledger


def wait_for_answers(process: subprocess.Popen[bytes], count: int) -> None:
    assert process.stdout is not None
    for _ in range(count):
        assert process.stdout.readline(), "the child gave up"


def die_while_starting(broker: RunningBroker, after_s: float) -> None:
    """Killed in the middle of a recovery, or soon after it."""
    command = [sys.executable, "-m", "odradek", "serve", "--data", str(broker.directory)]
    command += ["--listen", broker.bootstrap]
    for name, value in SETTINGS.items():
        command += ["--set", f"{name}={value}"]
    with subprocess.Popen(command, stderr=subprocess.DEVNULL) as process:
        with pytest.raises(subprocess.TimeoutExpired):
            process.wait(after_s)
        process.kill()


async def check_all(port: int, ledger: dict[str, Any], rng: Random, child: ModuleType) -> str:
    client = await RawClient.connect("127.0.0.1", port)
    acknowledged: dict[tuple[str, int], list[tuple[str, int, int, int]]] = defaultdict(list)
    for producer, topic, partition, first, size, base in ledger["batches"]:
        acknowledged[topic, partition].append((producer, first, size, base))
    records = 0
    for (topic, partition), batches in sorted(acknowledged.items()):
        found = await read_partition(client, topic, partition)
        check_records(found, batches, child)
        check_idempotent(found, batches)
        await check_lookups(client, (topic, partition), found, rng)
        assert topic == "aged" or found.start == 0
        records += len(found.records)
    await check_metadata(client, ledger)
    assert (await read_partition(client, "cut")).start >= ledger["cut"]
    await client.close()
    return f"{len(ledger['batches'])} batches acknowledged, {records} records there, {len(ledger['topics'])} topics"


def check_records(found: Found, batches: list[tuple[str, int, int, int]], child: ModuleType) -> None:
    """Offsets have no gaps, and what was acknowledged is where the answer said."""
    assert [record.offset for record in found.records] == list(range(found.start, found.end))
    for producer, first, size, base in batches:
        assert base + size <= found.end, "acknowledged, and lost"
        for number in range(size):
            offset = base + number
            if offset >= found.start:
                assert found.records[offset - found.start].value == child.value_of(producer, first + number)


def check_idempotent(found: Found, batches: list[tuple[str, int, int, int]]) -> None:
    """Each record once, and in order; all of them are acknowledged by now."""
    heard: dict[str, list[int]] = defaultdict(list)
    for record in found.records:
        name, number, _ = (record.value or b"").split(b"/", 2)
        heard[name.decode()].append(int(number))
    for producer, numbers in heard.items():
        sent = sum(size for name, _, size, _ in batches if name == producer)
        if producer.startswith("idempotent"):
            assert numbers == list(range(numbers[0], sent))
        assert numbers[0] == 0 or found.start > 0


async def check_lookups(client: RawClient, place: tuple[str, int], found: Found, rng: Random) -> None:
    start = found.start
    for _ in range(20):
        offset = rng.randrange(start, found.end)
        time = rng.choice(found.records).timestamp + rng.randrange(-2, 3)
        data, by_time = await fetch(client, *place, offset), await offset_of(client, *place, time)
        known, start = start, await offset_of(client, *place, EARLIEST)
        if start == known:  # else retention was at work in between
            assert found.records[offset - found.start] in records_of(data)
            later = (each.offset for each in found.records if each.timestamp >= time and each.offset >= start)
            assert by_time == next(later, -1)


async def check_metadata(client: RawClient, ledger: dict[str, Any]) -> None:
    response = await client.ask(MetadataRequest(topics=None), MetadataResponse, 12)
    there = {topic.name for topic in response.topics}
    for name, state in ledger["topics"].items():
        assert state == "unknown" or (name in there) == (state == "there")
    assert {"orders", "aged", "cut", "settings"} <= there <= {"orders", "aged", "cut", "settings", *ledger["topics"]}
    assert len(set(ledger["producer_ids"])) == len(ledger["producer_ids"])
    resource = DescribeConfigsResource(resource_type=2, resource_name="settings", configuration_keys=("retention.ms",))
    described = await client.ask(DescribeConfigsRequest(resources=(resource,)), DescribeConfigsResponse, 4)
    assert int(described.results[0].configs[0].value or "") >= ledger["setting"]
