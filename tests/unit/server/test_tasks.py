"""Tasks that end with their node."""

import asyncio

import pytest

from odradek.server.tasks import Tasks


def test_what_still_runs_is_cancelled_at_the_end() -> None:
    async def main() -> None:
        async with Tasks() as tasks:
            task = tasks.create_task(asyncio.Event().wait(), name="waits for ever")  # type: ignore[arg-type]
            assert task is not None
        assert task.cancelled()

    asyncio.run(main())


def test_nothing_more_is_begun_when_one_has_failed() -> None:
    async def fail() -> None:
        raise ValueError("enough")

    async def wait() -> None:
        await asyncio.Event().wait()

    async def main() -> None:
        async with Tasks() as tasks:
            tasks.create_task(wait(), name="waits")
            tasks.create_task(fail(), name="fails")
            with pytest.raises(asyncio.CancelledError):
                await asyncio.Event().wait()
            assert tasks.create_task(wait(), name="too late") is None

    with pytest.raises(BaseExceptionGroup) as raised:
        asyncio.run(main())
    assert raised.group_contains(ValueError, match="enough")
