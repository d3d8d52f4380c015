"""When the progress of a stream is committed."""

import asyncio
from collections.abc import Coroutine, Mapping
from concurrent.futures import Future
from queue import SimpleQueue
from typing import TYPE_CHECKING, Any, cast

import pytest

from odradek.client.committed import Committed
from odradek.client.errors import ClientError, Refused
from odradek.model.error_code import ErrorCode
from odradek.model.topic_partition import TopicPartition
from odradek.spark.reading.connected import here
from odradek.spark.streams.progress import Progress

if TYPE_CHECKING:
    from odradek.spark.cluster import Cluster

ORDERS = TopicPartition("orders", 0)
_SOON_S = 60
_NEVER_S = 3600.0


class FakeCluster:
    """Takes what is committed, or refuses it."""

    def __init__(self) -> None:
        self.client = None
        self.refusals: list[ErrorCode] = []
        self.commits: SimpleQueue[int] = SimpleQueue()

    def begin(self, work: Coroutine[Any, Any, Any]) -> Future[Any]:
        return here().submit(work)

    async def commit(
        self, _client: object, group_id: str, offsets: Mapping[TopicPartition, Committed]
    ) -> dict[TopicPartition, ClientError | None]:
        assert (group_id, list(offsets)) == ("mine", [ORDERS])
        await asyncio.sleep(0)
        if self.refusals:
            return {ORDERS: Refused(self.refusals.pop(0))}
        self.commits.put(offsets[ORDERS].offset)
        return {ORDERS: None}


@pytest.fixture
def cluster(monkeypatch: pytest.MonkeyPatch) -> FakeCluster:
    made = FakeCluster()
    monkeypatch.setattr("odradek.spark.streams.progress.commit_offsets", made.commit)
    return made


@pytest.fixture
def progress(cluster: FakeCluster) -> Progress:
    return Progress(cast("Cluster", cluster), "mine")


def test_what_is_reached_is_committed_once(cluster: FakeCluster, progress: Progress) -> None:
    progress.reached({ORDERS: 1})
    assert cluster.commits.get(timeout=_SOON_S) == 1
    progress.wait(_SOON_S)
    progress.reached({ORDERS: 1})
    progress.wait(_SOON_S)
    assert cluster.commits.empty()


def test_many_batches_share_a_commit_that_is_not_put_off_when_it_is_waited_for(
    cluster: FakeCluster, progress: Progress, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("odradek.spark.streams.progress._APART_S", _NEVER_S)
    progress.reached({ORDERS: 1})
    assert cluster.commits.get(timeout=_SOON_S) == 1
    progress.wait(_SOON_S)
    for offset in range(2, 6):
        progress.reached({ORDERS: offset})
        for _ in range(5):
            cluster.begin(asyncio.sleep(0)).result()  # so that it could be committed
    assert cluster.commits.empty()
    progress.wait(_SOON_S)
    assert cluster.commits.get_nowait() == 5
    assert cluster.commits.empty()


def test_a_commit_that_was_put_off_comes_by_itself(
    cluster: FakeCluster, progress: Progress, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("odradek.spark.streams.progress._APART_S", 0.01)
    for offset in range(1, 4):
        progress.reached({ORDERS: offset})
        assert cluster.commits.get(timeout=_SOON_S) == offset


def test_what_was_refused_is_tried_again(
    cluster: FakeCluster, progress: Progress, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    monkeypatch.setattr("odradek.spark.streams.progress._PAUSE_S", 0.01)
    cluster.refusals = [ErrorCode.GROUP_AUTHORIZATION_FAILED] * 2
    progress.reached({ORDERS: 7})
    progress.wait(_SOON_S)
    assert cluster.commits.get_nowait() == 7
    told = [record.getMessage() for record in caplog.records if "group mine" in record.getMessage()]
    assert told == [
        "the progress of group mine is not committed: orders-0: Group authorization failed (GROUP_AUTHORIZATION_FAILED)"
    ]


def test_who_waited_in_vain_does_not_wait_again_before_something_is_committed(
    cluster: FakeCluster, progress: Progress, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("odradek.spark.streams.progress._PAUSE_S", 0.01)
    cluster.refusals = [ErrorCode.GROUP_AUTHORIZATION_FAILED] * 100_000
    progress.reached({ORDERS: 7})
    progress.wait(0.01)
    progress.reached({ORDERS: 8})
    with monkeypatch.context() as nobody:
        nobody.delattr(FakeCluster, "begin")
        progress.wait(_SOON_S)
    cluster.begin(asyncio.sleep(0)).result()  # so that what was under way for 7 is refused
    cluster.refusals.clear()
    assert cluster.commits.get(timeout=_SOON_S) == 8
    cluster.begin(asyncio.sleep(0)).result()  # so that it is known
    progress.reached({ORDERS: 9})
    progress.wait(_SOON_S)
    assert cluster.commits.get_nowait() == 9


def test_a_group_of_consumers_is_told_as_such(
    cluster: FakeCluster, progress: Progress, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    monkeypatch.setattr("odradek.spark.streams.progress._PAUSE_S", 0)
    cluster.refusals = [ErrorCode.UNKNOWN_MEMBER_ID]
    progress.reached({ORDERS: 1})
    assert cluster.commits.get(timeout=_SOON_S) == 1
    assert "of group mine is not committed: consumers are members of it; give the query a kafka.group.id" in caplog.text
