"""The active controller of a node: what it is given of the node's settings and network."""

import asyncio
from functools import partial

from odradek.broker.quotas.mutations import MutationRates
from odradek.broker.settings import shown_settings
from odradek.broker.settings.settings import Settings
from odradek.controller.context import Context
from odradek.controller.service import ActiveController, RecordLog
from odradek.metadata.image import Image
from odradek.process.machine import Machine
from odradek.process.network import Network
from odradek.server.node_setting import NodeSetting


def controller_of(
    log: RecordLog, settings: Settings, mutations: MutationRates, network: Network, template: Context
) -> ActiveController:
    """`template` has what is no matter of settings that change."""
    return ActiveController(
        log=log,
        context_of=partial(_context_of, settings, template),
        mutations=mutations,
        unknown_hosts=partial(_unknown_hosts, network),
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


async def _unknown_hosts(network: Network, hosts: frozenset[str]) -> frozenset[str]:
    """Which of the hosts have no address."""
    names = tuple(hosts)
    found = await asyncio.gather(*map(network.resolve, names))
    return frozenset(name for name, addresses in zip(names, found, strict=True) if not addresses)
