"""Settings of topics and brokers: set, shown with their layers, taken back, and in force at once."""

import asyncio
from collections.abc import Sequence
from pathlib import Path

import pytest

from odradek.model.broker_config import BrokerConfig
from odradek.model.error_code import ErrorCode
from odradek.model.topic_config import TOPIC_KEYS
from odradek.wire.messages import alter_configs as whole
from odradek.wire.messages import incremental_alter_configs as some
from odradek.wire.messages.describe_configs import (
    DescribeConfigsRequest,
    DescribeConfigsResource,
    DescribeConfigsResourceResult,
    DescribeConfigsResponse,
    DescribeConfigsResult,
)
from odradek.wire.messages.list_config_resources import ListConfigResourcesRequest, ListConfigResourcesResponse
from support.raw_client import RawClient
from support.running_node import create_topic, node_on, produce

TOPIC, BROKER, LOGGER, METRICS, GROUP = 2, 4, 8, 16, 32
SET, DELETE, APPEND = 0, 1, 2
CONFIG = BrokerConfig.parse(
    {
        "node.id": "1",
        "process.roles": "broker,controller",
        "controller.listener.names": "CONTROLLER",
        "log.retention.hours": "2",
        "ssl.key.password": "secret",
    }
)


async def describe(
    client: RawClient, kind: int, name: str, *keys: str, version: int = 4, doc: bool = False
) -> DescribeConfigsResult:
    resource = DescribeConfigsResource(resource_type=kind, resource_name=name, configuration_keys=keys or None)
    request = DescribeConfigsRequest(resources=(resource,), include_synonyms=True, include_documentation=doc)
    return (await client.ask(request, DescribeConfigsResponse, version)).results[0]


async def one(client: RawClient, kind: int, name: str, key: str) -> DescribeConfigsResourceResult:
    (found,) = (await describe(client, kind, name, key)).configs
    return found


def layers(found: DescribeConfigsResourceResult) -> list[tuple[str, str | None, int]]:
    return [(each.name, each.value, each.source) for each in found.synonyms]


async def alter(
    client: RawClient, kind: int, name: str, *changes: tuple[str, int, str | None], validate_only: bool = False
) -> int:
    configs = tuple(some.AlterableConfig(name=key, config_operation=what, value=value) for key, what, value in changes)
    resource = some.AlterConfigsResource(resource_type=kind, resource_name=name, configs=configs)
    request = some.IncrementalAlterConfigsRequest(resources=(resource,), validate_only=validate_only)
    answer = (await client.ask(request, some.IncrementalAlterConfigsResponse, 1)).responses[0]
    assert (answer.resource_type, answer.resource_name) == (kind, name)
    return answer.error_code


async def replace(client: RawClient, kind: int, name: str, values: Sequence[tuple[str, str | None]]) -> int:
    configs = tuple(whole.AlterableConfig(name=key, value=value) for key, value in values)
    resource = whole.AlterConfigsResource(resource_type=kind, resource_name=name, configs=configs)
    request = whole.AlterConfigsRequest(resources=(resource,), validate_only=False)
    return (await client.ask(request, whole.AlterConfigsResponse, 2)).responses[0].error_code


def test_layers_of_a_topics_setting(tmp_path: Path) -> None:
    async def main() -> None:
        async with node_on(tmp_path, config=CONFIG, topic_defaults=CONFIG.topic_defaults) as client:
            await create_topic(client, "orders")
            found = await one(client, TOPIC, "orders", "segment.bytes")
            assert (found.value, found.config_source, found.config_type) == ("1073741824", 5, 3)
            assert layers(found) == [("log.segment.bytes", "1073741824", 5)]
            # Kafka does not show a default that stands under another name.
            found = await one(client, TOPIC, "orders", "retention.ms")
            assert (found.value, layers(found)) == ("7200000", [])

            assert await alter(client, BROKER, "", ("log.retention.ms", SET, "6000")) == 0
            assert await alter(client, BROKER, "1", ("log.retention.ms", SET, "5000")) == 0
            found = await one(client, TOPIC, "orders", "retention.ms")
            assert (found.value, found.config_source) == ("5000", 2)
            assert await alter(client, TOPIC, "orders", ("retention.ms", SET, "1000")) == 0
            found = await one(client, TOPIC, "orders", "retention.ms")
            assert (found.value, found.config_source) == ("1000", 1)
            assert layers(found) == [
                ("retention.ms", "1000", 1),
                ("log.retention.ms", "5000", 2),
                ("log.retention.ms", "6000", 3),
                ("log.retention.hours", "2", 4),
                ("log.retention.hours", "168", 5),
            ]
            assert await alter(client, TOPIC, "orders", ("retention.ms", DELETE, None)) == 0
            assert (await one(client, TOPIC, "orders", "retention.ms")).value == "5000"

    asyncio.run(main())


