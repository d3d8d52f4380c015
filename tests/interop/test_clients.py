"""Clients in other languages play their scenario (clients/README.md), and all clients read what each of them wrote.

Their programs are built in .cache, with what they need from their registries; where a toolchain or a registry is not
there, the tests of that client are skipped. A program that does not compile is a failure.
"""

import functools
import shutil
import subprocess
from collections.abc import Callable, Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any

import pytest

from odradek.cli.main import main
from odradek.testing import RunningBroker, running_broker
from support import apache_kafka
from support import client_scenario as scenario
from support.apache_kafka import Unavailable
from support.client_scenario import Client

HERE = Path(__file__).parent
SOURCES = HERE / "clients"
BUILT = HERE.parents[1] / ".cache" / "interop"
FETCH_S = 300

Play = Callable[[Client], list[dict[str, Any]]]


# --- building


def build_java() -> Client:
    kafka = apache_kafka.find().quick()
    javac = find_tool("javac")
    target = BUILT / "java"
    target.mkdir(parents=True, exist_ok=True)
    compile_with([javac, "-d", str(target), "-cp", kafka.classes, str(SOURCES / "java" / "Player.java")])
    command = kafka.command("Player", classes=[target])
    return Client(
        "java",
        command,
        "RecordTooLargeException",
        "UnknownTopicOrPartitionException",
        protocols=("classic", "consumer"),
    )


def build_go(name: str, too_large: str, unknown_topic: str) -> Client:
    go = find_tool("go")
    fetch_with([go, "mod", "download"], SOURCES / "go")
    program = BUILT / name
    compile_with([go, "build", "-mod=readonly", "-o", str(program), f"./{name}"], SOURCES / "go")
    return Client(name, [str(program)], too_large, unknown_topic)


def build_kafkajs() -> Client:
    node, npm = find_tool("node"), find_tool("npm")
    target = BUILT / "kafkajs"
    wanted = (SOURCES / "kafkajs" / "package.json").read_bytes()
    installed = target / "package.json"
    if not installed.exists() or installed.read_bytes() != wanted:
        shutil.rmtree(target, ignore_errors=True)
        work = target.with_name("kafkajs.new")
        shutil.rmtree(work, ignore_errors=True)
        work.mkdir(parents=True)
        (work / "package.json").write_bytes(wanted)
        fetch_with([npm, "install", "--no-package-lock", "--no-audit", "--no-fund", "--ignore-scripts"], work)
        work.rename(target)
    return Client(
        "kafkajs",
        [node, str(SOURCES / "kafkajs" / "player.js")],
        "MESSAGE_TOO_LARGE",
        "UNKNOWN_TOPIC_OR_PARTITION",
        variables={"NODE_PATH": str(target / "node_modules"), "KAFKAJS_NO_PARTITIONER_WARNING": "1"},
    )


def find_tool(name: str) -> str:
    found = shutil.which(name)
    if found is None:
        raise Unavailable(f"there is no {name} on PATH")
    return found


def fetch_with(command: Sequence[str], directory: Path) -> None:
    try:
        ended = subprocess.run(command, cwd=directory, capture_output=True, text=True, timeout=FETCH_S, check=False)
    except subprocess.TimeoutExpired:
        raise Unavailable(f"{Path(command[0]).name} fetched nothing within {FETCH_S} s") from None
    if ended.returncode:
        why = (ended.stderr.strip() or ended.stdout.strip()).splitlines()
        raise Unavailable(f"{Path(command[0]).name} cannot fetch what the client needs: {why[-1] if why else '?'}")


def compile_with(command: Sequence[str], directory: Path = HERE) -> None:
    ended = subprocess.run(command, cwd=directory, capture_output=True, text=True, check=False)
    assert ended.returncode == 0, ended.stderr


BUILDS: Mapping[str, Callable[[], Client]] = {
    "java": build_java,
    "franz_go": lambda: build_go("franz_go", "MESSAGE_TOO_LARGE", "UNKNOWN_TOPIC_OR_PARTITION"),
    "sarama": lambda: build_go("sarama", "ErrMessageSizeTooLarge", "ErrUnknownTopicOrPartition"),
    "kafkajs": build_kafkajs,
}


@functools.cache
def built(name: str) -> Client | str:
    """The client, or why there is none."""
    try:
        return BUILDS[name]()
    except Unavailable as reason:
        return f"{name}: {reason}"


def client_of(name: str) -> Client:
    client = built(name)
    if isinstance(client, str):
        pytest.skip(client)
    return client


# --- playing


@pytest.fixture(scope="module")
def broker() -> Iterator[RunningBroker]:
    with running_broker(scenario.SETTINGS) as running:
        yield running


@pytest.fixture(scope="module")
def play(broker: RunningBroker) -> Play:
    """Gives what a client printed, which plays only once. Its topic has its name."""
    played: dict[str, list[dict[str, Any]]] = {}

    def once(client: Client) -> list[dict[str, Any]]:
        if client.name not in played:
            played[client.name] = scenario.play(client, broker.bootstrap, client.name)
        return played[client.name]

    return once


@pytest.mark.parametrize("name", BUILDS)
def test_a_client_does_all_that_it_can(name: str, broker: RunningBroker, play: Play) -> None:
    client = client_of(name)
    assert play(client) == scenario.expected_of(client, name)
    on_disk = scenario.batches_on_disk(broker.directory / f"{name}-0")
    assert on_disk == [(codec, scenario.BATCH_RECORDS) for codec in client.codecs]


@pytest.mark.parametrize("name", BUILDS)
def test_a_client_goes_on_when_its_broker_comes_back(name: str, odradek_broker: RunningBroker) -> None:
    scenario.goes_on(client_of(name), odradek_broker, "followed")


def all_clients() -> list[Client]:
    """Those that can be had."""
    return [
        *scenario.python_clients(HERE.parent),
        *(found for name in BUILDS if isinstance(found := built(name), Client)),
    ]


def test_they_take_turns_in_a_group(odradek_broker: RunningBroker) -> None:
    scenario.take_turns(all_clients(), odradek_broker, "shared")


def test_each_reads_what_the_others_wrote(broker: RunningBroker, play: Play) -> None:
    clients = all_clients()
    topics = {writer.name: scenario.records_of(writer.codecs) for writer in clients if play(writer)}
    for reader in clients:
        assert scenario.read(reader, broker.bootstrap, list(topics)) == topics, reader.name
    assert main(["log", "verify", "--deep", str(broker.directory)]) == 0
