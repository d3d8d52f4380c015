"""Fixtures that pytest finds by itself where odradek is installed.

Every run of pytest imports this module, also where nobody asks for a broker: it must stay cheap.
"""

from collections.abc import Iterator, Mapping

import pytest

from odradek.testing.broker import RunningBroker, running_broker


@pytest.fixture(scope="session")
def odradek_settings() -> Mapping[str, str]:
    """Settings of the brokers below, by Kafka's names. Define a fixture of this name to give your own."""
    return {}


@pytest.fixture
def odradek_broker(odradek_settings: Mapping[str, str]) -> Iterator[RunningBroker]:
    """A broker of this test alone, with nothing in it."""
    with running_broker(odradek_settings) as broker:
        yield broker


@pytest.fixture(scope="session")
def odradek_shared_broker(odradek_settings: Mapping[str, str]) -> Iterator[RunningBroker]:
    """One broker for all tests of a run (of a worker, under pytest-xdist). Leave it running; take your own topics."""
    with running_broker(odradek_settings) as broker:
        yield broker
