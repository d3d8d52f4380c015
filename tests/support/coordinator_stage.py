"""A runtime of coordinators on a disk in memory, with a shard that remembers all that it is told."""

import asyncio
from collections.abc import Awaitable, Callable, Sequence
from dataclasses import replace
from functools import wraps
from typing import Any

from odradek.broker.partitions.partition import Partition
from odradek.coordinators.result import NOTHING, CoordinatorResult, Effect, RequestContext, Stored
from odradek.coordinators.runtime import Runtime, RuntimeServices
from odradek.coordinators.timers import Timers
from odradek.metadata.delta import Delta
from odradek.metadata.image import Image
from odradek.model.errors import BrokerError
from odradek.model.numbers import NO_PRODUCER_ID, LeaderEpoch, Offset, ProducerId
from odradek.model.topic_config import TopicConfig
from odradek.model.topic_partition import TopicPartition
from odradek.process.files import NotCached
from odradek.process.tasks import Tasks
from odradek.records.batch import Codec
from odradek.storage.flush import Flusher
from odradek.storage.log import Log
from odradek.wire.messages.heartbeat import HeartbeatResponse
from odradek.wire.records.offsets import OffsetCommitKey, OffsetCommitValue
from odradek.wire.schema import Message
from odradek.wire.stored import CONSUMER_OFFSETS
from support.clock import ManualClock
from support.disk import FaultyDisk
from support.logs import log_of, open_dirs, setting
from support.pool import ManualPool
from support.virtual_time import run

TOPIC = "__consumer_offsets"
PARTITIONS = 4
CONFIG = replace(TopicConfig(), cleanup_policy=("compact",))


def record(key: str, number: int | None = 0, metadata: str = "") -> Stored:
    """`key` is the group of a commit of the offset `number`; None deletes it."""
    stored_key = OffsetCommitKey(group=key, topic="orders", partition=0)
    if number is None:
        return Stored(stored_key, None)
    return Stored(stored_key, OffsetCommitValue(offset=number, metadata=metadata, commit_timestamp=7), 4)


class Recorder:
    """A shard that decides what it is told to, and keeps what was replayed."""

    def __init__(self, timers: Timers) -> None:
        self.timers = timers
        self.replayed: list[tuple[Offset, str, int | None]] = []
        self.pending: list[tuple[ProducerId, Offset, str, int]] = []
        self.ended: list[tuple[ProducerId, bool]] = []
        self.due: list[Any] = []
        self.changes = 0
        self.when_loaded = NOTHING
        self.when_due: Callable[[Any], CoordinatorResult] = lambda _: NOTHING

    @property
    def state(self) -> dict[str, int]:
        """The last number of each key."""
        state: dict[str, int] = {}
        for _, key, number in self.replayed:
            if number is None:
                state.pop(key, None)
            else:
                state[key] = number
        return state

    def replay(self, offset: Offset, key: Any, value: Any, producer_id: ProducerId = NO_PRODUCER_ID) -> None:
        if producer_id == NO_PRODUCER_ID:
            self.replayed.append((offset, key.group, None if value is None else value.offset))
        else:
            self.pending.append((producer_id, offset, key.group, value.offset))

    def end_transaction(self, producer_id: ProducerId, *, commit: bool) -> None:
        self.ended.append((producer_id, commit))

    def loaded(self) -> CoordinatorResult:
        return self.when_loaded

    def counts(self) -> dict[str, int]:
        return {"keys": len(self.state)}

    def expired(self, deadline: Any) -> CoordinatorResult:
        self.due.append(deadline)
        return self.when_due(deadline)

    def topics_changed(self, delta: Delta, image: Image) -> CoordinatorResult:
        self.changes += 1
        return NOTHING


class Outcome:
    """A ticket: what the one who waits was told."""

    def __init__(self) -> None:
        self.told: Message | BrokerError | None = None

    def answer(self, response: Message) -> None:
        self._hear(response)

    def fail(self, error: BrokerError) -> None:
        self._hear(error)

    def _hear(self, told: Message | BrokerError) -> None:
        assert self.told is None, f"told {told} after {self.told}"
        self.told = told

    @property
    def code(self) -> int | None:
        """None as long as nothing was told."""
        if self.told is None:
            return None
        return int(self.told.code) if isinstance(self.told, BrokerError) else 0


class CoordinatorStage:
    """Made within a running loop, for as long as the task group lasts."""

    def __init__(self, tasks: Tasks, disk: FaultyDisk | None = None, config: TopicConfig = CONFIG) -> None:
        self.clock = ManualClock()
        self.disk = disk or FaultyDisk("/data", clock=self.clock)
        self.dirs = open_dirs(self.disk, given=setting(config, self.clock))
        self.pool = ManualPool()
        self.flusher = Flusher(self.pool)
        self.shards: list[Recorder] = []
        """In the order that they were made in: that of the partitions."""
        self.effects: list[tuple[int, Effect]] = []
        """Those that were to be performed, with the number of their partition."""
        self.codec = Codec.NONE
        self.runtime: Runtime[Recorder] = Runtime(
            CONSUMER_OFFSETS,
            lambda: PARTITIONS,
            self._new_shard,
            RuntimeServices(
                clock=self.clock,
                tasks=tasks,
                read_ahead=self._read_ahead,
                codec=lambda: self.codec,
            ),
            lambda number, effect: self.effects.append((number, effect)),
        )

    def _new_shard(self, timers: Timers) -> Recorder:
        self.shards.append(Recorder(timers))
        return self.shards[-1]

    async def _read_ahead(self, cold: Sequence[NotCached]) -> None:
        await asyncio.sleep(0)
        for each in cold:
            self.disk.warm(each.path)

    def log(self, number: int) -> Log:
        return log_of(self.dirs, TopicPartition(TOPIC, number))

    def lead(self, *numbers: int) -> None:
        """These partitions, all of them if none is named."""
        self.runtime.lead(
            {
                number: Partition(self.log(number), LeaderEpoch(0), self.clock, self.flusher)
                for number in numbers or range(PARTITIONS)
            }
        )

    def submit(self, key: str, *records: Stored, answered: bool = True, atomic: bool = True) -> Outcome:
        """A command of `key` that comes to these records, and to an answer."""
        outcome = Outcome()
        answers = RequestContext(outcome, 0).answer(HeartbeatResponse()).answers if answered else ()
        self.runtime.submit(key, outcome, lambda _: CoordinatorResult(records, answers, atomic))
        return outcome


def on_stage(test: Callable[[CoordinatorStage], Awaitable[None]]) -> Callable[[], None]:
    """A test that gets a stage, within a loop whose time is virtual."""

    @wraps(test)
    def play() -> None:
        async def scene() -> None:
            async with Tasks() as tasks:
                await test(CoordinatorStage(tasks))

        run(scene())

    del play.__wrapped__  # pytest would look for a fixture of the stage's name
    return play
