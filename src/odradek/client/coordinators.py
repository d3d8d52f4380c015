"""Which broker coordinates a group or a transaction, and requests that have to go to it."""

import asyncio
from collections.abc import Awaitable, Callable, Mapping, Sequence
from enum import IntEnum
from typing import TypeVar

from odradek.client.client import Client
from odradek.client.cluster import Coordinator
from odradek.client.errors import ClientError, Refused, TooOld, refusal
from odradek.model.address import Address
from odradek.model.error_code import ErrorCode
from odradek.model.errors import UnsupportedVersion
from odradek.wire.messages.find_coordinator import FindCoordinatorRequest, FindCoordinatorResponse

T = TypeVar("T")

_KEYS_MAX = 500
"""In one request: answers have all members of each group, and must stay of a size that fits into memory."""


class CoordinatorType(IntEnum):
    """What is coordinated, as FindCoordinator has it."""

    GROUPS = 0
    TRANSACTIONS = 1


Ask = Callable[[Coordinator, Sequence[str]], Awaitable[Mapping[str, T | ClientError]]]


async def find_coordinators(
    client: Client, keys: Sequence[str], of: CoordinatorType = CoordinatorType.GROUPS
) -> dict[str, Coordinator | Refused]:
    """Asks once. Any broker knows; brokers before Apache Kafka 3.0 raise UnsupportedVersion."""
    found: dict[str, Coordinator | Refused] = {}
    for some in _pieces(keys):
        request = FindCoordinatorRequest(key_type=of, coordinator_keys=tuple(some))
        response = await client.ask(request, FindCoordinatorResponse)
        found |= {
            each.key: refusal(each.error_code, each.error_message)
            or Coordinator(each.node_id, Address(each.host, each.port))
            for each in response.coordinators
        }
    return found


async def ask_coordinators(
    client: Client,
    keys: Sequence[str],
    ask: Ask[T],
    of: CoordinatorType = CoordinatorType.GROUPS,
    timeout_s: float | None = None,
) -> dict[str, T | ClientError]:
    """What the coordinators of these groups, or transactions, say of them, all asked at the same time.

    `ask` sends one request for some of one coordinator. Those whose coordinator has moved, or still reads its log, are
    asked for again, until the time for it is up: then they have the error.
    """
    found: dict[str, T | ClientError] = {}

    async def attempt() -> None:
        missing = [each for each in keys if each not in found or _is_retriable(found[each])]
        found.update(await _ask_once(client, missing, ask, of))
        for each in missing:
            outcome = found[each]
            if isinstance(outcome, ClientError) and outcome.is_retriable:
                raise outcome

    try:
        await client.persist(attempt, timeout_s)
    except ClientError:
        if found.keys() != set(keys):
            raise
    return {each: found[each] for each in keys}


def _has_left(error: ClientError) -> Refused | None:
    """Whoever named it as the coordinator was a moment behind: that is for another look, and passes."""
    if isinstance(error, Refused) and error.code is ErrorCode.BROKER_NOT_AVAILABLE:
        return Refused(ErrorCode.COORDINATOR_NOT_AVAILABLE, error.message)
    return None


def _is_retriable(outcome: object) -> bool:
    return isinstance(outcome, ClientError) and outcome.is_retriable


async def _ask_once(
    client: Client, keys: Sequence[str], ask: Ask[T], of: CoordinatorType
) -> dict[str, T | ClientError]:
    found: dict[str, T | ClientError] = {}
    by_coordinator: dict[Coordinator, list[str]] = {}
    for key, coordinator in (await _find_unknown(client, keys, of)).items():
        if isinstance(coordinator, Refused):
            found[key] = coordinator
        else:
            by_coordinator.setdefault(coordinator, []).append(key)

    async def ask_one(coordinator: Coordinator, some: Sequence[str]) -> Mapping[str, T | ClientError]:
        try:
            return await ask(coordinator, some)
        except ClientError as error:
            return dict.fromkeys(some, _has_left(error) or error)
        except UnsupportedVersion as error:
            return dict.fromkeys(some, TooOld(f"the broker is too old: {error}"))

    async with asyncio.TaskGroup() as tasks:
        asked = [
            tasks.create_task(ask_one(coordinator, some), name=f"coordinator-{coordinator.node_id}")
            for coordinator, mine in by_coordinator.items()
            for some in _pieces(mine)
        ]
    for task in asked:
        found |= task.result()
    return found


async def _find_unknown(client: Client, keys: Sequence[str], of: CoordinatorType) -> dict[str, Coordinator | Refused]:
    """Whoever coordinates something no more says so when asked, and the client forgets it then."""
    known = client.coordinators
    found: dict[str, Coordinator | Refused] = {key: known[of, key] for key in keys if (of, key) in known}
    unknown = [key for key in keys if key not in found]
    for key, coordinator in (await find_coordinators(client, unknown, of)).items():
        found[key] = coordinator
        if isinstance(coordinator, Coordinator):
            client.remember(of, key, coordinator)
    return found


def _pieces(keys: Sequence[str]) -> list[Sequence[str]]:
    return [keys[at : at + _KEYS_MAX] for at in range(0, len(keys), _KEYS_MAX)]
