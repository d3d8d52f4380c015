"""What a stream asks the cluster, and when."""

from collections.abc import Callable, Coroutine
from concurrent.futures import Future
from dataclasses import replace
from typing import Any, cast

import pytest

from odradek.client.errors import Unreachable
from odradek.model.address import Address
from odradek.model.topic_partition import TopicPartition
from odradek.spark.cluster import Cluster, Extent, NoSuchTopic
from odradek.spark.offsets import Position
from odradek.spark.options import source_options
from odradek.spark.streams.ahead import NOTHING, Seen
from odradek.spark.streams.watch import Watch

ORDERS, OTHERS = TopicPartition("orders", 0), TopicPartition("orders", 1)
ORDERS_ID = bytes(range(16))
HERE = Position({ORDERS: 5}, {"orders": ORDERS_ID})


def extent_of(latest: int = 5, leader: int = 1) -> Extent:
    return Extent({ORDERS: 0}, {ORDERS: latest}, {"orders": ORDERS_ID}, {ORDERS: leader})


class FakeCluster:
    """Answers at once when it is called, and in the background when it is told to."""

    def __init__(self) -> None:
        self.now_s = 0.0
        self.asked: list[str] = []
        self.there = extent_of()
        self.closer: Seen | None = Seen(extent_of(6), {})
        self.background: list[Future[Any]] = []
        self.client = None
        self.is_strict = False
        """Whether it misses a topic by the name that it is asked for."""

    async def extent(self, *, missing_are_empty: bool) -> Extent:
        self.asked.append("all there is" if missing_are_empty else "all")
        if self.is_strict and not missing_are_empty:
            raise NoSuchTopic("topic orders does not exist")
        return self.there

    async def look_ahead(
        self, _client: object, known: Extent, starts: object, *, with_records: bool, read_committed: bool
    ) -> Seen | None:
        assert (known.leaders, starts, read_committed) == ({ORDERS: 1}, HERE.offsets, False)
        self.asked.append("ahead" if with_records else "ends")
        return self.closer

    def call(self, work: Coroutine[Any, Any, Any]) -> Any:
        try:
            work.send(None)
        except StopIteration as done:
            return done.value
        raise AssertionError("it waits for something")

    def call_leaders(self, leaders: set[int], work: Callable[[Any], Coroutine[Any, Any, Any]]) -> Any:
        assert leaders == {1}
        return self.call(work(self.client))

    def begin(self, work: Coroutine[Any, Any, Any]) -> Future[Any]:
        work.close()
        self.asked.append("all, in the background")
        self.background.append(Future())
        return self.background[-1]


@pytest.fixture
def cluster(monkeypatch: pytest.MonkeyPatch) -> FakeCluster:
    made = FakeCluster()
    monkeypatch.setattr("odradek.spark.streams.watch.look_ahead", made.look_ahead)
    return made


@pytest.fixture
def watch(cluster: FakeCluster) -> Watch:
    options = source_options({"kafka.bootstrap.servers": "nobody:1", "subscribe": "orders"}, streaming=True)
    return Watch(options, cast("Cluster", cluster), lambda: cluster.now_s)


@pytest.fixture
def look(cluster: FakeCluster, watch: Watch) -> Callable[..., list[str]]:
    """Looks, after so many seconds, and gives what the cluster was asked for it."""

    def after(seconds: float, start: Position = HERE, *, with_records: bool = True) -> list[str]:
        cluster.now_s += seconds
        cluster.asked.clear()
        expected = cluster.there, NOTHING
        seen = watch.look(start, with_records=with_records)
        assert seen == (expected if "all" in cluster.asked else cluster.closer)
        return cluster.asked

    return after


def test_a_stream_that_keeps_up_asks_one_question(look: Callable[..., list[str]]) -> None:
    assert look(0) == ["all"]
    assert look(0.1) == ["ahead"]
    assert look(0.1, with_records=False) == ["ends"]


def test_where_not_all_is_as_it_was_all_is_asked_for(look: Callable[..., list[str]], cluster: FakeCluster) -> None:
    look(0)
    other = Position(HERE.offsets, {"orders": bytes(15) + b"x"})
    assert look(0.1, other) == ["all"]
    cluster.closer = None
    assert look(0.1) == ["ahead", "all"]
    assert look(0.9) == ["all"], "a broker that cannot tell is not asked again for a second"
    assert look(0.1) == ["ahead", "all"]


