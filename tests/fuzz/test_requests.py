"""Bad input over the whole way of a request: a broker in a process of its own, and whatever bytes there are.

    ODRADEK_EXAMPLES=250 ./run test tests/fuzz       a million inputs instead of some thousands

Nothing that is sent makes the broker say that it did not expect it, hang, grow, or stop serving the others; what it
answers can be read; and what it does not answer ends the connection with one line in the log.
"""

import asyncio
import json
import lzma
import socket
import subprocess
import sys
from collections import Counter
from collections.abc import Callable, Iterator
from contextlib import ExitStack, closing
from functools import cache
from pathlib import Path
from random import Random
from struct import error as StructError
from struct import pack

import pytest

from odradek.model.errors import BadRequest, OdradekError
from odradek.model.numbers import Offset, ProducerId, TimestampMs
from odradek.process.clock import SystemClock
from odradek.records.batch import Codec
from odradek.records.builder import BatchSpec, build_batch
from odradek.records.record import Record
from odradek.testing.broker import RunningBroker, running_broker
from odradek.wire.apis import APIS
from odradek.wire.codec import decode
from odradek.wire.frame import request_frame
from odradek.wire.header import read_response_head
from odradek.wire.messages.fetch import FetchPartition, FetchRequest, FetchTopic
from odradek.wire.messages.metadata import MetadataRequest, MetadataResponse
from odradek.wire.messages.produce import PartitionProduceData, ProduceRequest, TopicProduceData
from odradek.wire.messages.unregister_broker import UnregisterBrokerRequest
from odradek.wire.schema import Message
from support.examples import examples
from support.mutation import Mutations
from support.raw_client import RawClient
from support.reading import read_partition
from support.requests import requests_about
from support.running_node import create_topic, produce

pytestmark = pytest.mark.slow

VECTORS = Path(__file__).parents[1] / "golden" / "wire-vectors.jsonl.xz"
INPUTS = 2000
"""For one broker."""
TOPICS: dict[str, dict[str, str]] = {
    "plain": {},
    "compacted": {"cleanup_policy": "compact"},
    "recompressed": {"compression_type": "zstd"},
    "inflated": {"compression_type": "uncompressed"},
    "appended": {"message_timestamp_type": "LogAppendTime"},
    "bounded": {"message_timestamp_before_max_ms": "3600000"},
    "col.liding": {},
}
NODE_ID = 1
"""Of the broker, by default."""
SENTINEL = 0x5EA1
_ASK_SENTINEL = pack(">ihhih", 10, 18, 0, SENTINEL, -1)
PATIENCE_S = 60
RESIDENT_KB_MAX = 200_000


@cache
def vectors() -> list[tuple[Message, int]]:
    """Every request of Apache Kafka in every version, as messages."""
    kinds = {api.request.__name__: api.request for api in APIS.values()}
    with lzma.open(VECTORS, "rt") as file:
        lines = [json.loads(line) for line in file]
    return [
        (decode(kinds[line["name"]], line["version"], bytes.fromhex(line["hex"])), line["version"])
        for line in lines
        if line["type"] == "request" and line["name"] in kinds
    ]


def batches() -> Iterator[bytearray]:
    now = TimestampMs(SystemClock().now_ms())
    records = [Record(Offset(n), now, b"key-%d" % n, b"value" * n, (("h", b"v"),)) for n in range(5)]
    for codec in Codec:
        yield build_batch(records, BatchSpec(codec=codec))
        yield build_batch(records, BatchSpec(codec=codec, producer_id=ProducerId(7), producer_epoch=0, base_sequence=0))
        yield build_batch([Record(Offset(0), now, b"k", bytes(1 << 20))], BatchSpec(codec=codec))  # inflates a lot


