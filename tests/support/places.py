"""In which log directories of a broker its partitions lie, and moving them, over the protocol."""

from typing import NamedTuple

from odradek.controller.configs import Operation
from odradek.metadata.image import ResourceType
from odradek.wire.messages.alter_replica_log_dirs import (
    AlterReplicaLogDir,
    AlterReplicaLogDirsRequest,
    AlterReplicaLogDirsResponse,
    AlterReplicaLogDirTopic,
)
from odradek.wire.messages.describe_configs import (
    DescribeConfigsRequest,
    DescribeConfigsResource,
    DescribeConfigsResponse,
)
from odradek.wire.messages.describe_log_dirs import DescribeLogDirsRequest, DescribeLogDirsResponse
from odradek.wire.messages.incremental_alter_configs import (
    AlterableConfig,
    AlterConfigsResource,
    IncrementalAlterConfigsRequest,
    IncrementalAlterConfigsResponse,
)
from support.raw_client import RawClient

_RATE = "replica.alter.log.dirs.io.max.bytes.per.second"
_OF_THE_BROKER = 2
"""The source of a setting that is one broker's own."""


class Place(NamedTuple):
    path: str
    size: int
    lag: int
    is_future: bool


async def places(client: RawClient, topic: str, partition: int = 0) -> list[Place]:
    """Of the partition and of a copy of it that is in the making, in the order of the directories."""
    told = await client.ask(DescribeLogDirsRequest(topics=None), DescribeLogDirsResponse, 4)
    return [
        Place(each.log_dir, part.partition_size, part.offset_lag, part.is_future_key)
        for each in told.results
        for found in each.topics
        if found.name == topic
        for part in found.partitions
        if part.partition_index == partition
    ]


def move_request(topic: str, path: str, partition: int = 0) -> AlterReplicaLogDirsRequest:
    named = AlterReplicaLogDirTopic(name=topic, partitions=(partition,))
    return AlterReplicaLogDirsRequest(dirs=(AlterReplicaLogDir(path=path, topics=(named,)),))


async def begin_move(client: RawClient, topic: str, path: str, partition: int = 0) -> int:
    """Returns the code of the answer."""
    told = await client.ask(move_request(topic, path, partition), AlterReplicaLogDirsResponse, 2)
    return told.results[0].partitions[0].error_code


async def until_in(client: RawClient, topic: str, path: str, partition: int = 0) -> Place:
    """Waits until the partition is there and nowhere else. Give the whole test a limit."""
    while True:
        found = await places(client, topic, partition)
        if [each.path for each in found] == [path] and not found[0].is_future:
            return found[0]


async def limit_moves(client: RawClient, bytes_per_second: int | None) -> None:
    """On broker 1, which goes by it when this returns. None: as fast as it goes."""
    operation = Operation.DELETE if bytes_per_second is None else Operation.SET
    value = None if bytes_per_second is None else str(bytes_per_second)
    config = AlterableConfig(name=_RATE, config_operation=operation, value=value)
    resource = AlterConfigsResource(resource_type=ResourceType.BROKER, resource_name="1", configs=(config,))
    request = IncrementalAlterConfigsRequest(resources=(resource,), validate_only=False)
    told = await client.ask(request, IncrementalAlterConfigsResponse, 1)
    if told.responses[0].error_code:
        raise ValueError(f"{_RATE}={value}: error {told.responses[0].error_code}")
    while await _limit(client) != value:
        pass  # a broker of Kafka's hears of it after its client


async def _limit(client: RawClient) -> str | None:
    """That the broker was given while it runs."""
    resource = DescribeConfigsResource(
        resource_type=ResourceType.BROKER, resource_name="1", configuration_keys=(_RATE,)
    )
    told = await client.ask(DescribeConfigsRequest(resources=(resource,)), DescribeConfigsResponse, 4)
    return next((each.value for each in told.results[0].configs if each.config_source == _OF_THE_BROKER), None)
