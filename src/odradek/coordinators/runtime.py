"""Runs a coordinator: which partition a key belongs to, whether that is loaded, and the way of a command.

    command -> result -> its records appended as one batch -> each of them replayed
            -> all of it settled -> its answers leave -> its effects, which are outside of the coordinator's own log

The first line happens in one breath, on the loop: appending writes to the page cache and does not wait. So there is
nothing to take back: what cannot be appended is not replayed either, and those who wait for it hear of the error.
Answers and effects wait until the log is settled as far as the command could see, also those that only tell what others
changed. Mostly it is settled at once, and then nothing waits.
"""

import logging
from collections import deque
from collections.abc import Callable, Hashable, Iterator, Mapping
from dataclasses import dataclass
from enum import Enum, auto
from functools import partial
from typing import Generic, Protocol, TypeVar

from odradek.coordinators.alarm import Alarm
from odradek.coordinators.batches import batches_of
from odradek.coordinators.errors import CoordinatorLoading, NotCoordinator, for_client
from odradek.coordinators.loading import ReadAhead, load
from odradek.coordinators.partitioning import partition_of
from odradek.coordinators.result import CoordinatorResult, Effect
from odradek.coordinators.shard import Shard
from odradek.coordinators.timers import Timers
from odradek.metadata.delta import Delta
from odradek.metadata.image import Image
from odradek.model.clock import Clock
from odradek.model.errors import BrokerError, OdradekError, StorageFailed
from odradek.model.numbers import NO_PRODUCER_ID, Offset, ProducerId, TimestampMs
from odradek.process.guard import Guard, report
from odradek.process.tasks import Tasks
from odradek.records.batch import BatchHead, Codec
from odradek.records.builder import build_run
from odradek.replication.waiters import Unsettled
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


class PartitionWriter(Protocol):
    """A partition of the coordinator's topic that this node leads."""

    @property
    def log(self) -> Log: ...

    @property
    def settles_at_once(self) -> bool:
        """Whether all that is appended is settled when the append returns."""
        ...

    @property
    def unsettled(self) -> Unsettled | None:
        """All that is appended and not settled, to be waited for; None if there is nothing."""
        ...

    def append(self, batch: memoryview, head: BatchHead) -> Offset:
        """Returns the offset of the first record."""
        ...


