"""A client of a whole cluster: it knows its nodes, and keeps a connection to each that it was asked to talk to."""

import asyncio
from collections.abc import Awaitable, Callable, Iterable, Sequence
from types import TracebackType
from typing import TypeVar

from odradek.client.cluster import NO_NODE, ClusterView, Coordinator, read_cluster
from odradek.client.connection import Connection
from odradek.client.errors import ClientError, NoneReachable, Refused
from odradek.client.setting import ClientSetting, pauses_s
from odradek.model.address import Address, parse_address
from odradek.model.error_code import ErrorCode
from odradek.wire.messages.metadata import MetadataRequest, MetadataRequestTopic, MetadataResponse
from odradek.wire.schema import Message

M = TypeVar("M", bound=Message)
T = TypeVar("T")

_REMEMBERED_MAX = 1000
"""Coordinators of groups and transactions."""


def parse_bootstrap(text: str) -> tuple[Address, ...]:
    """`host:port,host:port`. Raises InvalidConfig."""
    return tuple(parse_address(each.strip()) for each in text.split(","))


class Client:
    """Made by `connect`, ended by `close` or by leaving its `async with` block."""

    def __init__(self, bootstrap: Sequence[Address], setting: ClientSetting | None = None) -> None:
        self.setting = setting or ClientSetting()
        self._bootstrap = tuple(bootstrap)
        self._connections: dict[Address, Connection] = {}
        self._locks: dict[Address, asyncio.Lock] = {}
        self._brokers: dict[int, Address] = {}
        self._controller_id = NO_NODE
        self.coordinators: dict[tuple[int, str], Coordinator] = {}
        """By what is coordinated and its name: who answered for it last."""

    @classmethod
    async def connect(cls, bootstrap: Sequence[Address], setting: ClientSetting | None = None) -> "Client":
        """Connected to the first of these addresses that answers. Raises ClientError where none does.

        There are no retries here: whoever starts a client wants to hear of a wrong address at once.
        """
        client = cls(bootstrap, setting)
        await client._any()
        return client

    async def __aenter__(self) -> "Client":
        return self

    async def __aexit__(self, kind: type[BaseException] | None, error: object, trace: TracebackType | None) -> None:
        await self.close()

    async def close(self) -> None:
        for connection in list(self._connections.values()):
            await connection.close()
        self._connections.clear()

    # --- requests, each sent once

    async def ask(self, request: Message, kind: type[M]) -> M:
        """For what every node can answer."""
        return await (await self._any()).ask(request, kind)

    async def ask_node(self, node_id: int, request: Message, kind: type[M], version_max: int | None = None) -> M:
        return await (await self._connection(await self._address_of(node_id))).ask(request, kind, version_max)

    async def ask_leader(self, node_id: int, request: Message, kind: type[M], version_max: int | None = None) -> M:
        """Who led a partition when it was last looked up. One that is not in the cluster any more is for another look:
        unlike a node that somebody has named, it passes."""
        try:
            return await self.ask_node(node_id, request, kind, version_max)
        except Refused as error:
            if error.code is ErrorCode.BROKER_NOT_AVAILABLE:
                raise Refused(ErrorCode.LEADER_NOT_AVAILABLE, error.message) from None
            raise

    async def ask_controller(self, request: Message, kind: type[M]) -> M:
        """The node that metadata name as the controller: a broker, where controllers are nodes of their own."""
        if self._controller_id == NO_NODE:
            await self.look_up(())
        if self._controller_id == NO_NODE:
            raise Refused(ErrorCode.NOT_CONTROLLER, "the cluster has no controller at the moment")
        return await self.ask_node(self._controller_id, request, kind)

    async def look_up(self, topics: Iterable[str] | None, *, create: bool = False) -> ClusterView:
        """The cluster as it is now, with these topics, or with all of them.

        With `create`, topics that are not there are made, if the broker's settings say so.
        """
        wanted = None if topics is None else tuple(MetadataRequestTopic(name=name) for name in topics)
        request = MetadataRequest(topics=wanted, allow_auto_topic_creation=create)
        response = await self.ask(request, MetadataResponse)
        if response.error_code:
            raise Refused(response.error_code)
        view = read_cluster(response)
        self._brokers = dict(view.brokers)
        self._controller_id = view.controller_id
        for key, coordinator in list(self.coordinators.items()):
            if coordinator.node_id not in view.brokers:
                del self.coordinators[key]
        return view

    def remember(self, of: int, name: str, coordinator: Coordinator) -> None:
        """Until it has left the cluster, or something has to be tried again. Who asks for many asks for most anew."""
        if len(self.coordinators) < _REMEMBERED_MAX:
            self.coordinators[of, name] = coordinator

    def known_address(self, node_id: int) -> Address | None:
        """As it was last looked up; None where it was not. May be asked from any thread."""
        return self._brokers.get(node_id)

    # --- retries

    async def persist(self, attempt: Callable[[], Awaitable[T]], timeout_s: float | None = None) -> T:
        """Calls it until it works. Raises what it raises, if that does not pass or the time for it is up.

        Between two attempts there is a pause, and what is known of the cluster is forgotten.
        """
        loop = asyncio.get_running_loop()
        deadline = loop.time() + (self.setting.timeout_s if timeout_s is None else timeout_s)
        for pause in pauses_s(self.setting.rng):
            try:
                return await attempt()
            except ClientError as error:
                if not error.is_retriable:
                    raise
                self._forget()
                if loop.time() + pause >= deadline:
                    raise
            await asyncio.sleep(pause)
        raise AssertionError("pauses never end")

    def _forget(self) -> None:
        self._brokers.clear()
        self._controller_id = NO_NODE
        self.coordinators.clear()

    # --- connections

    async def _address_of(self, node_id: int) -> Address:
        if node_id not in self._brokers:
            await self.look_up(())
        address = self._brokers.get(node_id)
        if address is None:
            raise Refused(ErrorCode.BROKER_NOT_AVAILABLE, f"there is no broker {node_id}")
        return address

    async def _any(self) -> Connection:
        """To whom there is a connection already, else to a known broker, else to where we began.

        One of them by chance: a broker that has lost the others would tell the same old story again and again.
        """
        if connected := [each for each in self._connections.values() if not each.is_closed]:
            return self.setting.rng.choice(connected)
        failures = []
        for address in dict.fromkeys((*self._brokers.values(), *self._bootstrap)):
            try:
                return await self._connection(address)
            except ClientError as error:
                failures.append(error)
        raise failures[0] if len(failures) == 1 else NoneReachable(failures)

    async def _connection(self, address: Address) -> Connection:
        async with self._locks.setdefault(address, asyncio.Lock()):
            connection = self._connections.get(address)
            if connection is None or connection.is_closed:
                connection = self._connections[address] = await Connection.open(address, self.setting)
            return connection
