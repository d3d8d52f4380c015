"""How far the batches of a stream go, against a real broker and without Spark."""

import itertools
import json
import time
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor

import pytest
from confluent_kafka import Producer
from confluent_kafka import TopicPartition as ClientPartition
from confluent_kafka.admin import AdminClient
from confluent_kafka.cimpl import NewPartitions

from odradek.client.committed import Committed, fetch_committed
from odradek.model.topic_partition import TopicPartition
from odradek.spark.cluster import Cluster, NoBroker, NoSuchTopic
from odradek.spark.given_options import InvalidOption
from odradek.spark.offsets import Position
from odradek.spark.options import source_options
from odradek.spark.reading.errors import DataLoss, NoSuchPartition, StartUnknown, TopicReplaced
from odradek.spark.reading.range import Range
from odradek.spark.streams.driver import StreamDriver
from odradek.testing.broker import RunningBroker

_NUMBERS = itertools.count()


class Stage:
    """A topic of its own, and what a stream that reads it decides."""

    def __init__(self, broker: RunningBroker) -> None:
        self.broker = broker
        self.topic = f"stream-{next(_NUMBERS)}"
        self.now_s = 0.0
        self.news_s = 0.01
        self.slots: int | None = None
        self.admin = AdminClient({"bootstrap.servers": broker.bootstrap})

    def create(self, partitions: int = 1, **configs: str) -> None:
        self.broker.create_topic(self.topic, partitions, configs)

    def produce(self, count: int, partition: int = 0, value: bytes = b"value", time_ms: int = 0) -> None:
        producer = Producer({"bootstrap.servers": self.broker.bootstrap})  # one that knows the topic as it is now
        for _ in range(count):
            producer.produce(self.topic, value, partition=partition, timestamp=time_ms)
        producer.flush()

    def delete(self) -> None:
        self.admin.delete_topics([self.topic])[self.topic].result()

    def expire(self, before: int, partition: int = 0) -> None:
        asked = ClientPartition(self.topic, partition, before)
        for done in self.admin.delete_records([asked]).values():
            done.result()

    def driver(self, **options: str) -> StreamDriver:
        told = {
            "kafka.bootstrap.servers": self.broker.bootstrap,
            "startingOffsets": "earliest",
        }
        if "subscribePattern" not in options and "assign" not in options:
            told["subscribe"] = self.topic
        found = source_options({**told, **options}, streaming=True)
        return StreamDriver(found, Cluster(found), lambda: self.now_s, self.news_s, self.slots)

    def offsets(self, position: Position) -> list[int]:
        return [offset for _, offset in sorted(position.offsets.items())]


def _places(ranges: list[Range]) -> list[tuple[str, int, int]]:
    return [(each.topic, each.start, each.end) for each in ranges]


@pytest.fixture
def stage(odradek_shared_broker: RunningBroker) -> Stage:
    return Stage(odradek_shared_broker)


def begin(driver: StreamDriver) -> Position:
    """As Spark does: the end of its first batch."""
    return driver.advance(driver.initial(), limited=True)


def read(driver: StreamDriver, start: Position) -> Iterator[Position]:
    """The ends of its batches, until nothing is left."""
    while (end := driver.advance(start, limited=True)).offsets != start.offsets:
        yield end
        start = end


def test_a_stream_starts_where_it_is_told_to_and_ends_each_batch_at_what_there_is(stage: Stage) -> None:
    stage.create(2)
    stage.produce(5)
    assert stage.offsets(stage.driver().initial()) == [0, 0]
    assert stage.offsets(stage.driver(startingOffsets="latest").initial()) == [5, 0]
    named = json.dumps({stage.topic: {"0": 3, "1": -1}})
    driver = stage.driver(startingOffsets=named)
    start = driver.initial()
    assert stage.offsets(start) == [3, 0]
    assert driver.initial() == start
    end = driver.advance(start, limited=True)
    assert [(each.partition, each.start, each.end) for each in driver.ranges(start, end)] == [(0, 3, 5)]


def test_an_idle_stream_has_the_same_text_all_the_time(stage: Stage) -> None:
    stage.create(12)
    stage.produce(3, partition=11)
    driver = stage.driver()
    end = begin(driver)
    texts = {json.dumps(driver.advance(end, limited=True).to_json()) for _ in range(3)}
    assert texts == {json.dumps(end.to_json())}
    assert driver.ranges(end, end) == []


