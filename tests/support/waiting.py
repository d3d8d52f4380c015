"""Waiting for something to become true, without guessing how long it takes."""

import asyncio
from collections.abc import Callable


async def until(condition: Callable[[], object]) -> None:
    """Let the loop go on until the condition holds. There is no limit here: give the whole test one."""
    while not condition():  # noqa: ASYNC110 - what is waited for may have no event to tell of it
        await asyncio.sleep(0)
