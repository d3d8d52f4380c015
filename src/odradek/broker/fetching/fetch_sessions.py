"""Fetch sessions: a client names its partitions once, then only what changes, and is answered only with what changed.

Both sides count requests by an epoch, so that neither takes a lost message for a heard one. There is room for a number
of sessions; a client that gets none goes on with whole requests.
"""

from collections import OrderedDict
from collections.abc import Iterable
from random import Random
from typing import NamedTuple, Protocol

from odradek.model.clock import Clock
from odradek.model.error_code import ErrorCode
from odradek.model.errors import BrokerError
from odradek.model.settings import INT_MAX
from odradek.wire.messages.fetch import FetchPartition, FetchRequest, PartitionData

NO_SESSION = 0
FIRST_EPOCH = 0
"""Asks for a new session."""
LAST_EPOCH = -1
"""Ends a session, if there is one, and asks for none."""
BY_ID_SINCE = 13
IDLE_MS_MAX = 120_000
"""A session that nobody used for longer makes room for others; one that is older makes room for larger ones."""


class SessionNotFound(BrokerError):
    code = ErrorCode.FETCH_SESSION_ID_NOT_FOUND


class InvalidSessionEpoch(BrokerError):
    code = ErrorCode.INVALID_FETCH_SESSION_EPOCH


class MixedTopicIds(BrokerError):
    """A session goes by names or by ids, not by both."""

    code = ErrorCode.FETCH_SESSION_TOPIC_ID_ERROR


class TopicIdPartition(NamedTuple):
    """A partition as the client names it: by the topic's name or its id, the other one being empty."""

    topic: str
    topic_id: bytes
    partition: int


class RequestedPartition(NamedTuple):
    place: TopicIdPartition
    asked: FetchPartition


class Found(NamedTuple):
    place: TopicIdPartition
    data: PartitionData
    has_records: bool


class Context(Protocol):
    """One fetch, from its request to its answer."""

    @property
    def wanted(self) -> list[RequestedPartition]:
        """In the order in which partitions may fill the answer."""

    @property
    def session_id(self) -> int:
        """That the client had when it asked."""

    def check(self) -> None:
        """Before an answer is made: raises InvalidSessionEpoch where the client went on without it."""

    def conclude(self, found: list[Found]) -> tuple[int, list[Found]]:
        """The id of the session that the client has from now on, and what of `found` it is told."""


class _Cached:
    """What a client wants of a partition, and what it was told last."""

    __slots__ = ("asked", "high_watermark", "start_offset")

    def __init__(self, asked: FetchPartition) -> None:
        self.asked = asked
        self.high_watermark = self.start_offset = -1

    def tell(self, found: Found) -> bool:
        """Whether there is anything that the client does not know."""
        data = found.data
        known = (self.high_watermark, self.start_offset) == (data.high_watermark, data.log_start_offset)
        self.high_watermark, self.start_offset = data.high_watermark, data.log_start_offset
        if data.error_code != ErrorCode.NONE:
            self.high_watermark = -1  # so that the end of the error is news
            return True
        return found.has_records or not known or data.diverging_epoch.epoch >= 0


class Session:
    """The partitions of one client. Those that gave something go to the end, so that the others are not left out."""

    def __init__(self, id: int, *, by_id: bool, now_ms: int) -> None:
        self.id = id
        self.by_id = by_id
        self.epoch = 1
        self.created_ms = self.used_ms = now_ms
        self.partitions: dict[TopicIdPartition, _Cached] = {}

    def update(self, request: FetchRequest) -> None:
        for place, asked in wanted_by(request):
            cached = self.partitions.get(place)
            if cached is None:
                self.partitions[place] = _Cached(asked)
            else:
                cached.asked = asked
        for topic in request.forgotten_topics_data:
            for index in topic.partitions:
                self.partitions.pop(TopicIdPartition(topic.topic, topic.topic_id, index), None)

    def tell(self, found: Iterable[Found]) -> list[Found]:
        """Those that are news to the client."""
        news = []
        for each in found:
            cached = self.partitions.get(each.place)
            if cached is None or not cached.tell(each):
                continue
            news.append(each)
            if each.has_records:
                self.partitions[each.place] = self.partitions.pop(each.place)
        return news


