"""The active controller of a node: what it is given of the node's settings and threads."""

import asyncio
import socket
from concurrent.futures import Executor
from functools import partial

from odradek.broker import shown_settings
from odradek.broker.quotas.mutations import MutationRates
from odradek.broker.settings import Settings
from odradek.controller.context import Context
from odradek.controller.service import ActiveController, RecordLog
from odradek.metadata.image import Image
from odradek.process.machine import Machine
from odradek.server.node_setting import NodeSetting


def controller_of(
    log: RecordLog, settings: Settings, mutations: MutationRates, pool: Executor, template: Context
) -> ActiveController:
    """`template` has what is no matter of settings that change."""
    return ActiveController(
        log=log,
        context_of=partial(_context_of, settings, template),
        mutations=mutations,
        unknown_hosts=partial(_unknown_hosts, pool),
    )


def template_of(machine: Machine, cluster_id: str, setting: NodeSetting) -> Context:
    return Context(machine.new_uuid, cluster_id, setting.partitions)


def _context_of(settings: Settings, template: Context, image: Image) -> Context:
    config = settings.now(image)
    return Context(
        new_uuid=template.new_uuid,
        cluster_id=template.cluster_id,
        default_partitions=template.default_partitions,
        default_replication_factor=config.default_replication_factor,
        topic_defaults=settings.topic_defaults(image),
        delete_topic_enable=config.delete_topic_enable,
        broker=config,
        effective_configs=partial(shown_settings.of_created_topic, settings, image),
    )


async def _unknown_hosts(pool: Executor, hosts: frozenset[str]) -> frozenset[str]:
    """Which of the hosts have no address. To ask for a host may take its time: a thread does."""
    return await asyncio.get_running_loop().run_in_executor(pool, _without_address, hosts)


def _without_address(hosts: frozenset[str]) -> frozenset[str]:
    unknown = []
    for host in hosts:
        try:
            socket.getaddrinfo(host, None)
        except (OSError, UnicodeError):
            unknown.append(host)
    return frozenset(unknown)
