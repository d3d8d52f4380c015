"""Writes what jobs tell of themselves, so that whoever can read a topic sees how they are."""

import asyncio
import logging
from collections.abc import Iterable, Mapping
from threading import Lock
from typing import TYPE_CHECKING

from odradek.client.client import Client, parse_bootstrap
from odradek.client.errors import ClientError, refusal
from odradek.client.leaders import ask_leaders
from odradek.client.setting import ClientSetting
from odradek.client.topics import NewTopic, create_topics
from odradek.model.error_code import ErrorCode
from odradek.model.numbers import Offset, TimestampMs
from odradek.model.topic_partition import TopicPartition
from odradek.pipelines.contract import PIPELINE_PROGRESS, time_ms
from odradek.pipelines.job_progress import JobProgress
from odradek.records.builder import build_batch
from odradek.records.record import Record
from odradek.spark.reading.connected import here
from odradek.wire.messages.produce import PartitionProduceData, ProduceRequest, ProduceResponse, TopicProduceData

if TYPE_CHECKING:
    from concurrent.futures import Future

log = logging.getLogger(__name__)

_PLACE = TopicPartition(PIPELINE_PROGRESS, 0)
# A segment is compacted when it is closed: small ones keep the topic to a few megabytes, for whoever reads all of it.
_TOPIC = NewTopic(
    name=PIPELINE_PROGRESS, partitions=1, configs={"cleanup.policy": "compact", "segment.bytes": str(1 << 20)}
)
_BY_NAME_MAX = 12
"""Later versions of Produce have the ids of topics in place of their names."""
_TIMEOUT_S = 10.0
_PAUSE_S = 1.0
_CLOSE_S = 5.0


class ProgressTopic:
    """Jobs tell from their own threads, and never wait. Of each job, only what it told last is kept to be written.

    What cannot be written is logged once, and tried again until this is closed. It may be written twice.
    """

    def __init__(self, bootstrap: str) -> None:
        # Short: what fails is tried again here, where a topic that is gone is made again first.
        setting = ClientSetting(client_id="odradek-pipelines", request_timeout_s=_TIMEOUT_S, timeout_s=_PAUSE_S)
        self._client = Client(parse_bootstrap(bootstrap), setting)
        self._lock = Lock()
        self._waiting: dict[str, JobProgress] = {}
        self._is_writing = False
        self._writing: Future[None] | None = None
        self._is_made = False
        self._trouble = ""

    def tell(self, progress: JobProgress) -> None:
        with self._lock:
            self._waiting[progress.job] = progress
            if not self._is_writing:
                self._is_writing = True
                self._writing = here().submit(self._write())

    def close(self, timeout_s: float = _CLOSE_S) -> None:
        """All that was told is written by then, or given up when the time is up."""
        if self._writing is not None:
            try:
                self._writing.result(timeout_s)
            except TimeoutError:
                self._writing.cancel()
        here().submit(self._client.close()).result()

    async def _write(self) -> None:
        while told := self._take():
            try:
                await self._append(told.values())
                self._trouble = ""
            except ClientError as error:
                self._give_back(told)
                if str(error) != self._trouble:
                    self._trouble = str(error)
                    log.warning("the progress of jobs is not written", extra={"reason": self._trouble})
                await asyncio.sleep(_PAUSE_S)

    def _take(self) -> dict[str, JobProgress]:
        with self._lock:
            taken, self._waiting = self._waiting, {}
            self._is_writing = bool(taken)
            return taken

    def _give_back(self, told: Mapping[str, JobProgress]) -> None:
        with self._lock:
            self._waiting = {**told, **self._waiting}

    async def _append(self, told: Iterable[JobProgress]) -> None:
        """Raises ClientError."""
        if not self._is_made:
            refused = (await create_topics(self._client, [_TOPIC]))[_TOPIC.name]
            if refused is not None and refused.code != ErrorCode.TOPIC_ALREADY_EXISTS:
                raise refused
            self._is_made = True
        request = _request(told)

        async def ask(leader: int, _: object) -> dict[TopicPartition, ClientError | None]:
            response = await self._client.ask_leader(leader, request, ProduceResponse, _BY_NAME_MAX)
            appended = response.responses[0].partition_responses[0]
            return {_PLACE: refusal(appended.error_code, appended.error_message)}

        outcome = (await ask_leaders(self._client, [_PLACE], ask))[_PLACE]
        if outcome is not None:
            self._is_made = False  # it may have been deleted
            raise outcome


def _request(told: Iterable[JobProgress]) -> ProduceRequest:
    batch = build_batch(
        Record(Offset(number), TimestampMs(time_ms(each.time)), each.job.encode(), each.value().encode())
        for number, each in enumerate(told)
    )
    data = PartitionProduceData(index=_PLACE.partition, records=batch)
    topics = (TopicProduceData(name=_PLACE.topic, partition_data=(data,)),)
    return ProduceRequest(acks=-1, timeout_ms=int(_TIMEOUT_S * 1000), topic_data=topics)
