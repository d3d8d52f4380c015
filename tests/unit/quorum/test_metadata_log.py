"""The metadata log of a quorum of one: what is committed, when it is told, and what a crash leaves of it."""

import asyncio
from collections.abc import Coroutine
from random import Random
from typing import TYPE_CHECKING, Any

import pytest

from odradek.metadata.draft import Inconsistent
from odradek.metadata.features import NEW_CLUSTER
from odradek.metadata.image import Image
from odradek.model.errors import CorruptFile, InvalidConfig, StorageFailed
from odradek.model.numbers import LeaderEpoch
from odradek.quorum import vote_file
from odradek.quorum.publisher import MetadataListener
from odradek.storage import partition_metadata
from odradek.wire.records.metadata import BeginTransactionRecord, RemoveTopicRecord, TopicRecord
from support.disk import Died, FaultyDisk, Op
from support.metadata import commit_now
from support.pool import ManualPool

if TYPE_CHECKING:
    from odradek.quorum.metadata_log import MetadataLog

DIRECTORY = "/data/__cluster_metadata-0"


def topic(name: str) -> TopicRecord:
    return TopicRecord(name=name, topic_id=name.encode().ljust(16))


def names(image: Image) -> list[str]:
    return sorted(image.topics.names)


def tell(story: Coroutine[Any, Any, None]) -> None:
    asyncio.run(asyncio.wait_for(story, 10))


async def let_others_run() -> None:
    for _ in range(5):
        await asyncio.sleep(0)


# --- opening


def test_a_new_directory_begins_with_its_features(node: Any, disk: FaultyDisk) -> None:
    metadata = node.open()
    assert metadata.image.features == NEW_CLUSTER
    assert metadata.image.configs.of(4, "") == {"min.insync.replicas": "1"}
    assert metadata.epoch == 1
    assert metadata.image.offset == 9, "a leader change, begin, six features, one setting, end"
    assert metadata.image.epoch == 1
    assert metadata.image is metadata.latest
    assert metadata.high_watermark == 10
    assert vote_file.read(disk, DIRECTORY) == vote_file.Vote(metadata.epoch, 1, (1,))
    stored = partition_metadata.parse(disk.read_whole(f"{DIRECTORY}/partition.metadata"), "")
    assert stored == "AAAAAAAAAAAAAAAAAAAAAQ"


def test_a_directory_that_is_not_formatted_is_refused(make_node: Any, disk: FaultyDisk) -> None:
    with pytest.raises(InvalidConfig, match="not formatted"):
        make_node(disk, "/data").open()
    assert disk.open_handles == 0


def test_every_start_begins_an_epoch(node: Any) -> None:
    for epoch in (1, 2, 3):
        metadata = node.open()
        assert metadata.epoch == epoch
        commit_now(metadata, [topic(f"t{epoch}")])
        assert metadata.image.epoch == epoch
        node.close()
    assert names(node.open().image) == ["t1", "t2", "t3"]


def test_a_crash_after_the_vote_does_not_use_the_epoch_again(node: Any, disk: FaultyDisk) -> None:
    node.open()
    node.close()
    vote_file.write(disk, DIRECTORY, vote_file.Vote(LeaderEpoch(7), 1, (1,)), 0)
    assert node.open().epoch == 8


def test_a_larger_quorum_is_refused(node: Any, disk: FaultyDisk) -> None:
    node.open()
    node.close()
    vote_file.write(disk, DIRECTORY, vote_file.Vote(LeaderEpoch(7), 2, (1, 2, 3)), 0)
    with pytest.raises(InvalidConfig, match="1, 2, 3"):
        node.open()


def test_the_same_after_a_clean_stop_and_after_a_crash(node: Any, disk: FaultyDisk) -> None:
    metadata = node.open()
    commit_now(metadata, [topic("a"), topic("b")])
    before = metadata.image
    node.close()
    metadata = node.open()
    assert metadata.image.topics == before.topics
    disk.crash()
    assert node.open().image.topics == before.topics


def test_a_log_that_starts_late_without_a_snapshot_is_refused(node: Any, disk: FaultyDisk) -> None:
    node.open()
    node.close()
    disk.rename(f"{DIRECTORY}/{0:020d}.log", f"{DIRECTORY}/{5:020d}.log")
    with pytest.raises(CorruptFile, match="starts at 5"):
        node.open()


def test_an_unfinished_transaction_is_aborted_by_the_next_leader(node: Any) -> None:
    metadata = node.open()
    commit_now(metadata, [topic("kept"), BeginTransactionRecord(), topic("lost")])
    assert names(metadata.image) == ["kept"]
    node.close()
    metadata = node.open()
    commit_now(metadata, [topic("later")])
    assert names(metadata.image) == ["kept", "later"]


# --- committing


def test_records_show_when_they_are_synced(node: Any) -> None:
    pool = ManualPool()
    metadata: MetadataLog = node.open(pool)
    seen: list[list[str]] = []
    listener = MetadataListener("names", lambda _, image: seen.append(names(image)))
    node.publisher.begin([listener], metadata.image)

    async def story() -> None:
        waiting = asyncio.ensure_future(metadata.commit([topic("a")]))
        await let_others_run()
        assert names(metadata.latest) == ["a"]
        assert names(metadata.image) == []
        assert seen == []
        assert not waiting.done()
        pool.run_next()
        image = await waiting
        assert image is metadata.image is metadata.latest
        assert seen == [["a"]]

    tell(story())


