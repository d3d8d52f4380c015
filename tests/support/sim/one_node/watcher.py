"""A consumer that follows partitions from their beginnings, and sees what does not belong there."""

from collections.abc import Iterable, Iterator
from typing import TYPE_CHECKING

from odradek.model.error_code import ErrorCode
from odradek.model.topic_partition import TopicPartition
from odradek.records.batch import HEAD_SIZE, parse_head
from odradek.records.record import read_records
from odradek.wire.messages.fetch import FetchPartition, FetchRequest, FetchResponse, FetchTopic, PartitionData
from support.sim.groups.requests import by_topic
from support.sim.line import Line
from support.sim.process import Process
from support.sim.script import Script, ask, pause, perform
from support.sim.violations import Violation

if TYPE_CHECKING:
    from support.sim.one_node.checkers.records import Records
    from support.sim.transactions.world import World

_VERSION = 12
_TIMEOUT_MS = 5_000
_WAIT_MS = 500
_GAP_MS_MAX = 400


class Watcher:
    def __init__(self, world: "World", records: "Records", name: str, places: Iterable[TopicPartition]) -> None:
        self._records = records
        self._rng = world.rng
        self._name = name
        self.process = Process(world.events)
        self._line = Line(self.process.host(world.network, name), self.process)
        self._size = self._rng.choice((1, 500, 1 << 20))
        self.positions = dict.fromkeys(places, 0)
        self._high_watermarks = dict.fromkeys(self.positions, -1)

    def start(self) -> None:
        self._line.open()
        perform(self._live())

    def power_lost(self) -> None:
        """What it knows of loose topics counts no more: they may end before that."""
        for place in self.positions:
            if self._records.is_loose(place):
                self._high_watermarks[place] = -1

    def recovered(self, place: TopicPartition, end: int) -> None:
        """A loose topic ends there now."""
        self.positions[place] = min(self.positions[place], end)

    def _live(self) -> Script[None]:
        while True:
            asked_ms = self.process.now_ms
            response = yield from ask(self._line, self._request(), _VERSION, _TIMEOUT_MS)
            before = sum(self.positions.values())
            if response is not None:
                self._take(response, asked_ms)
            has_moved = sum(self.positions.values()) > before
            yield from pause(self.process, 1 if has_moved else self._rng.randrange(_GAP_MS_MAX) + 1)

    def _request(self) -> FetchRequest:
        topics = tuple(
            FetchTopic(
                topic=topic,
                partitions=tuple(
                    FetchPartition(
                        partition=number,
                        fetch_offset=self.positions[TopicPartition(topic, number)],
                        partition_max_bytes=self._size,
                    )
                    for number in numbers
                ),
            )
            for topic, numbers in by_topic(self.positions).items()
        )
        return FetchRequest(max_wait_ms=_WAIT_MS, min_bytes=1, topics=topics)

    def _take(self, response: FetchResponse, asked_ms: int) -> None:
        for topic in response.responses:
            for data in topic.partitions:
                place = TopicPartition(topic.topic, data.partition_index)
                if not self._records.is_known(place, asked_ms):
                    continue
                if data.error_code == ErrorCode.OFFSET_OUT_OF_RANGE:
                    raise Violation(f"{self._name} was told that {self.positions[place]} is out of range of {place}")
                if not data.error_code:
                    self._read(place, data, asked_ms)

    def _read(self, place: TopicPartition, data: PartitionData, asked_ms: int) -> None:
        if data.high_watermark < self._high_watermarks[place]:
            raise Violation(
                f"the high watermark of {place} fell from {self._high_watermarks[place]} to {data.high_watermark}"
            )
        self._high_watermarks[place] = data.high_watermark
        found: dict[int, bytes] = {}
        for offset, value in values_in(bytes(data.records or b"")):  # type: ignore[arg-type]  # received, in memory
            if offset >= data.high_watermark:
                raise Violation(f"{offset} of {place} was read before the high watermark {data.high_watermark}")
            if offset >= self.positions[place]:
                found[offset] = value
        self._records.read(place, found, asked_ms)
        self.positions[place] = max(self.positions[place], max(found, default=-1) + 1)


def values_in(data: bytes) -> Iterator[tuple[int, bytes]]:
    """By their offsets; the last batch may be cut."""
    rest = memoryview(data)
    while len(rest) >= HEAD_SIZE:
        head = parse_head(rest)
        if head.size > len(rest):
            return
        for offset, _, _, value, _ in read_records(rest[: head.size], head):
            yield offset, bytes(value or b"")
        rest = rest[head.size :]
