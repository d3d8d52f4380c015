"""Metrics of clients: what is wanted of whom, and in which order they may ask and send."""

from itertools import count
from types import MappingProxyType
from typing import Any, cast

import pytest

from odradek.broker import telemetry as module
from odradek.broker.broker import Broker
from odradek.broker.call import Call
from odradek.broker.client import Client
from odradek.broker.telemetry import (
    Telemetry,
    TelemetryTooLarge,
    UnknownSubscription,
    UnreadableMetrics,
)
from odradek.controller.errors import InvalidRequest
from odradek.metadata.image import ConfigResource, Configs, Image, ResourceType
from odradek.model.errors import BrokerError, ThrottlingQuotaExceeded, UnsupportedCodec
from odradek.process.network import SocketAddress
from odradek.records.batch import Codec
from odradek.records.compression import compress
from odradek.wire.messages.push_telemetry import PushTelemetryRequest
from odradek.wire.schema import NO_UUID
from support.clock import ManualClock
from support.connections import NoConnection, client_at

ID = b"i" * 16
INTERVAL_MS = 300_000


def call(client: Client, client_id: str | None = "reader") -> Call:
    return Call(client, cast("Any", None), 0, 0, 1, client_id)


class Stage:
    def __init__(self) -> None:
        numbers = count(1000)
        self.broker = Broker(1, "cluster", cast("Any", None))
        self.clock = ManualClock()
        self.telemetry = Telemetry(self.broker, self.clock, lambda: next(numbers).to_bytes(16, "big"), bytes_max=1000)
        self.connection = NoConnection(SocketAddress("10.0.0.7", 4711))
        self.client = client_at(connection=self.connection)

    def subscribe(self, **subscriptions: dict[str, str]) -> None:
        resources = {ConfigResource(ResourceType.CLIENT_METRICS, name): each for name, each in subscriptions.items()}
        self.broker.image = Image(configs=Configs(MappingProxyType(resources)))

    def ask(self, instance_id: bytes = ID, client: Client | None = None, client_id: str | None = "reader") -> Any:
        return self.telemetry.ask(call(client or self.client, client_id), instance_id)[1]

    def push(self, subscription_id: int, instance_id: bytes = ID, **fields: Any) -> None:
        given = {"terminating": False, "compression_type": 0, "metrics": b"metrics", **fields}
        request = PushTelemetryRequest(client_instance_id=instance_id, subscription_id=subscription_id, **given)
        self.telemetry.push(call(self.client), request)


@pytest.fixture
def stage() -> Stage:
    return Stage()


# --- what is wanted


def test_without_a_subscription_nothing_is_wanted(stage: Stage) -> None:
    instance_id, instance = stage.telemetry.ask(call(stage.client), NO_UUID)
    assert instance_id == (1000).to_bytes(16, "big")
    assert instance.wanted == ((), INTERVAL_MS)
    assert stage.telemetry.ask(call(stage.client), NO_UUID)[0] == (1001).to_bytes(16, "big"), "another client"


def test_all_that_match_count_together(stage: Stage) -> None:
    stage.subscribe(
        all={"metrics": "b.,a."},
        mine={"metrics": "c.,a.", "interval.ms": "5000", "match": "client_id=rea.*, client_source_port=47.."},
        others={"metrics": "d.", "interval.ms": "100", "match": "client_id=write.*"},
        slow={"metrics": "", "interval.ms": "600000"},
    )
    assert stage.ask().wanted == (("a.", "b.", "c."), 5000)
    assert stage.ask(b"j" * 16, client_id="rea").wanted.interval_ms == 5000
    assert stage.ask(b"l" * 16, client_id="a reader").wanted == (("a.", "b."), INTERVAL_MS)
    assert stage.ask(b"m" * 16, client_id=None).wanted == (("a.", "b."), INTERVAL_MS)


def test_a_star_is_all_there_is(stage: Stage) -> None:
    stage.subscribe(one={"metrics": "a."}, all={"metrics": "*"})
    assert stage.ask().wanted.metrics == ("*",)


@pytest.mark.parametrize(
    "pattern",
    [
        "client_instance_id=aWlpaWlpaWlpaWlpaWlpaQ",
        "client_id=reader",
        "client_software_name=librdkafka",
        r"client_software_version=2\..*",
        r"client_source_address=10\..*",
        "client_source_port=4711",
    ],
)
def test_what_can_be_matched(stage: Stage, pattern: str) -> None:
    stage.subscribe(one={"metrics": "a.", "match": pattern})
    stage.client.software_name, stage.client.software_version = "librdkafka", "2.14.0"
    assert stage.ask().wanted.metrics == ("a.",)


def test_a_client_that_says_nothing_of_itself_is_unknown(stage: Stage) -> None:
    stage.subscribe(one={"metrics": "a.", "match": "client_software_name=unknown,client_software_version=unknown"})
    assert stage.ask().wanted.metrics == ("a.",)


def test_a_subscription_that_cannot_be_read_is_passed_over(stage: Stage) -> None:
    stage.subscribe(strange={"no.such": "5"}, one={"metrics": "a."})
    assert stage.ask().wanted.metrics == ("a.",)


