"""Directories for a new node."""

import os
from typing import Any

import pytest

from odradek.metadata.bootstrap import feature_records
from odradek.metadata.uuids import from_text
from odradek.model.errors import InvalidConfig
from odradek.quorum import snapshot_file
from odradek.quorum.formatting import Identity, format_directories
from odradek.storage import meta_properties
from support.clock import ManualClock
from support.disk import Died, FaultyDisk

CLUSTER_ID = "abcdefghijklmnopqrstuQ"


def test_each_directory_gets_an_id_and_the_same_features(make_node: Any) -> None:
    disk = FaultyDisk("/one")
    node = make_node(disk, "/one", "/two")
    assert node.format(node_id=7) == ("/one", "/two")
    disk.power_loss()
    metas = [meta_properties.read(disk, path) for path in ("/one", "/two")]
    assert all((meta.cluster_id, meta.node_id) == (CLUSTER_ID, 7) for meta in metas if meta)
    assert len({meta.directory_id for meta in metas if meta}) == 2
    assert all(len(from_text(meta.directory_id or "")) == 16 for meta in metas if meta)
    for path in ("/one", "/two"):
        content = snapshot_file.parse(disk.read_whole(f"{path}/bootstrap.checkpoint"), path)
        assert content.records == feature_records()
        assert content.timestamp == 0


def test_a_second_time_changes_nothing(node: Any, disk: FaultyDisk) -> None:
    before = disk.tree()
    assert node.format() == ()
    assert disk.tree() == before


def test_a_directory_of_another_node_is_refused_before_anything_is_written(make_node: Any) -> None:
    disk = FaultyDisk("/one", "/two")
    make_node(disk, "/two").format(node_id=2)
    before = disk.tree()
    with pytest.raises(InvalidConfig, match="/two belongs to node 2"):
        make_node(disk, "/one", "/two").format(node_id=1)
    assert disk.tree() == before


@pytest.mark.parametrize("identity", [Identity("short", 1), Identity("", 1), Identity(CLUSTER_ID, -1)])
def test_names_that_cannot_be(disk: FaultyDisk, identity: Identity) -> None:
    with pytest.raises(InvalidConfig):
        format_directories(disk, ["/data"], identity, lambda: os.urandom(16), ManualClock())


def test_death_in_between_is_met_by_doing_it_again(make_node: Any) -> None:
    for number in range(1, 40):
        disk = FaultyDisk("/one")
        node = make_node(disk, "/one", "/two")
        disk.die_at(number)
        try:
            node.format()
        except Died:
            disk.power_loss()
            node.format()
            assert node.open().image.features
        else:
            return
    raise AssertionError("it takes fewer changes than that")
