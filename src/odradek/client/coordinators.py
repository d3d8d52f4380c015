"""Which broker coordinates a group, and requests that have to go to it."""

import asyncio
from collections.abc import Awaitable, Callable, Mapping, Sequence
from typing import NamedTuple, TypeVar

from odradek.client.client import Client
from odradek.client.errors import ClientError, Refused, TooOld, refusal
from odradek.model.address import Address
from odradek.model.errors import UnsupportedVersion
from odradek.wire.messages.find_coordinator import FindCoordinatorRequest, FindCoordinatorResponse

T = TypeVar("T")

_GROUP = 0
_GROUPS_MAX = 500
"""In one request: answers have all members of each group, and must stay of a size that fits into memory."""


class Coordinator(NamedTuple):
    node_id: int
    address: Address


Ask = Callable[[Coordinator, Sequence[str]], Awaitable[Mapping[str, T | ClientError]]]


async def find_coordinators(client: Client, group_ids: Sequence[str]) -> dict[str, Coordinator | Refused]:
    """Asks once. Any broker knows; brokers before Apache Kafka 3.0 raise UnsupportedVersion."""
    found: dict[str, Coordinator | Refused] = {}
    for some in _pieces(group_ids):
        request = FindCoordinatorRequest(key_type=_GROUP, coordinator_keys=tuple(some))
        response = await client.ask(request, FindCoordinatorResponse)
        found |= {
            each.key: refusal(each.error_code, each.error_message)
            or Coordinator(each.node_id, Address(each.host, each.port))
            for each in response.coordinators
        }
    return found


async def ask_coordinators(client: Client, group_ids: Sequence[str], ask: Ask[T]) -> dict[str, T | ClientError]:
    """What the coordinators of these groups say of them, all asked at the same time.

    `ask` sends one request for some groups of one coordinator. Groups whose coordinator has moved, or still reads its
    log, are asked for again, until the time for it is up: then they have the error.
    """
    found: dict[str, T | ClientError] = {}

    async def attempt() -> None:
        missing = [each for each in group_ids if each not in found or _passes(found[each])]
        found.update(await _ask_once(client, missing, ask))
        for each in missing:
            outcome = found[each]
            if isinstance(outcome, ClientError) and outcome.is_passing:
                raise outcome

    try:
        await client.persist(attempt)
    except ClientError:
        if found.keys() != set(group_ids):
            raise
    return {each: found[each] for each in group_ids}


def _passes(outcome: object) -> bool:
    return isinstance(outcome, ClientError) and outcome.is_passing


async def _ask_once(client: Client, group_ids: Sequence[str], ask: Ask[T]) -> dict[str, T | ClientError]:
    found: dict[str, T | ClientError] = {}
    by_coordinator: dict[Coordinator, list[str]] = {}
    for group_id, coordinator in (await find_coordinators(client, group_ids)).items():
        if isinstance(coordinator, Refused):
            found[group_id] = coordinator
        else:
            by_coordinator.setdefault(coordinator, []).append(group_id)

    async def ask_one(coordinator: Coordinator, some: Sequence[str]) -> Mapping[str, T | ClientError]:
        try:
            return await ask(coordinator, some)
        except ClientError as error:
            return dict.fromkeys(some, error)
        except UnsupportedVersion as error:
            return dict.fromkeys(some, TooOld(f"the broker is too old: {error}"))

    async with asyncio.TaskGroup() as tasks:
        asked = [
            tasks.create_task(ask_one(coordinator, some), name=f"groups-{coordinator.node_id}")
            for coordinator, mine in by_coordinator.items()
            for some in _pieces(mine)
        ]
    for task in asked:
        found |= task.result()
    return found


def _pieces(group_ids: Sequence[str]) -> list[Sequence[str]]:
    return [group_ids[at : at + _GROUPS_MAX] for at in range(0, len(group_ids), _GROUPS_MAX)]
