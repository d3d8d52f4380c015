"""A node's log directory on a disk in memory, with the metadata log in it."""

from collections.abc import Callable
from concurrent.futures import Executor
from itertools import count
from typing import TYPE_CHECKING, Any

import pytest

from odradek.process.files import Files
from odradek.quorum.formatting import Identity, format_directories
from odradek.quorum.metadata_log import MetadataLog
from odradek.quorum.opening import MetadataSetting
from support.clock import ManualClock
from support.disk import FaultyDisk
from support.logs import open_dirs, setting
from support.metadata import a_publisher
from support.pool import ManualPool

if TYPE_CHECKING:
    from odradek.quorum.publisher import MetadataPublisher

CLUSTER_ID = "abcdefghijklmnopqrstuQ"


class Node:
    """Opens and closes the directories, as often as a story wants."""

    def __init__(self, files: Files, clock: ManualClock, paths: tuple[str, ...] = ("/data",)) -> None:
        self.files = files
        self.clock = clock
        self.paths = paths
        self.publisher_of_next: MetadataPublisher | None = None
        """What the next opening publishes to, in place of one that must not fail."""
        self._numbers = count(1000)

    def new_uuid(self) -> bytes:
        return next(self._numbers).to_bytes(16, "big")

    def format(self, node_id: int = 1) -> tuple[str, ...]:
        return format_directories(self.files, self.paths, Identity(CLUSTER_ID, node_id), self.new_uuid, self.clock)

    def open(self, pool: Executor | None = None, **settings: Any) -> MetadataLog:
        self.dirs = open_dirs(self.files, *self.paths, given=setting(clock=self.clock))
        given = MetadataSetting(**({"node_id": 1} | settings))
        self.publisher = self.publisher_of_next or a_publisher()
        pool = ManualPool() if pool is None else pool  # an empty one is false
        self.metadata = MetadataLog.open(self.dirs.dirs[0], given, pool, self.publisher)
        return self.metadata

    def close(self) -> None:
        self.metadata.close()
        self.dirs.close()


@pytest.fixture
def clock() -> ManualClock:
    return ManualClock()


@pytest.fixture
def disk(clock: ManualClock) -> FaultyDisk:
    return FaultyDisk("/data", clock=clock)


@pytest.fixture
def node(disk: FaultyDisk, clock: ManualClock) -> Node:
    """Formatted."""
    made = Node(disk, clock)
    made.format()
    return made


MakeNode = Callable[..., Node]


@pytest.fixture
def make_node(clock: ManualClock) -> MakeNode:
    """For directories on another disk."""

    def make(files: Files, *paths: str) -> Node:
        return Node(files, clock, paths)

    return make
