"""A node without sockets and threads: the real handlers, coordinators and logs, on a disk in memory, in virtual time.

It dies between two events, or in the middle of a change of its disk: between any two records that it writes, then. What
the next one begins with is the disk alone.
"""

import asyncio
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from dataclasses import replace
from functools import partial
from random import Random
from typing import TYPE_CHECKING, Any, cast

from odradek.broker.broker import Broker
from odradek.broker.dispatch import Dispatch
from odradek.broker.quotas.quotas import Quotas
from odradek.broker.replicas import Replicas
from odradek.broker.settings import Settings
from odradek.coordinators.runtime import RuntimeServices
from odradek.model.broker_config import BrokerConfig
from odradek.model.numbers import ProducerId
from odradek.model.topic_config import TopicConfig
from odradek.model.topic_partition import TopicPartition
from odradek.process.machine import Machine
from odradek.process.network import SocketAddress
from odradek.records.batch import Codec
from odradek.server.apis import Services, served_by
from odradek.server.coordinators import Coordinators
from odradek.storage.flush import Flusher
from odradek.storage.log import Log
from odradek.storage.log_dirs import LogDirs, Setting
from odradek.storage.open_files import OpenFiles
from odradek.wire.header import read_request_head
from support.connections import NoConnection, client_at
from support.disk import Died, FaultyDisk
from support.sim.events import Events, WallClock
from support.sim.groups.broker import new_id
from support.sim.groups.cluster import Cluster
from support.sim.loop import SimLoop
from support.sim.network import Connection

if TYPE_CHECKING:
    from collections.abc import Sequence

    from odradek.broker.producer_ids import ProducerIds
    from odradek.broker.sending import PinnedSlice
    from odradek.net.framing import Reply as NetReply
    from odradek.process.files import NotCached

_DATA = "/data"
_NODE = 1
_END_TXN = 26
_COLD_READ_MS_MAX = 400
_TOPIC = replace(TopicConfig(), segment_bytes=4_000, index_interval_bytes=200, segment_index_bytes=4096)
"""Small, so that logs have many segments, and snapshots of their producers."""


