"""Clients that take more than their share: connections, handles, memory, replies that nobody reads."""

import asyncio
import os
import resource
import socket
import subprocess
import sys
import time
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import replace
from pathlib import Path
from struct import pack

import pytest

from odradek.model.broker_config import BrokerConfig
from odradek.model.error_code import ErrorCode
from odradek.process.machine import raise_handle_limit
from odradek.testing.broker import running_broker
from odradek.wire.messages.api_versions import ApiVersionsRequest, ApiVersionsResponse
from odradek.wire.messages.fetch import FetchPartition, FetchRequest, FetchResponse, FetchTopic
from odradek.wire.messages.incremental_alter_configs import (
    AlterableConfig,
    AlterConfigsResource,
    IncrementalAlterConfigsRequest,
    IncrementalAlterConfigsResponse,
)
from odradek.wire.messages.metadata import MetadataRequest, MetadataResponse
from odradek.wire.messages.produce import PartitionProduceData, ProduceRequest, TopicProduceData
from support.raw_client import RawClient
from support.reading import read_partition
from support.running_node import create_topic, node_on, produce

CONFIG = BrokerConfig()
HELLO = ApiVersionsRequest(client_software_name="raw", client_software_version="1")
ASK_VERSIONS = pack(">ihhih", 10, 18, 0, 1, -1)
needs_proc = pytest.mark.skipif(not Path("/proc/self/stat").exists(), reason="CPU time and handles are read from /proc")


async def is_served(client: RawClient) -> bool:
    return (await client.ask(HELLO, ApiVersionsResponse, 3)).error_code == ErrorCode.NONE


async def served(client: RawClient) -> RawClient:
    """Another connection, as soon as the addresses of hosts in the settings are known."""
    while True:
        another = await client.another()
        try:
            assert await is_served(another)
            return another
        except (ConnectionError, asyncio.IncompleteReadError):
            await another.close()


def fetch_of(topic: str, *, wait_ms: int, partitions: int = 1, min_bytes: int = 1) -> FetchRequest:
    parts = tuple(
        FetchPartition(partition=number, fetch_offset=0, partition_max_bytes=1 << 20) for number in range(partitions)
    )
    return FetchRequest(max_wait_ms=wait_ms, min_bytes=min_bytes, topics=(FetchTopic(topic=topic, partitions=parts),))


# --- settings


def test_beyond_max_connections_clients_wait_until_it_is_raised(tmp_path: Path) -> None:
    async def main() -> None:
        async with node_on(tmp_path, config=replace(CONFIG, max_connections=2)) as client:
            second, third = await client.another(), await client.another()
            assert await is_served(client)
            assert await is_served(second)
            third.send(HELLO, 3)
            change = AlterableConfig(name="max.connections", config_operation=0, value="3")
            resource_ = AlterConfigsResource(resource_type=4, resource_name="", configs=(change,))
            request = IncrementalAlterConfigsRequest(resources=(resource_,), validate_only=False)
            changed = await client.ask(request, IncrementalAlterConfigsResponse, 1)
            assert changed.responses[0].error_code == ErrorCode.NONE
            assert (await third.receive(ApiVersionsResponse, 3)).error_code == ErrorCode.NONE
            fourth = await client.another()
            fourth.send(HELLO, 3)
            await second.close()
            assert (await fourth.receive(ApiVersionsResponse, 3)).error_code == ErrorCode.NONE
            await third.close()
            await fourth.close()

    asyncio.run(main())


def test_beyond_its_limit_an_address_is_cut_off(tmp_path: Path) -> None:
    settings = replace(CONFIG, max_connections_per_ip=1, max_connections_per_ip_overrides="localhost:2, example:9")

    async def main() -> None:
        async with node_on(tmp_path, config=settings) as client:
            second = await served(client)
            third = await client.another()
            assert await third.is_cut_off()
            assert await is_served(client)
            await second.close()
            await third.close()

    asyncio.run(main())


@pytest.mark.slow
def test_a_silent_connection_is_closed_after_its_time(tmp_path: Path) -> None:
    settings = replace(CONFIG, connections_max_idle_ms=300, connection_failed_authentication_delay_ms=0)

    async def main() -> None:
        async with node_on(tmp_path, config=settings) as client:
            silent = await client.another()
            cut_off = asyncio.ensure_future(silent.is_cut_off())
            while not cut_off.done():
                assert await is_served(client)
            assert cut_off.result()
            await silent.close()

    asyncio.run(main())


def test_requests_larger_than_the_limit_end_the_connection(tmp_path: Path) -> None:
    async def main() -> None:
        async with node_on(tmp_path, config=replace(CONFIG, socket_request_max_bytes=1000)) as client:
            other = await client.another()
            other.send_bytes(pack(">i", 1001))
            assert await other.is_cut_off()
            await other.close()
            assert await is_served(client)

    asyncio.run(main())


# --- the order of answers


