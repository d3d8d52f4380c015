"""AlterClientQuotas, versions 0 and 1."""

import asyncio
import socket
from collections.abc import Iterable
from concurrent.futures import Executor
from ipaddress import ip_address

from odradek.broker.call import Call
from odradek.controller import quotas
from odradek.controller.quotas import IP, Alteration, Altered, Operation
from odradek.quorum.metadata_log import MetadataLog
from odradek.wire.messages.alter_client_quotas import (
    AlterClientQuotasRequest,
    AlterClientQuotasResponse,
    EntityData,
    EntryData,
    EntryResult,
)

VERSIONS = (0, 1)


class AlterClientQuotas:
    def __init__(self, metadata: MetadataLog, pool: Executor) -> None:
        self._metadata = metadata
        self._pool = pool

    async def handle(self, _call: Call, request: AlterClientQuotasRequest) -> AlterClientQuotasResponse:
        alterations = [_alteration(entry) for entry in request.entries]
        unknown = await self._unknown_hosts(each.entity.get(IP) for each in alterations)
        altered = await self._metadata.perform(
            lambda image: quotas.alter(image, alterations, unknown, validate_only=request.validate_only)
        )
        return AlterClientQuotasResponse(entries=tuple(map(_result, altered)))

    async def _unknown_hosts(self, names: Iterable[str | None]) -> frozenset[str]:
        """To ask for a host may take its time: a thread does."""
        hosts = {name for name in names if name and not _is_address(name)}
        if not hosts:
            return frozenset()
        return await asyncio.get_running_loop().run_in_executor(self._pool, _without_address, hosts)


def _is_address(name: str) -> bool:
    try:
        ip_address(name)
    except ValueError:
        return False
    return True


def _without_address(hosts: set[str]) -> frozenset[str]:
    unknown = []
    for host in hosts:
        try:
            socket.getaddrinfo(host, None)
        except (OSError, UnicodeError):
            unknown.append(host)
    return frozenset(unknown)


def _alteration(entry: EntryData) -> Alteration:
    """Of a type that comes twice the last name counts, as with Kafka."""
    return Alteration(
        {each.entity_type: each.entity_name for each in entry.entity},
        [Operation(each.key, None if each.remove else each.value) for each in entry.ops],
    )


def _result(altered: Altered) -> EntryResult:
    entity = tuple(EntityData(entity_type=kind, entity_name=name) for kind, name in altered.entity.items())
    if altered.error is None:
        return EntryResult(entity=entity)
    return EntryResult(error_code=altered.error.code, error_message=str(altered.error), entity=entity)
