"""Metrics of clients, with the answers of an Apache Kafka that has nobody who takes them."""

import zlib

import pytest

from odradek.wire.messages import incremental_alter_configs as some
from odradek.wire.messages.api_versions import ApiVersionsRequest
from odradek.wire.messages.get_telemetry_subscriptions import GetTelemetrySubscriptionsRequest
from odradek.wire.messages.push_telemetry import PushTelemetryRequest
from odradek.wire.schema import NO_UUID
from support.same_answers import Asker, Case, Level, Side, differences

CLIENT_METRICS, SET, DELETE = 16, 0, 1
GZIP = 1


def instance_of(ask: Asker, letter: str) -> bytes:
    """The id of a client, another one for each level."""
    return f"{letter}-{ask.level.value}".ljust(16, ".").encode()


async def subscriptions(ask: Asker, instance_id: bytes) -> int:
    """What is wanted, and how that is numbered."""
    answer = await ask(GetTelemetrySubscriptionsRequest(client_instance_id=instance_id))
    return int(answer.subscription_id)


async def push(
    ask: Asker, instance_id: bytes, subscription_id: int, codec: int = 0, metrics: bytes = b"m", *, ends: bool = False
) -> None:
    await ask(
        PushTelemetryRequest(
            client_instance_id=instance_id,
            subscription_id=subscription_id,
            terminating=ends,
            compression_type=codec,
            metrics=metrics,
        )
    )


async def change(ask: Asker, name: str, **values: str | None) -> None:
    configs = tuple(
        some.AlterableConfig(name=key.replace("_", "."), config_operation=DELETE if value is None else SET, value=value)
        for key, value in values.items()
    )
    resource = some.AlterConfigsResource(resource_type=CLIENT_METRICS, resource_name=name, configs=configs)
    await ask(some.IncrementalAlterConfigsRequest(resources=(resource,), validate_only=False), 1)
    await ask.settle()


async def not_told_of(ask: Asker) -> None:
    hello = ApiVersionsRequest(client_software_name="tester", client_software_version="1")
    answer = await ask.quietly(hello, 4)
    ask.keep(sorted({71, 72} & {each.api_key for each in answer.api_keys}))


async def a_new_client(ask: Asker) -> None:
    answer = await ask.quietly(GetTelemetrySubscriptionsRequest(client_instance_id=NO_UUID))
    ask.keep([answer.error_code, answer.client_instance_id != NO_UUID, answer.requested_metrics])
    ask.keep([answer.push_interval_ms, answer.telemetry_max_bytes, answer.delta_temporality])
    ask.keep(answer.accepted_compression_types)


async def in_order(ask: Asker) -> None:
    me = instance_of(ask, "order")
    number = await subscriptions(ask, me)
    await subscriptions(ask, me)
    await push(ask, me, number)
    await push(ask, me, number)
    await push(ask, me, number, ends=True)
    await push(ask, me, number, ends=True)
    await push(ask, me, number)


async def refused(ask: Asker) -> None:
    for letter, codec, metrics in (
        ("none", 5, b"m"),
        ("below", -1, b"m"),
        ("broken", GZIP, b"no gzip at all"),
        ("whole", GZIP, zlib.compress(b"m" * 100, wbits=31)),
        ("empty", GZIP, b""),
        ("large", 0, bytes(1_048_577)),
        ("largest", 0, bytes(1_048_576)),
    ):
        me = instance_of(ask, letter)
        await push(ask, me, await subscriptions(ask, me), codec, metrics)
        await subscriptions(ask, me)
    me = instance_of(ask, "wrong")
    await push(ask, me, await subscriptions(ask, me) + 1)
    await subscriptions(ask, me)
    for nobody in (NO_UUID, bytes(15) + b"\x01", bytes(15) + b"\x63"):
        await push(ask, nobody, 0)


async def as_it_is_set(ask: Asker) -> None:
    """One metric at most: of more, Kafka's number depends on the order of a hash table."""
    me = instance_of(ask, "set")
    hello = ApiVersionsRequest(client_software_name=ask.name("tester"), client_software_version="1")
    await ask.quietly(hello, 4)
    name = ask.name("telemetry")
    mine = f"client_software_name={ask.name('tester')}"
    number = await subscriptions(ask, me)
    await change(ask, name, metrics="a.", interval_ms="200000", match=mine)
    await push(ask, me, number)
    await subscriptions(ask, me)
    await change(ask, name, match=f"{mine},client_source_address=127.0.0.1")
    await subscriptions(ask, me)
    await change(ask, name, match=f"{mine},client_id=.+")
    await subscriptions(ask, me)
    await change(ask, name, metrics="*,a.", match=mine, interval_ms="500000")
    await subscriptions(ask, me)
    await change(ask, name, metrics=None, match=None, interval_ms=None)
    await subscriptions(ask, me)


CASES: list[Case] = [not_told_of, a_new_client, in_order, refused, as_it_is_set]


@pytest.mark.parametrize("level", [Level.LOWEST, Level.HIGHEST], ids=lambda level: level.value)
@pytest.mark.parametrize("case", CASES, ids=lambda case: case.__name__)
def test_kafka_answers_the_same(both: tuple[Side, Side], case: Case, level: Level) -> None:
    found = differences(case, level, both)
    assert not found, found
