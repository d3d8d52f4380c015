"""Whatever happens to a partition between and during moves, it has what was written and not deleted, in order."""

import asyncio

from hypothesis import given, settings
from hypothesis import strategies as st

from odradek.model.numbers import Offset
from support.clock import ManualClock
from support.disk import FaultyDisk
from support.examples import examples
from support.logs import ORDERS
from support.move_stage import PATHS, MoveStage

STEPS = st.one_of(
    st.tuples(st.just("write"), st.integers(1, 40)),
    st.tuples(st.just("roll"), st.just(0)),
    st.tuples(st.just("delete"), st.integers(0, 100)),
    st.tuples(st.just("begin"), st.integers(0, 2)),
    st.tuples(st.just("go on"), st.integers(1, 30)),
    st.tuples(st.just("finish"), st.just(0)),
    st.tuples(st.just("stop"), st.just(0)),
    st.tuples(st.just("kill"), st.just(0)),
)


class World:
    """A partition, and what it must have."""

    def __init__(self) -> None:
        self.disk = FaultyDisk(*PATHS, clock=ManualClock())
        self.stage = MoveStage(self.disk)
        self.stage.create()
        self.start = self.end = 0

    async def do(self, step: str, number: int) -> None:
        log = self.stage.log()
        if step == "write":
            self.stage.fill(self.end, self.end + number)
            self.end += number
        elif step == "roll":
            log.roll()
        elif step == "delete":
            self.start = max(self.start, self.end * number // 100)
            log.advance_start(Offset(self.start))
            self.stage.logs.write_checkpoints()  # as DeleteRecords does before it answers
            log.apply_retention(self.disk.clock.now_ms())
        elif step == "begin":
            await self.stage.moves.begin(ORDERS, PATHS[number])
        elif step == "go on":
            await self._run(number)
        elif step == "finish":
            await self.stage.run_moves()
        else:
            self._start_again(clean=step == "stop")

    async def _run(self, turns: int) -> None:
        """Some turns of the loop, with a record in each; what is not done then waits for the next start."""
        left = turns

        def write_meanwhile() -> bool:
            nonlocal left
            left -= 1
            self.stage.fill(self.end, self.end + 1)
            self.end += 1
            return left == 0

        await self.stage.run_moves(write_meanwhile)
        if self.stage.logs.future_of(ORDERS) is not None:
            self._start_again(clean=turns % 2 == 0)

    def _start_again(self, *, clean: bool) -> None:
        if clean:
            self.stage.close()
        else:
            self.disk.crash()
        self.stage = MoveStage(self.disk)

    def check(self) -> None:
        assert self.stage.numbers() == list(range(self.start, self.end))
        assert self.stage.log().start_offset == self.start
        assert all(each.online for each in self.stage.logs.dirs)


@settings(max_examples=examples(25), deadline=None)
@given(st.lists(STEPS, max_size=25))
def test_any_history(steps: list[tuple[str, int]]) -> None:
    world = World()

    async def play() -> None:
        for step, number in steps:
            await world.do(step, number)
            world.check()
        await world.stage.run_moves()
        world.check()

    asyncio.run(play())
    world.disk.crash()
    world.stage = MoveStage(world.disk)
    world.check()
