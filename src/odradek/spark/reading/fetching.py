"""The raw batches of a range, fetched from whoever leads the partition, through whatever happens to the cluster."""

import asyncio
import logging
from typing import NamedTuple

from odradek.client.client import Client
from odradek.client.cluster import PartitionView
from odradek.client.errors import ClientError, Refused
from odradek.client.offsets import EARLIEST, LATEST, list_offsets
from odradek.model.error_code import ErrorCode
from odradek.model.numbers import Offset, TimestampMs
from odradek.model.topic_partition import TopicPartition
from odradek.spark.reading.batches import AbortedTransactions, Batch, split
from odradek.spark.reading.errors import CorruptRecords, DataLoss, NoSuchPartition, TopicReplaced, Unread
from odradek.spark.reading.range import Range, ReadSetting
from odradek.wire.messages.fetch import FetchPartition, FetchRequest, FetchResponse, FetchTopic, PartitionData
from odradek.wire.schema import NO_UUID

_log = logging.getLogger("odradek.spark")

_FIRST_BYTES = 1 << 20
"""Asked for before anything is known of the size of records."""
_SPARE_BYTES = 64 << 10
_THROTTLED_S_LEAST = 0.1
_MISSING_S = 10.0
"""How long a topic may be unknown to a broker that has just started, or has just become the leader."""


Leaders = dict[tuple[bytes, int], PartitionView]
"""Who leads a partition of a topic with this id, as it was last known. Whoever leads it no more says so."""


class Fetched(NamedTuple):
    """Whole batches, the first of which has the offset that was asked for, or is the first behind it."""

    start: int
    """What was asked for. The first batch may have records before it: older ones, or such as are deleted already."""
    batches: list[Batch]
    aborted: AbortedTransactions


