"""What every stock client is put through. The scenario is told in tests/interop/clients/README.md: programs play it,
each with its client, and here is what they must print."""

import contextlib
import json
import os
import selectors
import subprocess
import sys
from collections.abc import Collection, Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any, NamedTuple

from odradek.cli import main as cli
from odradek.records.batch import HEAD_SIZE, parse_head
from odradek.testing.broker import RunningBroker

CODECS = ("none", "gzip", "snappy", "lz4", "zstd")
BATCH_RECORDS = 10
FIRST_MS = 1_700_000_000_000
SEARCHED_MS = 1_700_000_023_500
PAST_END_MS = 1_800_000_000_000
CONFIGS = {"max.message.bytes": "20000", "retention.ms": "-1"}
SETTINGS = {"auto.create.topics.enable": "false"}
"""Of the broker."""

_LIMIT_S = 180
_LINE_SHOWN = 300
_SHARED_PARTITIONS = 2
_TURN_RECORDS = 12


class Client(NamedTuple):
    """A program that plays the scenario, and what is the client's own in it."""

    name: str
    command: Sequence[str]
    too_large: str
    unknown_topic: str
    codecs: Sequence[str] = CODECS
    missing: Collection[str] = ()
    """Steps that the client has no call for."""
    protocols: Sequence[str] = ("classic",)
    """Of groups."""
    variables: Mapping[str, str] = {}
    """Of its environment."""


def python_clients(tests: Path) -> list[Client]:
    """Those that run in this very environment. Their programs are under `tests`."""
    refused = {
        "confluent_kafka": ("MSG_SIZE_TOO_LARGE", "UNKNOWN_TOPIC_OR_PART"),
        "kafka_python": ("MessageSizeTooLargeError", "UnknownTopicOrPartitionError"),
        "aiokafka": ("MessageSizeTooLargeError", "UnknownTopicOrPartitionError"),
    }
    programs = {name: str(tests / "node" / "clients" / f"play_{name}.py") for name in refused}
    protocols = {"confluent_kafka": ("classic", "consumer")}
    return [
        Client(name, [sys.executable, programs[name]], *errors, protocols=protocols.get(name, ("classic",)))
        for name, errors in refused.items()
    ]


def records_of(codecs: Sequence[str]) -> list[list[Any]]:
    """The records of partition 0, as they are printed."""
    found = []
    for batch, codec in enumerate(codecs):
        for n in range(BATCH_RECORDS):
            offset = batch * BATCH_RECORDS + n
            key = None if n % 2 else f"key-{n}"
            value = None if n == 8 else f"{codec} {n} ü€"
            headers = [["codec", codec], ["n", str(n)], ["empty", ""]]
            found.append([offset, FIRST_MS + 1000 * offset, key, value, headers])
    return found


def expected_of(client: Client, topic: str) -> list[dict[str, Any]]:
    """The steps, as the program of a client prints them."""
    records = records_of(client.codecs)
    end = len(records)
    offsets = [record[0] for record in records]
    produced = [
        {"step": "produced", "codec": codec, "offsets": offsets[at * BATCH_RECORDS : (at + 1) * BATCH_RECORDS]}
        for at, codec in enumerate(client.codecs)
    ]
    steps: list[dict[str, Any]] = [
        {"step": "created"},
        {"step": "described", "partitions": 3, "configs": CONFIGS},
        *produced,
        {"step": "acks", "values": ["acks-1", "acks-0"]},
        {"step": "defaults", "offset": 0},
        {"step": "consumed", "records": records},
        {"step": "from_offset", "first": 15, "count": end - 15},
        {"step": "by_time", "found": 24, "past_end": None},
        {"step": "offsets", "earliest": 0, "latest": end},
        {"step": "records_deleted", "low": 7, "first": 7},
        {"step": "partitions_added", "partitions": 5},
        {"step": "altered", "value": "30000"},
        {"step": "too_large", "error": client.too_large},
        {"step": "unknown_topic", "error": client.unknown_topic},
        {"step": "deleted", "topics": [topic]},
    ]
    return [{"step": step["step"], "missing": True} if step["step"] in client.missing else step for step in steps]


def play(client: Client, bootstrap: str, topic: str) -> list[dict[str, Any]]:
    return _run(client, "play", bootstrap, topic, ",".join(client.codecs))


