"""The console reads the same from Apache Kafka as from odradek."""

import asyncio
import json

import pytest
from confluent_kafka import Producer

from odradek.console.feed import Feed
from odradek.console.rows import DEAD_LETTERS, DRIVER_ALERTS
from odradek.testing import topics
from support.clock import ManualClock
from support.same_answers import Side
from support.waiting import until

LIMIT_S = 120


def alert(driver: str) -> bytes:
    fields = {"driver": driver, "truck": "t", "since": "2026-03-01T08:00:00.000Z"}
    return json.dumps({**fields, "exceeded": "2026-03-01T12:30:00.000Z"}).encode()


@pytest.mark.parametrize("which", [0, 1], ids=["kafka", "odradek"])
def test_committed_results_are_shown(both: tuple[Side, Side], which: int) -> None:
    address = ("127.0.0.1", both[which].port)
    bootstrap = "{}:{}".format(*address)
    for name in (DRIVER_ALERTS, DEAD_LETTERS):
        topics.create(address, name, 2, {})
    producer = Producer({"bootstrap.servers": bootstrap, "transactional.id": "jobs"})
    producer.init_transactions(60)
    for driver, is_kept in (("first", True), ("nobody", False), ("second", True)):
        producer.begin_transaction()
        producer.produce(DRIVER_ALERTS, alert(driver))
        producer.produce(DEAD_LETTERS, b'{"reason":"late"}')
        producer.flush(60)
        if is_kept:
            producer.commit_transaction(60)
        else:
            producer.abort_transaction(60)
    feed = Feed({"bootstrap.servers": bootstrap}, ManualClock())
    feed.start()
    try:
        expected = ({"first", "second"}, (("late", 2),))
        asyncio.run(asyncio.wait_for(until(lambda: shown(feed) == expected), LIMIT_S))
        asyncio.run(asyncio.wait_for(until(lambda: feed.picture.link.loaded), LIMIT_S))
    finally:
        feed.stop()


def shown(feed: Feed) -> tuple[set[str], tuple[tuple[str, int], ...]]:
    picture = feed.picture
    return {each.alert.driver for each in picture.overtimes}, picture.letters
