"""Topics for `./run bench spark`: filled before, or at a steady rate while a query runs.

`spark_topics.py PARAMETERS` is the steady one, in a process of its own; the parameters are JSON.
"""

import json
import random
import struct
import sys
import time
from dataclasses import dataclass

import load
from raw import PRODUCE_VERSION, Raw, frame_of, produce_request

from odradek.model.numbers import Offset, TimestampMs
from odradek.records.batch import Codec
from odradek.records.builder import BatchSpec, build_batch
from odradek.records.record import Record
from odradek.wire.messages.create_topics import (
    CreatableTopic,
    CreatableTopicConfig,
    CreateTopicsRequest,
    CreateTopicsResponse,
)

BATCH_BYTES = 16_384
"""What Kafka's producer gathers by default."""
_DIFFERENT_BATCHES = 20
_IN_FLIGHT = 5
_RECORD_OVERHEAD = 23
SENT_AT = struct.Struct(">q")
"""How a record that is sent at a steady rate begins: the time in nanoseconds."""


@dataclass(frozen=True)
class Filled:
    """A topic to fill. It gets as many whole batches as there is room for."""

    name: str
    rows: int
    value_bytes: int
    codec: Codec = Codec.NONE
    partitions: int = 6


def create(address: str, name: str, partitions: int, **configs: str) -> None:
    """Settings are given with _ for each dot."""
    raw = Raw(address)
    settings = tuple(CreatableTopicConfig(name=key.replace("_", "."), value=text) for key, text in configs.items())
    topic = CreatableTopic(name=name, num_partitions=partitions, replication_factor=1, assignments=(), configs=settings)
    for outcome in raw.ask(CreateTopicsRequest(topics=(topic,), timeout_ms=60_000), CreateTopicsResponse, 7).topics:
        if outcome.error_code:
            raise RuntimeError(f"topic {name}: error {outcome.error_code} {outcome.error_message}")
    raw.wait_for_leaders(name, partitions)
    raw.close()


def fill(address: str, topic: Filled) -> int:
    """Returns how many rows it has."""
    create(address, topic.name, topic.partitions)
    per_batch = max((BATCH_BYTES - 61) // (topic.value_bytes + _RECORD_OVERHEAD), 1)
    batches = [_batch(random.Random(seed), topic, per_batch) for seed in range(_DIFFERENT_BATCHES)]
    requests = [
        frame_of(produce_request(topic.name, partition, batches[turn], -1), PRODUCE_VERSION)
        for turn in range(_DIFFERENT_BATCHES)
        for partition in range(topic.partitions)
    ]
    count = topic.rows // per_batch
    load.pipe(address, requests, count)
    raw = Raw(address)
    rows = sum(raw.end_offsets(topic.name, topic.partitions))
    raw.close()
    if rows != count * per_batch:
        raise RuntimeError(f"{rows} rows arrived in {topic.name}, of {count * per_batch}")
    return rows


def _batch(chance: random.Random, topic: Filled, count: int) -> bytes:
    """Values that look like events: what repeats, and what does not, so that compression has its usual work."""
    now = time.time_ns() // 1_000_000
    records = []
    for number in range(count):
        text = f'{{"device":"{chance.getrandbits(32):08x}","state":"running","reading":{chance.random():.6f},"note":"'
        filler = chance.randbytes(topic.value_bytes // 4).hex()
        value = (text + filler * 3)[: topic.value_bytes].encode()
        key = f"{chance.getrandbits(32):08x}".encode()
        records.append(Record(Offset(number), TimestampMs(now), key, value))
    return bytes(build_batch(records, BatchSpec(codec=topic.codec)))


def steady(
    address: str, topic: str, partitions: int, rate: int, seconds: int, value_bytes: int = 100
) -> dict[str, float]:
    """Records that say when they were sent, ten in a batch, to one partition after the other.

    Returns how late the last one was.
    """
    per_batch = 10
    raw = Raw(address)
    begin, late = time.perf_counter(), 0.0
    for number in range(rate * seconds // per_batch):
        due = begin + number * per_batch / rate
        late = time.perf_counter() - due
        if late < 0:
            time.sleep(-late)
        value = SENT_AT.pack(time.time_ns()).ljust(value_bytes, b".")
        records = [Record(Offset(n), TimestampMs(time.time_ns() // 1_000_000), None, value) for n in range(per_batch)]
        raw.send(produce_request(topic, number % partitions, build_batch(records), 1), PRODUCE_VERSION)
        if number >= _IN_FLIGHT and raw.produced():
            raise RuntimeError(f"{topic} did not take a batch")
    for _ in range(min(_IN_FLIGHT, rate * seconds // per_batch)):
        if raw.produced():
            raise RuntimeError(f"{topic} did not take a batch")
    raw.close()
    return {"late_s": max(late, 0.0)}


if __name__ == "__main__":
    print(json.dumps(steady(**json.loads(sys.argv[1]))))
