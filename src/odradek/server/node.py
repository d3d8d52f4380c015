"""One node: the only place that wires objects together.

directories formatted -> locked -> metadata log -> broker registered -> logs loaded -> partitions led -> listening
"""

import asyncio
import logging
import os
from collections.abc import Callable
from concurrent.futures import Executor
from contextlib import AsyncExitStack, suppress
from dataclasses import dataclass, field
from functools import partial
from typing import NamedTuple

from odradek.broker import shown_settings
from odradek.broker.broker import Broker
from odradek.broker.cordons import Cordons
from odradek.broker.dispatch import Dispatch
from odradek.broker.lifecycle import BrokerLifecycle, Incarnation
from odradek.broker.producer_ids import ProducerIds
from odradek.broker.quotas.quotas import Quotas
from odradek.broker.read_ahead import ReadAhead
from odradek.broker.replicas import Replicas
from odradek.broker.settings import Settings
from odradek.controller.context import Context
from odradek.controller.service import ActiveController
from odradek.coordinators.runtime import Surroundings as CoordinatorSurroundings
from odradek.metadata.delta import Delta
from odradek.metadata.image import Endpoint, Image, ResourceType
from odradek.metadata.uuids import from_text
from odradek.model.broker_config import BrokerConfig
from odradek.model.errors import InvalidConfig, StorageFailed
from odradek.model.topic_config import TopicConfig
from odradek.net.listener import Admission, Listener
from odradek.process.machine import Machine
from odradek.quorum.formatting import Identity
from odradek.quorum.metadata_log import MetadataLog
from odradek.server.admission import (
    Listeners,
    addresses_of,
    admission_of,
    connections_within,
    creation_rates_of,
    limits_of,
    unknown_hosts,
)
from odradek.server.apis import Parts, served_by
from odradek.server.coordinators import Coordinators, codec_of
from odradek.server.identity import take_identity
from odradek.server.lost_directories import LostDirectories
from odradek.server.moving import moves_of
from odradek.server.tasks import Tasks
from odradek.server.upkeep import cleaner_setting_of, intervals_of, metadata_setting_of
from odradek.storage.cleaning.child import run_in_child
from odradek.storage.cleaning.cleaner import Cleaner, in_pool
from odradek.storage.housekeeping import Housekeeping
from odradek.storage.log_dir import LogDir
from odradek.storage.log_dirs import LogDirs, Setting
from odradek.storage.open_files import OpenFiles, capacity_within
from odradek.storage.recovery import Event

logger = logging.getLogger(__name__)

_IDLE_CHECK_S = 10
_IDLE_CHECK_LEAST_S = 0.05
_SNAPSHOT_CHECK_S = 60


class Listening(NamedTuple):
    """An address that clients connect to."""

    host: str
    port: int
    advertised: tuple[str, int] | None = None
    """What clients are told; None for the address that each of them connected to."""
    name: str = "PLAINTEXT"


@dataclass(frozen=True, slots=True, kw_only=True)
class NodeSetting:
    directories: list[str]
    metadata_directory: str | None = None
    """Has the metadata log; None for the first of the others."""
    host: str = "127.0.0.1"
    port: int = 9092
    advertised: tuple[str, int] | None = None
    """As of `Listening`."""
    listeners: tuple[Listening, ...] = ()
    """In place of the one at `host` and `port`."""
    node_id: int = 1
    """Of a new directory; one that is formatted already says it itself."""
    config: BrokerConfig = field(default_factory=BrokerConfig)
    """What clients are told that the settings are."""
    topic_defaults: TopicConfig = field(default_factory=TopicConfig)
    partitions: int = 1
    """num.partitions"""
    ignore_acls: bool = False

    @property
    def listening(self) -> tuple[Listening, ...]:
        return self.listeners or (Listening(self.host, self.port, self.advertised),)

    @property
    def metadata_path(self) -> str:
        """As it is among `directories`, however else it may be written."""
        wanted = os.path.abspath(self.metadata_directory or self.directories[0])
        return next((path for path in self.directories if os.path.abspath(path) == wanted), wanted)

    @property
    def all_directories(self) -> list[str]:
        """That of the metadata log first."""
        return list(dict.fromkeys((self.metadata_path, *self.directories)))


