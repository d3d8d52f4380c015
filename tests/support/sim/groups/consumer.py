"""What consumers of both protocols do: poll, go on in what they own, commit, notice new topics, be slow, close."""

from abc import ABC, abstractmethod
from collections.abc import Callable, Iterable
from typing import TYPE_CHECKING, NamedTuple

from odradek.model.error_code import ErrorCode
from odradek.model.topic_partition import TopicPartition
from odradek.wire.messages.offset_commit import OffsetCommitResponse
from odradek.wire.messages.offset_fetch import OffsetFetchResponse
from support.sim.groups import requests
from support.sim.groups.spec import Spec
from support.sim.line import Coordinated, Line
from support.sim.process import Process

if TYPE_CHECKING:
    from support.sim.groups.world import World

_METADATA_MS = 4_000
_REQUEST_TIMEOUT_MS = 5_000

RETRIABLE = frozenset(
    (ErrorCode.COORDINATOR_LOAD_IN_PROGRESS, ErrorCode.COORDINATOR_NOT_AVAILABLE, ErrorCode.NOT_COORDINATOR)
)
"""Says nothing about the member: the same again, a little later."""


class Claim(NamedTuple):
    """In whose name a consumer commits."""

    member_id: str
    epoch: int


class Consumer(ABC):
    def __init__(self, world: "World", spec: Spec) -> None:
        self.world = world
        self.spec = spec
        self.process = Process(world.events)
        host = self.process.host(world.network, spec.name)
        self.line = Line(host, self.process, Coordinated.group(spec.group_id))
        self.line.client_id = spec.name
        self.image = world.admin.image
        self.member_id = ""
        self.epoch = -1
        """The generation, in a classic group."""
        self.positions: dict[TopicPartition, int | None] = {}
        """Of what it owns; None where it does not know yet what was committed."""
        self._committed: dict[TopicPartition, int] = {}
        self._fetching = False
        self._last_poll_ms = world.events.now_ms
        self._last_metadata_ms = self._last_commit_ms = world.events.now_ms
        self.busy_until_ms = 0
        """It works on records until then, and does not poll."""
        self.is_closing = False

    # --- for those who move it

    def start(self) -> None:
        self.line.open()
        self.process.later(self.world.rng.randrange(self.spec.poll_ms), self._tick)
        self.process.later(self.world.rng.randrange(self.spec.heartbeat_ms), self._beat)

    def close(self) -> None:
        """Commits, leaves if it may, and is gone."""
        self.is_closing = True
        self._commit(self.positions, self._leave)

    def crash(self) -> None:
        """It is gone from one moment to the next."""
        self.line.lose()
        self._gone()

    @abstractmethod
    def claim(self) -> Claim | None:
        """None while it is in no generation that it knows its assignment of, and so does not commit."""

    @abstractmethod
    def is_at_rest(self) -> bool:
        """Whether it has done all that it was told to, as far as it knows."""

    @property
    def owned(self) -> frozenset[TopicPartition]:
        return frozenset(self.positions)

    # --- for the protocols

    @abstractmethod
    def _poll(self) -> None: ...

    @abstractmethod
    def _beat(self) -> None:
        """What the background thread does; it asks to be called again by itself."""

    @abstractmethod
    def _poll_too_late(self) -> None:
        """The background thread finds that nobody polls."""

    @abstractmethod
    def _leave(self) -> None:
        """Sends the last request, after which the process ends."""

    @abstractmethod
    def _commit_refused(self, error: ErrorCode, claim: Claim) -> None: ...

    def _own(self, partitions: Iterable[TopicPartition]) -> None:
        """These, and no others; those that it has already go on where they are."""
        kept = self.positions
        self.positions = {partition: kept.get(partition) for partition in sorted(partitions)}
        self._committed = {each: at for each, at in self._committed.items() if each in self.positions}
        self.world.owned(self)

    def _gone(self) -> None:
        """The process ends."""
        self.positions = {}
        self.process.die()
        self.world.owned(self)

    def _has_to_leave(self) -> bool:
        return self.spec.leaves_when_late and self.world.events.now_ms - self._last_poll_ms > self.spec.poll_max_ms

    # --- the application's thread

    def _tick(self) -> None:
        now = self.world.events.now_ms
        if now >= self.busy_until_ms and not self.is_closing:
            if now - self._last_metadata_ms >= _METADATA_MS:
                self._last_metadata_ms = now
                self.image = self.world.admin.image
            self._poll()
            self._last_poll_ms = now
            self._go_on()
        self.process.later(self.spec.poll_ms, self._tick)

    def _go_on(self) -> None:
        for partition, position in self.positions.items():
            if position is not None:
                self.positions[partition] = position + self.world.rng.randrange(3)
        if any(position is None for position in self.positions.values()):
            self._fetch_offsets()
        elif self.world.events.now_ms - self._last_commit_ms >= self.spec.commit_ms:
            self._last_commit_ms = self.world.events.now_ms
            self._commit(self.positions, _nothing)

    def _commit(self, partitions: Iterable[TopicPartition], then: Callable[[], None]) -> None:
        """How far these were consumed. `then` is called when that is known to be done, or not to be."""
        claim = self.claim()
        moved = {
            each: at
            for each in partitions
            if (at := self.positions.get(each)) is not None and at != self._committed.get(each)
        }
        if claim is None or not moved:
            then()
            return

        def answered(response: OffsetCommitResponse) -> None:
            error = ErrorCode(next((each.error_code for topic in response.topics for each in topic.partitions), 0))
            if not error:
                self._committed.update(moved)
            elif error not in RETRIABLE:
                self._commit_refused(error, claim)
            then()

        request = requests.commit(self.spec, claim, moved, self.image)
        self.line.ask(request, self.spec.versions.commit, _REQUEST_TIMEOUT_MS, answered, then)

    def _fetch_offsets(self) -> None:
        claim = self.claim()
        if claim is None or self._fetching or not self.line.is_ready:
            return
        self._fetching = True
        wanted = [partition for partition, position in self.positions.items() if position is None]
        request = requests.fetch(self.spec, claim, wanted, self.image)
        self.line.ask(request, self.spec.versions.fetch, _REQUEST_TIMEOUT_MS, self._fetched, self._not_fetched)

    def _fetched(self, response: OffsetFetchResponse) -> None:
        self._fetching = False
        for partition, offset in requests.fetched(response, self.image).items():
            if self.positions.get(partition, 0) is None:
                self.positions[partition] = max(offset, 0)

    def _not_fetched(self) -> None:
        self._fetching = False


def _nothing() -> None:
    return