def test_one_sync_serves_many_and_all_are_told_in_order(node: Any, disk: FaultyDisk) -> None:
    pool = ManualPool()
    metadata: MetadataLog = node.open(pool)
    created: list[str] = []
    listener = MetadataListener("names", lambda delta, _: created.extend(each.name for each in delta.topics.created))
    node.publisher.begin([listener], metadata.image)

    async def story() -> None:
        waiting = [asyncio.ensure_future(metadata.commit([topic(f"t{number}")])) for number in range(20)]
        await let_others_run()
        syncs = disk.counts[Op.SYNC]
        pool.run_next()
        await let_others_run()
        assert waiting[0].done()
        assert not waiting[1].done()
        pool.run_next()
        await asyncio.gather(*waiting)
        assert disk.counts[Op.SYNC] - syncs <= 2 + 2, "the log twice, and what the first sync finds new beside it"
        assert created == [f"t{number}" for number in range(20)]

    tell(story())


def test_what_is_appended_is_committed_though_nobody_waits_any_more(node: Any) -> None:
    pool = ManualPool()
    metadata: MetadataLog = node.open(pool)

    async def story() -> None:
        waiting = asyncio.ensure_future(metadata.commit([topic("a")]))
        await let_others_run()
        waiting.cancel()
        await let_others_run()
        pool.run_next()
        await let_others_run()
        assert names(metadata.image) == ["a"]

    tell(story())


def test_a_commit_of_nothing_waits_for_what_is_appended(node: Any) -> None:
    """Whoever answers by the latest image answers when all of it is committed."""
    pool = ManualPool()
    metadata: MetadataLog = node.open(pool)

    async def story() -> None:
        waiting = [asyncio.ensure_future(metadata.commit(records)) for records in ([topic("a")], [])]
        await let_others_run()
        assert not any(each.done() for each in waiting), "what the second saw could still be lost"
        pool.run_next()
        await let_others_run()
        if len(pool):
            pool.run_next()
        assert [names(image) for image in await asyncio.gather(*waiting)] == [["a"], ["a"]]
        assert await metadata.commit([]) is metadata.image

    tell(story())


def test_a_record_that_does_not_fit_does_not_get_into_the_log(node: Any) -> None:
    metadata: MetadataLog = node.open()
    before = metadata.latest
    with pytest.raises(Inconsistent):
        commit_now(metadata, [topic("a"), RemoveTopicRecord(topic_id=b"?" * 16)])
    assert metadata.latest is before
    commit_now(metadata, [topic("a")])
    node.close()
    assert names(node.open().image) == ["a"]


def test_a_failed_sync_fails_the_commit_and_all_after_it(node: Any, disk: FaultyDisk) -> None:
    pool = ManualPool()
    metadata: MetadataLog = node.open(pool)

    async def story() -> None:
        waiting = asyncio.ensure_future(metadata.commit([topic("a")]))
        await let_others_run()
        disk.fail_next(Op.SYNC, on=".log")
        pool.run_next()
        with pytest.raises(StorageFailed):
            await waiting
        assert names(metadata.image) == []
        with pytest.raises(StorageFailed):
            await metadata.commit([topic("b")])

    tell(story())


def test_a_failed_write_leaves_the_latest_image_as_it_was(node: Any, disk: FaultyDisk) -> None:
    metadata: MetadataLog = node.open()
    disk.fail_next(Op.WRITE, on=".log")
    with pytest.raises(StorageFailed):
        commit_now(metadata, [topic("a")])
    assert names(metadata.latest) == []


# --- power loss


@pytest.mark.parametrize("seed", range(20))
def test_what_was_committed_survives_power_loss(node: Any, disk: FaultyDisk, seed: int) -> None:
    rng = Random(seed)
    committed: list[str] = []
    for round_number in range(3):
        metadata: MetadataLog = node.open(log_max_record_bytes_between_snapshots=1)
        assert set(committed) <= set(names(metadata.image))
        for number in range(rng.randrange(6)):
            name = f"t{round_number}-{number}"
            commit_now(metadata, [topic(name)])
            committed.append(name)
            if rng.random() < 0.4:
                metadata.write_snapshot_now()
        metadata._append([topic(f"lost{round_number}")])
        disk.power_loss(rng)
    assert set(committed) <= set(names(node.open().image))


def test_death_at_any_change_of_the_first_start_is_met_by_the_next(node: Any, disk: FaultyDisk) -> None:
    fresh = disk.copy()
    for number in range(1, 300):
        attempt = fresh.copy()
        node.files = attempt
        attempt.die_at(number)
        try:
            node.open()
            node.close()
        except Died:
            attempt.crash()
            metadata = node.open()
            assert metadata.image.features == NEW_CLUSTER
            commit_now(metadata, [topic("a")])
            node.close()
            assert names(node.open().image) == ["a"]
        else:
            assert number > 10
            return
    raise AssertionError("a start takes fewer changes than that")


def test_an_abort_is_written_only_where_something_is_open(node: Any) -> None:
    metadata = node.open()
    end = metadata.image.end_offset
    node.close()
    assert node.open().image.end_offset == end + 1, "a leader change alone"