class Node:
    """A server of the network."""

    def __init__(self, events: Events, rng: Random, cluster: Cluster, config: BrokerConfig) -> None:
        self.is_synced = False
        """Whether each record is synced before anybody is told of it: flush.messages=1."""
        self._events = events
        self._rng = rng
        self._cluster = cluster
        self._config = config
        self._clock = WallClock(events)
        self.disk = FaultyDisk(_DATA, clock=self._clock)
        self.life = 0
        self._running: _Running | None = None
        self._open: dict[Connection, _Client] = {}
        self._ids = _ProducerIds()
        self.death_chance = 0.0
        """For each request that ends a transaction: that the node dies in one of the writes that follow."""
        self.watched: Callable[[], None] = _nothing
        """Called after all that happens in it."""
        self.killed: Callable[[str], None] = _nothing_more
        """Called when it has died."""

    # --- its lives

    @property
    def is_up(self) -> bool:
        return self._running is not None

    @property
    def coordinators(self) -> Coordinators:
        assert self._running is not None
        return self._running.coordinators

    @property
    def logs(self) -> Iterator[Log]:
        """None while it is down."""
        return iter(()) if self._running is None else iter(self._running.logs)

    def log(self, partition: TopicPartition) -> Log:
        assert self._running is not None
        found = self._running.logs.get(partition)
        assert found is not None
        return found

    def start(self) -> None:
        """Some of what it reads is not in memory, so that loading takes a while."""
        assert self._running is None
        self.life += 1
        if self._rng.random() < 0.5:
            self.disk.cold.update(path for path in self.disk.tree(_DATA) if path.endswith(".log"))
        loop = SimLoop(self._events, self._enter)  # type: ignore[abstract]  # what is left out nobody calls
        with _inside(loop):
            self._running = _Running(self, loop)
            self._running.coordinators.begin(self._cluster.image)
        self.watched()

    def kill(self, how: str = "killed") -> None:
        if self._running is None:
            return
        running, self._running = self._running, None
        for connection in list(self._open):
            connection.close()
        self._open.clear()
        self.disk.die_at(0)  # what is cancelled writes nothing
        with _inside(running.loop):
            running.loop.end()
        self.disk.crash()
        self.killed(how)

    # --- what happens in it

    def receive(self, connection: Connection, frame: bytes) -> None:
        client = self._open.get(connection)
        if client is None:
            client = self._open[connection] = _Client(connection)
        if self._rng.random() < self.death_chance and read_request_head(memoryview(frame)[4:]).api_key == _END_TXN:
            self.disk.die_at(self._rng.randint(1, 12))
        self._enter(partial(self._take, client, bytearray(frame[4:])))

    def _take(self, client: "_Client", frame: bytearray) -> None:
        assert self._running is not None
        reply = cast("NetReply", _Reply(client))
        self._running.dispatch.request(client.client, memoryview(frame), reply)

    def _enter(self, call: Callable[[], None]) -> None:
        if self._running is None:
            return
        with _inside(self._running.loop), suppress(Died):
            call()
        if self.disk.is_dead:
            self.kill("died in a write")
        else:
            self.watched()

    async def read_ahead(self, cold: "Sequence[NotCached]") -> None:
        """The disk takes its time."""
        await asyncio.sleep(self._rng.randrange(_COLD_READ_MS_MAX) / 1000)
        for each in cold:
            self.disk.warm(each.path)

    def wire(self, running: "_Running") -> None:
        """What makes up a node, as in `odradek.server.node`."""
        clock, loop = self._clock, running.loop
        config = replace(_TOPIC, flush_messages=1) if self.is_synced else _TOPIC
        setting = Setting(clock=clock, config_of=lambda _: config, unique_id=partial(new_id, self._rng))
        running.logs = LogDirs.open(OpenFiles(self.disk), [_DATA], setting)
        flusher = Flusher(cast("Any", None))  # the loop does what threads would
        broker = Broker(_NODE, "simulated", flusher)
        settings = Settings(_NODE, self._config, TopicConfig())
        replicas = Replicas(broker, running.logs, clock)
        broker.begin(self._cluster.image)
        replicas.begin(self._cluster.image)
        services = RuntimeServices(
            clock=clock, tasks=cast("Any", loop), read_ahead=self.read_ahead, codec=lambda: Codec.NONE
        )
        ids = cast("ProducerIds", self._ids)
        machine = Machine(files=self.disk, clock=clock, random=self._rng, children=0)
        running.coordinators = Coordinators(broker, settings, services, ids, machine.new_uuid)
        parts = Services(
            broker=broker,
            metadata=cast("Any", None),
            controller=cast("Any", None),
            settings=settings,
            logs=running.logs,
            pool=cast("Any", None),
            read_ahead=cast("Any", self.read_ahead),
            tasks=cast("Any", loop),
            machine=machine,
            producer_ids=ids,
            groups=running.coordinators.groups,
            transactions=running.coordinators.transactions,
            markers=running.coordinators.markers,
            moves=cast("Any", None),
        )
        quotas = Quotas(self._config, clock)
        running.dispatch = Dispatch(served_by(parts, quotas), cast("Any", loop), quotas.requests)


class _Running:
    """One life of a node."""

    logs: LogDirs
    coordinators: Coordinators
    dispatch: Dispatch

    def __init__(self, node: Node, loop: SimLoop) -> None:
        self.loop = loop
        node.wire(self)


class _ProducerIds:
    """Never the same again, whatever happens to the node."""

    def __init__(self) -> None:
        self._next = 1_000

    def take_now(self) -> ProducerId:
        self._next += 1
        return ProducerId(self._next)

    async def take(self) -> ProducerId:
        return self.take_now()

    async def have_some(self) -> None:
        return


class _Client(NoConnection):
    """A connection, as handlers see it. A fetch that waits when it closes is answered to nobody."""

    def __init__(self, connection: Connection) -> None:
        super().__init__(SocketAddress("127.0.0.1", 50_000))
        self.connection = connection
        self.client = client_at(connection=self)

    @property
    def is_closed(self) -> bool:
        return not self.connection.is_open


class _Reply:
    def __init__(self, client: _Client) -> None:
        self._connection = client.connection

    def send(self, parts: "Sequence[bytes | PinnedSlice]") -> None:
        if parts:
            self._connection.reply(b"".join(map(_bytes_of, parts)))

    def refuse(self, _reason: str) -> None:
        self._connection.close()


def _bytes_of(part: Any) -> bytes:
    if isinstance(part, bytes | bytearray | memoryview):
        return bytes(part)
    try:
        return cast("bytes", part.read(part.position, part.size))
    finally:
        part.release()


@contextmanager
def _inside(loop: SimLoop) -> Iterator[None]:
    before = asyncio._get_running_loop()
    asyncio._set_running_loop(loop)
    try:
        yield
    finally:
        asyncio._set_running_loop(before)


def _nothing() -> None:
    return


def _nothing_more(_how: str) -> None:
    return
