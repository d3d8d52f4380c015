"""What a message costs to read and to write, and what it costs to get ready for that: ./run bench wire

Each message is typical of a busy client: six partitions of one topic, or the metadata of 1,000 partitions. Times are
medians over rounds of many messages. Beside each stands the time that copying its bytes takes, as the machine's limit.
"""

import json
import os
import subprocess
import sys
import tempfile
from collections.abc import Callable

import harness
from harness import Figure

from odradek.wire.codec import decode, encode, encode_onto
from odradek.wire.frame import response_frame
from odradek.wire.header import read_request_head
from odradek.wire.messages.fetch import (
    FetchableTopicResponse,
    FetchPartition,
    FetchRequest,
    FetchResponse,
    FetchTopic,
    PartitionData,
)
from odradek.wire.messages.metadata import (
    MetadataResponse,
    MetadataResponseBroker,
    MetadataResponsePartition,
    MetadataResponseTopic,
)
from odradek.wire.messages.produce import (
    PartitionProduceData,
    PartitionProduceResponse,
    ProduceRequest,
    ProduceResponse,
    TopicProduceData,
    TopicProduceResponse,
)
from odradek.wire.schema import Message

PARTITIONS = range(6)
TOPIC_ID = bytes(range(16))
RECORDS = memoryview(bytes(16 << 10))

# Run on its own: modules are loaded once only. Errors and typing, which any program of ours has loaded, do not count.
_START_UP = """
import json, time
import odradek.model.errors, typing, struct, contextlib, functools
begin = time.perf_counter()
from odradek.wire.apis import APIS
from odradek.wire.reading import compile_reader
from odradek.wire.writing import compile_writer
codec = time.perf_counter()
apis = [APIS[key] for key in (0, 1, 3, 10, 18, 19, 22)]
kinds = [(api.request, api.response, api.versions[1]) for api in apis]
modules = time.perf_counter()
for request, response, version in kinds:
    compile_reader(request, version)
    compile_writer(response, version)
end = time.perf_counter()
print(json.dumps([codec - begin, modules - codec, end - modules]))
"""


def produce_request() -> ProduceRequest:
    data = tuple(PartitionProduceData(index=index, records=RECORDS) for index in PARTITIONS)
    topic = TopicProduceData(topic_id=TOPIC_ID, partition_data=data)
    return ProduceRequest(acks=-1, timeout_ms=30_000, topic_data=(topic,))


def produce_response() -> ProduceResponse:
    replies = tuple(
        PartitionProduceResponse(index=index, base_offset=1_000_000 + index, log_start_offset=0) for index in PARTITIONS
    )
    return ProduceResponse(responses=(TopicProduceResponse(topic_id=TOPIC_ID, partition_responses=replies),))


def fetch_request() -> FetchRequest:
    partitions = tuple(
        FetchPartition(partition=index, current_leader_epoch=3, fetch_offset=1_000_000, partition_max_bytes=1 << 20)
        for index in PARTITIONS
    )
    topic = FetchTopic(topic_id=TOPIC_ID, partitions=partitions)
    return FetchRequest(max_wait_ms=500, min_bytes=1, topics=(topic,))


def fetch_response() -> FetchResponse:
    partitions = tuple(
        PartitionData(
            partition_index=index,
            high_watermark=1_000_000,
            last_stable_offset=1_000_000,
            log_start_offset=0,
            aborted_transactions=None,
            records=RECORDS,
        )
        for index in PARTITIONS
    )
    return FetchResponse(session_id=7, responses=(FetchableTopicResponse(topic_id=TOPIC_ID, partitions=partitions),))


def metadata_response(topics: int = 100, partitions: int = 10) -> MetadataResponse:
    brokers = tuple(MetadataResponseBroker(node_id=n, host=f"broker-{n}.example", port=9092) for n in range(3))

    def partition(index: int) -> MetadataResponsePartition:
        nodes = (index % 3, (index + 1) % 3, (index + 2) % 3)
        return MetadataResponsePartition(
            partition_index=index, leader_id=nodes[0], leader_epoch=5, replica_nodes=nodes, isr_nodes=nodes
        )

    return MetadataResponse(
        brokers=brokers,
        cluster_id="abcdefghijklmnopqrstuQ",
        controller_id=1,
        topics=tuple(
            MetadataResponseTopic(
                name=f"topic-{n:03}", topic_id=TOPIC_ID, partitions=tuple(map(partition, range(partitions)))
            )
            for n in range(topics)
        ),
    )


