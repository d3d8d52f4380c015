"""What the driver asks of the cluster: which partitions there are, their offsets, and how large their records are."""

import asyncio
import logging
import re
from collections.abc import Callable, Collection, Coroutine, Mapping
from concurrent.futures import Future
from contextlib import suppress
from dataclasses import dataclass, replace
from functools import partial
from typing import Any, Protocol, TypeVar

from odradek.client.cluster import ClusterView, PartitionView, TopicView
from odradek.client.direct import run_through
from odradek.client.errors import ClientError, ConnectionLost, NoneReachable, NotKafka, Refused, Unreachable
from odradek.client.offsets import EARLIEST, LATEST, list_led_offsets
from odradek.model.error_code import ErrorCode
from odradek.model.errors import CorruptBatch, OdradekError
from odradek.model.numbers import TimestampMs
from odradek.model.topic_partition import TopicPartition
from odradek.records.batch import parse_head
from odradek.spark.edges import Subscription
from odradek.spark.options import BOOTSTRAP, SourceOptions
from odradek.spark.reading.connected import here
from odradek.wire.messages.fetch import FetchPartition, FetchRequest, FetchResponse, FetchTopic
from odradek.wire.schema import Message

log = logging.getLogger(__name__)

M = TypeVar("M", bound=Message)
T = TypeVar("T")
Led = Mapping[TopicPartition, tuple[PartitionView, TimestampMs]]
"""Partitions with who leads them, and what is asked of them."""

_NAMED_MAX = 12
"""Later versions of Fetch have the ids of topics in place of their names."""
_NOT_THERE = (ErrorCode.UNKNOWN_TOPIC_OR_PARTITION, ErrorCode.INVALID_TOPIC_EXCEPTION)
_LOOKUP_S = 60.0
_START_S = 10.0
"""Both for those who do not say how long."""
_MISSING_ASKED_MAX = 5
_MISSING_PAUSE_S = 0.3
_SAMPLE_BYTES = 64 << 10
_SAMPLES_AT_ONCE_MAX = 20


class NoSuchTopic(OdradekError):
    """A topic or partition that was named is not there."""


class NoBroker(OdradekError):
    """Nobody answers as a query starts."""

    def __init__(self, reason: ClientError) -> None:
        super().__init__(f"{reason}; start the broker, or mend the option {BOOTSTRAP}")


@dataclass(frozen=True, slots=True)
class Extent:
    """What partitions have, at one moment."""

    earliest: Mapping[TopicPartition, int]
    latest: Mapping[TopicPartition, int]
    """Behind the last record that may be read."""
    topic_ids: Mapping[str, bytes]
    leaders: Mapping[TopicPartition, int]


class AsksLeaders(Protocol):
    async def ask_leader(self, node_id: int, request: Message, kind: type[M]) -> M: ...