class Fetching:
    """Fetches a range from its start to its end, one answer after the other."""

    def __init__(self, client: Client, range: Range, setting: ReadSetting, leaders: Leaders | None = None) -> None:
        self._client = client
        self._range = range
        self._setting = setting
        self._place = f"{range.topic}-{range.partition}"
        self._at = range.start
        self._topic_id = range.topic_id
        self._leaders = {} if leaders is None else leaders
        self._leader = self._leaders.get((range.topic_id, range.partition)) if range.topic_id != NO_UUID else None
        self._missing_since: float | None = None
        self._bytes_wanted = min(_FIRST_BYTES, setting.fetch_bytes_max)

    @property
    def is_over(self) -> bool:
        """Whether all of the range is fetched; asked while no fetch is under way."""
        return self._at >= self._range.end

    async def fetch(self) -> Fetched | None:
        """The next batches; None where the range ends. Raises ReadError, also for what a broker does not get over."""
        loop = asyncio.get_running_loop()
        deadline = loop.time() + self._setting.timeout_s
        while not self.is_over:
            try:
                data = await self._client.persist(self._ask, deadline - loop.time())
                if data is not None and data.error_code == ErrorCode.OFFSET_OUT_OF_RANGE:
                    await self._skip_lost()
                elif data is not None and (fetched := self._take(data)):
                    return fetched
            except ClientError as error:
                raise self._unread(str(error), has_waited=error.is_retriable) from error
            except (NoSuchPartition, TopicReplaced) as error:
                self._skip_rest(error)
                break
            if loop.time() >= deadline:
                unread = self._unread(self._last_seen(data))
                if data is None or data.high_watermark > self._at:
                    raise unread
                self._skip_rest(unread)  # its end was there when the batch was planned
        return None

    def _last_seen(self, data: PartitionData | None) -> str:
        """Why nothing came with this answer."""
        if data is None:
            return "a quota holds the answers back"
        if self._setting.read_committed and data.last_stable_offset < data.high_watermark:
            return f"a transaction is open at {data.last_stable_offset}"
        return f"it ends at {data.high_watermark}"

    def _unread(self, reason: str, *, has_waited: bool = True) -> Unread:
        waited_s = self._setting.timeout_s if has_waited else None
        return Unread(self._place, (self._at, self._range.end), waited_s, reason)

    def _take(self, data: PartitionData) -> Fetched | None:
        """None where there is nothing yet."""
        records = memoryview(data.records or b"")  # type: ignore[arg-type]  # what was received is in memory
        if not records:
            return None
        batches = split(records, self._place, self._at, self._range.end)
        if not batches or batches[-1].head.next_offset <= self._at:
            raise CorruptRecords(self._place, self._at, f"{len(records)} bytes without a batch that has this offset")
        start, self._at = self._at, batches[-1].head.next_offset
        self._expect(len(records), self._at - start)
        aborted = data.aborted_transactions or () if self._setting.read_committed else ()
        return Fetched(start, batches, [(each.producer_id, each.first_offset) for each in aborted])

    def _expect(self, size: int, offsets: int) -> None:
        """Not much more than is left, if what is left is like this: a range may end in the middle of a partition."""
        left = (self._range.end - self._at) * size // offsets
        self._bytes_wanted = min(left + (left >> 4) + _SPARE_BYTES, self._setting.fetch_bytes_max)

    # --- one attempt

    async def _ask(self) -> PartitionData | None:
        """None where a quota was used up: the broker answers with nothing, and says how long to leave it alone."""
        try:
            if self._leader is None:
                self._leader = await self._find_leader()
            response = await self._client.ask_leader(self._leader.leader, self._request(self._leader), FetchResponse)
            if not response.responses and not response.error_code:
                await asyncio.sleep(max(response.throttle_time_ms / 1000, _THROTTLED_S_LEAST))
                return None
            data = response.responses[0].partitions[0] if response.responses else None
            code = response.error_code or (data.error_code if data else ErrorCode.UNKNOWN_SERVER_ERROR)
            if data is not None and code in (ErrorCode.NONE, ErrorCode.OFFSET_OUT_OF_RANGE):
                return data
            raise Refused(code)
        except ClientError:
            self._leader = None
            self._leaders.pop((self._topic_id, self._range.partition), None)
            raise

    def _request(self, leader: PartitionView) -> FetchRequest:
        wanted = FetchPartition(
            partition=self._range.partition,
            current_leader_epoch=leader.leader_epoch,
            fetch_offset=self._at,
            partition_max_bytes=self._bytes_wanted,
        )
        return FetchRequest(
            max_wait_ms=self._setting.fetch_wait_ms,
            min_bytes=1,
            max_bytes=self._bytes_wanted,
            isolation_level=int(self._setting.read_committed),
            topics=(FetchTopic(topic=self._range.topic, topic_id=self._topic_id, partitions=(wanted,)),),
        )

    async def _find_leader(self) -> PartitionView:
        topic = (await self._client.look_up([self._range.topic])).topics[self._range.topic]
        number = self._range.partition
        found = next((each for each in topic.partitions if each.partition == number), None)
        if topic.error is not None and topic.error.code is not ErrorCode.UNKNOWN_TOPIC_OR_PARTITION:
            raise topic.error
        if found is None:
            raise self._missing()
        self._missing_since = None
        if NO_UUID not in (self._topic_id, topic.topic_id) and self._topic_id != topic.topic_id:
            raise TopicReplaced(self._range.topic, self._topic_id, topic.topic_id)
        self._topic_id = topic.topic_id
        if found.leader < 0:
            raise Refused(ErrorCode.LEADER_NOT_AVAILABLE)
        self._leaders[self._topic_id, number] = found
        return found

    def _missing(self) -> Refused | NoSuchPartition:
        now = asyncio.get_running_loop().time()
        if self._missing_since is None:
            self._missing_since = now
        if now - self._missing_since >= min(_MISSING_S, self._setting.timeout_s / 2):
            return NoSuchPartition(self._place)
        return Refused(ErrorCode.UNKNOWN_TOPIC_OR_PARTITION)

    # --- offsets that are gone

    def _skip_rest(self, why: NoSuchPartition | TopicReplaced | Unread) -> None:
        if self._setting.fail_on_data_loss:
            raise why
        what = why if isinstance(why, Unread) else why.what
        _log.warning("%s; skipped what was left of a batch, from offset %d to %d", what, self._at, self._range.end - 1)
        self._at = self._range.end

    async def _skip_lost(self) -> None:
        """To the first offset that is there, or to the end of the range; stays where it is if it is there after all."""
        first, last = await self._offset(EARLIEST), await self._offset(LATEST)
        if first <= self._at <= last:
            return
        lost, self._at = self._at, min(first, self._range.end) if self._at < first else self._range.end
        if self._setting.fail_on_data_loss:
            raise DataLoss(self._place, lost, self._at)
        _log.warning(
            "skipped %d offsets of %s that are lost, %d to %d", self._at - lost, self._place, lost, self._at - 1
        )

    async def _offset(self, which: TimestampMs) -> Offset:
        partition = TopicPartition(self._range.topic, self._range.partition)
        found = (await list_offsets(self._client, {partition: which}))[partition]
        if isinstance(found, ClientError):
            raise found
        return found
