"""What we hold to be Apache Kafka's answers to bad requests are its answers."""

import asyncio
from collections.abc import Iterator

import pytest

from odradek.testing import topics
from odradek.testing.broker import BrokerFailed
from support.apache_kafka import ApacheKafka
from support.bad_requests import SILENT, Case, all_cases, outcome
from support.same_answers import SETTINGS, Asker, Level, Side

Address = tuple[str, int]


@pytest.fixture(scope="module")
def address(kafka: ApacheKafka, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Address]:
    settings = {**SETTINGS, "auto.create.topics.enable": "false"}
    with kafka.new_broker(tmp_path_factory.mktemp("kafka"), settings) as broker:
        make_topics(("127.0.0.1", broker.port))
        asyncio.run(settle(broker.port))
        yield "127.0.0.1", broker.port


def make_topics(address: Address) -> None:
    for name, configs in (("plain", {}), ("col.liding", {}), ("keyed", {"cleanup.policy": "compact"})):
        while True:
            try:
                topics.create(address, name, 1, configs)
                break
            except BrokerFailed as error:
                if "code 36" in str(error):  # there: an attempt before was only answered too late
                    break


async def settle(port: int) -> None:
    """Wait until the broker leads the topics: the controller answers before."""
    ask = Asker(Side("Kafka", port, settles_late=True), Level.HIGHEST)
    try:
        await ask.settle()
    finally:
        await ask.close()


@pytest.mark.parametrize(
    "case", [case for case in all_cases() if case.expected != SILENT], ids=lambda case: case.name.replace(" ", "-")
)
def test_kafka_answers_so(address: Address, case: Case) -> None:
    async def main() -> int | str:
        async with asyncio.timeout(300):
            return await outcome(address, case)

    assert asyncio.run(main()) == case.expected
