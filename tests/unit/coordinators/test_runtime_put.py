"""Commands of one record that their callers answer: carried out at once, or left to the usual way with nothing done."""

import asyncio
from dataclasses import replace

import pytest

from odradek.model.numbers import Offset, TimestampMs
from odradek.process.tasks import Tasks
from odradek.records.batch import Codec
from odradek.wire.stored import write_coordinator_key, write_coordinator_value
from support.coordinator_stage import CONFIG, CoordinatorStage, Recorder, record
from support.disk import Op
from support.waiting import until

KEY = "b"
"""Of partition 2 of 4."""


class Put:
    def __init__(self, number: int | None) -> None:
        """Without a number it has to be decided in the usual way."""
        self._number = number

    def record(self, _shard: Recorder, _now: TimestampMs) -> tuple[bytes, bytes] | None:
        if self._number is None:
            return None
        key, value, version = record(KEY, self._number)
        assert value is not None
        return write_coordinator_key(key), write_coordinator_value(value, version)

    def replay(self, shard: Recorder, offset: Offset) -> None:
        shard.replayed.append((offset, KEY, self._number))


@pytest.mark.parametrize("codec", [Codec.NONE, Codec.ZSTD])
def test_it_is_what_the_usual_way_makes_of_it(codec: Codec) -> None:
    async def scene() -> None:
        async with Tasks() as tasks:
            stage = CoordinatorStage(tasks)
            stage.codec = codec
            stage.lead()
            assert stage.runtime.put(KEY, Put(1))
            assert stage.submit(KEY, record(KEY, 1)).code == 0
            assert stage.shards[2].replayed == [(0, KEY, 1), (1, KEY, 1)]
            log = stage.log(2)
            assert log.high_watermark == 2
            (first, one), (second, other) = log.records(log.start_offset)
            assert (one.key, one.value, one.timestamp) == (other.key, other.value, other.timestamp)
            assert first._replace(base_offset=second.base_offset) == second

    asyncio.run(scene())


def test_what_the_shard_leaves_is_not_written() -> None:
    async def scene() -> None:
        async with Tasks() as tasks:
            stage = CoordinatorStage(tasks)
            stage.lead()
            assert not stage.runtime.put(KEY, Put(None))
            assert stage.log(2).end_offset == 0

    asyncio.run(scene())


def test_partitions_that_cannot_be_used() -> None:
    async def scene() -> None:
        async with Tasks() as tasks:
            stage = CoordinatorStage(tasks)
            assert not stage.runtime.put(KEY, Put(1)), "it is not led here"
            stage.lead()
            assert stage.runtime.put(KEY, Put(1))
            stage.runtime.lead({})
            stage.lead()
            assert not stage.runtime.put(KEY, Put(2)), "it is being loaded"
            assert stage.runtime.settled_shard_of(KEY) is None
            await until(lambda: stage.runtime.put(KEY, Put(3)))
            assert stage.runtime.settled_shard_of(KEY) is stage.shards[-2]
            assert stage.shards[-2].replayed == [(0, KEY, 1), (1, KEY, 3)]

    asyncio.run(scene())


def test_where_answers_wait_for_syncs() -> None:
    async def scene() -> None:
        async with Tasks() as tasks:
            stage = CoordinatorStage(tasks, config=replace(CONFIG, flush_messages=1))
            stage.lead()
            assert not stage.runtime.put(KEY, Put(1))
            assert stage.runtime.settled_shard_of(KEY) is None
            assert stage.log(2).end_offset == 0

    asyncio.run(scene())


def test_a_record_that_cannot_be_written_changes_nothing() -> None:
    async def scene() -> None:
        async with Tasks() as tasks:
            stage = CoordinatorStage(tasks)
            stage.lead()
            assert stage.runtime.put(KEY, Put(1))
            stage.disk.fail_next(Op.WRITE)
            assert not stage.runtime.put(KEY, Put(2))
            assert stage.shards[2].state == {KEY: 1}
            assert stage.submit(KEY, record(KEY, 2)).code not in (None, 0), "it fails once more"

    asyncio.run(scene())
