"""The files with one small fact each: whose directory it is, which topic it belongs to, that the stop was clean."""

import pytest

from odradek.model.errors import CorruptFile, NewerVersion
from odradek.storage import clean_shutdown, meta_properties, partition_metadata
from odradek.storage.meta_properties import MetaProperties
from support.disk import FaultyDisk

META = MetaProperties("MkU3OEVBNTcwNTJENDM2Qg", 7, "q3f1u2J8T5yK0aX9vB4cDw")


def test_meta_properties_are_written_as_kafka_reads_them() -> None:
    disk = FaultyDisk("/data")
    assert meta_properties.read(disk, "/data") is None
    meta_properties.write(disk, "/data", META)
    assert disk.tree("/data")["meta.properties"].splitlines() == [
        b"cluster.id=MkU3OEVBNTcwNTJENDM2Qg",
        b"node.id=7",
        b"version=1",
        b"directory.id=q3f1u2J8T5yK0aX9vB4cDw",
    ]
    disk.power_loss()
    assert meta_properties.read(disk, "/data") == META


def test_meta_properties_may_have_comments_spaces_and_fields_that_we_do_not_know() -> None:
    data = b"#\n# Thu Jan 01\n! old style\n\n version = 1 \r\nnode.id=7\ncluster.id=a\\:b\\=c\\\\d\nnew.field=x=y\n"
    meta = meta_properties.parse(data, "m")
    assert meta == MetaProperties("a:b=c\\d", 7, None, (("new.field", "x=y"),))
    assert meta_properties.parse(meta_properties.pack(meta), "m") == meta


def test_a_backslash_before_a_colon_is_not_taken_for_an_escaped_colon() -> None:
    meta = MetaProperties("a\\:b", 7, None)
    assert meta_properties.parse(meta_properties.pack(meta), "m") == meta


@pytest.mark.parametrize(
    ("data", "said"),
    [
        (b"version=1\nnode.id=7\n", "no cluster.id"),
        (b"version=1\ncluster.id=c\n", "no node.id"),
        (b"version=1\ncluster.id=c\nnode.id=seven\n", "node.id 'seven' is no number"),
        (b"version=1\ncluster.id=c\nnode.id=" + b"7" * 5000, "node.id .* is no number"),
        (b"version=1\ncluster.id\n", "line 2: 'cluster.id' has no '='"),
        (b"\xff", "at 0: not text"),
        (b"", "version"),
    ],
)
def test_corrupt_meta_properties_are_named(data: bytes, said: str) -> None:
    with pytest.raises(CorruptFile, match=f"^d/meta.properties.*{said}"):
        meta_properties.parse(data, "d/meta.properties")


def test_meta_properties_of_a_newer_version_are_refused_as_such() -> None:
    with pytest.raises(NewerVersion, match="version 2"):
        meta_properties.parse(b"version=2\ncluster.id=c\nnode.id=1\n", "m")


def test_partition_metadata_holds_the_topic_id() -> None:
    packed = partition_metadata.pack("Kq6pOCYTQtqkJn4sW6DLcw")
    assert packed == b"version: 0\ntopic_id: Kq6pOCYTQtqkJn4sW6DLcw"
    assert partition_metadata.parse(packed, "p") == "Kq6pOCYTQtqkJn4sW6DLcw"
    assert partition_metadata.parse(packed + b"\n", "p") == "Kq6pOCYTQtqkJn4sW6DLcw"


@pytest.mark.parametrize(
    "data",
    [
        b"",
        b"version: 0",
        b"version: 0\ntopic_id: short",
        b"\0" * 44,
        b"\xff" * 44,
        b"version: x\ntopic_id: " + b"a" * 22,
    ],
)
def test_corrupt_partition_metadata_is_named(data: bytes) -> None:
    with pytest.raises(CorruptFile, match=r"^some/partition\.metadata"):
        partition_metadata.parse(data, "some/partition.metadata")


def test_the_marker_of_a_clean_stop_has_the_broker_epoch() -> None:
    assert clean_shutdown.pack(7) == b'{"version":0,"brokerEpoch":7}'
    assert clean_shutdown.parse(clean_shutdown.pack(7)) == 7


@pytest.mark.parametrize(
    "data",
    [
        b"",
        b"null",
        b"[]",
        b"7",
        b"{}",
        b'{"version":1,"brokerEpoch":7}',
        b'{"version":0}',
        b'{"version":0,"brokerEpoch":"x"}',
        b'{"version":0,"brokerEpoch":1e999}',
        b'{"version":0,"brokerEpoch":NaN}',
        b'{"version":0,"brokerEpoch":' + b"9" * 5000 + b"}",
        b"[" * 100_000,
        b"\xff",
        b"\0" * 29,
    ],
    ids=repr,
)
def test_a_marker_that_makes_no_sense_has_no_epoch(data: bytes) -> None:
    assert clean_shutdown.parse(data) == -1
