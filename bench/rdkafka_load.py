"""The load of librdkafka, as the wheel of confluent-kafka brings it, with nothing of Python for a single record.

Not to be run by hand: `rdkafka_load.py NAME PARAMETERS`, where the parameters are JSON. Prints one line of JSON.
Records go to the library a thousand at a time, and it hands what it has fetched to a function of its own. What the
broker has afterwards, and where the consumer stands, is compared with what was sent.
"""

import json
import os
import sys
import time
from collections.abc import Callable, Mapping
from ctypes import (
    CDLL,
    CFUNCTYPE,
    POINTER,
    Structure,
    c_char_p,
    c_int,
    c_int32,
    c_int64,
    c_size_t,
    c_void_p,
    create_string_buffer,
)
from ctypes import cast as cast_c
from importlib.metadata import files
from typing import Any, ClassVar

from harness import Watch
from raw import Raw

_PRODUCER, _CONSUMER = 0, 1
_BLOCK, _PARTITION_OF_MESSAGE = 4, 8
_BEGINNING = 0
_AT_ONCE = 1_000
_WAIT_MS = 60_000


class Message(Structure):
    """rd_kafka_message_t"""

    _fields_: ClassVar[Any] = (
        ("error", c_int),
        ("topic", c_void_p),
        ("partition", c_int32),
        ("payload", c_void_p),
        ("length", c_size_t),
        ("key", c_void_p),
        ("key_length", c_size_t),
        ("offset", c_int64),
        ("private", c_void_p),
    )


class TopicPartition(Structure):
    """rd_kafka_topic_partition_t"""

    _fields_: ClassVar[Any] = (
        ("topic", c_char_p),
        ("partition", c_int32),
        ("offset", c_int64),
        ("metadata", c_void_p),
        ("metadata_size", c_size_t),
        ("opaque", c_void_p),
        ("error", c_int),
        ("private", c_void_p),
    )


class TopicPartitions(Structure):
    """rd_kafka_topic_partition_list_t"""

    _fields_: ClassVar[Any] = (("count", c_int), ("size", c_int), ("elements", POINTER(TopicPartition)))


Delivered = CFUNCTYPE(None, c_void_p, POINTER(Message), c_void_p)


def library() -> CDLL:
    name = next(each for each in files("confluent-kafka") or [] if each.name.startswith("librdkafka"))
    found = CDLL(str(name.locate()))
    pointer = c_void_p
    for function, result, arguments in (
        ("conf_new", pointer, []),
        ("conf_set", c_int, [pointer, c_char_p, c_char_p, c_char_p, c_size_t]),
        ("conf_set_dr_msg_cb", None, [pointer, Delivered]),
        ("new", pointer, [c_int, pointer, c_char_p, c_size_t]),
        ("topic_new", pointer, [pointer, c_char_p, pointer]),
        ("produce_batch", c_int, [pointer, c_int32, c_int, POINTER(Message), c_int]),
        ("poll", c_int, [pointer, c_int]),
        ("flush", c_int, [pointer, c_int]),
        ("queue_new", pointer, [pointer]),
        ("consume_start_queue", c_int, [pointer, c_int32, c_int64, pointer]),
        ("consume_callback_queue", c_int, [pointer, c_int, pointer, pointer]),
        ("topic_partition_list_new", POINTER(TopicPartitions), [c_int]),
        ("topic_partition_list_add", POINTER(TopicPartition), [POINTER(TopicPartitions), c_char_p, c_int32]),
        ("position", c_int, [pointer, POINTER(TopicPartitions)]),
    ):
        declared = getattr(found, f"rd_kafka_{function}")
        declared.restype, declared.argtypes = result, arguments
    return found


class Client:
    """A producer or a consumer of one topic."""

    def __init__(self, kind: int, topic: str, settings: Mapping[str, object]) -> None:
        self.library = library()
        self.failed = 0
        self._delivered = Delivered(self._note)
        said = create_string_buffer(512)
        configuration = self.library.rd_kafka_conf_new()
        for name, value in settings.items():
            if self.library.rd_kafka_conf_set(configuration, name.encode(), str(value).encode(), said, len(said)):
                raise RuntimeError(said.value.decode())
        if kind == _PRODUCER:
            self.library.rd_kafka_conf_set_dr_msg_cb(configuration, self._delivered)
        self.handle = self.library.rd_kafka_new(kind, configuration, said, len(said))
        if not self.handle:
            raise RuntimeError(said.value.decode())
        self.topic = self.library.rd_kafka_topic_new(self.handle, topic.encode(), None)

    def _note(self, _handle: object, _message: object, _opaque: object) -> None:
        """Called for records that were not delivered, by `delivery.report.only.error`."""
        self.failed += 1

    def check(self) -> None:
        if self.failed:
            raise RuntimeError(f"{self.failed} records failed")