class Cluster:
    """Asked from the thread of Spark's with `call`; what it calls runs on the loop of this process's clients.

    Everything is tried again until the time that the options give for it is up.
    """

    def __init__(self, options: SourceOptions) -> None:
        self._subscription = options.subscription
        self._read_committed = options.reading.read_committed
        self._start_s = options.lookup_timeout_s or _START_S
        self._loop = here()
        self.client = self._loop.client(replace(options.reading, timeout_s=options.lookup_timeout_s or _LOOKUP_S))
        self._direct = self._loop.direct(self.client)

    def call(self, work: Coroutine[Any, Any, T]) -> T:
        return self.begin(work).result()

    def begin(self, work: Coroutine[Any, Any, T]) -> Future[T]:
        return self._loop.submit(work)

    def call_leaders(self, leaders: Collection[int], work: Callable[[AsksLeaders], Coroutine[Any, Any, T]]) -> T:
        """What waits for the answers of these and for nothing else. One alone is asked by this thread itself."""
        return run_through(work(self._direct)) if len(leaders) == 1 else self.call(work(self.client))

    async def extent(self, *, missing_are_empty: bool = False) -> Extent:
        """Of what is subscribed to. Raises NoSuchTopic for what was named and is not there, if that is not to pass."""
        return await self._persist(partial(self._extent_once, missing_are_empty))

    async def extent_at_start(self) -> Extent:
        """The same, for a query that starts: whoever gave a wrong address hears of it soon. Raises NoBroker.

        A topic that was just made may not be known to every broker: it is asked for a few times.
        """
        try:
            await self.client.persist(partial(self.client.look_up, ()), self._start_s)
        except (Unreachable, NoneReachable, ConnectionLost, NotKafka) as error:
            raise NoBroker(error) from None
        for _ in range(_MISSING_ASKED_MAX):
            try:
                return await self.extent()
            except NoSuchTopic:
                await asyncio.sleep(_MISSING_PAUSE_S)
        return await self.extent()

    async def high_watermarks(self) -> dict[TopicPartition, int]:
        """The ends of all partitions, whatever transactions are open."""
        return await self._persist(self._high_watermarks_once)

    async def at_times(self, times: Mapping[TopicPartition, int]) -> dict[TopicPartition, int]:
        """The first offset at or after a time; -1 where no record is that late."""
        return await self._persist(partial(self._at_times_once, times))

    async def bytes_per_record(
        self, starts: Mapping[TopicPartition, int], extent: Extent
    ) -> dict[TopicPartition, float]:
        """Of the batches at and behind these offsets, as they are stored; partitions that cannot say are left out."""
        slots = asyncio.Semaphore(_SAMPLES_AT_ONCE_MAX)

        async def sample(partition: TopicPartition, start: int) -> float | None:
            async with slots:
                try:
                    return _mean_size(await self._fetch(extent.leaders[partition], partition, start))
                except (ClientError, CorruptBatch):
                    return None  # whoever reads the partition tells what is wrong with it

        async with asyncio.TaskGroup() as tasks:
            asked = {
                each: tasks.create_task(sample(each, start), name=f"size-{each}") for each, start in starts.items()
            }
        sizes = {each: task.result() for each, task in asked.items()}
        return {each: size for each, size in sizes.items() if size is not None}

    async def until_news(self, extent: Extent, limit_s: float) -> None:
        """Until a partition has more than this, or the time is up. Errors are for whoever asks the next question.

        One broker can be waited for. Several would have to be heard to the end, each of them, so then it returns at
        once.
        """
        leaders = set(extent.leaders.values())
        if len(leaders) != 1:
            return
        topics: dict[str, list[FetchPartition]] = {}
        for (topic, partition), end in extent.latest.items():
            wanted = FetchPartition(partition=partition, fetch_offset=end, partition_max_bytes=1)
            topics.setdefault(topic, []).append(wanted)
        request = FetchRequest(
            max_wait_ms=round(limit_s * 1000),
            min_bytes=1,
            max_bytes=1,
            isolation_level=int(self._read_committed),
            topics=tuple(FetchTopic(topic=topic, partitions=tuple(wanted)) for topic, wanted in topics.items()),
        )
        with suppress(ClientError):
            await self.client.ask_node(leaders.pop(), request, FetchResponse, _NAMED_MAX)

    async def _persist(self, attempt: Callable[[], Coroutine[Any, Any, T]]) -> T:
        """A query that stands still says why, once for each question."""
        is_told = False

        async def tell_why() -> T:
            nonlocal is_told
            try:
                return await attempt()
            except ClientError as error:
                if error.is_retriable and not is_told:
                    is_told = True
                    log.warning("%s; it is tried again for %g s at most", error, self.client.setting.timeout_s)
                raise

        return await self.client.persist(tell_why)

    async def _extent_once(self, missing_are_empty: bool) -> Extent:
        view = await self._look_up()
        led = _subscribed(self._subscription, view, missing_are_empty=missing_are_empty)
        starting, ending = await asyncio.gather(
            self._list({each: (view, EARLIEST) for each, view in led.items()}),
            self._list({each: (view, LATEST) for each, view in led.items()}),
        )
        topics = {each.topic for each in led}
        return Extent(
            earliest=starting,
            latest=ending,
            topic_ids={name: view.topics[name].topic_id for name in sorted(topics)},
            leaders={each: view.leader for each, view in led.items()},
        )

    async def _high_watermarks_once(self) -> dict[TopicPartition, int]:
        led = _subscribed(self._subscription, await self._look_up(), missing_are_empty=True)
        return await self._list({each: (view, LATEST) for each, view in led.items()}, read_committed=False)

    async def _at_times_once(self, times: Mapping[TopicPartition, int]) -> dict[TopicPartition, int]:
        led = _subscribed(self._subscription, await self._look_up(), missing_are_empty=True)
        return await self._list({each: (led[each], TimestampMs(time)) for each, time in times.items() if each in led})

    async def _look_up(self) -> ClusterView:
        if self._subscription.pattern is not None:
            return await self.client.look_up(None)
        return await self.client.look_up(
            sorted({*self._subscription.topics, *(each.topic for each in self._subscription.partitions)})
        )

    async def _list(self, wanted: Led, *, read_committed: bool | None = None) -> dict[TopicPartition, int]:
        """Raises what keeps one of them from answering."""
        by_leader: dict[int, dict[TopicPartition, tuple[PartitionView, TimestampMs]]] = {}
        for partition, (view, at) in wanted.items():
            if view.leader < 0:
                raise Refused(ErrorCode.LEADER_NOT_AVAILABLE, f"{partition} has no leader")
            by_leader.setdefault(view.leader, {})[partition] = (view, at)
        committed = self._read_committed if read_committed is None else read_committed
        answers = await asyncio.gather(
            *(
                list_led_offsets(self.client, leader, mine, read_committed=committed)
                for leader, mine in by_leader.items()
            )
        )
        found: dict[TopicPartition, int] = {}
        for partition, outcome in ((each, one) for answer in answers for each, one in answer.items()):
            if isinstance(outcome, ClientError):
                raise outcome
            found[partition] = outcome
        return found

    async def _fetch(self, leader: int, partition: TopicPartition, start: int) -> memoryview:
        wanted = FetchPartition(partition=partition.partition, fetch_offset=start, partition_max_bytes=_SAMPLE_BYTES)
        topics = (FetchTopic(topic=partition.topic, partitions=(wanted,)),)
        request = FetchRequest(max_wait_ms=0, min_bytes=0, max_bytes=_SAMPLE_BYTES, topics=topics)
        response = await self.client.ask_leader(leader, request, FetchResponse, _NAMED_MAX)
        data = response.responses[0].partitions[0] if response.responses else None
        code = response.error_code or (data.error_code if data is not None else 0)
        if code:
            raise Refused(code)
        return memoryview(b"" if data is None or data.records is None else data.records)  # type: ignore[arg-type]


