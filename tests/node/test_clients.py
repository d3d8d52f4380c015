"""Clients for Python play their scenario (tests/interop/clients/README.md), and read what the others wrote."""

import functools
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest

from odradek.testing import RunningBroker, running_broker
from support import client_scenario as scenario
from support.client_scenario import Client

pytestmark = pytest.mark.slow
CLIENTS = scenario.python_clients(Path(__file__).parents[1])

Play = Callable[[Client], list[dict[str, Any]]]


@pytest.fixture(scope="module")
def broker() -> Iterator[RunningBroker]:
    with running_broker(scenario.SETTINGS) as running:
        yield running


@pytest.fixture(scope="module")
def play(broker: RunningBroker) -> Play:
    """Gives what a client printed, which plays only once. Its topic has its name."""

    @functools.cache
    def once(name: str) -> list[dict[str, Any]]:
        return scenario.play(next(client for client in CLIENTS if client.name == name), broker.bootstrap, name)

    return lambda client: once(client.name)


@pytest.mark.parametrize("client", CLIENTS, ids=lambda client: client.name)
def test_a_client_does_all_that_it_can(client: Client, broker: RunningBroker, play: Play) -> None:
    assert play(client) == scenario.expected_of(client, client.name)
    on_disk = scenario.batches_on_disk(broker.directory / f"{client.name}-0")
    assert on_disk == [(codec, scenario.BATCH_RECORDS) for codec in client.codecs]


def test_each_reads_what_the_others_wrote(broker: RunningBroker, play: Play) -> None:
    topics = {writer.name: scenario.records_of(writer.codecs) for writer in CLIENTS if play(writer)}
    for client in CLIENTS:
        assert scenario.read(client, broker.bootstrap, list(topics)) == topics, client.name


def test_they_take_turns_in_a_group(odradek_broker: RunningBroker) -> None:
    scenario.take_turns(CLIENTS, odradek_broker, "shared")


@pytest.mark.parametrize("client", CLIENTS, ids=lambda client: client.name)
def test_a_client_goes_on_when_its_broker_comes_back(client: Client, odradek_broker: RunningBroker) -> None:
    scenario.goes_on(client, odradek_broker, "followed")
