"""The load of `./run bench pipelines`: events that happen now, at a steady rate or as fast as they are read.

Batches are made before the clock starts. When one is sent, only the time in its values is written anew, and its head:
so the load takes a small part of the cores that it shares with what is measured.
"""

import json
import time
from bisect import bisect_right
from collections.abc import Callable, Container, Iterator
from dataclasses import dataclass, field
from itertools import count, islice
from random import Random
from threading import Event, Thread

from raw import PRODUCE_VERSION, Raw
from spark_topics import create

from odradek.model.numbers import Offset, TimestampMs
from odradek.pipelines.contract import TENANT_PLANS, TRUCKS_GPS, json_text, operations_topic, time_text
from odradek.records.batch import BatchHead, parse_head, write_head
from odradek.records.builder import build_batch
from odradek.records.record import Record
from odradek.wire.messages.produce import PartitionProduceData, ProduceRequest, ProduceResponse, TopicProduceData

GROUPS = 4
PRODUCTS = ("compute", "storage")
OPERATIONS = tuple(operations_topic(product, f"g{group}") for product in PRODUCTS for group in range(GROUPS))
TRUCK_PARTITIONS = 2
TICK_S = 0.1
_BROKEN_EVERY = 100
_DIFFERENT_BATCHES = 10
_TENANTS, _CENTRES = 40, 8
_TIME = time_text(0)
"""Stands for the time until a batch is sent: all times are as long."""
_LATE_S_MAX = 2.0


@dataclass(frozen=True)
class Keys:
    """How many of each there are."""

    trucks: int = 1_000
    users: int = 1_000


@dataclass
class Lane:
    """A partition, and batches for it."""

    topic: str
    partition: int
    batches: list[tuple[bytearray, BatchHead]]
    ends: list[int] = field(default_factory=list)
    """Behind each batch that was sent, and when that was."""
    sent_ms: list[int] = field(default_factory=list)

    def next_batch(self, now_ms: int) -> bytearray:
        batch, head = self.batches[len(self.ends) % len(self.batches)]
        now = TimestampMs(now_ms)
        made = batch.replace(_TIME.encode(), time_text(now_ms).encode())
        write_head(made, head._replace(base_timestamp=now, max_timestamp=now))
        return made

    def sent_between(self, start: int, end: int) -> Iterator[tuple[int, int]]:
        """When, and how many, of the events with these offsets."""
        number = bisect_right(self.ends, start)
        while start < end:
            upto = min(self.ends[number], end)
            yield self.sent_ms[number], upto - start
            start, number = upto, number + 1