class Ticket(Hashable, Protocol):
    """The way back to the one who sent a request. It hears once: the response, or why there is none.

    Neither method raises: others wait for the same records.
    To a shard it is any value that stands for the request; only the runtime calls it.
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
class RuntimeServices:
    """What a runtime has of its node."""

    clock: Clock
    tasks: Tasks
    read_ahead: ReadAhead
    codec: Callable[[], Codec]
    """How batches are compressed."""


class _State(Enum):
    LOADING = auto()
    ACTIVE = auto()
    FAILED = auto()


class CoordinatorContext(Generic[S]):
    """A partition that this node leads, and its shard."""

    __slots__ = ("missed", "name", "number", "shard", "state", "timers", "waiting", "writer")

    def __init__(self, number: int, writer: PartitionWriter, shard: S, timers: Timers) -> None:
        self.number = number
        self.name = str(writer.log.partition)
        self.writer = writer
        self.shard = shard
        self.timers = timers
        self.state = _State.LOADING
        self.waiting: dict[Hashable, Ticket] = {}
        """Those that heard of no outcome yet."""
        self.missed: list[tuple[Delta, Image]] = []
        """Changes of topics that came while it was loaded."""


class _DeferredResult(Generic[S]):
    """The answers and effects of a result whose records, or what it saw, are not settled. A `Waiter`."""

    __slots__ = ("_context", "_result", "_runtime")

    def __init__(self, runtime: "Runtime[S]", context: CoordinatorContext[S], result: CoordinatorResult) -> None:
        self._runtime = runtime
        self._context = context
        self._result = result

    def settled(self) -> None:
        self._runtime.complete(self._context, self._result)

    def failed(self, error: BrokerError) -> None:
        self._runtime.refuse(self._context, self._result, error)


def _no_effects(_number: int, effect: Effect) -> None:
    raise NotImplementedError(f"nobody knows what to do about {effect}")


class Runtime(Generic[S]):
    def __init__(
        self,
        topic: CoordinatorTopic,
        partitions: Callable[[], int],
        new_shard: Callable[[Timers], S],
        node: RuntimeServices,
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
        self._contexts: dict[int, CoordinatorContext[S]] = {}
        self._to_load: deque[CoordinatorContext[S]] = deque()
        self._alarm = Alarm(self._ring)

    # --- which partitions are led here

    def lead(self, writers: Mapping[int, PartitionWriter]) -> None:
        """These are the partitions that this node leads now: new ones are loaded, others are unloaded."""
        for number, context in list(self._contexts.items()):
            if writers.get(number) is not context.writer:
                del self._contexts[number]
                self._unload(context, NotCoordinator("the partition has another leader"))
        for number, writer in writers.items():
            if number not in self._contexts:
                self._begin(number, writer)

    def _begin(self, number: int, writer: PartitionWriter) -> None:
        timers = self._alarm.new_timers()
        log = writer.log
        context = self._contexts[number] = CoordinatorContext(number, writer, self._new_shard(timers), timers)
        if log.start_offset == log.end_offset:
            self._activate(context)
            return
        self._to_load.append(context)
        if len(self._to_load) == 1:
            self._node.tasks.create_task(self._load_all(), name="load-coordinators", is_vital=True)

    async def _load_all(self) -> None:
        while self._to_load:
            context = self._to_load[0]
            if self._is_held(context):
                with Guard(partial(self._loading_failed, context)):
                    await self._load(context)
            self._to_load.popleft()

    async def _load(self, context: CoordinatorContext[S]) -> None:
        clock = self._node.clock
        began = clock.monotonic_s()
        try:
            summary = await load(context.writer.log, self._topic, context.shard, self._node.read_ahead, clock)
        except OdradekError as error:
            logger.error("a coordinator cannot be loaded", extra={"partition": context.name, "reason": str(error)})
            self._fail(context)
            return
        for reason, count in summary.skipped.items():
            fields = {"partition": context.name, "reason": reason, "records": count}
            logger.warning("records of a coordinator were skipped", extra=fields)
        if self._is_held(context):
            counts = {"records": summary.records, **context.shard.counts()}
            ms = round((clock.monotonic_s() - began) * 1000)
            logger.info("a coordinator is loaded", extra={"partition": context.name, **counts, "ms": ms})
            self._activate(context)

    def _loading_failed(self, context: CoordinatorContext[S], error: Exception) -> None:
        report(error, "the loading of a coordinator", partition=context.name)
        self._fail(context)

    def _activate(self, context: CoordinatorContext[S]) -> None:
        context.state = _State.ACTIVE
        self._carry_out(context, context.shard.loaded())
        missed, context.missed = context.missed, []
        for delta, image in missed:
            self._carry_out(context, context.shard.topics_changed(delta, image))

    def _is_held(self, context: CoordinatorContext[S]) -> bool:
        return self._contexts.get(context.number) is context

    def _fail(self, context: CoordinatorContext[S]) -> None:
        context.state = _State.FAILED
        self._unload(context, NotCoordinator("the partition cannot be used"))

    def _unload(self, context: CoordinatorContext[S], error: BrokerError) -> None:
        context.timers.clear()
        waiting, context.waiting = context.waiting, {}
        for ticket in waiting.values():
            ticket.fail(error)

    # --- commands and reads

    def submit(self, key: str, ticket: Ticket, command: Callable[[S], CoordinatorResult]) -> None:
        """Has the shard of `key` decide. The ticket hears of the outcome, now or later."""
        try:
            context = self._active(self.number_of(key))
            result = command(context.shard)
        except BrokerError as error:
            ticket.fail(error)
            return
        context.waiting[ticket] = ticket
        self._carry_out(context, result)

    def put(self, key: str, single: Single[S]) -> bool:
        """Fast path of `submit`: do at once what the caller answers, if it is done and settled when this returns.

        False where it has to be submitted. Nothing has happened then: what cannot be written fails once more, and is
        reported.
        """
        context = self._settling_at_once(key)
        now = self._node.clock.now_ms()
        record = single.record(context.shard, now) if context is not None else None
        if context is None or record is None:
            return False
        try:
            batch, head = build_run((record,), now, self._node.codec())
            offset = context.writer.append(memoryview(batch), head)
        except BrokerError:
            return False
        single.replay(context.shard, offset)
        return True

    def decide(self, key: str, command: Callable[[S], CoordinatorResult]) -> Unsettled | None:
        """As `submit`, for what is answered to nobody. Raises what `submit` tells its ticket.

        Where the records are not settled, what is returned is for one who relies on them to wait for.
        """
        context = self._active(self.number_of(key))
        result = command(context.shard)
        if result.records:
            try:
                self._append(context, result)
            except BrokerError as error:
                self._report(context, error)
                raise for_client(error) from error
        unsettled = context.writer.unsettled
        if unsettled is None:
            self._perform_all(context, result)
        elif result.effects:
            unsettled.waiters.add(unsettled.end, _DeferredResult(self, context, result))
        return unsettled

    def end_transaction(
        self, number: int, producer_id: ProducerId, write_marker: Callable[[], None], *, commit: bool
    ) -> None:
        """Records of the producer that wait for the end of its transaction count now, or not at all.

        `write_marker` ends it in the log. Raises what that raises, and what `shard_of` does.
        """
        context = self._active(number)
        write_marker()
        context.shard.end_transaction(producer_id, commit=commit)

    def shard_of(self, key: str) -> S:
        """To read from. Raises NotCoordinator or CoordinatorLoading."""
        return self._active(self.number_of(key)).shard

    def settled_shard_of(self, key: str) -> S | None:
        """If what it says may be told at once: it is loaded, and nobody ever waits for its records to settle."""
        context = self._settling_at_once(key)
        return None if context is None else context.shard

    def unsettled_of(self, key: str) -> Unsettled | None:
        """What one who has read from the shard of `key` has to wait for. Raises what `shard_of` does."""
        return self._active(self.number_of(key)).writer.unsettled

    def number_of(self, key: str) -> int:
        """Of the partition that the key belongs to."""
        return partition_of(key, self._partitions())

    def shards(self) -> Iterator[S]:
        """All that this node leads and can use: those that failed were reported. Raises CoordinatorLoading."""
        for number, context in sorted(self._contexts.items()):
            if context.state is not _State.FAILED:
                yield self._active(number).shard

    def topics_changed(self, delta: Delta, image: Image) -> None:
        for context in list(self._contexts.values()):
            if context.state is _State.ACTIVE:
                self._carry_out(context, context.shard.topics_changed(delta, image))
            elif context.state is _State.LOADING and image.topics is not delta.before.topics:
                context.missed.append((delta, image))

    def _settling_at_once(self, key: str) -> CoordinatorContext[S] | None:
        context = self._contexts.get(partition_of(key, self._partitions()))
        if context is None or context.state is not _State.ACTIVE or not context.writer.settles_at_once:
            return None
        return context

    def _active(self, number: int) -> CoordinatorContext[S]:
        context = self._contexts.get(number)
        if context is None or context.state is _State.FAILED:
            raise NotCoordinator(f"partition {number} is not led here")
        if context.state is _State.LOADING:
            raise CoordinatorLoading(f"{context.name} is being loaded")
        return context

    # --- what a command came to

    def _carry_out(self, context: CoordinatorContext[S], result: CoordinatorResult) -> bool:
        """Whether its records are written, or there are none."""
        if result.records:
            try:
                self._append(context, result)
            except BrokerError as error:
                self.refuse(context, result, error)
                return False
        if result.answers or result.effects:
            unsettled = context.writer.unsettled
            if unsettled is None:
                self.complete(context, result)
            else:
                unsettled.waiters.add(unsettled.end, _DeferredResult(self, context, result))
        return True

    def _append(self, context: CoordinatorContext[S], result: CoordinatorResult) -> None:
        replay = context.shard.replay
        producer_id = result.writer.producer_id if result.writer else NO_PRODUCER_ID
        node, writer = self._node, context.writer
        batches = batches_of(result, node.clock.now_ms(), node.codec(), writer.log.config.max_message_bytes)
        for (batch, head), records in batches:
            offset = writer.append(memoryview(batch), head)
            for key, value, _ in records:
                replay(offset, key, value, producer_id)
                offset = Offset(offset + 1)

    def complete(self, context: CoordinatorContext[S], result: CoordinatorResult) -> None:
        """All that the result rests on is settled."""
        for key, response in result.answers:
            ticket = context.waiting.pop(key, None)
            if ticket is not None:  # else it heard that the partition is gone, while this was not settled
                ticket.answer(response)
        if result.effects:
            self._perform_all(context, result)

    def refuse(self, context: CoordinatorContext[S], result: CoordinatorResult, error: BrokerError) -> None:
        """Its records are not in the log, or will not settle."""
        heard = for_client(error)
        for key, _ in result.answers:
            ticket = context.waiting.pop(key, None)
            if ticket is not None:
                ticket.fail(heard)
        if self._is_held(context):
            self._report(context, error)

    def _perform_all(self, context: CoordinatorContext[S], result: CoordinatorResult) -> None:
        if not self._is_held(context):
            return  # it went elsewhere before this was settled: the effects are due there
        for effect in result.effects:
            with Guard(partial(report, work="an effect of a coordinator", partition=context.name, effect=effect)):
                self._perform(context.number, effect)

    def _report(self, context: CoordinatorContext[S], error: BrokerError) -> None:
        logger.error("records cannot be written", extra={"partition": context.name, "reason": str(error)})
        if isinstance(error, StorageFailed):
            self._fail(context)

    # --- deadlines

    def _ring(self) -> None:
        now = self._node.clock.monotonic_s
        until = now() + _TURN_S
        try:
            for context in sorted(self._contexts.values(), key=lambda context: context.timers.next_ms or 0):
                for deadline in context.timers.due():
                    is_done = False
                    work = partial(report, work="a deadline of a coordinator", partition=context.name, key=deadline)
                    with Guard(work):
                        is_done = self._carry_out(context, context.shard.expired(deadline))
                    if not is_done and context.state is _State.ACTIVE and deadline not in context.timers:
                        context.timers.set(deadline, _AGAIN_MS)  # nobody else would ever take a dead member out
                    if now() > until:
                        return  # others have their turn: what is overdue comes right behind them
        finally:
            for context in self._contexts.values():
                self._alarm.set_for(context.timers)

    def close(self) -> None:
        """Nothing is decided from now on."""
        self._alarm.cancel()
        for context in self._contexts.values():
            context.timers.clear()
        self._contexts.clear()
