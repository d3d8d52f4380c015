"""What is set for hosts, by the addresses that their connections come from."""

import asyncio
from collections.abc import Callable, Mapping
from typing import Generic, TypeVar

from odradek.process.network import Network, parse_address
from odradek.process.tasks import Tasks

T = TypeVar("T")

_TOGETHER_S = 0.05
"""Answers of a name server that come within this time are applied together: each costs a pass over all hosts."""


class ByAddress(Generic[T]):
    """Addresses count at once. A host that has a name counts as soon as its addresses are known: nobody waits for
    that, and until then those count that were known before."""

    def __init__(self, network: Network, tasks: Tasks, apply: Callable[[dict[str, T]], None]) -> None:
        """`apply` is given all that counts, whenever it has changed."""
        self._network = network
        self._tasks = tasks
        self._apply = apply
        self._of_addresses: dict[str, T] = {}
        self._of_names: dict[str, T] = {}
        self._known: dict[str, frozenset[str]] = {}
        """Addresses by name."""
        self._asked: set[str] = set()
        """Names whose addresses are being asked for."""
        self._timer: asyncio.TimerHandle | None = None

    def change(self, of_hosts: Mapping[str, T]) -> None:
        """The newest counts, whichever name was asked for first. All names are asked for again."""
        self._of_addresses = {}
        self._of_names = {}
        for host, value in of_hosts.items():
            address = parse_address(host)
            if address is None:
                self._of_names[host] = value
            else:
                self._of_addresses[address] = value
        self._known = {name: addresses for name, addresses in self._known.items() if name in self._of_names}
        self._apply_now()
        for name in self._of_names.keys() - self._asked:
            self._asked.add(name)
            self._tasks.create_task(self._ask(name), name=f"resolve-{name}")

    async def _ask(self, name: str) -> None:
        try:
            addresses = await self._network.resolve(name)
        finally:
            self._asked.discard(name)
        if name in self._of_names:
            self._known[name] = addresses
            if self._timer is None:
                self._timer = asyncio.get_running_loop().call_later(_TOGETHER_S, self._apply_now)

    def _apply_now(self) -> None:
        if self._timer is not None:
            self._timer.cancel()
            self._timer = None
        found = {each: value for name, value in self._of_names.items() for each in self._known.get(name, ())}
        self._apply(found | self._of_addresses)