def test_an_idle_stream_that_is_asked_again_at_once_waits_for_news(stage: Stage) -> None:
    stage.news_s = 60.0
    stage.create(2)
    stage.produce(1)
    driver = stage.driver()
    end = begin(driver)
    assert driver.advance(end, limited=True).offsets == end.offsets  # once it says that there is nothing
    stage.now_s += 1.0
    assert driver.advance(end, limited=True).offsets == end.offsets  # and where something was done meanwhile
    with ThreadPoolExecutor(1) as pool:
        waiting = pool.submit(driver.advance, end, limited=True)
        stage.produce(1, partition=1)
        assert stage.offsets(waiting.result()) == [1, 1]


def test_a_start_by_time(stage: Stage) -> None:
    stage.create(2)
    for time_ms in (1000, 2000, 3000):
        stage.produce(1, time_ms=time_ms)
    stage.produce(1, partition=1, time_ms=2500)
    assert stage.offsets(stage.driver(startingTimestamp="2000").initial()) == [1, 0]
    times = json.dumps({stage.topic: {"0": 3000, "1": 1}})
    assert stage.offsets(stage.driver(startingOffsetsByTimestamp=times).initial()) == [2, 0]
    with pytest.raises(InvalidOption, match=rf"startingTimestamp: {stage.topic}-1 has no record at or after 2600"):
        begin(stage.driver(startingTimestamp="2600"))
    late = stage.driver(startingTimestamp="2600", startingOffsetsByTimestampStrategy="latest")
    assert stage.offsets(late.initial()) == [2, 1]


@pytest.mark.parametrize(
    ("offsets", "told"),
    [
        ({"0": 1}, "-1 is missing in it"),
        ({"0": 1, "1": 0, "2": 0}, "-2 is not one that is read"),
        ({"0": 6, "1": 0}, "-0 would start at 6, but ends at 5"),
    ],
)
def test_a_start_that_names_other_partitions_or_offsets_is_refused(
    stage: Stage, offsets: dict[str, int], told: str
) -> None:
    stage.create(2)
    stage.produce(5)
    with pytest.raises(InvalidOption, match=rf"option startingOffsets: {stage.topic}{told}"):
        begin(stage.driver(startingOffsets=json.dumps({stage.topic: offsets})))


def test_a_start_that_may_be_behind_an_open_transaction_is_told_as_such(stage: Stage) -> None:
    stage.create()
    stage.produce(5)
    given = {"startingOffsets": json.dumps({stage.topic: {"0": 6}}), "kafka.isolation.level": "read_committed"}
    with pytest.raises(InvalidOption, match="but ends at 5 for readers of committed records"):
        begin(stage.driver(**given))


def test_a_topic_that_is_not_there_and_a_broker_that_is_not(stage: Stage) -> None:
    with pytest.raises(NoSuchTopic, match=rf"topic {stage.topic} does not exist; create it"):
        stage.driver().initial()
    stage.create()
    with pytest.raises(NoSuchTopic, match=rf"partition {stage.topic}-7 does not exist; mend the option assign"):
        stage.driver(assign=json.dumps({stage.topic: [0, 7]})).initial()