def produce(  # noqa: PLR0913 - the parameters come as JSON
    address: str, topic: str, partitions: int, record_bytes: int, acks: int, count: int, seconds: float, one: bool
) -> dict[str, float]:
    """Up to `count` records or for so many seconds, the partitions in turn: as the library batches them, or one in each
    request with five under way."""
    settings: dict[str, object] = {
        "bootstrap.servers": address,
        "acks": acks,
        "delivery.report.only.error": "true",
        "linger.ms": 0 if one else 50,
        "queue.buffering.max.messages": 10_000 if one else 1_000_000,
    }
    if one:
        settings |= {"batch.num.messages": 1, "max.in.flight.requests.per.connection": 5}
    client = Client(_PRODUCER, topic, settings)
    value = create_string_buffer(os.urandom(record_bytes), record_bytes)
    messages = (Message * _AT_ONCE)()
    for number, message in enumerate(messages):
        message.partition = number % partitions
        message.payload, message.length = cast_c(value, c_void_p), record_bytes
    _send(client, messages, partitions)  # until it knows the leaders
    client.library.rd_kafka_flush(client.handle, _WAIT_MS)
    raw = Raw(address)
    before = sum(raw.end_offsets(topic, partitions))
    sent = 0
    watch = Watch()
    end = time.monotonic() + seconds
    while sent < count and time.monotonic() < end:
        _send(client, messages, _AT_ONCE)
        sent += _AT_ONCE
    if client.library.rd_kafka_flush(client.handle, _WAIT_MS):
        raise RuntimeError("records were not sent")
    result = watch.stop()
    client.check()
    arrived = sum(raw.end_offsets(topic, partitions)) - before
    if arrived != sent:
        raise RuntimeError(f"{arrived} records arrived, of {sent}")
    return _with_rates(result, sent, record_bytes) | ({"requests": sent} if one else {})


def _send(client: Client, messages: Any, count: int) -> None:
    """Waits for room in the library's queue, in C."""
    flags = _BLOCK | _PARTITION_OF_MESSAGE
    if client.library.rd_kafka_produce_batch(client.topic, 0, flags, messages, count) != count:
        raise RuntimeError(f"a record was refused: {next(each.error for each in messages if each.error)}")
    client.library.rd_kafka_poll(client.handle, 0)


def fetch(address: str, topic: str, partitions: int, record_bytes: int) -> dict[str, float]:
    """Everything that is in the topic."""
    raw = Raw(address)
    ends = raw.end_offsets(topic, partitions)
    settings = {
        "bootstrap.servers": address,
        # By default it pauses a second whenever it has 100,000 messages: that would be all that is measured.
        "queued.min.messages": 1_000_000,
        "fetch.queue.backoff.ms": 1,
    }
    client = Client(_CONSUMER, topic, settings)
    library = client.library
    queue = library.rd_kafka_queue_new(client.handle)
    # Any function that takes a message does: what consumers do with it is no part of this.
    take = cast_c(library.rd_kafka_message_timestamp, c_void_p)
    for partition in range(partitions):
        if library.rd_kafka_consume_start_queue(client.topic, partition, _BEGINNING, queue):
            raise RuntimeError(f"partition {partition} cannot be read")
    got = first = 0
    watch = Watch()
    while got < sum(ends):
        more = library.rd_kafka_consume_callback_queue(queue, _WAIT_MS, take, None)
        if more <= 0:
            raise RuntimeError(f"{got} of {sum(ends)} records came")
        if not got:  # the clock starts when it has found the leaders
            watch, first = Watch(), more
        got += more
    result = watch.stop()
    positions = _positions(client, topic, partitions)
    if positions != ends:
        raise RuntimeError(f"the consumer is at {positions}, the partitions end at {ends}")
    return _with_rates(result, got - first, record_bytes)


def _positions(client: Client, topic: str, partitions: int) -> list[int]:
    wanted = client.library.rd_kafka_topic_partition_list_new(partitions)
    for partition in range(partitions):
        client.library.rd_kafka_topic_partition_list_add(wanted, topic.encode(), partition)
    client.library.rd_kafka_position(client.handle, wanted)
    return [wanted.contents.elements[n].offset for n in range(partitions)]


def _with_rates(result: dict[str, float], records: int, record_bytes: int) -> dict[str, float]:
    rate = records / result["seconds"]
    return {**result, "records": records, "records_s": rate, "mb_s": rate * record_bytes / 1e6}


if __name__ == "__main__":
    works: dict[str, Callable[..., dict[str, float]]] = {"produce": produce, "fetch": fetch}
    print(json.dumps(works[sys.argv[1]](**json.loads(sys.argv[2]))))
    sys.stdout.flush()
    os._exit(0)  # a library with threads of its own takes its time to end
