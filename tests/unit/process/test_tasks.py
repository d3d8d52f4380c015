"""Tasks that end with their node."""

import asyncio

from odradek.process.tasks import Tasks
from support.failures import collected


async def wait() -> None:
    await asyncio.Event().wait()


async def fail() -> None:
    raise ValueError("enough")


def test_what_still_runs_is_cancelled_at_the_end() -> None:
    async def main() -> None:
        async with Tasks() as tasks:
            task = tasks.create_task(wait(), name="waits for ever")
            assert task is not None
        assert task.cancelled()

    asyncio.run(main())


def test_nothing_more_is_begun_at_the_end() -> None:
    async def begin_another(tasks: Tasks) -> None:
        try:
            await wait()
        finally:
            assert tasks.create_task(wait(), name="too late") is None

    async def main() -> None:
        async with Tasks() as tasks:
            tasks.create_task(begin_another(tasks), name="begins another")
            await asyncio.sleep(0)

    asyncio.run(main())


def test_one_that_fails_is_reported_and_ends_no_other() -> None:
    reasons: list[str] = []

    async def main() -> None:
        async with Tasks(reasons.append) as tasks:
            other = tasks.create_task(wait(), name="waits")
            tasks.create_task(fail(), name="fails")
            for _ in range(3):
                await asyncio.sleep(0)
            assert other is not None
            assert not other.done()

    with collected() as lines:
        asyncio.run(main())
    assert reasons == []
    (line,) = lines
    assert line.startswith("a task failed in a way that nobody expected")


def test_a_vital_one_that_fails_ends_the_node() -> None:
    async def fail_in_a_group() -> None:
        async with asyncio.TaskGroup() as group:
            group.create_task(fail(), name="fails")

    reasons: list[str] = []

    async def main() -> None:
        async with Tasks(reasons.append) as tasks:
            tasks.create_task(fail_in_a_group(), name="cleaner", is_vital=True)
            tasks.create_task(wait(), name="housekeeping", is_vital=True)
            for _ in range(10):
                await asyncio.sleep(0)

    with collected() as lines:
        asyncio.run(main())
    assert reasons == ["task cleaner failed: ValueError: enough"]
    assert len(lines) == 1
