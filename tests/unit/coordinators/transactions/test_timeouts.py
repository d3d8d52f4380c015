"""Transactions that take too long, on a log: what cannot be written of one keeps no other from being aborted."""

import asyncio
from dataclasses import replace
from typing import Any

import pytest

from odradek.broker.partitions.partition import Partition
from odradek.coordinators.result import CoordinatorResult
from odradek.coordinators.runtime import Runtime, RuntimeServices
from odradek.coordinators.timers import Timers
from odradek.coordinators.transactions.context import TransactionContext
from odradek.coordinators.transactions.record import stored
from odradek.coordinators.transactions.shard import TransactionShard
from odradek.coordinators.transactions.state import TransactionState
from odradek.coordinators.transactions.transaction import Transaction
from odradek.metadata.features import TRANSACTION_VERSION
from odradek.metadata.image import EMPTY
from odradek.model.broker_config import BrokerConfig
from odradek.model.numbers import LeaderEpoch, ProducerId
from odradek.model.topic_partition import TopicPartition
from odradek.process.tasks import Tasks
from odradek.records.batch import Codec
from odradek.storage.flush import Flusher
from odradek.wire.stored import TRANSACTION_STATE
from support.clock import ManualClock
from support.coordinator_stage import CONFIG
from support.disk import FaultyDisk
from support.logs import log_of, open_dirs, setting
from support.pool import ManualPool
from support.virtual_time import run

LOOK_S = 10
"""transaction.abort.timed.out.transaction.cleanup.interval.ms"""
TIMEOUT_MS = 60_000
LEVEL = 2


class Stage:
    """Made within a running loop. Markers are always written."""

    def __init__(self, tasks: Tasks) -> None:
        self.clock = ManualClock()
        dirs = open_dirs(FaultyDisk("/data", clock=self.clock), given=setting(CONFIG, self.clock))
        self.log = log_of(dirs, TopicPartition("__transaction_state", 0))
        flusher = Flusher(ManualPool())
        node = RuntimeServices(
            clock=self.clock,
            tasks=tasks,
            read_ahead=self._read_ahead,
            codec=lambda: Codec.NONE,
        )
        self.runtime: Runtime[TransactionShard] = Runtime(
            TRANSACTION_STATE, lambda: 1, self._new_shard, node, self._perform
        )
        self.runtime.lead({0: Partition(self.log, LeaderEpoch(0), self.clock, flusher)})

    def take(self, bytes_max: int) -> None:
        """What the topic takes from now on."""
        self.log.config = replace(self.log.config, max_message_bytes=bytes_max)

    def open(self, transactional_id: str, partitions: int = 1) -> None:
        """A transaction with so many."""
        transaction = Transaction(
            transactional_id=transactional_id,
            producer_id=ProducerId(7),
            timeout_ms=TIMEOUT_MS,
            updated_ms=self.clock.now_ms(),
            started_ms=self.clock.now_ms(),
            epoch=0,
            state=TransactionState.ONGOING,
            partitions=dict.fromkeys(TopicPartition("orders", number) for number in range(partitions)),
            client_level=LEVEL,
        )
        self.runtime.decide(transactional_id, lambda _: CoordinatorResult((stored(transaction, LEVEL),)))

    @property
    def states(self) -> dict[str, str]:
        (shard,) = self.runtime.shards()
        return {each.transactional_id: each.state.label for each in shard}

    def _perform(self, _number: int, effect: Any) -> None:
        self.runtime.decide(effect.transactional_id, lambda shard: shard.marked(effect.transactional_id, ()))

    def _new_shard(self, timers: Timers) -> TransactionShard:
        image = replace(EMPTY, features={TRANSACTION_VERSION: LEVEL})
        return TransactionShard(
            TransactionContext(
                config=BrokerConfig,
                image=lambda: image,
                clock=self.clock,
                timers=timers,
                new_producer_id=lambda: ProducerId(8),
            )
        )

    async def _read_ahead(self, _cold: object) -> None:
        raise AssertionError("all of it is in memory")


def test_one_that_is_too_large_keeps_no_other_from_being_aborted(caplog: pytest.LogCaptureFixture) -> None:
    async def scene() -> None:
        async with Tasks() as tasks:
            stage = Stage(tasks)
            stage.open("first")
            stage.open("large", 1000)
            stage.open("last")
            stage.take(1000)
            stage.clock.advance(TIMEOUT_MS + 1)
            await asyncio.sleep(LOOK_S + 1)
            assert stage.states == {"first": "CompleteAbort", "large": "Ongoing", "last": "CompleteAbort"}
            assert [each.message for each in caplog.records] == ["records cannot be written"], "once in each look"
            await asyncio.sleep(LOOK_S)
            assert len(caplog.records) == 2
            stage.take(1 << 20)
            await asyncio.sleep(LOOK_S)
            assert set(stage.states.values()) == {"CompleteAbort"}
            assert len(caplog.records) == 2
            stage.runtime.close()

    run(scene())
