"""One node: the order of its start, and of its end.

directories formatted -> locked -> metadata log opened, leads -> broker registered, fenced -> logs loaded
  -> first image published -> broker unfenced, partitions led in a new epoch -> listening
"""

from collections.abc import Callable
from concurrent.futures import Executor
from contextlib import AsyncExitStack
from functools import partial

from odradek.broker.broker import Broker
from odradek.broker.coordination.producer_ids import ProducerIds
from odradek.broker.cordons import Cordons
from odradek.broker.dispatch import Dispatch
from odradek.broker.fetching.read_ahead import ReadAhead
from odradek.broker.lifecycle import BrokerLifecycle, Incarnation
from odradek.broker.partitions.log_settings import LogSettings
from odradek.broker.partitions.moves import Moves
from odradek.broker.partitions.replicas import Replicas
from odradek.broker.quotas.quotas import Quotas
from odradek.broker.settings.settings import Settings
from odradek.coordinators.runtime import RuntimeServices
from odradek.metadata.image import Endpoint
from odradek.model.errors import InvalidConfig, StorageFailed
from odradek.net.socket_server import SocketServer
from odradek.process.machine import Machine
from odradek.process.network import ListenOptions
from odradek.process.tasks import Tasks
from odradek.quorum.formatting import Identity
from odradek.quorum.metadata_log import MetadataLog
from odradek.quorum.publisher import MetadataPublisher
from odradek.server.admission import ConnectionAdmission, limits_of, listen_options_of
from odradek.server.apis import Services, served_by
from odradek.server.controller import controller_of, template_of
from odradek.server.coordinators import Coordinators, codec_of
from odradek.server.directories import Directories, report
from odradek.server.identity import take_identity
from odradek.server.listeners import Hearing, listeners_of
from odradek.server.moving import move_limits_of
from odradek.server.node_setting import NodeSetting
from odradek.server.offline_log_dirs import OfflineLogDirs
from odradek.server.upkeep import Upkeep, intervals_of, metadata_setting_of
from odradek.storage.housekeeping import Housekeeping


