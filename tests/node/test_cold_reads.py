"""Fetches of what is not in memory: a thread waits for the disk, the loop does not."""

import asyncio
import os
import threading
from pathlib import Path

import pytest

from odradek.process.files import File, NotCached, OsFiles
from odradek.process.machine import Machine
from odradek.records.batch import parse_head
from odradek.records.record import read_records
from odradek.wire.messages.fetch import FetchPartition, FetchRequest, FetchResponse, FetchTopic
from support.disk import FaultyDisk
from support.raw_client import RawClient
from support.running_node import create_topic, node_on, produce

DATA = Path("/data")


async def fetch(client: RawClient, topic: str, offset: int) -> list[str]:
    part = FetchPartition(partition=0, fetch_offset=offset, partition_max_bytes=1 << 20)
    request = FetchRequest(topics=(FetchTopic(topic=topic, partitions=(part,)),), max_wait_ms=0, min_bytes=1)
    data = (await client.ask(request, FetchResponse, 12)).responses[0].partitions[0]
    assert data.error_code == 0
    assert isinstance(data.records, memoryview)
    batches = data.records
    found = []
    while batches:
        head = parse_head(batches)
        found += [record.value.decode() for record in read_records(batches[: head.size], head) if record.value]
        batches = batches[head.size :]
    return found


def test_the_loop_does_not_wait_for_the_disk() -> None:
    disk = FaultyDisk("/data")
    values = [f"{number:0200000d}" for number in range(20)]

    async def main() -> None:
        machine = Machine(files=disk, children=0)
        async with node_on(DATA, machine=machine) as client:
            # An entry in the index for every batch, and some segments: indexes are read, and not only heads.
            assert await create_topic(client, "orders", segment_bytes="1048576", index_interval_bytes="0") == 0
            for value in values:
                await produce(client, "orders", value)
        async with node_on(DATA, machine=machine) as client:
            segments = [path for path in disk.tree() if "orders-0/" in path and path.endswith((".log", ".index"))]
            disk.cold = {f"/{path}" for path in segments}
            read = 0
            while read < len(values):
                found = await fetch(client, "orders", read)
                assert found == values[read : read + len(found)]
                assert found
                read += len(found)

    asyncio.run(main())
    assert len(disk.waited) >= 8  # four segments, each with its log and its index
    assert threading.main_thread().name not in disk.waited


def test_others_are_served_while_one_waits(monkeypatch: pytest.MonkeyPatch) -> None:
    disk = FaultyDisk("/data")
    released = threading.Event()
    warm = disk.warm

    def warm_when_released(path: str) -> None:
        if path in disk.cold:
            assert released.wait(30)
        warm(path)

    async def main() -> None:
        async with node_on(DATA, machine=Machine(files=disk, children=0)) as client:
            await create_topic(client, "orders")
            await produce(client, "orders", "old")
            disk.cold = {f"/{path}" for path in disk.tree() if "orders-0/" in path and path.endswith(".log")}
            monkeypatch.setattr(disk, "warm", warm_when_released)
            other = await client.another()
            waiting = asyncio.ensure_future(fetch(client, "orders", 0))
            await create_topic(other, "payments")
            await produce(other, "payments", "new")
            assert await fetch(other, "payments", 0) == ["new"]
            assert not waiting.done()
            released.set()
            assert await waiting == ["old"]
            await other.close()

    asyncio.run(main())


def test_the_system_tells_what_it_has_in_memory(tmp_path: Path) -> None:
    """On a file system that can tell and that forgets when asked to; others read as ever."""
    path = tmp_path / "segment"
    content = os.urandom(1 << 20)
    path.write_bytes(content)
    file = OsFiles().open(str(path))
    file.check_cached(len(content), 0)
    assert file.read_cached(len(content), 0) == content
    assert file.read_cached(100, len(content) - 10) == content[-10:]
    file.sync()
    os.posix_fadvise(file.fileno(), 0, 0, os.POSIX_FADV_DONTNEED)
    if (cold := not_cached(file, len(content))) is not None:
        assert file.read(cold.size, cold.at) == content[cold.at : cold.at + cold.size]
    assert not_cached(file, len(content)) is None
    assert file.read_cached(len(content), 0) == content
    file.close()


def not_cached(file: File, size: int) -> NotCached | None:
    try:
        file.check_cached(size, 0)
    except NotCached as cold:
        return cold
    return None
