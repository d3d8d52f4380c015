"""The groups of data directories that Apache Kafka 4.3.0 wrote, served by a node of ours."""

import asyncio
import shutil
from pathlib import Path
from typing import Any

import pytest

from odradek.coordinators.partitioning import partition_of
from odradek.model.error_code import ErrorCode
from odradek.process.files import OsFiles
from odradek.storage.log_dirs import LogDirs
from odradek.storage.open_files import OpenFiles
from odradek.wire import offset_commit_record
from odradek.wire.messages.offset_fetch import OffsetFetchRequest, OffsetFetchRequestGroup, OffsetFetchResponse
from odradek.wire.records.offsets import OffsetCommitKey, OffsetCommitValue
from odradek.wire.stored import CONSUMER_OFFSETS, write_coordinator_key, write_coordinator_value
from support.logs import setting
from support.raw_client import RawClient
from support.running_node import node_on


@pytest.fixture(params=["clean", "crashed"])
def data(request: pytest.FixtureRequest, golden_data: Path, tmp_path: Path) -> Path:
    shutil.copytree(golden_data / request.param, tmp_path / "data")
    return tmp_path / "data"


async def committed(client: RawClient, group: str) -> dict[str, int]:
    wanted = OffsetFetchRequest(groups=(OffsetFetchRequestGroup(group_id=group, topics=None),), require_stable=True)
    while True:
        (found,) = (await client.ask(wanted, OffsetFetchResponse, 9)).groups
        if found.error_code != ErrorCode.COORDINATOR_LOAD_IN_PROGRESS:
            break
    assert found.error_code == ErrorCode.NONE
    return {
        f"{topic.name}-{each.partition_index}": each.committed_offset
        for topic in found.topics
        for each in topic.partitions
    }


def test_committed_offsets_are_there(data: Path, golden_expected: Any) -> None:
    async def scene() -> dict[str, dict[str, int]]:
        async with node_on(data / "d1", data / "d2", ignore_acls=True) as client:
            return {group: await committed(client, group) for group in golden_expected["groups"]}

    assert asyncio.run(scene()) == golden_expected["groups"]


def test_each_record_is_written_as_it_was_read(data: Path) -> None:
    dirs = LogDirs.open(OpenFiles(OsFiles()), [str(data / "d1"), str(data / "d2")], setting())
    types: dict[int, int] = {}
    logs = [log for log in dirs if log.partition.topic == "__consumer_offsets"]
    for log in logs:
        for head, record in log.records(log.start_offset):
            if head.is_control:
                continue
            assert record.key is not None
            key = CONSUMER_OFFSETS.read_key(record.key)
            number = int.from_bytes(record.key[:2], "big")
            types[number] = types.get(number, 0) + 1
            group = key.group if hasattr(key, "group") else key.group_id  # type: ignore[attr-defined]
            assert partition_of(group, len(logs)) == log.partition.partition
            assert write_coordinator_key(key) == record.key
            if record.value is None:
                continue
            value, version = CONSUMER_OFFSETS.read_value(key, record.value)
            assert write_coordinator_value(value, version) == record.value
            if isinstance(key, OffsetCommitKey) and isinstance(value, OffsetCommitValue):
                assert version == offset_commit_record.VERSION
                assert offset_commit_record.key(key) == record.key
                assert offset_commit_record.value(value) == record.value
    dirs.close()
    assert types[1], "offsets"
    assert types[2], "classic groups"
    assert types[3], "consumer groups"
