"""Producers without transactions, of each kind of acks, and with and without idempotence."""

from enum import Enum
from typing import TYPE_CHECKING

from odradek.model.error_code import ErrorCode
from odradek.model.numbers import NO_PRODUCER_ID, Offset, ProducerId
from odradek.model.topic_partition import TopicPartition
from odradek.records.builder import BatchSpec, build_batch
from odradek.records.record import Record
from odradek.wire.messages.init_producer_id import InitProducerIdRequest
from odradek.wire.messages.produce import PartitionProduceData, ProduceRequest, TopicProduceData
from support.sim.events import EPOCH_MS
from support.sim.line import Line
from support.sim.process import Process
from support.sim.script import Script, ask, pause, perform
from support.sim.violations import Violation

if TYPE_CHECKING:
    from support.sim.one_node.checkers.records import Records
    from support.sim.transactions.world import World

_VERSION = 12
_INIT_VERSION = 4
_TIMEOUT_MS = 10_000
_AGAIN_MS = 100
_BATCH_MAX = 5
_GAP_MS_MAX = 300
_RETRIABLE = frozenset(
    {
        ErrorCode.UNKNOWN_TOPIC_OR_PARTITION,
        ErrorCode.NOT_LEADER_OR_FOLLOWER,
        ErrorCode.REQUEST_TIMED_OUT,
        ErrorCode.NOT_ENOUGH_REPLICAS,
        ErrorCode.KAFKA_STORAGE_ERROR,
        ErrorCode.COORDINATOR_LOAD_IN_PROGRESS,
        ErrorCode.COORDINATOR_NOT_AVAILABLE,
    }
)
_LOST_TRACK = frozenset(
    {ErrorCode.OUT_OF_ORDER_SEQUENCE_NUMBER, ErrorCode.UNKNOWN_PRODUCER_ID, ErrorCode.INVALID_PRODUCER_EPOCH}
)


class Kind(Enum):
    IDEMPOTENT = -1
    ALL = -2
    LEADER = 1
    NOBODY = 0

    @property
    def acks(self) -> int:
        return -1 if self in (Kind.IDEMPOTENT, Kind.ALL) else self.value


class Writer:
    """Writes to one partition, a batch at a time, and sends each again until it has an answer."""

    def __init__(self, world: "World", records: "Records", name: str, kind: Kind, place: TopicPartition) -> None:
        self._rng = world.rng
        self._records = records
        self._name = name
        self._kind = kind
        self._place = place
        self.process = Process(world.events)
        self._line = Line(self.process.host(world.network, name), self.process)
        self._producer_id = NO_PRODUCER_ID
        self._epoch = -1
        self._sequence = 0
        self._count = 0
        self.is_ending = False
        """Whether it begins nothing more."""
        self.is_done = False

    def start(self) -> None:
        self._line.open()
        perform(self._live())

    def _live(self) -> Script[None]:
        if self._kind is Kind.IDEMPOTENT:
            yield from self._init()
        while not self.is_ending:
            yield from self._write()
            yield from pause(self.process, self._rng.randrange(_GAP_MS_MAX) + 1)
        self.is_done = True

    def _init(self) -> Script[None]:
        while True:
            request = InitProducerIdRequest(transactional_id=None, transaction_timeout_ms=0)
            response = yield from ask(self._line, request, _INIT_VERSION, _TIMEOUT_MS)
            if response is not None and not response.error_code:
                self._producer_id, self._epoch = ProducerId(response.producer_id), response.producer_epoch
                self._sequence = 0
                return
            yield from pause(self.process, _AGAIN_MS)

    def _write(self) -> Script[None]:
        size = self._rng.randint(1, _BATCH_MAX)
        values = [f"{self._name} {number}".encode() for number in range(self._count, self._count + size)]
        self._count += size
        if self._kind is Kind.IDEMPOTENT:
            for value in values:
                self._records.only_once(value)
        request = self._request(values)
        if self._kind is Kind.NOBODY:
            self._line.send(request, _VERSION)
            return
        while True:
            asked_ms = self.process.now_ms
            response = yield from ask(self._line, request, _VERSION, _TIMEOUT_MS)
            if response is not None:
                part = response.responses[0].partition_responses[0]
                error = ErrorCode(part.error_code)
                if not error:
                    self._records.acked(self._place, part.base_offset, values, asked_ms)
                    self._sequence += size
                    return
                if error in _LOST_TRACK and self._kind is Kind.IDEMPOTENT and self._records.may_lose(self._place):
                    yield from self._init()  # power loss took a batch before this one
                    return
                if error not in _RETRIABLE:
                    raise Violation(f"{self._name} was told {error.name}")
            yield from pause(self.process, _AGAIN_MS)

    def _request(self, values: list[bytes]) -> ProduceRequest:
        spec = BatchSpec()
        if self._kind is Kind.IDEMPOTENT:
            spec = BatchSpec(producer_id=self._producer_id, producer_epoch=self._epoch, base_sequence=self._sequence)
        batch = build_batch([Record(Offset(at), EPOCH_MS, b"k", value) for at, value in enumerate(values)], spec)
        data = PartitionProduceData(index=self._place.partition, records=batch)
        topic = TopicProduceData(name=self._place.topic, partition_data=(data,))
        return ProduceRequest(acks=self._kind.acks, timeout_ms=_TIMEOUT_MS, topic_data=(topic,))
