"""What the files of a metadata log say by themselves is what a node that opens them finds."""

from typing import Any

import pytest

from odradek.model.errors import CorruptBatch
from odradek.quorum.reading import read_metadata
from odradek.wire.records.metadata import TopicRecord
from support.disk import FaultyDisk
from support.metadata import commit_now

DIRECTORY = "/data/__cluster_metadata-0"
LOG = f"{DIRECTORY}/00000000000000000000.log"


def topic(name: str) -> TopicRecord:
    return TopicRecord(name=name, topic_id=name.encode().ljust(16))


@pytest.fixture
def written(node: Any, disk: FaultyDisk) -> FaultyDisk:
    """A log of four topics, with a snapshot of the first two."""
    metadata = node.open()
    for name in ("a", "b"):
        commit_now(metadata, (topic(name),))
    metadata.write_snapshot_now()
    for name in ("c", "d"):
        commit_now(metadata, (topic(name),))
    node.close()
    return disk


def write(disk: FaultyDisk, path: str, data: bytes) -> None:
    file = disk.open(path)
    file.truncate(0)
    file.write(data, 0)
    file.close()


def names(disk: FaultyDisk) -> list[str]:
    return sorted(read_metadata(disk, DIRECTORY).image.topics.names)


def test_it_is_what_a_node_finds(written: FaultyDisk, node: Any) -> None:
    before = written.tree()
    found = read_metadata(written, DIRECTORY)
    assert written.tree() == before
    assert found.static_voters == (1,)
    assert found.image.voters.kraft_version == 0
    opened = node.open()
    assert found.image.topics.names == opened.image.topics.names
    assert found.image.features == opened.image.features
    assert found.image.end_offset < opened.image.end_offset  # a node begins an epoch of its own
    node.close()


def test_a_damaged_snapshot_is_passed_over(written: FaultyDisk) -> None:
    (snapshot,) = [entry.name for entry in written.list(DIRECTORY) if entry.name.endswith(".checkpoint")]
    write(written, f"{DIRECTORY}/{snapshot}", b"damaged")
    assert names(written) == ["a", "b", "c", "d"]  # the log has all of it, too


def test_a_torn_tail_does_not_count(written: FaultyDisk) -> None:
    content = written.read_whole(LOG)
    write(written, LOG, content[:-1])
    assert names(written) == ["a", "b", "c"]
    write(written, LOG, content[:-1] + b"\xff")
    assert names(written) == ["a", "b", "c"]


def test_damage_before_the_last_segment_is_told(written: FaultyDisk) -> None:
    content = bytearray(written.read_whole(LOG))
    content[-1] ^= 1
    write(written, LOG, bytes(content))
    written.open(f"{DIRECTORY}/{99:020d}.log", create=True).close()
    with pytest.raises(CorruptBatch):
        read_metadata(written, DIRECTORY)