class Node:
    """Made by `start`, ended by `stop`."""

    def __init__(self, setting: NodeSetting, machine: Machine) -> None:
        self._setting = setting
        self._machine = machine
        self._is_abandoned = False
        self._stack = AsyncExitStack()
        self.addresses: list[tuple[str, int]] = []
        """Where it listens, in the order of its settings."""
        self.metadata: MetadataLog
        self.directories: Directories
        self.coordinators: Coordinators
        """These are for those who look into a running node: no part of it uses them."""
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
        setting, machine, stack = self._setting, self._machine, self._stack
        handles = machine.handles()
        pool = stack.enter_context(machine.new_pool())
        identity = take_identity(machine, setting.all_directories, setting.node_id)
        settings = Settings(identity.node_id, setting.config, setting.topic_defaults)
        log_settings = LogSettings(settings, machine.clock)
        directories = self.directories = Directories.take(setting, machine, handles, log_settings.of_topic)
        stack.callback(directories.abandon)
        publisher = MetadataPublisher(self._fail)
        log = self.metadata = self._open_metadata_log(identity, directories, pool, publisher)
        log_settings.follow(directories.logs, log.image)
        quotas = Quotas(settings.now(log.image), machine.clock)
        controller = controller_of(
            log, settings, quotas.mutations, machine.network, template_of(machine, identity.cluster_id, setting)
        )
        lifecycle = BrokerLifecycle(controller, self._incarnation(identity, directories))
        await lifecycle.register()
        directories.load()
        housekeeping = Housekeeping(directories.logs, pool, machine.clock, intervals_of(setting.config))
        broker = Broker(identity.node_id, identity.cluster_id, housekeeping.flusher)
        broker.begin(log.image)
        moves = Moves(
            broker,
            directories.logs,
            controller,
            lifecycle.broker_epoch,
            pool,
            move_limits_of(identity.node_id, directories.logs, log, settings),
        )
        await moves.settle(log.image)
        replicas = Replicas(broker, directories.logs, machine.clock)
        stack.push_async_callback(self._close, log, directories, replicas, lifecycle)
        tasks = await stack.enter_async_context(Tasks(self._fail))
        read_ahead = ReadAhead(machine.files, pool)
        producer_ids = ProducerIds(controller, identity.node_id, lifecycle.broker_epoch, tasks)
        services = RuntimeServices(
            clock=machine.clock,
            tasks=tasks,
            read_ahead=read_ahead,
            codec=partial(codec_of, settings, broker),
        )
        coordinators = self.coordinators = Coordinators(broker, settings, services, producer_ids, machine.new_uuid)
        stack.callback(coordinators.close)
        served = served_by(
            Services(
                broker=broker,
                metadata=log,
                controller=controller,
                settings=settings,
                logs=directories.logs,
                pool=pool,
                read_ahead=read_ahead,
                tasks=tasks,
                machine=machine,
                producer_ids=producer_ids,
                groups=coordinators.groups,
                transactions=coordinators.transactions,
                markers=coordinators.markers,
                moves=moves,
            ),
            quotas,
        )
        server = SocketServer(
            machine.network,
            Dispatch(served, tasks, quotas.requests),
            limits_of(settings.now(log.image)),
            quotas.connections,
            machine.clock.monotonic_s,
        )
        stack.callback(server.close)
        upkeep = Upkeep(machine, pool, directories.logs, log, lambda: settings.now(broker.image))
        listeners = listeners_of(
            Hearing(
                broker=broker,
                log_settings=log_settings,
                replicas=replicas,
                coordinators=coordinators,
                quotas=quotas,
                admission=ConnectionAdmission(
                    settings=settings,
                    names=setting.listener_names,
                    handles=handles,
                    server=server,
                    rates=quotas.connections,
                    network=machine.network,
                    tasks=tasks,
                ),
                cordons=Cordons(directories.logs, settings, lifecycle, tasks),
                upkeep=upkeep,
            )
        )
        publisher.begin(listeners, log.image)
        await lifecycle.unfence(log.image.offset)
        OfflineLogDirs(broker, directories.logs.dirs, directories.metadata, self._fail).watch()
        self._listen(server, listen_options_of(settings.now(log.image)))
        upkeep.begin(tasks, housekeeping, log_settings, replicas, moves, server)

    def _open_metadata_log(
        self, identity: Identity, directories: Directories, pool: Executor, publisher: MetadataPublisher
    ) -> MetadataLog:
        metadata_setting = metadata_setting_of(identity.node_id, self._setting.config)
        log = MetadataLog.open(directories.metadata, metadata_setting, pool, publisher)
        report(directories.logs.events, log.events)
        if log.image.acls and not self._setting.ignore_acls:
            raise InvalidConfig("the metadata has ACLs, which are not enforced yet; --ignore-acls starts all the same")
        return log

    def _incarnation(self, identity: Identity, directories: Directories) -> Incarnation:
        listening = self._setting.listening
        return Incarnation(
            broker_id=identity.node_id,
            cluster_id=identity.cluster_id,
            id=self._machine.new_uuid(),
            endpoints={each.name: Endpoint(*(each.advertised or (each.host, each.port))) for each in listening},
            directories=directories.ids,
            rack=self._setting.config.broker_rack,
        )

    def _listen(self, server: SocketServer, options: ListenOptions) -> None:
        for each in self._setting.listening:
            listener = server.listen(each.host, each.port, each.name, each.advertised, options)
            self.addresses.append(listener.address)

    def _fail(self, reason: str) -> None:
        if self.failure is None:
            self.failure = reason
            self._when_failed()

    async def _close(
        self, log: MetadataLog, directories: Directories, replicas: Replicas, lifecycle: BrokerLifecycle
    ) -> None:
        if self._is_abandoned:
            return
        replicas.make_all()  # Apache Kafka may be the next owner, and its tools miss them
        try:
            await lifecycle.shut_down(log.image.offset)
            log.close()
        except StorageFailed:
            if self.failure is None:  # else that is why it is stopped
                raise
        finally:
            directories.close(lifecycle.broker_epoch)


def _do_nothing() -> None:
    return
