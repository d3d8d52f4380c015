"""A node that dies in the middle of a move, at every change that it makes: all that was acknowledged is there, for us
and for Apache Kafka.

Kafka takes the log that has the partition's name, and one that is still to get it where the metadata names its
directory. It does not start where two have the name.
"""

import asyncio
from functools import partial
from random import Random

import pytest

from odradek.metadata.uuids import from_text
from odradek.model.numbers import Offset
from odradek.model.topic_partition import TopicPartition
from odradek.quorum.metadata_log import MetadataLog
from odradek.quorum.opening import MetadataSetting
from odradek.storage.log import Log
from odradek.storage.log_dir import LogDir
from odradek.storage.names import Mark, parse_dir_name
from support.clock import ManualClock
from support.disk import FaultyDisk, disks_after_death
from support.logs import ORDERS, append, open_dirs, setting, values
from support.metadata import a_publisher
from support.move_stage import NODE_ID, PATHS, MoveStage
from support.pool import AtOncePool

COUNT = 40


def a_node_with_records() -> FaultyDisk:
    disk = FaultyDisk(*PATHS, clock=ManualClock())
    stage = MoveStage(disk)
    stage.create()
    stage.fill(0, COUNT)
    stage.close()
    return disk


def _is_settled(log: Log) -> bool:
    return log.durable_end == log.end_offset


class Writer:
    """Moves the partition to /b, and writes while it moves. Knows what was acknowledged."""

    def __init__(self, *, sync: bool) -> None:
        self.acknowledged = 0
        self._sync = sync

    def act(self, disk: FaultyDisk) -> None:
        self.acknowledged = COUNT
        asyncio.run(self._act(MoveStage(disk)))

    async def _act(self, stage: MoveStage) -> None:
        await stage.moves.begin(ORDERS, "/b")
        self._write(stage)

        turns = 0

        def write_on() -> bool:
            nonlocal turns
            turns += 1
            if turns % 4 == 0 or not _is_settled(stage.log()):  # at any moment, and most of all in the last step
                self._write(stage)
            return stage.log().directory == "/b/orders-0" and _is_settled(stage.log())

        await stage.run_moves(write_on)
        self._write(stage)

    def _write(self, stage: MoveStage) -> None:
        log = stage.log()
        stage.fill(log.end_offset, log.end_offset + 1)
        if not _is_settled(log):  # in the last step of the move, as for flush.messages=1
            synced = stage.broker.flusher.request(log)
            synced.add_done_callback(partial(self._synced, log.end_offset))
            return
        if self._sync:
            log.sync()
        self.acknowledged = log.end_offset

    def _synced(self, end: int, synced: "asyncio.Future[None]") -> None:
        if not synced.cancelled() and synced.exception() is None:
            self.acknowledged = max(self.acknowledged, end)


def plain_and_future(disk: FaultyDisk) -> tuple[list[str], list[str]]:
    """Log directories with the partition under its own name, and with one that is to get it."""
    found: dict[Mark, list[str]] = {mark: [] for mark in Mark}
    for path in PATHS:
        for entry in disk.list(path):
            if entry.is_dir and entry.name.startswith("orders"):
                found[parse_dir_name(entry.name).mark].append(path)
    return found[Mark.NONE], found[Mark.FUTURE]


def metadata_names(disk: FaultyDisk) -> str | None:
    """As the records say that are on the disk, before any node mends anything."""
    tried = disk.copy()
    dirs = open_dirs(tried, *PATHS, given=setting(clock=tried.clock))
    image = MetadataLog.open(dirs.dirs[0], MetadataSetting(node_id=NODE_ID), AtOncePool(), a_publisher()).image
    topic = image.topics.get("orders")
    assert topic is not None
    (directory,) = topic.partitions[0].directories
    ids = {from_text(each.meta.directory_id): each.path for each in dirs.dirs if each.meta and each.meta.directory_id}
    dirs.abandon()
    return ids.get(directory)


def what_kafka_would_take(disk: FaultyDisk) -> list[int]:
    plain, future = plain_and_future(disk)
    assert len(plain) <= 1, "two directories of one name: Apache Kafka does not start"
    assert len(future) <= 1
    path = metadata_names(disk)
    dirs = open_dirs(disk.copy(), *PATHS, given=setting(clock=disk.clock))
    taken = dirs.get(ORDERS)
    if future and future[0] == path:
        taken = dirs.future_of(ORDERS)
    assert taken is not None, "no directory of the partition that Apache Kafka would take"
    return [int(value) for value in values(taken)]