def each(rounds: int, count: int, *works: Callable[[], object]) -> list[float]:
    """Microseconds that each piece of work takes, one time of it."""

    def repeated(work: Callable[[], object]) -> Callable[[], None]:
        def loop() -> None:
            for _ in range(count):
                work()

        return loop

    return [taken / count * 1e6 for taken in harness.medians(rounds, *map(repeated, works))]


def message_figures(rounds: int, message: Message, version: int, *, parts: int = 1, aim: float = 0) -> list[Figure]:
    """Read and write one message. With an aim, writing should take at most so many microseconds for each part."""
    data = encode(message, version)
    kind = type(message)
    assert decode(kind, version, data) == message
    count = max(20_000 // parts, 20)
    read_us, write_us, copy_us = each(
        rounds,
        count,
        lambda: decode(kind, version, data),
        lambda: encode_onto(bytearray(), [], message, version),
        lambda: bytearray(data),
    )
    name = f"{kind.__name__} v{version}, {len(data):,} bytes"
    figures = [
        Figure(f"read {name}", read_us, "us", copy_us, "copy"),
        Figure(f"write {name}", write_us, "us", copy_us, "copy"),
    ]
    if aim:
        figures.append(
            Figure("  for each partition", write_us / parts, "us", bar=f"under {aim} us", met=write_us / parts < aim)
        )
    return figures


def handler_figures(rounds: int) -> list[Figure]:
    """What surrounds the body: the header of a request, the reply that a handler makes, its frame."""
    frame = memoryview(b"\x00\x00\x00\x0d\x00\x00\x00\x2a\x00\x0aproducer-1\x00" + bytes(20))
    assert read_request_head(frame).client_id == "producer-1"
    reply = produce_response()
    head_us, make_us, frame_us = each(
        rounds, 20_000, lambda: read_request_head(frame), produce_response, lambda: response_frame(reply, 13, 42)
    )
    return [
        Figure("read the header of a request", head_us, "us"),
        Figure("make a ProduceResponse", make_us, "us"),
        Figure("write it with its frame and header", frame_us, "us", bar="under 10 us", met=frame_us < 10),
    ]


def start_up_figures(rounds: int) -> list[Figure]:
    command = [sys.executable, "-c", _START_UP]
    times = []
    with tempfile.TemporaryDirectory() as cache:  # with compiled modules, as installed programs have them
        env = {**os.environ, "PYTHONPYCACHEPREFIX": cache, "PYTHONDONTWRITEBYTECODE": ""}
        for _ in range(rounds + 1):
            child = subprocess.run(command, env=env, capture_output=True, check=True, text=True)
            times.append(json.loads(child.stdout))
    codec, modules, compiled = min(times[1:], key=sum)  # the one that the machine disturbed least
    total = (codec + modules + compiled) * 1e3
    return [
        Figure("start: load the codec and the table of APIs", codec * 1e3, "ms"),
        Figure("start: load seven APIs", modules * 1e3, "ms"),
        Figure("start: compile seven readers and writers", compiled * 1e3, "ms"),
        Figure("start: all of it", total, "ms", bar="under 25 ms", met=total < 25),
    ]


def main() -> None:
    options = harness.parser(__doc__ or "").parse_args()
    rounds = options.rounds
    figures = message_figures(rounds, produce_request(), 13)
    figures += message_figures(rounds, produce_response(), 13)
    figures += message_figures(rounds, fetch_request(), 18)
    figures += message_figures(rounds, fetch_response(), 18)
    figures += message_figures(rounds, metadata_response(), 13, parts=1000, aim=1.5)
    figures += handler_figures(rounds)
    figures += start_up_figures(rounds)
    harness.report("wire", figures, save_them=options.save)


if __name__ == "__main__":
    main()
