"""Retention on its schedule, in virtual time: a record goes within one check interval of its time, and not before."""

import asyncio
from collections.abc import Awaitable, Callable
from dataclasses import replace

import pytest

from odradek.model.numbers import Offset, TimestampMs
from odradek.model.topic_config import TopicConfig
from odradek.storage.housekeeping import Housekeeping, Intervals
from support.disk import FaultyDisk
from support.logs import NOW, SMALL, append, log_of, open_dirs, setting
from support.pool import AtOncePool
from support.virtual_time import run

MINUTE = 60_000
CHECK = 5 * MINUTE
KEPT = 60 * MINUTE
INTERVALS = Intervals(flush_ms=MINUTE, checkpoint_ms=MINUTE, retention_ms=CHECK, removal_ms=10_000)
CONFIG = replace(SMALL, retention_ms=KEPT)


class LoopClock:
    """The time of the loop that runs."""

    def __init__(self) -> None:
        self._began_s = asyncio.get_running_loop().time()

    def now_ms(self) -> TimestampMs:
        return TimestampMs(NOW + round((asyncio.get_running_loop().time() - self._began_s) * 1000))

    def monotonic_s(self) -> float:
        return asyncio.get_running_loop().time()


class House:
    """A log whose housekeeping runs, with all that was written to it."""

    def __init__(self, config: TopicConfig) -> None:
        self.clock = LoopClock()
        self.disk = FaultyDisk("/data", clock=self.clock)
        self.dirs = open_dirs(self.disk, given=setting(config, self.clock))
        self.log = log_of(self.dirs)
        keeping = Housekeeping(self.dirs, AtOncePool(), self.clock, INTERVALS)
        self.running = asyncio.ensure_future(keeping.run())
        self.times: list[int] = []

    def write(self, at: int | None = None) -> None:
        """One record, in a segment of its own."""
        time = self.clock.now_ms() if at is None else at
        append(self.log, str(len(self.times)), at=time)
        self.times.append(time)
        self.log.advance_high_watermark(self.log.end_offset)
        self.log.roll()

    @property
    def now(self) -> int:
        return self.clock.now_ms() - NOW

    async def close(self) -> None:
        self.running.cancel()
        await asyncio.wait([self.running])
        self.dirs.close()


def play(story: Callable[[House], Awaitable[None]], config: TopicConfig = CONFIG) -> None:
    async def main() -> None:
        house = House(config)
        try:
            await story(house)
        finally:
            await house.close()

    run(main())


def test_by_time_on_the_schedule() -> None:
    async def story(house: House) -> None:
        gone = 0
        for _ in range(200):
            house.write()
            await asyncio.sleep(97)
            start, now = house.log.start_offset, house.clock.now_ms()
            assert all(now - time > KEPT for time in house.times[:start])
            assert all(now - time <= KEPT + CHECK for time in house.times[start:])
            assert start == gone or house.now % CHECK < 97_000  # only a check takes any
            gone = start
        assert gone > 100

    play(story)


def test_by_size_on_the_schedule() -> None:
    limit = 10 * 69  # as large as ten of these batches

    async def story(house: House) -> None:
        for number in range(100):
            house.write()
            await asyncio.sleep(97)
            size = sum(each.size for each in house.log.segments)
            assert size >= min(limit, (number + 1) * 69)
            assert size <= limit + 69 * (CHECK // 97_000 + 1)
        assert house.log.start_offset > 80

    play(story, replace(SMALL, retention_ms=-1, retention_bytes=limit))


@pytest.mark.parametrize(
    "changed", [{"retention_ms": MINUTE}, {"retention_bytes": 5 * 69}, {"retention_bytes": 0}], ids=str
)
def test_settings_are_in_force_at_the_next_check(changed: dict[str, int]) -> None:
    async def story(house: House) -> None:
        for _ in range(30):
            house.write(house.clock.now_ms() - 2 * MINUTE)
        await asyncio.sleep(2 * CHECK / 1000)
        assert house.log.start_offset == 0
        house.log.config = replace(house.log.config, **changed)  # type: ignore[arg-type]
        await asyncio.sleep(CHECK / 1000)
        assert house.log.start_offset == (25 if changed.get("retention_bytes") else 30)

    play(story, replace(SMALL, retention_ms=-1))


def test_without_limits_nothing_goes_ever() -> None:
    async def story(house: House) -> None:
        house.write(0)
        house.write(NOW)
        await asyncio.sleep(20 * KEPT / 1000)
        assert (house.log.start_offset, len(house.log.segments)) == (0, 3)

    play(story, replace(SMALL, retention_ms=-1, retention_bytes=-1))


def test_a_record_from_the_future_keeps_its_segment_and_those_behind_it() -> None:
    """As long as its own time says, as in Apache Kafka."""

    async def story(house: House) -> None:
        house.write()
        house.write(NOW + 3 * KEPT)
        house.write()
        await asyncio.sleep((KEPT + CHECK) / 1000 + 1)
        assert house.log.start_offset == 1
        await asyncio.sleep((3 * KEPT - CHECK) / 1000)
        assert house.log.start_offset == 1
        await asyncio.sleep(2 * CHECK / 1000)
        assert house.log.start_offset == 3

    play(story)


def test_the_active_segment_is_closed_and_goes() -> None:
    async def story(house: House) -> None:
        append(house.log, "only", at=NOW)
        house.log.advance_high_watermark(Offset(1))
        await asyncio.sleep(KEPT / 1000 + 1)
        assert [each.base_offset for each in house.log.segments] == [0]
        await asyncio.sleep(CHECK / 1000)
        assert [(each.base_offset, each.size) for each in house.log.segments] == [(1, 0)]
        assert (house.log.start_offset, house.log.end_offset) == (1, 1)

    play(story)


def test_files_go_after_their_delay() -> None:
    delay = replace(CONFIG, file_delete_delay_ms=MINUTE)

    async def story(house: House) -> None:
        house.write()
        await asyncio.sleep(KEPT / 1000)
        while house.log.start_offset == 0:  # noqa: ASYNC110 - virtual time
            await asyncio.sleep(1)
        since = house.now
        assert since <= KEPT + CHECK
        while any(name.endswith(".deleted") for name in house.disk.tree("/data/orders-0")):  # noqa: ASYNC110
            await asyncio.sleep(1)
        assert MINUTE <= house.now - since <= MINUTE + 10_000

    play(story, delay)