def test_a_changed_setting_is_in_force_at_once(tmp_path: Path) -> None:
    async def main() -> None:
        async with node_on(tmp_path) as client:
            await create_topic(client, "orders")
            assert await alter(client, TOPIC, "orders", ("max.message.bytes", SET, "80")) == 0
            assert (await produce(client, "orders", "x" * 100)).error_code == ErrorCode.MESSAGE_TOO_LARGE
            assert await replace(client, TOPIC, "orders", []) == 0
            assert (await produce(client, "orders", "x" * 100)).error_code == ErrorCode.NONE
            assert await alter(client, BROKER, "", ("message.max.bytes", SET, "80")) == 0
            assert (await produce(client, "orders", "x" * 100)).error_code == ErrorCode.MESSAGE_TOO_LARGE
        async with node_on(tmp_path) as client:
            assert (await produce(client, "orders", "x" * 100)).error_code == ErrorCode.MESSAGE_TOO_LARGE

    asyncio.run(main())


def test_a_changed_default_counts_for_new_topics_too(tmp_path: Path) -> None:
    async def main() -> None:
        async with node_on(tmp_path) as client:
            assert await create_topic(client, "before", max_compaction_lag_ms="40") == ErrorCode.NONE
            assert await alter(client, BROKER, "", ("log.cleaner.min.compaction.lag.ms", SET, "50")) == 0
            assert await create_topic(client, "after", max_compaction_lag_ms="40") == ErrorCode.INVALID_CONFIG
            assert await alter(client, BROKER, "", ("log.cleaner.min.compaction.lag.ms", DELETE, None)) == 0
            assert await create_topic(client, "after", max_compaction_lag_ms="40") == ErrorCode.NONE

    asyncio.run(main())


def test_settings_of_groups_client_metrics_and_loggers(tmp_path: Path) -> None:
    async def main() -> None:
        async with node_on(tmp_path) as client:
            name = "consumer.session.timeout.ms"
            assert layers(await one(client, GROUP, "g", name)) == [(f"group.{name}", "45000", 5)]
            assert await alter(client, GROUP, "g", (name, SET, "50000")) == 0
            assert await alter(client, GROUP, "g", (name, SET, "1")) == ErrorCode.INVALID_CONFIG
            assert await alter(client, METRICS, "m", ("interval.ms", SET, "5000")) == 0
            assert await alter(client, LOGGER, "1", ("odradek.broker.dispatch", SET, "ERROR")) == 0
            assert (await one(client, LOGGER, "1", "odradek.broker.dispatch")).value == "ERROR"
            assert await alter(client, LOGGER, "1", ("odradek.broker.dispatch", DELETE, None)) == 0
            assert await alter(client, LOGGER, "2", ("root", SET, "ERROR")) == ErrorCode.INVALID_REQUEST
        async with node_on(tmp_path) as client:
            assert layers(await one(client, GROUP, "g", name)) == [(name, "50000", 8), (f"group.{name}", "45000", 5)]
            assert layers(await one(client, METRICS, "m", "interval.ms")) == [("interval.ms", "5000", 7)]
            answer = await client.ask(
                ListConfigResourcesRequest(resource_types=(METRICS, GROUP)), ListConfigResourcesResponse, 1
            )
            assert {(each.resource_type, each.resource_name) for each in answer.config_resources} == {
                (METRICS, "m"),
                (GROUP, "g"),
            }

    asyncio.run(main())