def _mean_size(batches: memoryview) -> float | None:
    """Of the records in whole batches, by the offsets that they span; raises CorruptBatch."""
    at = records = 0
    while len(batches) - at > 0:
        try:
            head = parse_head(batches[at:])
        except CorruptBatch:
            if at:
                break  # the last one is cut short
            raise
        if at and at + head.size > len(batches):
            break
        at += head.size
        records += head.next_offset - head.base_offset
    return at / records if records else None


def _subscribed(
    subscription: Subscription, view: ClusterView, *, missing_are_empty: bool
) -> dict[TopicPartition, PartitionView]:
    """In the order of topics and partitions. Raises NoSuchTopic, and what else keeps a broker from telling."""
    found: dict[TopicPartition, PartitionView] = {}
    for topic in _topics(subscription, view):
        if topic.error is not None:
            if topic.error.code not in _NOT_THERE:
                raise topic.error
            if not missing_are_empty:
                raise NoSuchTopic(f"topic {topic.name} does not exist; create it, or mend the option that names it")
        found |= {TopicPartition(topic.name, each.partition): each for each in topic.partitions}
    if not subscription.partitions:
        return found
    absent = [str(each) for each in subscription.partitions if each not in found]
    if absent and not missing_are_empty:
        raise NoSuchTopic(f"partition {', '.join(absent)} does not exist; mend the option assign")
    return {each: found[each] for each in subscription.partitions if each in found}


def _topics(subscription: Subscription, view: ClusterView) -> list[TopicView]:
    if subscription.pattern is None:
        return list(view.topics.values())
    pattern = re.compile(subscription.pattern)
    return [each for name, each in view.topics.items() if not each.is_internal and pattern.search(name)]