def test_answers_wait_for_a_fetch_that_waits(tmp_path: Path) -> None:
    async def main() -> None:
        async with node_on(tmp_path) as client:
            await create_topic(client, "orders")
            pipelined = await client.another()
            pipelined.send(fetch_of("orders", wait_ms=30_000), 12)
            pipelined.send(HELLO, 3)
            pipelined.send(MetadataRequest(topics=None), 12)
            assert (await produce(client, "orders", "wakes the fetch")).base_offset == 0
            fetched = await pipelined.receive(FetchResponse, 12)
            assert fetched.responses[0].partitions[0].high_watermark == 1
            assert (await pipelined.receive(ApiVersionsResponse, 3)).error_code == ErrorCode.NONE
            assert len((await pipelined.receive(MetadataResponse, 12)).topics) == 1
            await pipelined.close()

    asyncio.run(main())


@pytest.mark.slow
def test_thousands_of_requests_at_once_are_answered_in_order(tmp_path: Path) -> None:
    async def main() -> None:
        async with node_on(tmp_path) as client:
            reader, writer = await asyncio.open_connection(*client.address)
            writer.write(b"".join(pack(">ihhih", 10, 18, 0, number, -1) for number in range(5000)))
            for number in range(5000):
                size = int.from_bytes(await reader.readexactly(4), "big")
                assert (await reader.readexactly(size))[:4] == pack(">i", number)
            writer.close()

    asyncio.run(main())


def test_a_failure_without_acknowledgement_ends_the_connection_behind_the_answers_before_it(tmp_path: Path) -> None:
    async def main() -> None:
        async with node_on(tmp_path) as client:
            await create_topic(client, "orders")
            data = TopicProduceData(name="none", partition_data=(PartitionProduceData(index=0, records=b"garbage"),))
            other = await client.another()
            other.send(fetch_of("orders", wait_ms=30_000), 12)
            other.send(ProduceRequest(acks=0, timeout_ms=1000, topic_data=(data,)), 9)
            other.send(HELLO, 3)
            await produce(client, "orders", "wakes the fetch")
            assert (await other.receive(FetchResponse, 12)).responses[0].partitions[0].high_watermark == 1
            assert await other.is_cut_off()
            await other.close()

    asyncio.run(main())


# --- clients that do not read


def resident_kb(pid: int) -> int:
    told = subprocess.run(["ps", "-o", "rss=", "-p", str(pid)], capture_output=True, text=True, check=True)
    return int(told.stdout)


def send_until_full(sock: socket.socket, data: bytes) -> int:
    """Send the same again and again until the broker does not take it for a while; returns the bytes that it took."""
    sock.settimeout(0.5)
    sent = 0
    try:
        while True:
            sent += sock.send(data)
    except TimeoutError:
        return sent


@pytest.mark.slow
def test_a_client_that_does_not_read_metadata_takes_little_memory() -> None:
    with running_broker() as broker:
        for number in range(10):
            broker.create_topic(f"topic-{number}", 100)
        with socket.create_connection(("127.0.0.1", broker.port)) as sock:
            ask = pack(">ihhihi", 14, 3, 1, 1, -1, -1)
            sock.sendall(ask)
            reply_bytes = int.from_bytes(sock.recv(4, socket.MSG_PEEK | socket.MSG_WAITALL), "big")
            before = resident_kb(broker.pid)
            send_until_full(sock, ask * 1000)
            assert resident_kb(broker.pid) - before < 16_000
            assert reply_bytes > 20_000


@needs_proc
@pytest.mark.slow
def test_clients_that_do_not_read_records_hold_no_files() -> None:
    with running_broker({"log.segment.bytes": "1048576"}) as broker:
        broker.create_topic("orders", 40)
        asyncio.run(fill(broker.port, 40))
        before = resident_kb(broker.pid)
        files = len(os.listdir(f"/proc/{broker.pid}/fd"))
        ask = framed(fetch_of("orders", wait_ms=0, partitions=40), 12)
        socks = [socket.create_connection(("127.0.0.1", broker.port)) for _ in range(5)]
        for sock in socks:
            send_until_full(sock, ask)
        assert len(os.listdir(f"/proc/{broker.pid}/fd")) <= files + 5 + 40
        assert resident_kb(broker.pid) - before < 16_000
        asyncio.run(check_one(broker.port))
        for sock in socks:
            sock.close()


def framed(request: FetchRequest, version: int) -> bytes:
    from odradek.wire.frame import request_frame

    return b"".join(map(bytes, request_frame(request, version, 1, "raw")))  # type: ignore[arg-type]


async def fill(port: int, partitions: int) -> None:
    client = await RawClient.connect("127.0.0.1", port)
    for number in range(partitions):
        assert (await produce(client, "orders", "x" * 500_000, partition=number)).error_code == ErrorCode.NONE
    await client.close()


async def check_one(port: int) -> None:
    client = await RawClient.connect("127.0.0.1", port)
    assert len((await read_partition(client, "orders", 3)).records) == 1
    await client.close()


# --- many connections


