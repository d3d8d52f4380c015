"""A blocking client of Kafka's protocol for benchmarks: as little as possible between the clock and the socket."""

import os
import socket
import time
from struct import Struct
from typing import TypeVar

from odradek.model.numbers import Offset, TimestampMs
from odradek.records.builder import build_batch
from odradek.records.record import Record
from odradek.wire.codec import decode
from odradek.wire.frame import request_frame
from odradek.wire.header import read_response_head
from odradek.wire.messages.create_topics import CreatableTopic, CreateTopicsRequest, CreateTopicsResponse
from odradek.wire.messages.delete_topics import DeleteTopicsRequest, DeleteTopicsResponse, DeleteTopicState
from odradek.wire.messages.fetch import FetchPartition, FetchRequest, FetchTopic
from odradek.wire.messages.list_offsets import (
    ListOffsetsPartition,
    ListOffsetsRequest,
    ListOffsetsResponse,
    ListOffsetsTopic,
)
from odradek.wire.messages.produce import PartitionProduceData, ProduceRequest, ProduceResponse, TopicProduceData
from odradek.wire.schema import NO_UUID, Message

M = TypeVar("M", bound=Message)

SIZE = Struct(">i")
PRODUCE_VERSION = 11
FETCH_VERSION = 12
_BUFFER_BYTES = 64 << 20
_LATEST = -1
_RECORD_OVERHEAD = 13


class Raw:
    """One connection. A frame that was received is good until the next one."""

    def __init__(self, address: str) -> None:
        host, _, port = address.rpartition(":")
        self.sock = socket.create_connection((host, int(port)), timeout=60)
        self.sock.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
        self._buffer = memoryview(bytearray(_BUFFER_BYTES))

    def ask(self, request: Message, kind: type[M], version: int) -> M:
        self.send(request, version)
        return self.answer(kind, version)

    def send(self, request: Message, version: int) -> None:
        """Its answer is the next one that was not taken yet."""
        self.sock.sendall(frame_of(request, version))

    def answer(self, kind: type[M], version: int) -> M:
        _, body = read_response_head(self.receive(), kind, version)
        return decode(kind, version, body)

    def receive(self) -> memoryview:
        self._fill(4)
        (size,) = SIZE.unpack_from(self._buffer)
        self._fill(size)
        return self._buffer[:size]

    def _fill(self, size: int) -> None:
        have = 0
        while have < size:
            received = self.sock.recv_into(self._buffer[have:size])
            if not received:
                raise ConnectionError("the broker closed the connection")
            have += received

    def create_topics(self, names: list[str], partitions: int) -> None:
        topics = tuple(
            CreatableTopic(name=name, num_partitions=partitions, replication_factor=1, assignments=(), configs=())
            for name in names
        )
        request = CreateTopicsRequest(topics=topics, timeout_ms=60_000)
        for topic in self.ask(request, CreateTopicsResponse, 7).topics:
            if topic.error_code:
                raise RuntimeError(f"topic {topic.name}: error {topic.error_code} {topic.error_message}")

    def delete_topics(self, names: list[str]) -> None:
        request = DeleteTopicsRequest(
            topics=tuple(DeleteTopicState(name=name, topic_id=NO_UUID) for name in names), timeout_ms=60_000
        )
        for topic in self.ask(request, DeleteTopicsResponse, 6).responses:
            if topic.error_code:
                raise RuntimeError(f"topic {topic.name}: error {topic.error_code} {topic.error_message}")

    def end_offsets(self, topic: str, partitions: int) -> list[int]:
        asked = tuple(ListOffsetsPartition(partition_index=n, timestamp=_LATEST) for n in range(partitions))
        request = ListOffsetsRequest(replica_id=-1, topics=(ListOffsetsTopic(name=topic, partitions=asked),))
        answer = self.ask(request, ListOffsetsResponse, 7)
        return [each.offset for each in sorted(answer.topics[0].partitions, key=lambda each: each.partition_index)]

    def wait_for_leaders(self, topic: str, partitions: int) -> None:
        """A topic that was just created may not be served yet."""
        while min(self.end_offsets(topic, partitions)) < 0:
            time.sleep(0.001)

    def produce(self, topic: str, batch: bytes | bytearray) -> int:
        """To partition 0; returns the error code."""
        self.send(produce_request(topic, 0, batch, 1), PRODUCE_VERSION)
        return self.produced()

    def produced(self) -> int:
        """The error code of a batch that was sent."""
        return self.answer(ProduceResponse, PRODUCE_VERSION).responses[0].partition_responses[0].error_code

    def close(self) -> None:
        self.sock.close()


def batch_of(batch_bytes: int, record_bytes: int) -> tuple[bytearray, int]:
    """A batch of about that size, and how many records it has."""
    count = max((batch_bytes - 61) // (record_bytes + _RECORD_OVERHEAD), 1)
    now = time.time_ns() // 1_000_000
    records = [Record(Offset(n), TimestampMs(now), None, os.urandom(record_bytes)) for n in range(count)]
    return build_batch(records), count


def fetch_request(topic: str, offsets: dict[int, int], max_wait_ms: int = 500, isolation: int = 0) -> FetchRequest:
    wanted = tuple(
        FetchPartition(partition=n, fetch_offset=offset, partition_max_bytes=1 << 20) for n, offset in offsets.items()
    )
    asked = (FetchTopic(topic=topic, partitions=wanted),)
    return FetchRequest(
        max_wait_ms=max_wait_ms, min_bytes=1, max_bytes=50 << 20, isolation_level=isolation, topics=asked
    )


def produce_request(topic: str, partition: int, batch: bytes | bytearray, acks: int) -> ProduceRequest:
    data = TopicProduceData(name=topic, partition_data=(PartitionProduceData(index=partition, records=batch),))
    return ProduceRequest(acks=acks, timeout_ms=30_000, topic_data=(data,))


def frame_of(request: Message, version: int) -> bytes:
    parts = request_frame(request, version, 1, "bench")
    return b"".join(part for part in parts if isinstance(part, (bytes, bytearray, memoryview)))
