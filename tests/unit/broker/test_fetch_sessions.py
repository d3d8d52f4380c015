"""Fetch sessions without a socket: epochs, what is news, whose turn it is, and who makes room for whom."""

from random import Random

import pytest

from odradek.broker.fetching.fetch_sessions import (
    IDLE_MS_MAX,
    NO_SESSION,
    Context,
    FetchSessions,
    Found,
    InvalidSessionEpoch,
    MixedTopicIds,
    SessionNotFound,
    TopicIdPartition,
    next_epoch,
)
from odradek.model.error_code import ErrorCode
from odradek.model.settings import INT_MAX
from odradek.wire.messages.fetch import FetchPartition, FetchRequest, FetchTopic, ForgottenTopic, PartitionData
from odradek.wire.schema import NO_UUID
from support.clock import ManualClock

VERSION = 12


def request(*partitions: int, session: int = 0, epoch: int = 0, forget: tuple[int, ...] = ()) -> FetchRequest:
    asked = tuple(FetchPartition(partition=each, fetch_offset=0, partition_max_bytes=1) for each in partitions)
    return FetchRequest(
        max_wait_ms=0,
        min_bytes=1,
        session_id=session,
        session_epoch=epoch,
        topics=(FetchTopic(topic="orders", partitions=asked),) if asked else (),
        forgotten_topics_data=(ForgottenTopic(topic="orders", partitions=forget),) if forget else (),
    )


def found(partition: int, end: int = 0, start: int = 0, error: int = 0, *, records: bool = False) -> Found:
    data = PartitionData(
        partition_index=partition,
        error_code=error,
        high_watermark=end,
        log_start_offset=start,
        aborted_transactions=None,
        records=b"",
    )
    return Found(TopicIdPartition("orders", NO_UUID, partition), data, records)


def told(context: Context, *each: Found) -> list[int]:
    context.check()
    return [one.place.partition for one in context.conclude(list(each))[1]]


def wanted(context: Context) -> list[int]:
    return [each.place.partition for each in context.wanted]


@pytest.fixture
def clock() -> ManualClock:
    return ManualClock()


@pytest.fixture
def sessions(clock: ManualClock) -> FetchSessions:
    return FetchSessions(clock, Random(1), slots=2)


def open_session(sessions: FetchSessions, *partitions: int) -> int:
    context = sessions.begin(request(*partitions), VERSION)
    return context.conclude([found(each) for each in partitions])[0]


def test_only_news_is_told(sessions: FetchSessions) -> None:
    id = open_session(sessions, 0, 1)
    assert told(sessions.begin(request(session=id, epoch=1), VERSION), found(0), found(1)) == []
    assert told(sessions.begin(request(session=id, epoch=2), VERSION), found(0, end=1), found(1)) == [0]
    assert told(sessions.begin(request(session=id, epoch=3), VERSION), found(0, end=1, start=1), found(1)) == [0]
    failed = found(1, end=-1, start=-1, error=ErrorCode.UNKNOWN_TOPIC_OR_PARTITION)
    for epoch in (4, 5):  # as long as it lasts
        assert told(sessions.begin(request(session=id, epoch=epoch), VERSION), found(0, 1, 1), failed) == [1]
    assert told(sessions.begin(request(session=id, epoch=6), VERSION), found(0, 1, 1), found(1)) == [1]


def test_partitions_with_records_go_to_the_end(sessions: FetchSessions) -> None:
    id = open_session(sessions, 0, 1, 2)
    context = sessions.begin(request(session=id, epoch=1), VERSION)
    assert told(context, found(0, records=True), found(1), found(2)) == [0]
    assert wanted(sessions.begin(request(session=id, epoch=2), VERSION)) == [1, 2, 0]


def test_partitions_come_and_go(sessions: FetchSessions) -> None:
    id = open_session(sessions, 0, 1)
    assert wanted(sessions.begin(request(2, session=id, epoch=1, forget=(0,)), VERSION)) == [1, 2]
    assert wanted(sessions.begin(request(session=id, epoch=2, forget=(1, 2)), VERSION)) == []
    assert len(sessions) == 0  # nothing was left of it


def test_a_session_must_be_known_and_at_its_epoch(sessions: FetchSessions) -> None:
    id = open_session(sessions, 0)
    with pytest.raises(SessionNotFound):
        sessions.begin(request(session=id + 1, epoch=1), VERSION)
    with pytest.raises(InvalidSessionEpoch):
        sessions.begin(request(session=id, epoch=2), VERSION)
    with pytest.raises(MixedTopicIds):
        sessions.begin(request(session=id, epoch=1), 13)
    late = sessions.begin(request(session=id, epoch=1), VERSION)
    sessions.begin(request(session=id, epoch=2), VERSION)
    with pytest.raises(InvalidSessionEpoch):
        late.check()


def test_a_session_ends_with_a_whole_request(sessions: FetchSessions) -> None:
    id = open_session(sessions, 0)
    last = sessions.begin(request(0, session=id, epoch=-1), VERSION)
    assert last.conclude([found(0)]) == (NO_SESSION, [found(0)])
    assert len(sessions) == 0
    id = open_session(sessions, 0)
    again = sessions.begin(request(0, session=id, epoch=0), VERSION)
    assert again.conclude([found(0)])[0] not in (NO_SESSION, id)
    assert len(sessions) == 1


def test_who_makes_room(sessions: FetchSessions, clock: ManualClock) -> None:
    first, second = open_session(sessions, 0), open_session(sessions, 0, 1)
    assert open_session(sessions, 0, 1, 2) == NO_SESSION  # both are young
    clock.advance(IDLE_MS_MAX + 1)
    sessions.begin(request(session=first, epoch=1), VERSION)
    sessions.begin(request(session=second, epoch=1), VERSION)
    assert open_session(sessions, 0) == NO_SESSION  # both are in use, and not smaller
    third = open_session(sessions, 0, 1)
    assert third != NO_SESSION
    with pytest.raises(SessionNotFound):
        sessions.begin(request(session=first, epoch=2), VERSION)
    clock.advance(IDLE_MS_MAX + 1)
    assert open_session(sessions, 0) != NO_SESSION  # instead of one that nobody uses, however large
    with pytest.raises(SessionNotFound):
        sessions.begin(request(session=second, epoch=2), VERSION)


def test_epochs_go_round() -> None:
    assert next_epoch(1) == 2
    assert next_epoch(INT_MAX) == 1