class Inputs:
    """What is sent, from one seed."""

    def __init__(self, rng: Random) -> None:
        self._rng = rng
        self.aim_at([])
        self._batches = list(batches())
        self._own = [request for topic in TOPICS for request in requests_about(topic)]
        self._served = [each for each in vectors() if each[0].spec.key in _SERVED]

    def aim_at(self, ids: list[bytes]) -> None:
        """The ids of the topics that are there now."""
        self._ids = [*ids, bytes(16)]
        self._mutations = Mutations(self._rng, list(TOPICS), ids)

    def frame(self) -> tuple[bytes, Message | None, int]:
        """A frame whose size is right; the message and its version if it is one in spite of all."""
        rng = self._rng
        choice = rng.random()
        if choice < 0.35:
            message, version = self._produce()
        elif choice < 0.4:
            message, version = self._fetch()
        elif choice < 0.6:
            message = self._mutations.vary(rng.choice(self._own), 0.1)
            version = rng.randint(*message.spec.versions)
        else:
            message, version = rng.choice(self._served if choice < 0.9 else vectors())
            message = self._mutations.vary(message)
            if isinstance(message, FetchRequest):
                object.__setattr__(message, "max_wait_ms", rng.randrange(-1, 5))
        try:
            frame = b"".join(map(bytes, request_frame(message, version, 1, "fuzz")))  # type: ignore[arg-type]
        except (OdradekError, StructError, TypeError, AttributeError, OverflowError):
            return self.frame()  # cannot even be written
        if isinstance(message, UnregisterBrokerRequest) and message.broker_id == NODE_ID:
            return self.frame()  # nothing is bad about it, and its broker leads nothing until it starts anew
        if rng.random() < 0.3 and not isinstance(message, FetchRequest | UnregisterBrokerRequest):
            body = self._mutations.spoil(frame[4:])
            return pack(">i", len(body)) + body, None, version
        return frame, message, version

    def _produce(self) -> tuple[Message, int]:
        rng = self._rng
        version = rng.randrange(3, 14)
        batch = rng.choice(self._batches)
        records: bytes | bytearray | None = batch
        if rng.random() < 0.8:
            records = self._mutations.spoil_batch(batch)
        data = PartitionProduceData(index=0, records=records)
        topic = rng.choice(list(TOPICS))
        topic_data = TopicProduceData(name=topic, topic_id=rng.choice(self._ids), partition_data=(data,))
        request = ProduceRequest(acks=rng.choice((0, 1, -1)), timeout_ms=1000, topic_data=(topic_data,))
        return (self._mutations.vary(request, 0.1) if rng.random() < 0.2 else request), version

    def _fetch(self) -> tuple[Message, int]:
        rng = self._rng
        part = FetchPartition(partition=0, fetch_offset=rng.randrange(-1, 5), partition_max_bytes=rng.randrange(2000))
        topic = FetchTopic(topic=rng.choice(list(TOPICS)), topic_id=rng.choice(self._ids), partitions=(part,))
        request = FetchRequest(max_wait_ms=0, min_bytes=0, max_bytes=10_000, topics=(topic,))
        request = self._mutations.vary(request, 0.05)
        object.__setattr__(request, "max_wait_ms", 0)
        return request, rng.randrange(4, 19)

    def stream(self) -> bytes:
        """Bytes that are no sequence of frames, or end in one."""
        rng = self._rng
        frame = self.frame()[0]
        sizes = (-1, 0, 1, 7, 8, 9, 10, 104_857_600, 104_857_601, (1 << 31) - 1, -(1 << 31))
        makers: tuple[Callable[[], bytes], ...] = (
            lambda: rng.randbytes(rng.randrange(200)),
            lambda: pack(">i", rng.choice(sizes)) + rng.randbytes(rng.randrange(50)),
            lambda: pack(">i", rng.choice(sizes)) + frame[4:],
            lambda: frame[: rng.randrange(len(frame))],
            lambda: frame + frame[: rng.randrange(len(frame))],
            lambda: b"GET / HTTP/1.1\r\nHost: localhost\r\n\r\n",
            lambda: bytes.fromhex("16030100c8010000c40303") + rng.randbytes(100),  # the start of TLS
        )
        return rng.choice(makers)()


_SERVED = {0, 1, 2, 3, 10, 18, 19, 20, 21, 22, 23, 32, 33, 35, 37, 44, 55, 57, 60, 61, 74, 75}


