"""The load of `./run bench broker`: one piece of work against one broker, in a process of its own.

Not to be run by hand: `load.py NAME PARAMETERS`, where the parameters are JSON. Prints one line of JSON. The raw works
send requests that were made before the clock starts; what the broker has afterwards is compared with what was sent.
"""

import json
import os
import selectors
import sys
import time
from collections.abc import Callable
from statistics import quantiles
from typing import Any

from raw import PRODUCE_VERSION, SIZE, Raw, frame_of, produce_request

from odradek.model.numbers import Offset, TimestampMs
from odradek.records.builder import build_batch
from odradek.records.record import Record
from odradek.wire.codec import decode
from odradek.wire.header import read_response_head
from odradek.wire.messages.fetch import FetchPartition, FetchRequest, FetchResponse, FetchTopic
from odradek.wire.messages.metadata import MetadataRequest, MetadataResponse

FETCH_VERSION = 12
METADATA_VERSION = 12
_RECORD_OVERHEAD = 13
_MESSAGES_AT_ONCE = 10_000


def batch_of(batch_bytes: int, record_bytes: int) -> tuple[bytearray, int]:
    """A batch of about that size, and how many records it has."""
    count = max((batch_bytes - 61) // (record_bytes + _RECORD_OVERHEAD), 1)
    now = time.time_ns() // 1_000_000
    records = [Record(Offset(n), TimestampMs(now), None, os.urandom(record_bytes)) for n in range(count)]
    return build_batch(records), count


class Pipe:
    """A connection with a number of produce requests under way; replies are counted, not looked at."""

    def __init__(self, address: str, requests: list[bytes], in_flight: int, count: int) -> None:
        self.sock = Raw(address).sock
        self.sock.setblocking(False)
        self._requests = requests
        self._in_flight = in_flight
        self._count = count
        self._sent = self.answered = 0
        self._rest = memoryview(b"")
        self._received = b""

    @property
    def is_done(self) -> bool:
        return self.answered == self._count

    def send(self) -> bool:
        """True when the socket takes no more."""
        try:
            while True:
                if not self._rest:
                    if self._sent == self._count or self._sent - self.answered >= self._in_flight:
                        return False
                    self._rest = memoryview(self._requests[self._sent % len(self._requests)])
                    self._sent += 1
                self._rest = self._rest[self.sock.send(self._rest) :]
        except BlockingIOError:
            return True

    def receive(self) -> None:
        data = self.sock.recv(1 << 16)
        if not data:
            raise ConnectionError("the broker closed the connection")
        data = self._received + data
        at = 0
        while len(data) - at >= 4:
            end = at + 4 + SIZE.unpack_from(data, at)[0]
            if end > len(data):
                break
            at = end
            self.answered += 1
        self._received = data[at:]


def produce(  # noqa: PLR0913 - the parameters come as JSON
    address: str,
    topic: str,
    partitions: int,
    record_bytes: int,
    batch_bytes: int,
    count: int,
    acks: int = 1,
    connections: int = 1,
    in_flight: int = 5,
) -> dict[str, float]:
    """`count` requests of one batch each, the partitions in turn."""
    batch, records = batch_of(batch_bytes, record_bytes)
    requests = [frame_of(produce_request(topic, n, batch, acks), PRODUCE_VERSION) for n in range(partitions)]
    checker = Raw(address)
    before = sum(checker.end_offsets(topic, partitions))
    pipes = [Pipe(address, requests, in_flight, count // connections) for _ in range(connections)]
    selector = selectors.DefaultSelector()
    watch = Watch()
    for pipe in pipes:
        selector.register(pipe.sock, selectors.EVENT_READ, pipe)
    open_pipes = len(pipes)
    for pipe in pipes:
        if pipe.send():
            selector.modify(pipe.sock, selectors.EVENT_READ | selectors.EVENT_WRITE, pipe)
    while open_pipes:
        for key, ready in selector.select():
            pipe = key.data
            if ready & selectors.EVENT_READ:
                pipe.receive()
                if pipe.is_done:
                    selector.unregister(pipe.sock)
                    open_pipes -= 1
                    continue
            events = selectors.EVENT_READ | (selectors.EVENT_WRITE if pipe.send() else 0)
            if events != key.events:
                selector.modify(pipe.sock, events, pipe)
    result = watch.stop()
    sent = count // connections * connections
    arrived = sum(checker.end_offsets(topic, partitions)) - before
    _check_arrived(arrived, sent * records)
    return {
        **result,
        "mb_s": sent * len(batch) / result["seconds"] / 1e6,
        "records_s": arrived / result["seconds"],
        "requests_s": sent / result["seconds"],
    }


def fetch(address: str, topic: str, partitions: int, times: int, isolation: int = 0) -> dict[str, float]:
    """Everything that is in the topic, as a consumer with default settings asks for it, and that some times."""
    raw = Raw(address)
    ends = raw.end_offsets(topic, partitions)
    watch = Watch()
    size = sum(_fetch_all(raw, topic, ends, isolation) for _ in range(times))
    result = watch.stop()
    return {**result, "mb_s": size / result["seconds"] / 1e6, "records_s": times * sum(ends) / result["seconds"]}


def _fetch_all(raw: Raw, topic: str, ends: list[int], isolation: int) -> int:
    offsets = [0] * len(ends)
    size = 0
    while offsets != ends:
        unread = {n: offset for n, offset in enumerate(offsets) if offset < ends[n]}
        request = fetch_request(topic, unread, isolation=isolation)
        raw.sock.sendall(frame_of(request, FETCH_VERSION))
        _, body = read_response_head(raw.receive(), FetchResponse, FETCH_VERSION)
        for part in decode(FetchResponse, FETCH_VERSION, body).responses[0].partitions:
            if part.error_code:
                raise RuntimeError(f"error {part.error_code} for partition {part.partition_index}")
            taken, offsets[part.partition_index] = _walk(part.records, offsets[part.partition_index])
            size += taken
    return size


def fetch_request(topic: str, offsets: dict[int, int], max_wait_ms: int = 500, isolation: int = 0) -> FetchRequest:
    wanted = tuple(
        FetchPartition(partition=n, fetch_offset=offset, partition_max_bytes=1 << 20) for n, offset in offsets.items()
    )
    asked = (FetchTopic(topic=topic, partitions=wanted),)
    return FetchRequest(
        max_wait_ms=max_wait_ms, min_bytes=1, max_bytes=50 << 20, isolation_level=isolation, topics=asked
    )


def _walk(records: Any, offset: int) -> tuple[int, int]:
    """The bytes of whole batches in what was fetched, and the offset behind them."""
    at, end = 0, len(records or b"")
    while end - at >= 61:
        size = 12 + SIZE.unpack_from(records, at + 8)[0]
        if size > end - at:
            break
        offset = int.from_bytes(records[at : at + 8], "big") + SIZE.unpack_from(records, at + 23)[0] + 1
        at += size
    return at, offset


def latency(address: str, topic: str, count: int) -> dict[str, float]:
    """One record after the other, each sent when the one before is acknowledged."""
    batch, _ = batch_of(1, 100)
    request = frame_of(produce_request(topic, 0, batch, 1), PRODUCE_VERSION)
    raw = Raw(address)
    (before,) = raw.end_offsets(topic, 1)
    times = []
    watch = Watch()
    for _ in range(count):
        begin = time.perf_counter_ns()
        raw.sock.sendall(request)
        raw.receive()
        times.append((time.perf_counter_ns() - begin) / 1e3)
    result = watch.stop()
    _check_arrived(raw.end_offsets(topic, 1)[0] - before, count)
    return {**result, **percentiles(times)}


def end_to_end(address: str, topic: str, rate: int, seconds: int) -> dict[str, float]:
    """Records at a steady rate, ten in a batch; how long each batch takes until a consumer has it."""
    per_batch = 10
    interval = per_batch / rate
    count = rate * seconds // per_batch
    producer, consumer = Raw(address), Raw(address)
    (offset,) = consumer.end_offsets(topic, 1)
    first = offset
    selector = selectors.DefaultSelector()
    selector.register(producer.sock, selectors.EVENT_READ)
    selector.register(consumer.sock, selectors.EVENT_READ)
    batch, _ = batch_of(per_batch * (100 + _RECORD_OVERHEAD) + 61, 100)
    request = frame_of(produce_request(topic, 0, batch, 1), PRODUCE_VERSION)
    sent: list[float] = []
    times: list[float] = []
    consumer.sock.sendall(frame_of(fetch_request(topic, {0: offset}), FETCH_VERSION))
    watch = Watch()
    begin = time.perf_counter()
    while len(times) < count:
        due = begin + len(sent) * interval - time.perf_counter()
        if len(sent) < count and due <= 0:
            sent.append(time.perf_counter())
            producer.sock.sendall(request)
            continue
        for key, _ in selector.select(max(due, 0) if len(sent) < count else None):
            if key.fileobj is producer.sock:
                producer.receive()
                continue
            _, body = read_response_head(consumer.receive(), FetchResponse, FETCH_VERSION)
            now = time.perf_counter()
            part = decode(FetchResponse, FETCH_VERSION, body).responses[0].partitions[0]
            _, offset = _walk(part.records, offset)
            consumer.sock.sendall(frame_of(fetch_request(topic, {0: offset}), FETCH_VERSION))
            arrived = (offset - first) // per_batch
            times += [(now - when) * 1e6 for when in sent[len(times) : arrived]]
    return {**watch.stop(), **percentiles(times)}


def metadata(address: str, count: int) -> dict[str, float]:
    """All topics, again and again."""
    raw = Raw(address)
    request = frame_of(MetadataRequest(topics=None, allow_auto_topic_creation=False), METADATA_VERSION)
    times = []
    frame = memoryview(b"")
    watch = Watch()
    for _ in range(count):
        begin = time.perf_counter_ns()
        raw.sock.sendall(request)
        frame = raw.receive()
        times.append((time.perf_counter_ns() - begin) / 1e3)
    result = watch.stop()
    _, body = read_response_head(frame, MetadataResponse, METADATA_VERSION)
    topics = decode(MetadataResponse, METADATA_VERSION, body).topics
    partitions = sum(len(topic.partitions) for topic in topics)
    return {**result, **percentiles(times), "bytes": len(frame), "topics": len(topics), "partitions": partitions}


# --- with confluent-kafka


def confluent_produce(address: str, topic: str, record_bytes: int, count: int, acks: str) -> dict[str, float]:
    from confluent_kafka import Producer

    setting = {"bootstrap.servers": address, "acks": acks, "linger.ms": 50, "queue.buffering.max.messages": 1_000_000}
    failed: list[Any] = []

    def delivered(error: Any, _message: Any) -> None:
        if error:
            failed.append(error)

    producer = Producer({**setting, "on_delivery": delivered})
    value = os.urandom(record_bytes)
    watch = Watch()
    for number in range(count):
        while True:
            try:
                producer.produce(topic, value, partition=number % 6)
                break
            except BufferError:
                producer.poll(0.01)
        if number % 1000 == 0:
            producer.poll(0)
    left = producer.flush(60)
    result = watch.stop()
    if failed or left:
        raise RuntimeError(f"{len(failed)} records failed, {left} were not sent: {failed[:1]}")
    return {**result, "records_s": count / result["seconds"], "mb_s": count * record_bytes / result["seconds"] / 1e6}


def confluent_fetch(address: str, topic: str, partitions: int, record_bytes: int) -> dict[str, float]:
    from confluent_kafka import OFFSET_BEGINNING, Consumer, TopicPartition

    total = sum(Raw(address).end_offsets(topic, partitions))
    setting = {
        "bootstrap.servers": address,
        "group.id": "bench",
        "enable.auto.commit": False,
        # By default it pauses a second whenever it has 100,000 messages: that would be all that is measured.
        "queued.min.messages": 1_000_000,
        "fetch.queue.backoff.ms": 1,
    }
    consumer = Consumer(setting)
    consumer.assign([TopicPartition(topic, n, OFFSET_BEGINNING) for n in range(partitions)])
    got = len(consumer.consume(1, 30))
    watch = Watch()
    while got < total:
        messages = consumer.consume(min(_MESSAGES_AT_ONCE, total - got), 10)
        if not messages:
            raise RuntimeError(f"{got} of {total} records came")
        got += len(messages)
    result = watch.stop()
    consumer.close()
    return {**result, "records_s": total / result["seconds"], "mb_s": total * record_bytes / result["seconds"] / 1e6}


# --- what all share


class Watch:
    """Wall and CPU time of this process."""

    def __init__(self) -> None:
        self._cpu = time.process_time()
        self._wall = time.perf_counter()

    def stop(self) -> dict[str, float]:
        seconds = time.perf_counter() - self._wall
        return {"seconds": seconds, "own_cpu": (time.process_time() - self._cpu) / seconds}


def _check_arrived(arrived: int, sent: int) -> None:
    """Refused requests are answered fast: a benchmark of them would be a good one."""
    if arrived != sent:
        raise RuntimeError(f"{arrived} records arrived, of {sent}")


def percentiles(times: list[float]) -> dict[str, float]:
    cuts = quantiles(times, n=100)
    return {"p50_us": cuts[49], "p99_us": cuts[98]}


WORKS: dict[str, Callable[..., dict[str, float]]] = {
    work.__name__: work for work in (produce, fetch, latency, end_to_end, metadata, confluent_produce, confluent_fetch)
}

if __name__ == "__main__":
    print(json.dumps(WORKS[sys.argv[1]](**json.loads(sys.argv[2]))))