def check(left: FaultyDisk, needed: int, places: set[str]) -> None:
    """Nothing is lost, whoever is the next; and the move comes to its end, if it had begun."""
    assert what_kafka_would_take(left)[:needed] == list(range(needed))
    stage = MoveStage(left)
    places.add(stage.place())
    assert stage.numbers()[:needed] == list(range(needed))
    had_begun = stage.logs.future_of(ORDERS) is not None or stage.place() == "/b"
    asyncio.run(stage.run_moves())
    assert stage.place() == ("/b" if had_begun else "/a")
    numbers = stage.numbers()
    assert numbers[:needed] == list(range(needed))
    append(stage.log(), "9999", epoch=stage.log().epochs.latest)
    stage.close()
    assert MoveStage(left).numbers() == [*numbers, 9999]


@pytest.mark.slow
def test_a_kill_at_every_step_loses_nothing() -> None:
    writer, places, tried = Writer(sync=False), set[str](), 0
    for left in disks_after_death(a_node_with_records(), writer.act):
        check(left, writer.acknowledged, places)
        tried += 1
    assert places == {"/a", "/b"}
    assert tried > 100


@pytest.mark.slow
def test_power_loss_at_every_step_loses_nothing_that_was_synced() -> None:
    writer, places = Writer(sync=True), set[str]()
    for number, left in enumerate(disks_after_death(a_node_with_records(), writer.act)):
        for seed in (None, number, number + 1000):
            after = left.copy()
            after.power_loss(None if seed is None else Random(seed))
            check(after, writer.acknowledged, places)
    assert places == {"/a", "/b"}


# --- what others leave


async def assign(stage: MoveStage, log_dir: LogDir) -> None:
    assert await stage.moves._assign(ORDERS, log_dir)


def test_a_name_in_the_metadata_that_came_too_early() -> None:
    """Apache Kafka names the new directory before it has everything: what the old one has more is not lost."""
    disk = a_node_with_records()
    stage = MoveStage(disk)
    stage.begin("/b")
    future = stage.logs.future_of(ORDERS)
    assert future is not None
    asyncio.run(assign(stage, stage.logs.dirs[1]))
    assert metadata_names(disk) == "/b"
    disk.crash()
    again = MoveStage(disk)
    assert (again.place(), again.named(), again.numbers()) == ("/a", "/a", list(range(COUNT)))
    asyncio.run(again.run_moves())
    assert (again.place(), again.named(), again.numbers()) == ("/b", "/b", list(range(COUNT)))


def test_a_copy_of_another_past_is_cut() -> None:
    """The future log has records that the partition's own lost in a crash, and others took their offsets."""
    disk = a_node_with_records()
    stage = MoveStage(disk)
    stage.begin("/b")
    future = stage.logs.future_of(ORDERS)
    assert future is not None
    epoch = stage.log().epochs.latest
    for number in range(COUNT + 5):
        append(future, f"{number if number < 10 else 5000 + number:04d}", epoch=epoch if number >= 10 else 0)
    stage.close()
    again = MoveStage(disk)
    again.fill(COUNT, COUNT + 3)
    asyncio.run(again.run_moves())
    assert (again.place(), again.numbers()) == ("/b", list(range(COUNT + 3)))


def test_a_move_of_a_topic_that_is_gone_is_set_aside() -> None:
    disk = a_node_with_records()
    dirs = open_dirs(disk, *PATHS, given=setting(clock=disk.clock))
    gone = TopicPartition("gone", 0)
    append(dirs.create_future(gone, "Kq6pOCYTQtqkJn4sW6DLcw", "/b"), "a")
    dirs.close()
    stage = MoveStage(disk)
    assert stage.logs.future_of(gone) is None
    assert [entry.name[-6:] for entry in disk.list("/b") if entry.name.startswith("gone")] == ["-stray"]


def test_two_copies_at_once() -> None:
    """Which cannot come from us; Apache Kafka would not start."""
    disk = a_node_with_records()
    dirs = open_dirs(disk, *PATHS, given=setting(clock=disk.clock))
    log = dirs.get(ORDERS)
    assert log is not None
    assert log.topic_id is not None
    for path in ("/b", "/c"):
        dirs.create_future(ORDERS, log.topic_id, path)
    dirs.close()
    stage = MoveStage(disk)
    asyncio.run(stage.run_moves())
    assert (stage.place(), stage.numbers()) == ("/b", list(range(COUNT)))
    assert stage.log().end_offset == Offset(COUNT)