def read(client: Client, bootstrap: str, topics: Sequence[str]) -> dict[str, list[Any]]:
    """The records of partition 0 of each topic."""
    return {line["topic"]: line["records"] for line in _run(client, "read", bootstrap, *topics)}


class Follower:
    """A client that sends and reads one record after the other."""

    def __init__(self, process: subprocess.Popen[str]) -> None:
        self._process = process

    def send(self, value: str) -> None:
        assert self._process.stdin is not None
        self._process.stdin.write(f"{value}\n")
        self._process.stdin.flush()

    def read(self) -> tuple[int, str]:
        """The offset and the value of the next record, when the client has it."""
        assert self._process.stdout is not None
        with selectors.DefaultSelector() as selector:
            selector.register(self._process.stdout, selectors.EVENT_READ)
            if not selector.select(_LIMIT_S):
                raise AssertionError(f"the client said nothing within {_LIMIT_S} s")
        said = self._process.stdout.readline()
        if not said:
            raise AssertionError("the client ended")
        line = json.loads(said)
        return line["offset"], line["value"]


@contextlib.contextmanager
def following(client: Client, bootstrap: str, topic: str) -> Iterator[Follower]:
    command = [*client.command, "follow", bootstrap, topic]
    variables = {**os.environ, **client.variables}
    process = subprocess.Popen(command, env=variables, text=True, stdin=subprocess.PIPE, stdout=subprocess.PIPE)
    with process:
        try:
            yield Follower(process)
        except BaseException:
            process.kill()
            raise


def goes_on(client: Client, broker: RunningBroker, topic: str) -> None:
    """A client sends and reads on while its broker is killed, and while it is stopped."""
    broker.create_topic(topic)
    with following(client, broker.bootstrap, topic) as follower:
        follower.send("one")
        assert follower.read() == (0, "one")
        for offset, end in enumerate((broker.kill, broker.stop), start=1):
            end()
            follower.send(f"after {end.__name__}")  # nobody is there to take it yet
            broker.start()
            assert follower.read() == (offset, f"after {end.__name__}")


def take_turns(clients: Sequence[Client], broker: RunningBroker, topic: str) -> None:
    """One group, and all clients in it one after the other: each goes on where the one before it has committed.

    Those that speak both protocols come twice, and take the group from one to the other.
    """
    turns = [(client, protocol) for client in clients for protocol in client.protocols]
    broker.create_topic(topic, partitions=_SHARED_PARTITIONS)
    written = len(turns) * _TURN_RECORDS // _SHARED_PARTITIONS
    for partition in range(_SHARED_PARTITIONS):
        values = [word for at in range(written) for word in ("--value", str(at))]
        where = ["--partition", str(partition), "--bootstrap", broker.bootstrap, "--quiet"]
        assert cli.main(["produce", topic, *where, *values]) == 0
    seen: list[list[int]] = []
    for client, protocol in turns:
        arguments = ["join", broker.bootstrap, topic, f"{topic}-group", protocol, str(_TURN_RECORDS)]
        (line,) = _run(client, *arguments)
        assert len(line["records"]) == _TURN_RECORDS, client.name
        seen += line["records"]
    everything = [[partition, offset] for partition in range(_SHARED_PARTITIONS) for offset in range(written)]
    assert sorted(seen) == everything


def _run(client: Client, *arguments: str) -> list[dict[str, Any]]:
    variables = {**os.environ, **client.variables}
    command = [*client.command, *arguments]
    ended = subprocess.run(command, env=variables, capture_output=True, timeout=_LIMIT_S, check=False)
    out, err = ended.stdout.decode(), ended.stderr.decode(errors="replace")
    if ended.returncode:
        said = "\n".join(line[:_LINE_SHOWN] for line in [*out.splitlines(), *err.splitlines()])
        raise AssertionError(f"{client.name} ended with status {ended.returncode}\n{said}")
    return [json.loads(line) for line in out.splitlines()]


def batches_on_disk(directory: Path) -> list[tuple[str, int]]:
    """The codec of each batch of a partition with one segment, and how many records are in it.

    Raises AssertionError for one that no idempotent producer wrote.
    """
    view = memoryview((directory / "00000000000000000000.log").read_bytes())
    found = []
    while len(view) >= HEAD_SIZE:
        head = parse_head(view)
        if head.producer_id < 0:
            raise AssertionError(f"the batch at offset {head.base_offset} has no producer id")
        found.append((head.codec.name.lower(), head.count))
        view = view[head.size :]
    return found