class FetchSessions:
    def __init__(self, clock: Clock, rng: Random, slots: int = 1_000) -> None:
        """`slots` is max.incremental.fetch.session.cache.slots."""
        self._clock = clock
        self._rng = rng
        self._slots = slots
        self._sessions: OrderedDict[int, Session] = OrderedDict()
        """Least recently used first."""

    def __len__(self) -> int:
        return len(self._sessions)

    def begin(self, request: FetchRequest, version: int) -> Context:
        """Raises SessionNotFound, InvalidSessionEpoch or MixedTopicIds."""
        if request.session_epoch in (FIRST_EPOCH, LAST_EPOCH):
            self._sessions.pop(request.session_id, None)
            return _Whole(request, self if request.session_epoch == FIRST_EPOCH else None, version)
        session = self._sessions.get(request.session_id)
        if session is None:
            raise SessionNotFound(f"there is no fetch session {request.session_id}")
        if session.epoch != request.session_epoch:
            raise InvalidSessionEpoch(f"session {session.id} is at {session.epoch}, not {request.session_epoch}")
        if session.by_id != (version >= BY_ID_SINCE):
            raise MixedTopicIds(f"session {session.id} {'uses' if session.by_id else 'does not use'} ids of topics")
        session.update(request)
        if not session.partitions:
            del self._sessions[session.id]
            return _Whole(request, None, version)
        session.used_ms = self._clock.now_ms()
        self._sessions.move_to_end(session.id)
        session.epoch = next_epoch(session.epoch)
        return _Incremental(session)

    def create(self, size: int, *, by_id: bool) -> Session | None:
        """None where there is no room for a session with so many partitions."""
        now = self._clock.now_ms()
        if len(self._sessions) >= self._slots and not self._evict(size, now):
            return None
        while (id := self._rng.randint(1, INT_MAX)) in self._sessions:
            pass
        session = self._sessions[id] = Session(id, by_id=by_id, now_ms=now)
        return session

    def _evict(self, size: int, now_ms: int) -> bool:
        oldest = next(iter(self._sessions.values()), None)
        if oldest is None:
            return False
        if now_ms - oldest.used_ms > IDLE_MS_MAX:
            del self._sessions[oldest.id]
            return True
        old = [each for each in self._sessions.values() if each.used_ms - each.created_ms > IDLE_MS_MAX]
        smallest = min(old, key=lambda each: (len(each.partitions), each.id), default=None)
        if smallest is None or len(smallest.partitions) >= size:
            return False
        del self._sessions[smallest.id]
        return True


class _Whole:
    """Names all that it wants; gets a session if there is room in `sessions`."""

    session_id = NO_SESSION

    def __init__(self, request: FetchRequest, sessions: FetchSessions | None, version: int) -> None:
        self.wanted = wanted_by(request)
        self._sessions = sessions
        self._by_id = version >= BY_ID_SINCE

    def check(self) -> None:
        return

    def conclude(self, found: list[Found]) -> tuple[int, list[Found]]:
        session = None if self._sessions is None else self._sessions.create(len(found), by_id=self._by_id)
        if session is None:
            return NO_SESSION, found
        session.partitions = {place: _Cached(asked) for place, asked in self.wanted}
        session.tell(found)
        return session.id, found


class _Incremental:
    def __init__(self, session: Session) -> None:
        self._session = session
        self._epoch = session.epoch
        self.session_id = session.id

    @property
    def wanted(self) -> list[RequestedPartition]:
        return [RequestedPartition(place, cached.asked) for place, cached in self._session.partitions.items()]

    def check(self) -> None:
        if self._session.epoch != self._epoch:
            raise InvalidSessionEpoch(f"session {self._session.id} went on to {self._session.epoch}")

    def conclude(self, found: list[Found]) -> tuple[int, list[Found]]:
        return self._session.id, self._session.tell(found)


def next_epoch(epoch: int) -> int:
    return 1 if epoch == INT_MAX else epoch + 1


def wanted_by(request: FetchRequest) -> list[RequestedPartition]:
    """What a client says last of a partition counts, where it said it first."""
    wanted = {
        TopicIdPartition(topic.topic, topic.topic_id, asked.partition): asked
        for topic in request.topics
        for asked in topic.partitions
    }
    return [RequestedPartition(*each) for each in wanted.items()]
