"""What an application does all its life: take what is there, pass it on in a transaction together with its offsets."""

from collections.abc import Callable, Iterator, Mapping
from typing import TYPE_CHECKING, Protocol

from odradek.model.numbers import Offset
from odradek.model.topic_partition import TopicPartition
from support.sim.groups.consumer import Claim
from support.sim.process import Process
from support.sim.script import Script, ask, pause
from support.sim.transactions.errors import Abortable, Fatal
from support.sim.transactions.fetching import fetch_request, partitions_in
from support.sim.transactions.flow import Flow
from support.sim.transactions.ledger import Entry, Outcome
from support.sim.transactions.lines import Lines
from support.sim.transactions.producer import Producer
from support.sim.transactions.stage import Stage
from support.sim.transactions.values import Fetched, Tag, Value, committed_in

if TYPE_CHECKING:
    from support.sim.transactions.world import World

_FETCH_VERSION = 12
_FETCH_TIMEOUT_MS = 2_000
_FETCH_BYTES = 4_000
_IDLE_MS = 100
_HESITATION_MS_MAX = 10_000


class Owner(Protocol):
    """Who says what is to be worked on."""

    positions: dict[TopicPartition, int | None]

    def claim(self) -> Claim | None: ...

    def may_begin(self) -> bool: ...

    def learn(self) -> Script[None]:
        """Have positions where there are none."""
        ...

    def crash(self) -> None: ...


class Work:
    def __init__(self, world: "World", name: str, stage: Stage, owner: Owner, tools: "Tools") -> None:
        self._world = world
        self._rng = world.rng
        self._name = name
        self._stage = stage
        self._owner = owner
        self._process = tools.process
        self.lines = tools.lines
        self._producer = Producer(tools.process, tools.lines, tools.flow, stage.timeout_ms)
        self._count = 0
        self._taken: dict[TopicPartition, Fetched] = {}
        """By the transaction that is open."""
        self._is_doomed = False
        self._when_done: list[Callable[[], None]] = []

    def when_done(self, then: Callable[[], None]) -> None:
        """Once no transaction is open, which may be now."""
        if self._taken:
            self._when_done.append(then)
        else:
            then()

    def lost(self, partition: TopicPartition) -> None:
        """It is not this application's any more."""
        if partition in self._taken:
            self._is_doomed = True

    def live(self) -> Script[None]:
        try:
            yield from self._producer.init()
            while True:
                yield from self._step()
        except Fatal as error:
            self._world.note(f"{self._name} cannot go on: {error}")
            self._owner.crash()

    def _step(self) -> Script[None]:
        yield from self._owner.learn()
        ready = {place: at for place, at in self._owner.positions.items() if at is not None}
        if ready and self._owner.may_begin():
            fetched = yield from self._fetch(ready)
            if self._owner.may_begin():  # much may have happened meanwhile
                self._take({place: each for place, each in fetched.items() if self._has(place, ready[place])})
        if self._taken:
            yield from self._transact()
        else:
            yield from pause(self._process, _IDLE_MS)

    def _has(self, place: TopicPartition, position: int) -> bool:
        return self._owner.positions.get(place) == position

    def _fetch(self, ready: Mapping[TopicPartition, int]) -> Script[dict[TopicPartition, Fetched]]:
        request = fetch_request(ready, _FETCH_BYTES)
        response = yield from ask(self.lines.leader, request, _FETCH_VERSION, _FETCH_TIMEOUT_MS)
        if response is None:
            return {}
        return {place: committed_in(data, ready[place]) for place, data in partitions_in(response).items()}

    def _take(self, fetched: Mapping[TopicPartition, Fetched]) -> None:
        room = self._rng.randint(1, self._stage.take_max)
        for place, each in fetched.items():
            if not each.values:
                self._owner.positions[place] = each.position  # markers alone, or what was aborted
            elif room:
                self._taken[place] = _first(each, room)
                room -= len(self._taken[place].values)

    # --- a transaction

    def _transact(self) -> Script[None]:
        self._count += 1
        self._is_doomed = False
        entry = self._world.ledger.begin(Tag(self._name, self._count))
        try:
            yield from self._write(entry)
            yield from self._commit(entry)
        except Abortable as error:
            self._world.note(f"{self._name} aborts {self._count}: {error}")
            for place in self._taken:
                if place in self._owner.positions:
                    self._owner.positions[place] = None
            yield from self._producer.end(commit=False)
        self._taken.clear()
        waiting, self._when_done = self._when_done, []
        for then in waiting:
            then()

    def _write(self, entry: Entry) -> Script[None]:
        for part in self._parts(entry):
            yield from self._producer.produce(self._stage.target, part)
            yield from self._linger()

    def _linger(self, *, may_hesitate: bool = False) -> Script[None]:
        if not self._world.is_calm:
            hesitates = may_hesitate and self._rng.random() < self._stage.hesitates
            most_ms = _HESITATION_MS_MAX if hesitates else self._stage.linger_ms
            yield from pause(self._process, self._rng.randrange(most_ms) + 1)

    def _parts(self, entry: Entry) -> Iterator[dict[int, list[Value]]]:
        """Values in the order of each partition, by the partitions that they go to, in a few requests."""
        part: dict[int, list[Value]] = {}
        for each in self._taken.values():
            for _, read in each.values:
                value = Value(read.source, read.number, entry.tag)
                target = self._stage.target_of(value.number)
                entry.values[value] = TopicPartition(self._stage.target, target)
                part.setdefault(target, []).append(value)
                if self._rng.random() < 0.2:
                    yield part
                    part = {}
        if part:
            yield part

    def _commit(self, entry: Entry) -> Script[None]:
        self._check()
        claim = self._owner.claim()
        if claim is None:
            raise Abortable("it is in no generation")
        offsets = {place: each.position for place, each in self._taken.items()}
        yield from self._producer.send_offsets(self._stage.group_id, offsets, claim)
        yield from self._linger(may_hesitate=True)
        self._check()
        if not self._world.is_calm and self._rng.random() < self._stage.abort_chance:
            raise Abortable("it wants to")
        entry.outcome = Outcome.ASKED
        yield from self._producer.end(commit=True)
        entry.outcome = Outcome.COMMITTED
        for place, position in offsets.items():
            if not self._is_doomed and place in self._owner.positions:
                self._owner.positions[place] = position

    def _check(self) -> None:
        if self._is_doomed:
            raise Abortable("it has lost a partition")


class Tools:
    """What an application is made of."""

    def __init__(self, process: Process, lines: Lines, flow: Flow) -> None:
        self.process = process
        self.lines = lines
        self.flow = flow


def _first(fetched: Fetched, count: int) -> Fetched:
    if count >= len(fetched.values):
        return fetched
    return Fetched(fetched.values[:count], Offset(fetched.values[count].offset))