def test_nobody_answers(stage: Stage, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("odradek.spark.cluster._START_S", 0)
    with pytest.raises(NoBroker, match=r"cannot reach 127.0.0.1:1: .*; start the broker, or mend the option kafka"):
        stage.driver(**{"kafka.bootstrap.servers": "127.0.0.1:1"}).initial()


def test_only_what_is_assigned_is_read(stage: Stage) -> None:
    stage.create(3)
    driver = stage.driver(assign=json.dumps({stage.topic: [2, 0]}))
    assert sorted(driver.initial().offsets) == [TopicPartition(stage.topic, 0), TopicPartition(stage.topic, 2)]


def test_rows_are_limited(stage: Stage) -> None:
    stage.create(2)
    stage.produce(30)
    stage.produce(10, partition=1)
    driver = stage.driver(maxOffsetsPerTrigger="20")
    ends = list(read(driver, driver.initial()))
    assert [stage.offsets(each) for each in ends] == [[15, 5], [30, 10]]
    assert stage.offsets(driver.advance(driver.initial(), limited=False)) == [30, 10]


@pytest.mark.parametrize("size", [10, 1000, 50_000])
def test_bytes_are_limited_by_how_large_records_are(stage: Stage, size: int) -> None:
    stage.create()
    stage.produce(200, value=b"x" * size)
    limit = 50 * size
    driver = stage.driver(maxBytesPerTrigger=str(limit))
    (end,) = stage.offsets(begin(driver))
    stored = sum(path.stat().st_size for path in stage.broker.directory.glob(f"{stage.topic}-0/*.log"))
    assert 0.75 * limit <= end * stored / 200 <= 1.25 * limit


def test_bytes_are_limited_also_where_records_have_become_larger(stage: Stage) -> None:
    stage.create()
    stage.produce(10, value=b"x")
    driver = stage.driver(maxBytesPerTrigger="200000")
    small = begin(driver)
    assert stage.offsets(small) == [10]
    stage.produce(2000, value=b"x" * 1000)
    (end,) = stage.offsets(driver.advance(small, limited=True))
    assert 150 <= end - 10 <= 250


def test_a_batch_waits_for_more_rows_but_not_for_ever(stage: Stage) -> None:
    stage.create()
    stage.produce(5)
    driver = stage.driver(minOffsetsPerTrigger="10", maxTriggerDelay="5s")
    end = begin(driver)
    assert stage.offsets(end) == [5], "the first batch does not wait"
    stage.produce(5)
    assert driver.advance(end, limited=True) == end
    stage.now_s = 4.9
    assert driver.advance(end, limited=True) == end
    stage.now_s = 5.0
    assert stage.offsets(driver.advance(end, limited=True)) == [10]
    stage.produce(10)
    assert stage.offsets(driver.advance(end, limited=True)) == [20]


def test_available_now_reads_what_was_there_and_does_not_wait(stage: Stage) -> None:
    stage.create()
    stage.produce(5)
    driver = stage.driver(minOffsetsPerTrigger="4", maxOffsetsPerTrigger="4")
    driver.read_all_there_is_now()
    ends = []
    for end in read(driver, driver.initial()):
        ends.append(stage.offsets(end))
        stage.produce(10)
    assert ends == [[4], [5]]


def test_partitions_that_are_added_are_read_from_their_beginning(stage: Stage) -> None:
    stage.create()
    stage.produce(2)
    driver = stage.driver()
    start = begin(driver)
    stage.admin.create_partitions([NewPartitions(stage.topic, 2)])[stage.topic].result()
    stage.produce(3, partition=1)
    end = driver.advance(start, limited=True)
    assert stage.offsets(end) == [2], "while the stream keeps up with what it knows"
    for _ in range(9):  # all is looked at in the background, and waited for in the end
        if stage.offsets(end) == [2]:
            stage.now_s += 1
            end = driver.advance(start, limited=True)
    assert stage.offsets(end) == [2, 3]
    for asked in (driver, stage.driver()):  # also one that was started anew, from the checkpoint
        assert [(each.partition, each.start, each.end) for each in asked.ranges(start, end)] == [(1, 0, 3)]


def test_a_pattern_finds_new_topics(stage: Stage) -> None:
    driver = stage.driver(subscribePattern=f"{stage.topic}.*")
    start = driver.initial()
    assert start.offsets == {}
    stage.create()
    stage.produce(3)
    end = driver.advance(start, limited=True)
    assert [(each.topic, each.start, each.end) for each in driver.ranges(start, end)] == [(stage.topic, 0, 3)]


def test_expired_offsets_are_an_error_that_says_where(stage: Stage) -> None:
    stage.create()
    stage.produce(10)
    driver = stage.driver(maxOffsetsPerTrigger="2")
    start = begin(driver)
    stage.expire(before=7)
    with pytest.raises(DataLoss, match=rf"{stage.topic}-0 has lost the offsets 2 to 6.*failOnDataLoss=false"):
        driver.advance(start, limited=True)


def test_a_pattern_may_be_a_part_of_names_as_for_sparks_own_connector(stage: Stage) -> None:
    stage.create()
    part = f"{stage.topic[2:]}$"
    assert {each.topic for each in stage.driver(subscribePattern=part).initial().offsets} == {stage.topic}
    assert stage.driver(subscribePattern=f"^{part}").initial().offsets == {}


def test_offsets_that_a_batch_lost_that_comes_again_are_counted_once(stage: Stage) -> None:
    stage.create()
    stage.produce(10)
    before = stage.driver(maxOffsetsPerTrigger="2")
    start = begin(before)
    end = before.advance(start, limited=True)
    assert stage.offsets(end) == [4]
    stage.expire(before=7)
    driver = stage.driver(failOnDataLoss="false")
    driver.initial()
    assert driver.ranges(start, end) == []
    assert stage.offsets(driver.advance(end, limited=True)) == [10]
    assert (driver.latest() or {})["@skipped"] == 5, "2 to 6"


def test_expired_offsets_are_skipped_and_counted_if_asked(stage: Stage) -> None:
    stage.create()
    stage.produce(10)
    driver = stage.driver(maxOffsetsPerTrigger="2", failOnDataLoss="false")
    start = begin(driver)
    stage.expire(before=7)
    end = driver.advance(start, limited=True)
    assert [(each.start, each.end) for each in driver.ranges(start, end)] == [(7, 9)]
    told = driver.latest()
    assert told is not None
    assert told["@skipped"] == 5


@pytest.mark.parametrize(
    "options",
    [
        {"startingOffsets": "latest"},
        {"startingTimestamp": "99999999999999", "startingOffsetsByTimestampStrategy": "latest"},
    ],
)
def test_a_first_batch_that_comes_again_starts_where_it_started(stage: Stage, options: dict[str, str]) -> None:
    stage.create(2)
    stage.produce(5)
    driver = stage.driver(**options)
    start = driver.initial()
    stage.produce(3)
    end = driver.advance(start, limited=True)
    stage.produce(4)
    again = stage.driver(**options)
    kept = Position.from_json(json.loads(json.dumps(end.to_json())))
    assert stage.offsets(again.initial()) == [12, 0]
    for asked, began in ((driver, start), (again, again.initial())):
        assert [(each.partition, each.start, each.end) for each in asked.ranges(began, kept)] == [(0, 5, 8)]
    following = again.advance(kept, limited=True)
    assert [(each.start, each.end) for each in again.ranges(kept, following)] == [(8, 12)]
    assert "@start" not in following.to_json()


@pytest.mark.parametrize("by_time", [False, True])
def test_a_first_batch_comes_again_though_a_partition_was_added_for_which_there_is_no_start(
    stage: Stage, *, by_time: bool
) -> None:
    stage.create()
    stage.produce(2, time_ms=1000)
    stage.produce(3, time_ms=2000)
    named = {"startingOffsets": json.dumps({stage.topic: {"0": 2}})}
    options = {"startingTimestamp": "1500"} if by_time else named
    end = begin(stage.driver(**options))
    stage.admin.create_partitions([NewPartitions(stage.topic, 2)])[stage.topic].result()
    with pytest.raises(InvalidOption, match=rf"{stage.topic}-1 (is missing in it|has no record at or after 1500)"):
        begin(stage.driver(**options))
    again = stage.driver(**options)
    kept = Position.from_json(json.loads(json.dumps(end.to_json())))
    start = Position.from_json(json.loads(json.dumps(again.initial().to_json())))
    assert [(each.partition, each.start, each.end) for each in again.ranges(start, kept)] == [(0, 2, 5)]
    stage.produce(1, partition=1)
    following = again.advance(kept, limited=True)
    assert [(each.partition, each.start, each.end) for each in again.ranges(kept, following)] == [(1, 0, 1)]


def test_one_without_its_start_is_refused_where_there_is_none(stage: Stage) -> None:
    stage.create()
    stage.produce(5)
    options = {"startingOffsets": json.dumps({stage.topic: {"0": 2}})}
    end = begin(stage.driver(**options))
    stage.admin.create_partitions([NewPartitions(stage.topic, 2)])[stage.topic].result()
    again = stage.driver(**options)
    of_the_connector = Position(end.offsets)
    with pytest.raises(InvalidOption, match=rf"{stage.topic}-1 is missing in it"):
        again.ranges(again.initial(), of_the_connector)


def test_a_first_batch_that_comes_again_tells_what_has_expired_of_it(stage: Stage) -> None:
    stage.create()
    stage.produce(5)
    driver = stage.driver()
    end = begin(driver)
    stage.expire(before=2)
    again = stage.driver()
    with pytest.raises(DataLoss, match=rf"{stage.topic}-0 has lost the offsets 0 to 1"):
        again.ranges(again.initial(), end)


def test_a_batch_that_comes_again_tells_what_has_expired_of_a_topic_that_it_was_the_first_to_read(
    stage: Stage,
) -> None:
    stage.create()
    stage.produce(2)
    driver = stage.driver()
    read_alone = begin(driver)
    added = Stage(stage.broker)
    added.create()
    added.produce(5)
    added.expire(before=1)
    both = {"subscribe": f"{stage.topic},{added.topic}"}
    driver = stage.driver(**both)
    end = Position.from_json(driver.advance(read_alone, limited=True).to_json())
    assert _places(driver.ranges(read_alone, end)) == [(added.topic, 1, 5)]
    assert driver.ranges(end, end) == []
    assert driver.advance(end, limited=True) == end
    added.expire(before=3)
    with pytest.raises(DataLoss, match=rf"{added.topic}-0 has lost the offsets 1 to 2"):
        stage.driver(**both).ranges(read_alone, end)
    skipping = stage.driver(**both, failOnDataLoss="false")
    assert _places(skipping.ranges(read_alone, end)) == [(added.topic, 3, 5)]
    skipping.advance(end, limited=True)
    assert (skipping.latest() or {})["@skipped"] == 2


def test_a_first_batch_without_records_has_none_when_it_comes_again(stage: Stage) -> None:
    stage.create()
    stage.produce(5)
    driver = stage.driver(startingOffsets="latest")
    end = begin(driver)
    assert driver.advance(end, limited=True).to_json() == end.to_json()
    stage.produce(3)
    again = stage.driver(startingOffsets="latest")
    assert again.ranges(again.initial(), end) == []
    assert [(each.start, each.end) for each in again.ranges(end, again.advance(end, limited=True))] == [(5, 8)]


def test_a_new_partition_of_a_stream_that_has_read_nothing_else_does_not_bring_its_first_batch_back(
    stage: Stage,
) -> None:
    stage.create()
    stage.produce(5)
    driver = stage.driver()
    end = begin(driver)
    stage.admin.create_partitions([NewPartitions(stage.topic, 2)])[stage.topic].result()
    following = end
    for _ in range(9):
        if len(following.offsets) == 1:
            stage.now_s += 1
            following = driver.advance(end, limited=True)
    assert stage.offsets(following) == [5, 0]
    assert driver.ranges(end, following) == []


def test_a_first_batch_whose_start_nobody_has_kept_is_not_passed_over_in_silence(stage: Stage) -> None:
    """As in a checkpoint of Spark's own connector, which has it in a file that a source for Python does not see."""
    stage.create()
    stage.produce(8)
    end = Position.from_json({stage.topic: {"0": 5}})
    driver = stage.driver(startingOffsets="latest")
    with pytest.raises(StartUnknown, match=rf"{stage.topic}-0 .* ends at 5.*failOnDataLoss=false"):
        driver.ranges(driver.initial(), end)
    lenient = stage.driver(startingOffsets="latest", failOnDataLoss="false")
    assert lenient.ranges(lenient.initial(), end) == []


def test_one_that_ends_where_topics_begin_had_nothing_before(stage: Stage) -> None:
    stage.create()
    stage.produce(5)
    driver = stage.driver(startingOffsets="latest")
    assert driver.ranges(driver.initial(), Position.from_json({stage.topic: {"0": 0}})) == []


def test_nor_is_one_behind_which_nothing_has_come_since(stage: Stage) -> None:
    stage.create()
    stage.produce(5)
    end = Position.from_json({stage.topic: {"0": 5}})
    for options in (
        {"startingOffsets": "latest"},
        {"startingOffsets": json.dumps({stage.topic: {"0": -1}})},
        {"startingTimestamp": "99999999999999", "startingOffsetsByTimestampStrategy": "latest"},
    ):
        driver = stage.driver(**options)
        with pytest.raises(StartUnknown):
            driver.ranges(driver.initial(), end)
    named = stage.driver(startingOffsets=json.dumps({stage.topic: {"0": 5}}))
    assert named.ranges(named.initial(), end) == [], "it is the same whenever it is looked up"
    assert [(each.start, each.end) for each in stage.driver().ranges(stage.driver().initial(), end)] == [(0, 5)]


def test_nor_is_one_whose_beginning_may_have_expired(stage: Stage) -> None:
    stage.create()
    stage.produce(8)
    end = Position.from_json({stage.topic: {"0": 8}})
    stage.expire(3)
    for options in ({"startingOffsets": "earliest"}, {"startingTimestamp": "1"}):
        driver = stage.driver(**options)
        with pytest.raises(StartUnknown, match=rf"{stage.topic}-0 .* ends at 8.* would start at 3"):
            driver.ranges(driver.initial(), end)
        lenient = stage.driver(**options, failOnDataLoss="false")
        assert [(each.start, each.end) for each in lenient.ranges(lenient.initial(), end)] == [(3, 8)]
    named = stage.driver(startingOffsets=json.dumps({stage.topic: {"0": 3}}))
    assert [(each.start, each.end) for each in named.ranges(named.initial(), end)] == [(3, 8)]


def test_a_topic_made_again_is_noticed_though_it_has_as_many_records(stage: Stage) -> None:
    stage.create()
    stage.produce(5)
    driver = stage.driver()
    start = begin(driver)
    stage.delete()
    stage.create()
    stage.produce(8)
    with pytest.raises(TopicReplaced, match=rf"topic {stage.topic} was deleted and created again"):
        driver.advance(start, limited=True)
    lenient = stage.driver(failOnDataLoss="false")
    end = lenient.advance(start, limited=True)
    assert [(each.start, each.end) for each in lenient.ranges(start, end)] == [(0, 8)]


def test_a_topic_that_is_deleted(stage: Stage, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("odradek.spark.streams.watch._DOUBTED_PAUSE_S", 0.001)
    stage.create()
    stage.produce(5)
    driver = stage.driver()
    start = begin(driver)
    stage.delete()
    with pytest.raises(NoSuchPartition, match=f"{stage.topic}-0 does not exist any more"):
        driver.advance(start, limited=True)
    lenient = stage.driver(failOnDataLoss="false")
    assert lenient.advance(start, limited=True).offsets == {}
    with pytest.raises(NoSuchPartition):
        stage.driver(subscribePattern=f"{stage.topic}.*").advance(start, limited=True)


def test_a_truncated_partition_is_told_of_once_and_as_what_it_is(
    stage: Stage, caplog: pytest.LogCaptureFixture, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("odradek.spark.streams.watch._DOUBTED_PAUSE_S", 0.001)
    stage.create()
    stage.produce(5)
    driver = stage.driver(failOnDataLoss="false")
    start = Position({TopicPartition(stage.topic, 0): 9})
    end = driver.advance(start, limited=True)
    assert driver.ranges(start, end) == []
    (told,) = [each.getMessage() for each in caplog.records if each.levelname == "WARNING"]
    assert "has lost the offsets 5 to 8" in told


def test_a_checkpoint_of_the_connector_is_continued_and_gets_ids(stage: Stage) -> None:
    stage.create(2)
    stage.produce(5)
    driver = stage.driver()
    start = Position.from_json({stage.topic: {"0": 2, "1": 0}})
    end = driver.advance(start, limited=True)
    assert [(each.partition, each.start, each.end) for each in driver.ranges(start, end)] == [(0, 2, 5)]
    assert end.topic_ids.keys() == {stage.topic}
    assert driver.advance(start, limited=True) == end
    assert driver.advance(end, limited=True) == end


def test_a_query_that_is_ahead_of_open_transactions_waits_for_them(stage: Stage) -> None:
    stage.create()
    producer = Producer({"bootstrap.servers": stage.broker.bootstrap, "transactional.id": stage.topic})
    producer.init_transactions()
    producer.begin_transaction()
    producer.produce(stage.topic, b"open", partition=0)
    producer.flush()
    reads_all = stage.driver()
    start = reads_all.advance(reads_all.initial(), limited=True)
    assert stage.offsets(start) == [1]
    committed = stage.driver(**{"kafka.isolation.level": "read_committed"})
    assert stage.offsets(committed.initial()) == [0]
    assert stage.offsets(committed.advance(committed.initial(), limited=True)) == [0]
    assert committed.advance(start, limited=True) == start
    producer.commit_transaction()
    end = start
    while end == start:  # the marker may come behind the answer
        end = committed.advance(start, limited=True)
    assert stage.offsets(end) == [2], "the marker has an offset, too"


def test_large_batches_are_cut_into_pieces(stage: Stage) -> None:
    stage.create()
    stage.produce(10)
    for option, expected in (({"minPartitions": "5"}, 5), ({"maxRecordsPerPartition": "4"}, 3)):
        driver = stage.driver(**option)
        start = driver.initial()
        assert len(driver.ranges(start, driver.advance(start, limited=True))) == expected


def tasks(driver: StreamDriver, start: Position) -> int | None:
    """How many share the partitions of the next batch, which is the same wherever it is asked for."""
    end = driver.advance(start, limited=True)
    assert end.offsets != start.offsets
    assert driver.advance(end, limited=True).to_json() == end.to_json()
    return end.tasks


def test_a_small_batch_has_no_more_tasks_than_run_at_the_same_time(
    stage: Stage, monkeypatch: pytest.MonkeyPatch
) -> None:
    stage.create(4)
    for partition in range(3):
        stage.produce(2, partition)
    start = stage.driver().initial()
    assert tasks(stage.driver(), start) is None
    stage.slots = 3
    assert tasks(stage.driver(), start) is None  # the fourth partition is empty
    stage.slots = 2
    assert tasks(stage.driver(), start) == 2
    assert tasks(stage.driver(maxPartitions="1"), start) == 1
    assert tasks(stage.driver(minPartitions="3"), start) is None
    assert tasks(stage.driver(maxRecordsPerPartition="9"), start) is None
    monkeypatch.setattr("odradek.spark.streams.driver._SMALL_OFFSETS", 5)
    assert tasks(stage.driver(), start) is None
    assert tasks(stage.driver(maxPartitions="1"), start) == 1


def committed(stage: Stage, group: str) -> list[int]:

    cluster = Cluster(
        source_options({"kafka.bootstrap.servers": stage.broker.bootstrap, "subscribe": "-"}, streaming=True)
    )
    found = cluster.call(fetch_committed(cluster.client, [group]))[group]
    assert isinstance(found, dict)
    return [each.offset for each in found.values() if isinstance(each, Committed)]


@pytest.mark.parametrize("name", [{}, {"groupIdPrefix": "mine"}, {"kafka.group.id": "just-this-{}"}])
def test_progress_is_committed_when_there_is_nothing_left_to_do(stage: Stage, name: dict[str, str]) -> None:
    stage.create(2)
    stage.produce(5)
    given = {key: value.format(stage.topic) for key, value in name.items()}
    driver = stage.driver(**given)
    end = begin(driver)
    assert driver.advance(end, limited=True) == end
    group = given.get("kafka.group.id") or end.group or ""
    assert group.startswith(given.get("groupIdPrefix", "odradek-spark")) or group == given.get("kafka.group.id")
    assert committed(stage, group) == [5, 0]


def test_where_a_query_starts_is_committed_and_what_spark_says_is_done(stage: Stage) -> None:
    stage.create()
    driver = stage.driver()
    start = driver.initial()
    stage.produce(5)
    end = driver.advance(start, limited=True)
    group = end.group or ""
    await_committed(stage, group, 0)
    driver.done(end)
    await_committed(stage, group, 5)


def await_committed(stage: Stage, group: str, offset: int) -> None:
    deadline = time.monotonic() + 60
    while committed(stage, group) != [offset]:
        assert time.monotonic() < deadline, f"{committed(stage, group)} in place of {offset}"
        time.sleep(0.01)


def test_a_restarted_query_commits_to_the_group_of_its_checkpoint(stage: Stage) -> None:
    stage.create()
    first = stage.driver()
    start = first.initial()
    stage.produce(3)
    end = stage.driver().advance(start, limited=True)
    assert end.group == start.group
    again = stage.driver()
    assert again.advance(end, limited=True) == end
    assert committed(stage, start.group or "") == [3]


def test_a_group_that_is_refused_does_not_stop_a_query(stage: Stage, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("odradek.spark.streams.driver._COMMIT_WAIT_S", 0.01)
    stage.create()
    stage.produce(3)
    driver = stage.driver(**{"kafka.group.id": "x" * 40_000})
    end = begin(driver)
    assert driver.advance(end, limited=True) == end
