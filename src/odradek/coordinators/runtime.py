"""Runs a coordinator: which partition a key belongs to, whether that is loaded, and the way of a command.

    command -> decision -> its records appended as one batch -> each of them replayed -> its answers leave
            -> its effects, which are outside of the coordinator's own log

All of that happens in one breath, on the loop: appending writes to the page cache and does not wait. So there is
nothing to take back: what cannot be appended is not replayed either, and those who wait for it hear of the error. Where
the topic's flush.messages asks for it the answers wait for a sync, and so do those that only tell what others changed.
"""

import logging
from collections import deque
from collections.abc import Awaitable, Callable, Coroutine, Generator, Hashable, Iterator, Mapping
from dataclasses import dataclass
from enum import Enum, auto
from functools import partial
from typing import Any, Generic, Protocol, TypeVar

from odradek.coordinators.alarm import Alarm
from odradek.coordinators.batches import batches_of
from odradek.coordinators.errors import CoordinatorLoading, NotCoordinator, told
from odradek.coordinators.loading import ReadAhead, load
from odradek.coordinators.partitioning import partition_of
from odradek.coordinators.result import Answer, CoordinatorResult, Effect, Ticket
from odradek.coordinators.shard import Shard
from odradek.coordinators.timers import Timers
from odradek.metadata.delta import Delta
from odradek.metadata.image import Image
from odradek.model.clock import Clock
from odradek.model.errors import BrokerError, OdradekError, StorageFailed
from odradek.model.numbers import NO_PRODUCER_ID, Offset, ProducerId, TimestampMs
from odradek.model.settings import LONG_MAX
from odradek.process.guard import Guard, report
from odradek.process.tasks import Tasks
from odradek.records.batch import BatchHead, Codec
from odradek.records.builder import build_run
from odradek.storage.flush import Flusher
from odradek.storage.log import Log
from odradek.wire.schema import Message
from odradek.wire.stored import CoordinatorTopic

logger = logging.getLogger(__name__)

S = TypeVar("S", bound=Shard)
S_contra = TypeVar("S_contra", bound=Shard, contravariant=True)

_TURN_S = 0.005
"""For deadlines, when many come at once."""
_AGAIN_MS = 500
"""When a deadline comes again whose records could not be written, as in Kafka."""


class Led(Protocol):
    """A partition of the coordinator's topic that this node leads."""

    @property
    def log(self) -> Log: ...

    def append(self, batch: memoryview, head: BatchHead) -> Offset:
        """Returns the offset of the first record."""
        ...


class Waiter(Hashable, Protocol):
    """What tickets are outside of a shard: the way back to the one who asked. It hears of one outcome.

    Neither method raises: others wait for the same records.
    """

    def answer(self, response: Message) -> None: ...

    def fail(self, error: BrokerError) -> None: ...


class Single(Protocol[S_contra]):
    """A command of one record, in bytes."""

    def record(self, shard: S_contra, now: TimestampMs) -> tuple[bytes, bytes] | None:
        """Its key and its value; None where this has to be decided in the usual way."""
        ...

    def replay(self, shard: S_contra, offset: Offset) -> None:
        """The record is in the log at this offset."""
        ...


@dataclass(frozen=True, slots=True, kw_only=True)
class Surroundings:
    """What a runtime has of its node."""

    clock: Clock
    flusher: Flusher
    tasks: Tasks
    read_ahead: ReadAhead
    codec: Callable[[], Codec]
    """How batches are compressed."""


class _State(Enum):
    LOADING = auto()
    ACTIVE = auto()
    FAILED = auto()


class _Place(Generic[S]):
    """A partition that this node leads, and its shard."""

    __slots__ = ("led", "missed", "name", "number", "shard", "state", "timers", "waiting")

    def __init__(self, number: int, led: Led, shard: S, timers: Timers) -> None:
        self.number = number
        self.name = str(led.log.partition)
        self.led = led
        self.shard = shard
        self.timers = timers
        self.state = _State.LOADING
        self.waiting: dict[Ticket, Waiter] = {}
        """Those that heard of no outcome yet."""
        self.missed: list[tuple[Delta, Image]] = []
        """Changes of topics that came while it was loaded."""


