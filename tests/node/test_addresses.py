"""Which address a client has, and hosts that the settings name."""

import asyncio
import socket
import threading
from collections.abc import AsyncIterator, Iterator
from contextlib import asynccontextmanager, suppress
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from odradek.model.broker_config import BrokerConfig
from odradek.process.machine import Machine
from odradek.wire.messages.api_versions import ApiVersionsRequest, ApiVersionsResponse
from odradek.wire.messages.consumer_group_describe import ConsumerGroupDescribeRequest, ConsumerGroupDescribeResponse
from odradek.wire.messages.consumer_group_heartbeat import ConsumerGroupHeartbeatRequest, ConsumerGroupHeartbeatResponse
from odradek.wire.messages.describe_cluster import DescribeClusterRequest, DescribeClusterResponse
from odradek.wire.messages.find_coordinator import FindCoordinatorRequest, FindCoordinatorResponse
from odradek.wire.messages.incremental_alter_configs import (
    AlterableConfig,
    AlterConfigsResource,
    IncrementalAlterConfigsRequest,
    IncrementalAlterConfigsResponse,
)
from support.clock import ManualClock
from support.quotas import alteration, set_quotas
from support.raw_client import RawClient
from support.running_node import node_on

CONFIG = BrokerConfig(offsets_topic_num_partitions=1)
HELLO = ApiVersionsRequest(client_software_name="a", client_software_version="1")


async def is_served(client: RawClient) -> bool:
    """False where the connection is closed instead."""
    with suppress(ConnectionError, asyncio.IncompleteReadError):
        return (await client.ask(HELLO, ApiVersionsResponse, 3)).error_code == 0
    return False


async def served(client: RawClient) -> list[bool]:
    """Of three more connections."""
    connections = [await client.another() for _ in range(3)]
    found = [await is_served(each) for each in connections]
    for each in connections:
        await each.close()
    assert await is_served(client), "by then the node has seen that they are closed"
    return found


async def set_broker(client: RawClient, name: str, value: str) -> None:
    config = AlterableConfig(name=name, config_operation=0, value=value)
    resource = AlterConfigsResource(resource_type=4, resource_name="1", configs=(config,))
    request = IncrementalAlterConfigsRequest(resources=(resource,), validate_only=False)
    answer = await client.ask(request, IncrementalAlterConfigsResponse, 1)
    assert answer.responses[0].error_code == 0, answer


# --- a client over IPv4, of a listener for both


@asynccontextmanager
async def over_ipv4(directory: Path, config: BrokerConfig = CONFIG, **more: Any) -> AsyncIterator[RawClient]:
    async with node_on(directory, host="::", config=config, **more) as over_ipv6:
        client = await RawClient.connect("127.0.0.1", over_ipv6.address[1])
        try:
            yield client
        finally:
            await client.close()


def test_limits_hold_for_an_ipv4_client_of_an_ipv6_listener(tmp_path: Path, caplog: pytest.LogCaptureFixture) -> None:
    config = replace(CONFIG, max_connections_per_ip_overrides="127.0.0.1:2")

    async def main() -> None:
        async with over_ipv4(tmp_path, config) as client:
            assert await is_served(client)
            assert await served(client) == [True, False, False]

    asyncio.run(main())
    refused = [vars(each)["ip"] for each in caplog.records if each.message == "refused a connection"]
    assert refused == ["127.0.0.1"] * 2


def test_quotas_of_its_address_hold_for_an_ipv4_client_of_an_ipv6_listener(tmp_path: Path) -> None:
    config = replace(CONFIG, quota_window_num=2)

    async def main() -> None:
        async with over_ipv4(tmp_path, config, machine=Machine(clock=ManualClock())) as client:
            await set_quotas(client, {"ip": "127.0.0.1"}, connection_creation_rate=2)
            assert await served(client) == [True, True, False]

    asyncio.run(main())


def test_groups_show_the_address_of_an_ipv4_client_of_an_ipv6_listener(tmp_path: Path) -> None:
    join = ConsumerGroupHeartbeatRequest(
        group_id="readers",
        member_id="me",
        member_epoch=0,
        rebalance_timeout_ms=1_000,
        subscribed_topic_names=("orders",),
        topic_partitions=(),
    )

    async def main() -> None:
        async with over_ipv4(tmp_path) as client:
            await client.ask(FindCoordinatorRequest(coordinator_keys=("readers",)), FindCoordinatorResponse, 4)
            assert (await client.ask(join, ConsumerGroupHeartbeatResponse, 1)).error_code == 0
            asked = ConsumerGroupDescribeRequest(group_ids=("readers",), include_authorized_operations=False)
            (group,) = (await client.ask(asked, ConsumerGroupDescribeResponse, 1)).groups
            assert [each.client_host for each in group.members] == ["/127.0.0.1"]

    asyncio.run(main())


def test_an_ipv4_client_of_an_ipv6_listener_is_told_an_ipv4_address(tmp_path: Path) -> None:
    async def main() -> None:
        async with over_ipv4(tmp_path) as client:
            request = DescribeClusterRequest(include_cluster_authorized_operations=False)
            (broker,) = (await client.ask(request, DescribeClusterResponse, 1)).brokers
            assert (broker.host, broker.port) == client.address

    asyncio.run(main())


# --- hosts whose name server does not answer


@pytest.fixture
def dead_name_server(monkeypatch: pytest.MonkeyPatch) -> Iterator[list[str]]:
    """Answers nothing until the end of the test. The hosts that were asked for in the thread of the loop."""
    asked_on_loop: list[str] = []
    is_over = threading.Event()
    known = socket.getaddrinfo

    def getaddrinfo(host: str, *rest: object, **more: object) -> object:
        if not host.endswith(".example"):
            return known(host, *rest, **more)  # type: ignore[arg-type]
        if threading.current_thread() is threading.main_thread():
            asked_on_loop.append(host)  # it would wait for ever
        else:
            is_over.wait()
        raise socket.gaierror("nobody answers")

    monkeypatch.setattr("socket.getaddrinfo", getaddrinfo)
    yield asked_on_loop
    is_over.set()


def test_a_dead_name_server_holds_nobody(tmp_path: Path, dead_name_server: list[str]) -> None:
    hosts = ", ".join(f"host-{number}.example:9" for number in range(20))
    config = replace(CONFIG, max_connections_per_ip_overrides=f"{hosts}, 127.0.0.1:4")

    async def main() -> None:
        async with node_on(tmp_path, config=config) as client:
            waits = await client.another()
            waits.send(alteration({"ip": "quota.example"}, {"connection_creation_rate": 2}), 1)
            assert await served(client) == [True, True, False]
            await set_broker(client, "max.connections.per.ip.overrides", f"{hosts}, 127.0.0.1:5")
            assert await served(client) == [True, True, True], "the newest settings hold"
            await set_quotas(client, {"ip": "127.0.0.1"}, connection_creation_rate=1_000)
            await waits.close()
            assert await is_served(client)

    asyncio.run(main())
    assert dead_name_server == []
