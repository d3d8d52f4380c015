"""A client that people use, and a quota: Apache Kafka and odradek both hold it to that.

With windows of two seconds in all, so that a second's worth may come at once and the rest takes its time. Slow machines
cannot make this fail: they make the client slower.
"""

import asyncio
import time
from collections.abc import Iterator

import pytest
from confluent_kafka import Producer

from support.apache_kafka import ApacheKafka
from support.quotas import EVERYBODY, alteration
from support.same_answers import SETTINGS, Asker, Level, Side
from support.two_brokers import two_brokers

RATE, RECORD_BYTES, RECORDS = 200_000, 1_000, 800
BOUNDS = {"odradek": 1.1, "Kafka": 1.5}
"""Times the quota. Kafka's clients wait less than they would have to while its windows are not full."""


@pytest.fixture(scope="module")
def sides(kafka: ApacheKafka, tmp_path_factory: pytest.TempPathFactory) -> Iterator[tuple[Side, Side]]:
    with two_brokers(kafka, tmp_path_factory.mktemp("held"), {**SETTINGS, "quota.window.num": "2"}) as both:
        yield both


async def prepare(side: Side) -> str:
    ask = Asker(side, Level.HIGHEST)
    try:
        topic = await ask.create("held")
        answer = await ask.quietly(alteration(EVERYBODY, {"producer_byte_rate": RATE}))
        assert answer.entries[0].error_code == 0
        await ask.settle()
    finally:
        await ask.close()
    return topic


def test_a_producer_is_held_to_its_quota(sides: tuple[Side, Side]) -> None:
    for side in sides:
        topic = asyncio.run(prepare(side))
        servers = f"127.0.0.1:{side.port}"
        producer = Producer({"bootstrap.servers": servers, "batch.size": 5_000, "linger.ms": 5})
        began = time.monotonic()
        for _ in range(RECORDS):
            producer.produce(topic, b"x" * RECORD_BYTES, partition=0)
        assert producer.flush(120) == 0
        rate = RECORDS * RECORD_BYTES / (time.monotonic() - began)
        assert rate <= BOUNDS[side.name] * RATE, f"{side.name}: {rate / RATE:.2f} of the quota"