# --- when


def test_a_client_asks_once_in_an_interval(stage: Stage) -> None:
    stage.ask()
    stage.clock.advance(INTERVAL_MS - 1)
    with pytest.raises(ThrottlingQuotaExceeded):
        stage.ask()
    stage.clock.advance(1)
    stage.ask()


def test_a_client_asks_at_once_when_something_else_is_wanted(stage: Stage) -> None:
    before = stage.ask().subscription_id
    stage.subscribe(one={"metrics": "a."})
    after = stage.ask()
    assert (after.wanted.metrics, after.subscription_id != before) == (("a.",), True)
    with pytest.raises(UnknownSubscription):
        stage.push(before)
    assert stage.ask().subscription_id == after.subscription_id, "having been told that it has it wrong"
    stage.clock.advance(INTERVAL_MS)
    stage.push(after.subscription_id)


def test_a_client_sends_once_in_an_interval_and_when_it_has_asked(stage: Stage) -> None:
    subscription = stage.ask().subscription_id
    stage.clock.advance(1)
    stage.push(subscription)
    stage.clock.advance(INTERVAL_MS - 1)
    with pytest.raises(ThrottlingQuotaExceeded):
        stage.push(subscription)
    stage.clock.advance(1)
    stage.push(subscription)


def test_a_client_that_ends_sends_once_more_and_no_more(stage: Stage) -> None:
    subscription = stage.ask().subscription_id
    stage.push(subscription)
    stage.push(subscription, terminating=True)
    stage.clock.advance(INTERVAL_MS)
    with pytest.raises(InvalidRequest):
        stage.push(subscription, terminating=True)


# --- what is sent


@pytest.mark.parametrize("codec", Codec)
def test_metrics_are_taken_in_every_codec(stage: Stage, codec: Codec) -> None:
    subscription = stage.ask().subscription_id
    stage.push(subscription, compression_type=codec, metrics=compress(codec, b"x" * 100))


@pytest.mark.parametrize(
    ("fields", "expected"),
    [
        ({"instance_id": NO_UUID}, InvalidRequest),
        ({"instance_id": bytes(15) + b"\x01"}, InvalidRequest),
        ({"instance_id": bytes(15) + b"\x02", "subscription_id": 5}, UnknownSubscription),
        ({"compression_type": 5}, UnsupportedCodec),
        ({"compression_type": -1}, UnsupportedCodec),
        ({"metrics": b"x" * 1001}, TelemetryTooLarge),
        ({"metrics": b"none of it", "compression_type": Codec.GZIP}, UnreadableMetrics),
        ({"metrics": b"none of it", "compression_type": Codec.ZSTD}, UnreadableMetrics),
    ],
)
def test_what_is_refused(stage: Stage, fields: dict[str, Any], expected: type[BrokerError]) -> None:
    given = {"subscription_id": stage.ask().subscription_id, **fields}
    with pytest.raises(expected):
        stage.push(**given)


def test_metrics_that_inflate_without_end_are_refused(stage: Stage, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(module, "INFLATED_MAX", 100)
    subscription = stage.ask().subscription_id
    with pytest.raises(UnreadableMetrics):
        stage.push(subscription, compression_type=Codec.ZSTD, metrics=compress(Codec.ZSTD, bytes(101)))


def test_the_number_of_a_subscription_follows_from_names(stage: Stage) -> None:
    stage.subscribe(one={"metrics": "a.,b."}, two={"metrics": "c."})
    number = stage.ask().subscription_id
    stage.subscribe(two={"metrics": "c.,b."}, three={"metrics": "a."})
    assert stage.ask().subscription_id == number
    assert -(1 << 31) <= number < 1 << 31


def test_nothing_can_be_sent(stage: Stage) -> None:
    subscription = stage.ask().subscription_id
    stage.push(subscription, metrics=b"", compression_type=Codec.ZSTD)


# --- who is remembered


def test_a_client_is_forgotten_when_it_leaves(stage: Stage) -> None:
    stage.ask()
    (leave,) = stage.connection.closing
    leave()
    stage.connection.closing.clear()
    stage.ask()
    assert len(stage.connection.closing) == 1


def test_a_client_that_is_silent_for_long_is_a_new_one(stage: Stage) -> None:
    subscription = stage.ask().subscription_id
    stage.push(subscription, terminating=True)
    stage.clock.advance(3 * INTERVAL_MS)
    with pytest.raises(InvalidRequest):
        stage.push(subscription, terminating=True)
    stage.clock.advance(3 * INTERVAL_MS + 1)
    stage.push(subscription)


def test_there_is_a_bound_on_clients(stage: Stage, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(module, "INSTANCES_MAX", 2)
    for letter in (b"a", b"b", b"c"):
        stage.ask(letter * 16)
    for remembered in (b"b", b"c"):
        with pytest.raises(ThrottlingQuotaExceeded):
            stage.ask(remembered * 16)
    stage.ask(b"a" * 16)