@pytest.mark.parametrize("pause_s", [1.2, 2.0, 2.9])
def test_batches_that_are_seconds_apart_do_not_wait_for_all(
    look: Callable[..., list[str]], cluster: FakeCluster, pause_s: float
) -> None:
    look(0)
    for number in range(9):
        assert look(pause_s) == ["all, in the background", "ahead"]
        cluster.background[number].set_result(cluster.there)


def test_once_a_second_all_is_asked_for_and_not_waited_for(
    look: Callable[..., list[str]], cluster: FakeCluster
) -> None:
    look(0)
    assert look(1.0) == ["all, in the background", "ahead"]
    assert look(0.5) == ["ahead"]
    cluster.background[0].set_result(cluster.there)
    assert look(0.1) == ["ahead"]
    assert look(0.3) == ["ahead"]
    assert look(0.1) == ["all, in the background", "ahead"], "a second after it was asked for, not after it came"


@pytest.mark.parametrize(
    "around",
    [
        extent_of(leader=2),
        replace(extent_of(), topic_ids={"orders": bytes(15) + b"x"}),
        Extent({}, {}, {"orders": ORDERS_ID}, {ORDERS: 1, OTHERS: 1}),
        NoSuchTopic("orders"),
        Unreachable(Address("nobody", 1), "gone"),
    ],
    ids=["another leads", "another topic", "one more partition", "deleted", "unreachable"],
)
def test_what_has_changed_is_asked_for_again(
    look: Callable[..., list[str]], cluster: FakeCluster, around: Extent | Exception
) -> None:
    look(0)
    look(1.0)
    if isinstance(around, Exception):
        cluster.background[0].set_exception(around)
    else:
        cluster.background[0].set_result(around)
    assert look(0.1) == ["all"]
    assert look(0.1) == ["ahead"]


def test_what_does_not_come_is_waited_for_in_the_end(look: Callable[..., list[str]]) -> None:
    look(0)
    look(1.0)
    assert look(1.9) == ["ahead"]
    assert look(0.1) == ["all"]


def test_a_stream_that_lets_time_pass_asks_for_all(look: Callable[..., list[str]]) -> None:
    look(0)
    assert look(60) == ["all"]


@pytest.mark.parametrize("doubted", [Extent({}, {}, {}, {}), extent_of(latest=4)], ids=["missing", "too short"])
def test_what_was_read_is_not_taken_for_lost_by_the_first_answer(
    cluster: FakeCluster, watch: Watch, doubted: Extent, monkeypatch: pytest.MonkeyPatch
) -> None:
    async def pause(_seconds: float) -> None:
        if len(cluster.asked) == 3:
            cluster.there = extent_of()

    monkeypatch.setattr("odradek.spark.streams.watch.asyncio.sleep", pause)
    cluster.there = doubted
    assert watch.look(HERE, with_records=True).extent == extent_of()
    assert cluster.asked == ["all"] * 4
    cluster.there = doubted
    cluster.asked.clear()
    assert watch.look_around(HERE) == extent_of()
    assert cluster.asked == ["all"] * 4


async def no_pause(_seconds: float) -> None:
    pass


@pytest.mark.parametrize(
    ("lost", "times"), [(Extent({}, {}, {}, {}), 34), (extent_of(latest=4), 6)], ids=["missing", "too short"]
)
def test_what_is_lost_is_believed_in_the_end(
    cluster: FakeCluster, watch: Watch, lost: Extent, times: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A topic that is not there would be read from its beginning if it came back: it is waited for longer."""
    monkeypatch.setattr("odradek.spark.streams.watch.asyncio.sleep", no_pause)
    cluster.there = lost
    assert watch.look(HERE, with_records=True).extent == lost
    assert cluster.asked == ["all"] * times


def test_a_topic_that_was_read_and_is_gone_is_waited_for_and_then_left_out(
    cluster: FakeCluster, watch: Watch, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("odradek.spark.streams.watch.asyncio.sleep", no_pause)
    cluster.is_strict = True
    cluster.there = Extent({}, {}, {}, {})
    assert watch.look(HERE, with_records=True).extent == cluster.there
    assert cluster.asked == ["all", "all there is"] * 34
    with pytest.raises(NoSuchTopic):
        watch.look_around(Position())


def test_offsets_of_a_topic_that_was_made_again_are_not_waited_for(cluster: FakeCluster, watch: Watch) -> None:
    cluster.there = extent_of(latest=4)
    assert watch.look(Position({ORDERS: 5}, {"orders": bytes(15) + b"x"}), with_records=True).extent == cluster.there
    assert cluster.asked == ["all"]