class Load:
    """Events for some topics, from a thread of its own."""

    def __init__(self, address: str, topics: list[str], per_batch: int, keys: Keys) -> None:
        self._raw = Raw(address)
        self.lanes = [lane for topic in topics for lane in _lanes(topic, per_batch, keys)]
        self.per_tick = per_batch * len(self.lanes)
        self.late_s = 0.0
        self._over = Event()
        self._thread: Thread | None = None
        self._failed: Exception | None = None

    def send(self) -> None:
        """A batch to every partition."""
        now_ms = time.time_ns() // 1_000_000
        by_topic: dict[str, list[PartitionProduceData]] = {}
        for lane in self.lanes:
            data = PartitionProduceData(index=lane.partition, records=lane.next_batch(now_ms))
            by_topic.setdefault(lane.topic, []).append(data)
        topics = tuple(TopicProduceData(name=name, partition_data=tuple(parts)) for name, parts in by_topic.items())
        request = ProduceRequest(acks=-1, timeout_ms=30_000, topic_data=topics)
        answer = self._raw.ask(request, ProduceResponse, PRODUCE_VERSION)
        ends = {
            (topic.name, part.index): (part.error_code, part.base_offset)
            for topic in answer.responses
            for part in topic.partition_responses
        }
        for lane in self.lanes:
            code, base = ends[lane.topic, lane.partition]
            if code:
                raise RuntimeError(f"{lane.topic}-{lane.partition} did not take a batch: error {code}")
            lane.ends.append(base + self.per_tick // len(self.lanes))
            lane.sent_ms.append(now_ms)

    def sent(self, topics: Container[str]) -> int:
        """Events so far."""
        return sum(lane.ends[-1] if lane.ends else 0 for lane in self.lanes if lane.topic in topics)

    def begin_steady(self) -> None:
        """One batch to every partition in each tick, until `stop`."""

        def work() -> None:
            begin = time.perf_counter()
            for number in count(1):
                self.late_s = max(self.late_s, time.perf_counter() - begin - number * TICK_S)
                if self.late_s > _LATE_S_MAX:
                    raise RuntimeError(f"the load fell behind by {self.late_s:.1f} s: the machine has too much to do")
                if self._over.wait(max(begin + number * TICK_S - time.perf_counter(), 0)):
                    return
                self.send()

        self._begin(work)

    def begin_behind(self, lag: Callable[[], int], lag_max: int) -> None:
        """As fast as they are read: only while `lag` is below; until `stop`."""

        def work() -> None:
            while not self._over.is_set():
                if lag() + self.per_tick <= lag_max:
                    self.send()
                else:
                    self._over.wait(TICK_S / 10)

        self._begin(work)

    def stop(self) -> None:
        """Raises what it failed with."""
        self._over.set()
        if self._thread is not None:
            self._thread.join()
        self._raw.close()
        if self._failed is not None:
            raise self._failed

    def _begin(self, work: Callable[[], None]) -> None:
        def guarded() -> None:
            try:
                work()
            except (OSError, RuntimeError) as error:
                self._failed = error

        self._thread = Thread(target=guarded, name="load")
        self._thread.start()


def create_event_topics(address: str) -> None:
    """All that jobs read; plans have a row for every tenant."""
    create(address, TRUCKS_GPS, TRUCK_PARTITIONS)
    create(address, TENANT_PLANS, 1, cleanup_policy="compact")
    for topic in OPERATIONS:
        create(address, topic, 1)
    names = [_tenant(number) for number in range(_TENANTS)]
    values = [json_text({"tenant": name, "plan": "team"}).encode() for name in names]
    raw = Raw(address)
    raw.produce(TENANT_PLANS, _batch([(name.encode(), value) for name, value in zip(names, values, strict=True)]))
    raw.close()


def _lanes(topic: str, per_batch: int, keys: Keys) -> Iterator[Lane]:
    partitions = TRUCK_PARTITIONS if topic == TRUCKS_GPS else 1
    for partition in range(partitions):
        if topic == TRUCKS_GPS:
            events = _positions(partition, keys.trucks)
        else:
            events = _operations(OPERATIONS.index(topic), keys.users)
        wanted = max(_DIFFERENT_BATCHES * per_batch, keys.trucks // partitions, keys.users // len(OPERATIONS))
        batches = [bytearray(_batch(list(islice(events, per_batch)))) for _ in range(-(-wanted // per_batch))]
        yield Lane(topic, partition, [(batch, parse_head(batch)) for batch in batches])


def _positions(partition: int, trucks: int) -> Iterator[tuple[bytes, bytes]]:
    """All trucks of this partition in turn; one in ten stands."""
    rng = Random(f"trucks/{partition}")
    for number in count():
        truck = (number * TRUCK_PARTITIONS + partition) % trucks
        told: dict[str, object] = {
            "truck": f"truck-{truck:06}",
            "driver": f"driver-{truck:06}",
            "time": _TIME,
            "latitude": round(rng.uniform(47.6, 53.6), 5),
            "longitude": round(rng.uniform(7.2, 13.4), 5),
            "speed_kmh": 0.0 if number % 10 == 0 else round(rng.uniform(60, 85), 1),
        }
        yield f"truck-{truck:06}".encode(), _broken_now_and_then(number, told)


def _operations(lane: int, users: int) -> Iterator[tuple[bytes, bytes]]:
    """Of the tenants of one group; all of its users in turn."""
    rng = Random(f"operations/{lane}")
    group = lane % GROUPS
    for number in count():
        user = (number * len(OPERATIONS) + lane) % users
        told: dict[str, object] = {
            "tenant": _tenant(user * GROUPS % _TENANTS + group),
            "centre": f"dc-{rng.randrange(_CENTRES):02}",
            "user": f"user-{user:06}",
            "operation": rng.choice(("login", "list", "deploy", "read")),
            "status": "error" if rng.random() < 0.01 else "ok",
            "latency_us": round(20_000 * rng.lognormvariate(0.0, 1.0)),
            "time": _TIME,
        }
        yield f"g{group}".encode(), _broken_now_and_then(number, told)


def _tenant(number: int) -> str:
    return f"tenant-{number % _TENANTS:03}"


def _broken_now_and_then(number: int, told: dict[str, object]) -> bytes:
    """One in a hundred has no time, for the job that keeps what counts for nothing."""
    if number % _BROKEN_EVERY == _BROKEN_EVERY - 1:
        del told["time"]
    return json.dumps(told, separators=(",", ":")).encode()


def _batch(pairs: list[tuple[bytes, bytes]]) -> bytearray:
    now = TimestampMs(time.time_ns() // 1_000_000)
    return build_batch([Record(Offset(number), now, key, value) for number, (key, value) in enumerate(pairs)])