class _Settling:
    """Awaits something that begins then, or never if nobody awaits it."""

    __slots__ = ("_begin",)

    def __init__(self, begin: Callable[[], Coroutine[Any, Any, None]]) -> None:
        self._begin = begin

    def __await__(self) -> Generator[Any, None, None]:
        return self._begin().__await__()


def _no_effects(_number: int, effect: Effect) -> None:
    raise NotImplementedError(f"nobody knows what to do about {effect}")


class Runtime(Generic[S]):
    def __init__(
        self,
        topic: CoordinatorTopic,
        partitions: Callable[[], int],
        new_shard: Callable[[Timers], S],
        node: Surroundings,
        perform: Callable[[int, Effect], None] = _no_effects,
    ) -> None:
        """`partitions` is how many the topic has, or will have once it is made.

        `perform` is given the effects of decisions, with the number of the partition.
        """
        self._topic = topic
        self._partitions = partitions
        self._new_shard = new_shard
        self._node = node
        self._perform = perform
        self._places: dict[int, _Place[S]] = {}
        self._to_load: deque[_Place[S]] = deque()
        self._alarm = Alarm(self._ring)

    # --- which partitions are ours

    def lead(self, led: Mapping[int, Led]) -> None:
        """These are the partitions that this node leads now: new ones are loaded, others are let go."""
        for number, place in list(self._places.items()):
            if led.get(number) is not place.led:
                del self._places[number]
                self._give_up(place, NotCoordinator("the partition has another leader"))
        for number, partition in led.items():
            if number not in self._places:
                self._take(number, partition)

    def _take(self, number: int, led: Led) -> None:
        timers = self._alarm.new_timers()
        log = led.log
        place = self._places[number] = _Place(number, led, self._new_shard(timers), timers)
        if log.start_offset == log.end_offset:
            self._activate(place)
            return
        self._to_load.append(place)
        if len(self._to_load) == 1:
            self._node.tasks.create_task(self._load_all(), name="load-coordinators", is_vital=True)

    async def _load_all(self) -> None:
        while self._to_load:
            place = self._to_load[0]
            if self._is_held(place):
                with Guard(partial(self._loading_failed, place)):
                    await self._load(place)
            self._to_load.popleft()

    async def _load(self, place: _Place[S]) -> None:
        began = self._node.clock.monotonic_s()
        try:
            summary = await load(place.led.log, self._topic, place.shard, self._node.read_ahead, self._node.clock)
        except OdradekError as error:
            logger.error("a coordinator cannot be loaded", extra={"partition": place.name, "reason": str(error)})
            self._fail(place)
            return
        for reason, count in summary.skipped.items():
            fields = {"partition": place.name, "reason": reason, "records": count}
            logger.warning("records of a coordinator were skipped", extra=fields)
        if self._is_held(place):
            counts = {"records": summary.records, **place.shard.counts()}
            ms = round((self._node.clock.monotonic_s() - began) * 1000)
            logger.info("a coordinator is loaded", extra={"partition": place.name, **counts, "ms": ms})
            self._activate(place)

    def _loading_failed(self, place: _Place[S], error: Exception) -> None:
        report(error, "the loading of a coordinator", partition=place.name)
        self._fail(place)

    def _activate(self, place: _Place[S]) -> None:
        place.state = _State.ACTIVE
        self._carry_out(place, place.shard.loaded())
        missed, place.missed = place.missed, []
        for delta, image in missed:
            self._carry_out(place, place.shard.topics_changed(delta, image))

    def _is_held(self, place: _Place[S]) -> bool:
        return any(held is place for held in self._places.values())

    def _fail(self, place: _Place[S]) -> None:
        place.state = _State.FAILED
        self._give_up(place, NotCoordinator("the partition cannot be used"))

    def _give_up(self, place: _Place[S], error: BrokerError) -> None:
        place.timers.clear()
        waiting, place.waiting = place.waiting, {}
        for waiter in waiting.values():
            waiter.fail(error)

    # --- commands and reads

    def submit(self, key: str, ticket: Waiter, command: Callable[[S], CoordinatorResult]) -> None:
        """Has the shard of `key` decide. The ticket hears of the outcome, now or later."""
        try:
            place = self._active(self.number_of(key))
            decision = command(place.shard)
        except BrokerError as error:
            ticket.fail(error)
            return
        place.waiting[ticket] = ticket
        self._carry_out(place, decision)

    def put(self, key: str, single: Single[S]) -> bool:
        """The same for what its caller answers, if it is done when this returns.

        False where it has to be submitted. Nothing has happened then: what cannot be written fails once more, and is
        reported.
        """
        place = self._settled(key)
        now = self._node.clock.now_ms()
        record = single.record(place.shard, now) if place is not None else None
        if place is None or record is None:
            return False
        try:
            batch, head = build_run((record,), now, self._node.codec())
            offset = place.led.append(memoryview(batch), head)
        except BrokerError:
            return False
        single.replay(place.shard, offset)
        return True

    def decide(self, key: str, command: Callable[[S], CoordinatorResult]) -> Awaitable[None] | None:
        """As `submit`, for what is answered to nobody. Raises what `submit` tells its ticket.

        Where the records are to be synced before anybody relies on them, what is returned waits for that. One who
        relies on nothing need not wait.
        """
        place = self._active(self.number_of(key))
        decision = command(place.shard)
        if decision.records:
            try:
                self._append(place, decision)
            except BrokerError as error:
                self._report(place, error)
                raise told(error) from error
        if not self._is_sync_due(place):
            self._perform_all(place, decision)
            return None
        return _Settling(lambda: self._settle(place, decision))

    def end_transaction(
        self, number: int, producer_id: ProducerId, write_marker: Callable[[], None], *, commit: bool
    ) -> None:
        """Records of the producer that wait for the end of its transaction count now, or not at all.

        `write_marker` ends it in the log. Raises what that raises, and what `shard_of` does.
        """
        place = self._active(number)
        write_marker()
        place.shard.end_transaction(producer_id, commit=commit)

    def shard_of(self, key: str) -> S:
        """To read from. Raises NotCoordinator or CoordinatorLoading."""
        return self._active(self.number_of(key)).shard

    def settled_shard_of(self, key: str) -> S | None:
        """If what it says may be told at once: it is loaded, and nobody has to wait for syncs."""
        place = self._settled(key)
        return None if place is None else place.shard

    def number_of(self, key: str) -> int:
        """Of the partition that the key belongs to."""
        return partition_of(key, self._partitions())

    def shards(self) -> Iterator[S]:
        """All that this node leads and can use: those that failed were reported. Raises CoordinatorLoading."""
        for number, place in sorted(self._places.items()):
            if place.state is not _State.FAILED:
                yield self._active(number).shard

    def topics_changed(self, delta: Delta, image: Image) -> None:
        for place in list(self._places.values()):
            if place.state is _State.ACTIVE:
                self._carry_out(place, place.shard.topics_changed(delta, image))
            elif place.state is _State.LOADING and image.topics is not delta.before.topics:
                place.missed.append((delta, image))

    def _settled(self, key: str) -> _Place[S] | None:
        place = self._places.get(partition_of(key, self._partitions()))
        if place is None or place.state is not _State.ACTIVE or place.led.log.config.flush_messages != LONG_MAX:
            return None
        return place

    def _active(self, number: int) -> _Place[S]:
        place = self._places.get(number)
        if place is None or place.state is _State.FAILED:
            raise NotCoordinator(f"partition {number} is not led here")
        if place.state is _State.LOADING:
            raise CoordinatorLoading(f"{place.name} is being loaded")
        return place

    def _carry_out(self, place: _Place[S], decision: CoordinatorResult) -> bool:
        """Whether its records are written, or there are none."""
        if decision.records:
            try:
                self._append(place, decision)
            except BrokerError as error:
                self._refuse(place, decision.answers, error)
                return False
        if decision.answers or decision.effects:
            if self._is_sync_due(place):
                self._node.tasks.create_task(self._answer_when_synced(place, decision), name="sync-coordinator")
            else:
                self._answer(place, decision.answers)
                if decision.effects:
                    self._perform_all(place, decision)
        return True

    def _is_sync_due(self, place: _Place[S]) -> bool:
        log = place.led.log
        return log.end_offset - log.recovery_point >= log.config.flush_messages

    def _append(self, place: _Place[S], decision: CoordinatorResult) -> None:
        replay = place.shard.replay
        producer_id = decision.writer.producer_id if decision.writer else NO_PRODUCER_ID
        node, led = self._node, place.led
        batches = batches_of(decision, node.clock.now_ms(), node.codec(), led.log.config.max_message_bytes)
        for (batch, head), records in batches:
            offset = led.append(memoryview(batch), head)
            for key, value, _ in records:
                replay(offset, key, value, producer_id)
                offset = Offset(offset + 1)

    async def _answer_when_synced(self, place: _Place[S], decision: CoordinatorResult) -> None:
        try:
            await self._node.flusher.settle(place.led.log)
        except StorageFailed as error:
            self._refuse(place, decision.answers, error)
        else:
            self._answer(place, decision.answers)
            self._perform_all(place, decision)

    async def _settle(self, place: _Place[S], decision: CoordinatorResult) -> None:
        try:
            await self._node.flusher.settle(place.led.log)
        except StorageFailed as error:
            self._report(place, error)
            raise told(error) from error
        self._perform_all(place, decision)

    def _perform_all(self, place: _Place[S], decision: CoordinatorResult) -> None:
        if self._places.get(place.number) is not place:
            return  # it went elsewhere, while this was synced: they are due there
        for effect in decision.effects:
            with Guard(partial(report, work="an effect of a coordinator", partition=place.name, effect=effect)):
                self._perform(place.number, effect)

    def _answer(self, place: _Place[S], answers: tuple[Answer, ...]) -> None:
        for ticket, response in answers:
            waiter = place.waiting.pop(ticket, None)
            if waiter is not None:  # else it heard that the partition is gone, while this was synced
                waiter.answer(response)

    def _refuse(self, place: _Place[S], answers: tuple[Answer, ...], error: BrokerError) -> None:
        heard = told(error)
        for answer in answers:
            waiter = place.waiting.pop(answer.ticket, None)
            if waiter is not None:
                waiter.fail(heard)
        self._report(place, error)

    def _report(self, place: _Place[S], error: BrokerError) -> None:
        logger.error("records cannot be written", extra={"partition": place.name, "reason": str(error)})
        if isinstance(error, StorageFailed):
            self._fail(place)

    # --- deadlines

    def _ring(self) -> None:
        monotonic_s = self._node.clock.monotonic_s
        until = monotonic_s() + _TURN_S
        try:
            for place in sorted(self._places.values(), key=lambda place: place.timers.next_ms or 0):
                for deadline in place.timers.due():
                    is_done = False
                    with Guard(partial(report, work="a deadline of a coordinator", partition=place.name, key=deadline)):
                        is_done = self._carry_out(place, place.shard.expired(deadline))
                    if not is_done and place.state is _State.ACTIVE and deadline not in place.timers:
                        place.timers.set(deadline, _AGAIN_MS)  # nobody else would ever take a dead member out
                    if monotonic_s() > until:
                        return  # others have their turn: what is overdue comes right behind them
        finally:
            for place in self._places.values():
                self._alarm.set_for(place.timers)

    def close(self) -> None:
        """Nothing is decided from now on."""
        self._alarm.cancel()
        for place in self._places.values():
            place.timers.clear()
        self._places.clear()