class Node:
    """Made by `start`, ended by `stop`."""

    def __init__(self, setting: NodeSetting, machine: Machine) -> None:
        self._setting = setting
        self._machine = machine
        self._clock = machine.clock
        self._connections_max = 0
        self._metadata_alone: LogDirs | None = None
        self._is_abandoned = False
        self._stack = AsyncExitStack()
        self.addresses: list[tuple[str, int]] = []
        """Where it listens, in the order of its settings."""
        self.failure: str | None = None
        """Why it is of no use any more, and is to be stopped."""
        self._when_failed: Callable[[], object] = _do_nothing

    @classmethod
    async def start(
        cls,
        setting: NodeSetting,
        machine: Machine | None = None,
        when_failed: Callable[[], object] | None = None,
    ) -> "Node":
        """Ready to serve when this returns. Raises InvalidConfig, DirectoryInUse, StorageFailed or OSError.

        `when_failed` is told when it has a `failure`.
        """
        node = cls(setting, machine or Machine())
        node._when_failed = when_failed or _do_nothing
        try:
            await node._start()
        except BaseException:
            await node._stack.aclose()
            raise
        return node

    @property
    def address(self) -> tuple[str, int]:
        return self.addresses[0]

    async def stop(self) -> None:
        """A clean stop: nothing is scanned at the next start."""
        await self._stack.aclose()

    async def abandon(self) -> None:
        """Let go of everything as a crash would leave it."""
        self._is_abandoned = True
        await self._stack.aclose()

    async def _start(self) -> None:
        pool = self._stack.enter_context(self._machine.new_pool())
        setting = self._setting
        identity = take_identity(self._machine, setting.all_directories, setting.node_id)
        handles = self._machine.handles()
        open_files = OpenFiles(self._machine.files, capacity_within(handles))
        self._connections_max = connections_within(handles, capacity_within(handles))
        logs = LogDirs.take(open_files, self._setting.directories, self._log_setting())
        self._stack.callback(logs.abandon)  # nothing is left to abandon after a clean close
        own = self._take_metadata(open_files, logs)
        log = self._open_metadata(own, identity, logs, pool)
        quotas = Quotas(self._settings.now(log.image), self._clock, addresses_of)
        controller = self._controller(identity, log, quotas, pool)
        lifecycle = BrokerLifecycle(controller, self._incarnation(logs, identity))
        epoch = await lifecycle.register()
        logs.load()
        _report(logs.events)
        housekeeping = Housekeeping(logs, pool, self._clock, intervals_of(self._setting.config))
        broker = Broker(identity.node_id, identity.cluster_id, housekeeping.flusher)
        moves = moves_of(broker, logs, log, epoch, pool, self._settings)
        moves.settle(log.image)
        replicas = Replicas(broker, logs, self._clock)
        self._stack.push_async_callback(self._close, log, logs, lifecycle)
        self._stack.callback(self._make_the_rest, replicas)
        tasks = await self._stack.enter_async_context(Tasks())
        cordons = Cordons(logs, self._settings, lifecycle, tasks)
        cordons.begin(log.image)
        await lifecycle.unfence(log.image.offset)
        replicas.begin(log.image)
        for listener in (lambda _, image: self._follow_settings(logs, image), replicas.change, cordons.change):
            log.subscribe(listener)
        broker.kraft_version = log.voters.kraft_version
        tasks.create_task(replicas.run(), name="make-partitions")
        read_ahead = ReadAhead(self._machine.files, pool)
        producer_ids = ProducerIds(controller, identity.node_id, epoch, tasks)
        surroundings = CoordinatorSurroundings(
            clock=self._clock,
            flusher=housekeeping.flusher,
            tasks=tasks,
            read_ahead=read_ahead,
            codec=partial(codec_of, self._settings, broker),
        )
        coordinators = self._coordinate(
            Coordinators(broker, self._settings, surroundings, producer_ids, self._machine.new_uuid)
        )
        parts = Parts(
            broker=broker,
            metadata=log,
            controller=controller,
            settings=self._settings,
            logs=logs,
            pool=pool,
            read_ahead=read_ahead,
            tasks=tasks,
            machine=self._machine,
            producer_ids=producer_ids,
            groups=coordinators.groups,
            transactions=coordinators.transactions,
            markers=coordinators.markers,
            moves=moves,
        )
        LostDirectories(broker, logs.dirs, own, self._fail).watch()
        self._serve(parts, housekeeping, quotas)

    def _open_metadata(self, own: LogDir, identity: Identity, logs: LogDirs, pool: Executor) -> MetadataLog:
        log = MetadataLog.open(own, metadata_setting_of(identity.node_id, self._setting.config), pool)
        self._metadata = log
        self._settings = Settings(identity.node_id, self._setting.config, self._setting.topic_defaults)
        self._follow_settings(logs, log.image)
        _report(logs.events, log.events)
        if log.image.acls and not self._setting.ignore_acls:
            raise InvalidConfig("the metadata has ACLs, which are not enforced yet; --ignore-acls starts all the same")
        return log

    def _controller(self, identity: Identity, log: MetadataLog, quotas: Quotas, pool: Executor) -> ActiveController:
        return ActiveController(
            log=log,
            context_of=partial(self._context, identity.cluster_id),
            mutations=quotas.mutations,
            unknown_hosts=partial(unknown_hosts, pool),
        )

    def _coordinate(self, coordinators: Coordinators) -> Coordinators:
        self._stack.callback(coordinators.close)
        coordinators.begin()
        self._metadata.subscribe(coordinators.change)
        return coordinators

    def _fail(self, reason: str) -> None:
        if self.failure is None:
            self.failure = reason
            self._when_failed()

    def _take_metadata(self, open_files: OpenFiles, logs: LogDirs) -> LogDir:
        """The directory that has the metadata log: without it there is nothing to go on with."""
        path = self._setting.metadata_path
        if path not in self._setting.directories:
            alone = LogDirs.take(open_files, [path], self._log_setting())
            self._stack.callback(alone.abandon)
            alone.load()
            self._metadata_alone = alone
            return alone.dirs[0]
        found = next((log_dir for log_dir in logs.dirs if log_dir.path == path), None)
        if found is None:
            _report(logs.events)
            raise StorageFailed(f"{path} has the metadata log, and cannot be used")
        return found

    def _context(self, cluster_id: str, image: Image) -> Context:
        config = self._settings.now(image)
        return Context(
            new_uuid=self._machine.new_uuid,
            cluster_id=cluster_id,
            default_partitions=self._setting.partitions,
            default_replication_factor=config.default_replication_factor,
            topic_defaults=self._settings.topic_defaults(image),
            delete_topic_enable=config.delete_topic_enable,
            broker=config,
            effective_configs=partial(shown_settings.of_created_topic, self._settings, image),
        )

    def _log_setting(self) -> Setting:
        return Setting(
            clock=self._clock,
            config_of=self._config_of,
            unique_id=lambda: self._machine.new_uuid().hex(),
            jitter=lambda jitter_ms: self._machine.random.randrange(jitter_ms) if jitter_ms else 0,
            producer_expiry_ms=self._setting.config.producer_id_expiration_ms,
            children=self._machine.children,
        )

    def _config_of(self, topic: str) -> TopicConfig:
        image = self._metadata.image
        return self._settings.of_topic(image, image.configs.of(ResourceType.TOPIC, topic))

    def _incarnation(self, logs: LogDirs, identity: Identity) -> Incarnation:
        ids = (from_text(each.meta.directory_id) for each in logs.dirs if each.meta and each.meta.directory_id)
        return Incarnation(
            broker_id=identity.node_id,
            cluster_id=identity.cluster_id,
            id=self._machine.new_uuid(),
            endpoints={
                each.name: Endpoint(*(each.advertised or (each.host, each.port))) for each in self._setting.listening
            },
            directories=tuple(ids),
            rack=self._setting.config.broker_rack,
        )

    def _serve(self, parts: Parts, housekeeping: Housekeeping, quotas: Quotas) -> None:
        tasks = parts.tasks
        image = parts.metadata.image
        config = self._settings.now(image)
        quotas.begin(image)
        parts.metadata.subscribe(quotas.change)
        dispatch = Dispatch(served_by(parts, quotas), tasks, quotas.requests)
        listener = Listener(dispatch, Admission(), limits_of(config), quotas.connections)
        self._stack.callback(listener.close)
        self._admit(listener, quotas, image)
        parts.metadata.subscribe(partial(self._change_admission, listener, quotas))
        for each in self._setting.listening:
            local = listener.open(each.host, each.port, each.name)
            self.addresses.append(local)
            if each.advertised is not None:
                parts.broker.advertise(local, each.advertised)
        tasks.create_task(housekeeping.run(), name="housekeeping")
        tasks.create_task(parts.moves.run(), name="moves")
        cleaner = self._cleaner(parts)
        parts.metadata.subscribe(lambda delta, _: cleaner.settings_changed() if _is_of_brokers(delta) else None)
        tasks.create_task(cleaner.run(), name="cleaner")
        tasks.create_task(_close_idle(listener), name="idle-connections")
        tasks.create_task(_maintain(parts.metadata), name="metadata-snapshots")

    def _cleaner(self, parts: Parts) -> Cleaner:
        run = run_in_child if self._machine.children else in_pool(self._machine.files, parts.pool)
        return Cleaner(
            parts.logs,
            parts.pool,
            self._clock,
            lambda: cleaner_setting_of(self._settings.now(parts.metadata.image)),
            run,
        )

    def _follow_settings(self, logs: LogDirs, image: Image) -> None:
        """For those who do not ask each time what is set."""
        logs.producer_expiry_ms = self._settings.now(image).producer_id_expiration_ms

    def _change_admission(self, listener: Listener, quotas: Quotas, delta: Delta, image: Image) -> None:
        if _is_of_brokers(delta):
            self._admit(listener, quotas, image)

    def _admit(self, listener: Listener, quotas: Quotas, image: Image) -> None:
        """Who may connect, and how fast, as the settings of an image say it."""
        config = self._settings.now(image)
        listeners = Listeners(tuple(each.name for each in self._setting.listening), self._settings.texts(image))
        quotas.connections.change_settings(creation_rates_of(config, listeners))
        listener.change_admission(admission_of(config, self._connections_max, listeners))

    def _make_the_rest(self, replicas: Replicas) -> None:
        if not self._is_abandoned:
            replicas.make_all()  # Apache Kafka may be the next owner, and its tools miss them

    async def _close(self, log: MetadataLog, logs: LogDirs, lifecycle: BrokerLifecycle) -> None:
        if self._is_abandoned:
            return
        try:
            await lifecycle.shut_down(log.image.offset)
            log.close()
        except StorageFailed:
            if self.failure is None:  # else that is why it is stopped
                raise
        finally:
            # Also where the directory of the metadata log failed: the others are still to be closed.
            logs.close(lifecycle.broker_epoch)
            if self._metadata_alone is not None:
                self._metadata_alone.close(lifecycle.broker_epoch)


def _is_of_brokers(delta: Delta) -> bool:
    """Whether settings of brokers have changed."""
    return any(resource.type == ResourceType.BROKER for resource in delta.configs.changed)


def _report(*lists: list[Event]) -> None:
    """Each event is told once."""
    for events in lists:
        for event in events:
            logger.warning(event.text, extra=event.fields)
        events.clear()


async def _close_idle(listener: Listener) -> None:
    while True:
        await asyncio.sleep(min(_IDLE_CHECK_S, max(_IDLE_CHECK_LEAST_S, listener.idle_ms_max / 4000)))
        listener.close_idle()


async def _maintain(log: MetadataLog) -> None:
    due = asyncio.Event()
    log.subscribe(lambda *_: due.set() if log.snapshot_due else None)
    while True:
        with suppress(TimeoutError):
            async with asyncio.timeout(_SNAPSHOT_CHECK_S):
                await due.wait()
        due.clear()
        try:
            await log.maintain()
        except StorageFailed:
            return  # its directory is lost, and with it the node


def _do_nothing() -> None:
    return