def test_all_settings_are_shown_and_no_password(tmp_path: Path) -> None:
    async def main() -> None:
        async with node_on(tmp_path, config=CONFIG, topic_defaults=CONFIG.topic_defaults) as client:
            await create_topic(client, "orders", flush_messages="5")
            shown = {each.name: each for each in (await describe(client, TOPIC, "orders", doc=True)).configs}
            assert set(shown) == {name for name, key in TOPIC_KEYS.items() if not key.internal}
            assert (shown["flush.messages"].value, shown["flush.messages"].config_source) == ("5", 1)
            assert "Sync the log" in (shown["flush.messages"].documentation or "")
            shown = {each.name: each for each in (await describe(client, BROKER, "1")).configs}
            assert (shown["node.id"].value, shown["node.id"].config_source, shown["node.id"].read_only) == (
                "1",
                4,
                True,
            )
            assert shown["node.id"].documentation is None
            assert not shown["log.retention.ms"].read_only
            for secret in ("ssl.key.password",):
                assert (shown[secret].value, shown[secret].is_sensitive) == (None, True)
                assert {each.value for each in shown[secret].synonyms} == {None}
            assert (await describe(client, BROKER, "", version=1)).configs[0].name == "min.insync.replicas"
            assert await alter(client, BROKER, "", ("num.io.threads", SET, "4")) == 0
            assert [each.value for each in (await describe(client, BROKER, "")).configs] == ["1", "4"]

    asyncio.run(main())


@pytest.mark.parametrize(
    ("kind", "name", "code"),
    [
        (TOPIC, "nothing", ErrorCode.UNKNOWN_TOPIC_OR_PARTITION),
        (TOPIC, "a b", ErrorCode.INVALID_TOPIC_EXCEPTION),
        (BROKER, "7", ErrorCode.INVALID_REQUEST),
        (BROKER, "x", ErrorCode.INVALID_REQUEST),
        (3, "orders", ErrorCode.INVALID_REQUEST),
    ],
)
def test_what_has_no_settings(tmp_path: Path, kind: int, name: str, code: ErrorCode) -> None:
    async def main() -> None:
        async with node_on(tmp_path) as client:
            assert (await describe(client, kind, name)).error_code == code
            assert await alter(client, kind, name, ("retention.ms", SET, "5")) == code
            assert await replace(client, kind, name, [("retention.ms", "5")]) == code

    asyncio.run(main())


def test_settings_that_cannot_be(tmp_path: Path) -> None:
    async def main() -> None:
        async with node_on(tmp_path) as client:
            await create_topic(client, "orders")
            invalid, bad = ErrorCode.INVALID_CONFIG, ErrorCode.INVALID_REQUEST
            assert await alter(client, TOPIC, "orders", ("retention.ms", SET, "soon")) == invalid
            assert await alter(client, TOPIC, "orders", ("no.such", SET, "5")) == invalid
            assert await alter(client, TOPIC, "orders", ("retention.ms", APPEND, "5")) == invalid
            assert await alter(client, TOPIC, "orders", ("retention.ms", SET, None)) == bad
            twice = ("retention.ms", SET, "5")
            assert await alter(client, TOPIC, "orders", twice, twice) == bad
            assert await alter(client, BROKER, "1", ("node.id", SET, "5")) == bad
            assert await alter(client, BROKER, "1", ("num.io.threads", SET, "many")) == bad
            assert await alter(client, BROKER, "", ("listeners", SET, "PLAINTEXT://:1")) == bad
            assert await alter(client, BROKER, "1", ("background.threads", SET, "0")) == bad
            assert await alter(client, BROKER, "1", ("num.network.threads", SET, "1000")) == bad
            assert await alter(client, BROKER, "1", ("ssl.keystore.location", SET, "keys")) == bad
            assert await alter(client, BROKER, "1", ("listeners", SET, "PLAINTEXT://:1")) == bad
            assert await replace(client, TOPIC, "orders", [("retention.ms", None)]) == bad
            assert (await one(client, TOPIC, "orders", "retention.ms")).config_source == 5
            assert await alter(client, TOPIC, "orders", ("retention.ms", SET, "5"), validate_only=True) == 0
            assert (await one(client, TOPIC, "orders", "retention.ms")).config_source == 5

    asyncio.run(main())


def test_the_resources_that_have_settings(tmp_path: Path) -> None:
    async def ask(client: RawClient, *kinds: int, version: int = 1) -> ListConfigResourcesResponse:
        request = ListConfigResourcesRequest(resource_types=kinds)
        return await client.ask(request, ListConfigResourcesResponse, version)

    async def main() -> None:
        async with node_on(tmp_path) as client:
            await create_topic(client, "orders")
            found = (await ask(client)).config_resources
            named = [(each.resource_name, each.resource_type) for each in found]
            assert named == [("1", LOGGER), ("1", BROKER), ("orders", TOPIC)]
            assert [each.resource_name for each in (await ask(client, TOPIC)).config_resources] == ["orders"]
            assert (await ask(client, 3)).error_code == ErrorCode.UNSUPPORTED_VERSION
            assert (await ask(client, version=0)).config_resources == ()

    asyncio.run(main())