class Conversation:
    """One connection after the other to the same broker."""

    def __init__(self, port: int) -> None:
        self._port = port
        self._sock = self._connect()
        self.outcomes: Counter[str] = Counter()

    def _connect(self) -> socket.socket:
        sock = socket.create_connection(("127.0.0.1", self._port), timeout=PATIENCE_S)
        sock.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
        return sock

    def ask(self, frame: bytes) -> list[bytes] | None:
        """The answers to it; None if the broker closed the connection instead."""
        try:
            self._sock.sendall(frame + _ASK_SENTINEL)
            answers = []
            while (answer := self._receive())[:4] != pack(">i", SENTINEL):
                answers.append(answer)
        except ConnectionError:
            self.close()
            self._sock = self._connect()
            self.outcomes["closed"] += 1
            return None
        self.outcomes["answered" if answers else "not answered"] += 1
        return answers

    def end_with(self, stream: bytes, rng: Random) -> None:
        """Send all of it, maybe byte by byte, say that there is no more, and wait until the broker closes."""
        self.outcomes["streams"] += 1
        with self._connect() as sock:
            try:
                if rng.random() < 0.1:
                    for at in range(len(stream)):
                        sock.sendall(stream[at : at + 1])
                else:
                    sock.sendall(stream)
                sock.shutdown(socket.SHUT_WR)
                while sock.recv(1 << 16):
                    pass
            except TimeoutError:
                raise
            except OSError:
                return  # it did not want to hear the end

    def close(self) -> None:
        self._sock.close()

    def _receive(self) -> bytes:
        return self._receive_exactly(int.from_bytes(self._receive_exactly(4), "big"))

    def _receive_exactly(self, size: int) -> bytes:
        parts = []
        while size:
            part = self._sock.recv(min(size, 1 << 20))
            if not part:
                raise ConnectionResetError
            parts.append(part)
            size -= len(part)
        return b"".join(parts)


def check_answers(message: Message, version: int, answers: list[bytes]) -> None:
    """What comes back is the response to that request."""
    assert len(answers) <= 1
    for answer in answers:
        kind = APIS[message.spec.key or 0].response
        try:
            correlation_id, body = read_response_head(memoryview(answer), kind, version)
            decode(kind, version, body)
        except BadRequest as error:
            raise AssertionError(
                f"{type(message).__name__} version {version} was answered with {answer.hex()}"
            ) from error
        assert correlation_id == 1


def resident_kb(pid: int) -> int:
    told = subprocess.run(["ps", "-o", "rss=", "-p", str(pid)], capture_output=True, text=True, check=True)
    return int(told.stdout)


def test_bad_input_harms_nobody(tmp_path: Path) -> None:
    seed = Random().randrange(1 << 32)
    print(f"seed {seed}")  # noqa: T201 - shown if it fails
    rng = Random(seed)
    for number in range(examples(2)):
        outcomes = Counter(run_round(tmp_path / str(number), rng))
        print(f"round {number}: {dict(outcomes)}")  # noqa: T201


def run_round(directory: Path, rng: Random) -> Counter[str]:
    with running_broker({"log.retention.check.interval.ms": "1000"}, directory=directory) as broker:
        broker.create_topic("good", 1)
        outcomes = feed(broker, Inputs(rng), rng)
        check_log(broker, outcomes)
    verified = subprocess.run(
        [sys.executable, "-m", "odradek", "log", "verify", str(directory)], capture_output=True, text=True, check=False
    )
    assert verified.returncode == 0, verified.stdout
    return outcomes


def feed(broker: RunningBroker, inputs: Inputs, rng: Random) -> Counter[str]:
    with ExitStack() as stack:
        conversation = stack.enter_context(closing(Conversation(broker.port)))
        runner = stack.enter_context(asyncio.Runner())
        good = runner.run(RawClient.connect("127.0.0.1", broker.port))
        stack.callback(lambda: runner.run(good.close()))
        for number in range(INPUTS):
            if number % 100 == 0:
                inputs.aim_at(runner.run(make_topics(good)))  # bad requests may delete them
            if rng.random() < 0.1:
                conversation.end_with(inputs.stream(), rng)
            else:
                frame, message, version = inputs.frame()
                answers = conversation.ask(frame)
                if message is not None and answers is not None:
                    check_answers(message, version, answers)
            if number % 50 == 0:
                assert runner.run(produce(good, "good", str(number))).base_offset == number // 50
        found = runner.run(read_partition(good, "good"))
        assert [record.value for record in found.records] == [b"%d" % n for n in range(0, INPUTS, 50)]
    assert resident_kb(broker.pid) < RESIDENT_KB_MAX
    return conversation.outcomes


async def make_topics(client: RawClient) -> list[bytes]:
    """Those that are not there; returns the ids of all."""
    for name, configs in TOPICS.items():
        await create_topic(client, name, 1, **configs)
    response = await client.ask(MetadataRequest(topics=None), MetadataResponse, 12)
    return [topic.topic_id for topic in response.topics if topic.name in TOPICS]


def check_log(broker: RunningBroker, outcomes: Counter[str]) -> None:
    lines = broker.log
    assert [line for line in lines if "nobody expected" in line or "Traceback" in line or " ERROR " in line] == []
    closed = sum("closed a connection" in line for line in lines)
    assert outcomes["closed"] <= closed <= outcomes["closed"] + outcomes["streams"]
