"""Transactions without a broker: what producers ask, what they are answered, and time that is moved by hand.

Records go through their bytes before they are replayed, as they would on the way through a log.
"""

from collections.abc import Callable
from dataclasses import replace
from typing import Any

from odradek.coordinators.errors import CoordinatorLoading
from odradek.coordinators.result import CoordinatorResult, RequestContext
from odradek.coordinators.timers import Timers
from odradek.coordinators.transactions.context import TransactionContext
from odradek.coordinators.transactions.initializing import check_request
from odradek.coordinators.transactions.markers import WriteMarkers
from odradek.coordinators.transactions.record import stored
from odradek.coordinators.transactions.shard import TransactionShard
from odradek.coordinators.transactions.transaction import Claim, Transaction
from odradek.metadata.features import TRANSACTION_VERSION
from odradek.metadata.image import EMPTY
from odradek.model.broker_config import BrokerConfig
from odradek.model.error_code import ErrorCode
from odradek.model.errors import BrokerError
from odradek.model.numbers import Offset, ProducerId
from odradek.model.topic_partition import TopicPartition
from odradek.wire.messages.end_txn import EndTxnRequest, EndTxnResponse
from odradek.wire.messages.init_producer_id import InitProducerIdRequest, InitProducerIdResponse
from odradek.wire.records.transaction import TransactionLogKey, TransactionLogValue
from odradek.wire.stored import TRANSACTION_STATE, write_coordinator_key, write_coordinator_value
from support.clock import ManualClock

SHOP = "shop"
TIMEOUT_MS = 60_000
ORDERS = TopicPartition("orders", 0)
BILLS = TopicPartition("bills", 3)
Record = tuple[bytes, bytes | None]


class TransactionStage:
    def __init__(self, config: BrokerConfig | None = None, clock: ManualClock | None = None, level: int = 2) -> None:
        self.config = config or BrokerConfig()
        self.clock = clock or ManualClock()
        self.timers = Timers(self.clock.now_ms)
        self.image = replace(EMPTY, features={TRANSACTION_VERSION: level})
        self.log: list[Record] = []
        self.marked: list[tuple[TopicPartition, int, int, bool]] = []
        """Markers in the order that they were written: partition, producer id, epoch, whether it is a commit."""
        self.broken: set[TopicPartition] = set()
        """Partitions that cannot be written to."""
        self.is_full = False
        """Whether the disk is: then nothing is appended, and those who wait for that are told so."""
        self.has_ids = True
        self.next_id = 1000
        context = TransactionContext(
            config=lambda: self.config,
            image=lambda: self.image,
            clock=self.clock,
            timers=self.timers,
            new_producer_id=self._new_id,
        )
        self.shard = TransactionShard(context)

    def restarted(self, *, completing: bool = True) -> "TransactionStage":
        """Another broker on the same log, at the same time."""
        stage = TransactionStage(self.config, self.clock)
        stage.image, stage.next_id, stage.log = self.image, self.next_id, list(self.log)
        stage.broken = set(self.broken)
        for record in stage.log:
            stage._replay(record)
        if completing:
            stage.perform(stage.shard.loaded())
        return stage

    def transaction(self, transactional_id: str = SHOP) -> Transaction:
        found = self.shard.get(transactional_id)
        assert found is not None
        return found

    @property
    def state(self) -> str:
        return self.transaction().state.label

    @property
    def values(self) -> list[TransactionLogValue | None]:
        """The records, read."""
        return [self._read(record)[1] for record in self.log]

    def advance(self, ms: int) -> None:
        """What is due by then is done."""
        self.clock.advance(ms)
        for deadline in self.timers.due():
            assert not isinstance(deadline, str)
            self.perform(self.shard.expired(deadline))  # type: ignore[arg-type]

    # --- what producers ask

    def init(self, transactional_id: str = SHOP, **fields: Any) -> InitProducerIdResponse:
        request = InitProducerIdRequest(
            transactional_id=transactional_id, **{"transaction_timeout_ms": TIMEOUT_MS, **fields}
        )

        def command() -> CoordinatorResult:
            check_request(request, self.config)
            return self.shard.init_producer_id(RequestContext(1, 5), request)

        answer = self._ask(command)
        return InitProducerIdResponse(error_code=answer) if isinstance(answer, ErrorCode) else answer

    def join(self, who: Claim, *partitions: TopicPartition, level: int = 2) -> ErrorCode:
        answer = self._ask(lambda: self.shard.join(who, partitions, level))
        return answer if isinstance(answer, ErrorCode) else ErrorCode.NONE

    def verify(self, who: Claim, partition: TopicPartition) -> ErrorCode:
        try:
            self.shard.check_joined(who, partition)
        except BrokerError as error:
            return error.code
        return ErrorCode.NONE

    def end(self, who: Claim, *, commit: bool = True, version: int = 5) -> EndTxnResponse:
        request = EndTxnRequest(
            transactional_id=who.transactional_id,
            producer_id=who.producer_id,
            producer_epoch=who.epoch,
            committed=commit,
        )
        answer = self._ask(lambda: self.shard.end(RequestContext(1, version), request))
        return EndTxnResponse(error_code=answer) if isinstance(answer, ErrorCode) else answer

    def begin(self, transactional_id: str = SHOP, **fields: Any) -> Claim:
        """A producer that was given its id."""
        told = self.init(transactional_id, **fields)
        assert told.error_code == ErrorCode.NONE, told
        return Claim(transactional_id, ProducerId(told.producer_id), told.producer_epoch)

    def _ask(self, command: Callable[[], CoordinatorResult]) -> Any:
        """The answer; the code of an error; None where nobody is answered."""
        try:
            decision = command()
        except BrokerError as error:
            return error.code
        if self.is_full and decision.records:
            return ErrorCode.NOT_COORDINATOR
        self.perform(decision)
        return decision.answers[0].response if decision.answers else None

    # --- what is done about it

    def perform(self, decision: CoordinatorResult) -> None:
        for key, value, version in decision.records:
            record = write_coordinator_key(key), None if value is None else write_coordinator_value(value, version)
            self.log.append(record)
            self._replay(record)
        for effect in decision.effects:
            assert isinstance(effect, WriteMarkers)
            self._mark(effect)

    def write(self, transaction: Transaction, level: int) -> None:
        """Have it be as if this was recorded."""
        self.perform(CoordinatorResult((stored(transaction, level),)))

    def _mark(self, markers: WriteMarkers) -> None:
        left = [each for each in markers.partitions if each in self.broken]
        self.marked += [
            (each, markers.producer_id, markers.epoch, markers.commit)
            for each in markers.partitions
            if each not in self.broken
        ]
        self.perform(self.shard.marked(markers.transactional_id, left))

    def _replay(self, record: Record) -> None:
        key, value = self._read(record)
        self.shard.replay(Offset(0), key, value)

    def _read(self, record: Record) -> tuple[TransactionLogKey, TransactionLogValue | None]:
        raw_key, raw_value = record
        key = TRANSACTION_STATE.read_key(raw_key)
        value = None if raw_value is None else TRANSACTION_STATE.read_value(key, raw_value)[0]
        assert isinstance(key, TransactionLogKey)
        assert value is None or isinstance(value, TransactionLogValue)
        return key, value

    def _new_id(self) -> ProducerId:
        if not self.has_ids:
            raise CoordinatorLoading("none is at hand")
        self.next_id += 1
        return ProducerId(self.next_id)