def cpu_s(pid: int) -> float:
    fields = Path(f"/proc/{pid}/stat").read_text(encoding="ascii").rsplit(")", 1)[1].split()
    return (int(fields[11]) + int(fields[12])) / os.sysconf("SC_CLK_TCK")


async def cpu_share_of(pid: int, client: RawClient) -> float:
    """While one fetch waits for a second, and nothing else happens."""
    start_s, start_cpu_s = time.monotonic(), cpu_s(pid)
    await client.ask(fetch_of("quiet", wait_ms=1000), FetchResponse, 12)
    return (cpu_s(pid) - start_cpu_s) / (time.monotonic() - start_s)


@needs_proc
@pytest.mark.slow
def test_idle_connections_take_little_memory_and_no_time() -> None:
    count = min(2000, raise_handle_limit() - 200)

    async def main(port: int, pid: int) -> tuple[float, float]:
        client = await RawClient.connect("127.0.0.1", port)
        await is_served(client)
        before = resident_kb(pid)
        idle = [await RawClient.connect("127.0.0.1", port) for _ in range(count)]
        for each in idle:
            await is_served(each)
        taken = (resident_kb(pid) - before) / count
        share = await cpu_share_of(pid, client)
        for each in (client, *idle):
            await each.close()
        return taken, share

    with running_broker() as broker:
        broker.create_topic("quiet")
        kilobytes, share = asyncio.run(main(broker.port, broker.pid))
    print(f"{kilobytes:.1f} KB a connection, {share:.2%} of a core")  # noqa: T201 - shown if it fails
    assert kilobytes < 30
    assert share < 0.05


@contextmanager
def broker_with_handles(directory: Path, handles: int) -> Iterator[tuple[int, subprocess.Popen[str]]]:
    """A broker that may have so many files and sockets open; its port and its process, whose log is its stderr."""
    command = [sys.executable, "-m", "odradek", "serve", "--attached", "--data", str(directory), "--listen"]
    with socket.create_server(("127.0.0.1", 0)) as probe:
        port = probe.getsockname()[1]
    limited = ["sh", "-c", f'ulimit -n {handles} && exec "$@"', "sh", *command, f"127.0.0.1:{port}"]
    pipe = subprocess.PIPE
    with subprocess.Popen(limited, stdin=pipe, stdout=pipe, stderr=pipe, text=True) as process:
        assert process.stdout is not None
        try:
            assert process.stdout.readline()
            yield port, process
        finally:
            process.terminate()


@needs_proc
@pytest.mark.slow
def test_without_free_handles_those_who_are_in_are_served_and_logs_go_on(tmp_path: Path) -> None:
    async def main(port: int, pid: int) -> None:
        client = await RawClient.connect("127.0.0.1", port)
        await create_topic(client, "orders", 30, segment_bytes="1048576")  # so that every second batch needs new files
        await create_topic(client, "quiet")
        crowd = [socket.create_connection(("127.0.0.1", port)) for _ in range(60)]
        for each in crowd:
            each.sendall(ASK_VERSIONS)
        for number in range(90):
            answer = await produce(client, "orders", "x" * 700_000, partition=number % 30)
            assert answer.error_code == ErrorCode.NONE
        assert await cpu_share_of(pid, client) < 0.2
        for each in crowd:
            each.close()
        late = await client.another()
        assert await is_served(late)
        for number in range(30):
            assert len((await read_partition(client, "orders", number)).records) == 3
        await client.close()
        await late.close()

    with broker_with_handles(tmp_path, 160) as (port, process):
        asyncio.run(main(port, process.pid))
        process.terminate()
        assert process.stderr is not None
        log = process.stderr.read()
    lines = [line for line in log.splitlines() if " INFO " not in line]
    assert len(lines) == 1, log
    assert "no more connections are accepted for now reason='as many as are allowed'" in lines[0]


def test_out_of_handles_the_listener_waits_and_says_so_once(caplog: pytest.LogCaptureFixture) -> None:
    from odradek.net.socket_server import SocketServer
    from odradek.process.sockets import SystemNetwork
    from support.echo import Echo, framed, read_frame
    from support.waiting import until

    soft, hard = resource.getrlimit(resource.RLIMIT_NOFILE)

    async def main() -> None:
        server = SocketServer(SystemNetwork(), Echo())
        address = server.listen("127.0.0.1", 0).address
        socks = [socket.socket() for _ in range(10)]
        with socket.socket() as highest:
            resource.setrlimit(resource.RLIMIT_NOFILE, (highest.fileno() + 2, hard))
        try:
            for sock in socks:
                sock.connect(address)
            await until(lambda: caplog.records)
            assert 0 < len(server.connections) < 10
        finally:
            resource.setrlimit(resource.RLIMIT_NOFILE, (soft, hard))
        for sock in socks:
            reader, writer = await asyncio.open_connection(sock=sock)
            writer.write(framed(b"at last"))
            assert await read_frame(reader) == b"at last"
            writer.close()
        server.close()

    asyncio.run(main())
    assert [record.message for record in caplog.records] == ["no more connections are accepted for now"]
