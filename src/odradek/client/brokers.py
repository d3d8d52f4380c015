"""What every broker of a cluster has to be asked for, since each knows a part of it."""

import asyncio
from collections.abc import Awaitable, Callable
from functools import partial
from typing import TypeVar

from odradek.client.client import Client
from odradek.client.errors import ClientError, TooOld
from odradek.model.errors import UnsupportedVersion

T = TypeVar("T")


async def ask_brokers(client: Client, ask: Callable[[int], Awaitable[T]]) -> dict[int, T]:
    """What `ask` gives for each broker, all asked at the same time, in the order of their ids.

    Raises what keeps one of them from answering: a whole that lacks a part would look like one that does not.
    """

    async def persist(node_id: int) -> T | ClientError:
        try:
            return await client.persist(partial(ask, node_id))
        except ClientError as error:
            return error  # not raised: the others of the tasks are not to be cancelled halfway
        except UnsupportedVersion as error:
            return TooOld(f"the broker is too old: {error}")

    view = await client.persist(partial(client.look_up, ()))
    async with asyncio.TaskGroup() as tasks:
        asked = {each: tasks.create_task(persist(each), name=f"broker-{each}") for each in sorted(view.brokers)}
    outcomes: dict[int, T] = {}
    for node_id, task in asked.items():
        outcome = task.result()
        if isinstance(outcome, ClientError):
            raise outcome
        outcomes[node_id] = outcome
    return outcomes
