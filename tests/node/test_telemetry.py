"""Metrics of clients: asked for as it is set, taken and forgotten. ApiVersions does not tell of it, as with Kafka."""

import asyncio
from pathlib import Path

from odradek.model.error_code import ErrorCode
from odradek.wire.messages import incremental_alter_configs as some
from odradek.wire.messages.api_versions import ApiVersionsRequest, ApiVersionsResponse
from odradek.wire.messages.get_telemetry_subscriptions import (
    GetTelemetrySubscriptionsRequest,
    GetTelemetrySubscriptionsResponse,
)
from odradek.wire.messages.push_telemetry import PushTelemetryRequest, PushTelemetryResponse
from odradek.wire.schema import NO_UUID
from support.raw_client import RawClient
from support.running_node import node_on

CLIENT_METRICS, SET, DELETE = 16, 0, 1


async def ask(client: RawClient, instance_id: bytes) -> GetTelemetrySubscriptionsResponse:
    request = GetTelemetrySubscriptionsRequest(client_instance_id=instance_id)
    return await client.ask(request, GetTelemetrySubscriptionsResponse, 0)


async def change(client: RawClient, name: str, **values: str | None) -> None:
    configs = tuple(
        some.AlterableConfig(name=key.replace("_", "."), config_operation=DELETE if value is None else SET, value=value)
        for key, value in values.items()
    )
    resource = some.AlterConfigsResource(resource_type=CLIENT_METRICS, resource_name=name, configs=configs)
    request = some.IncrementalAlterConfigsRequest(resources=(resource,), validate_only=False)
    answer = await client.ask(request, some.IncrementalAlterConfigsResponse, 1)
    assert answer.responses[0].error_code == ErrorCode.NONE


async def push(client: RawClient, told: GetTelemetrySubscriptionsResponse) -> int:
    request = PushTelemetryRequest(
        client_instance_id=told.client_instance_id,
        subscription_id=told.subscription_id,
        terminating=False,
        compression_type=0,
        metrics=b"metrics",
    )
    return (await client.ask(request, PushTelemetryResponse, 0)).error_code


def test_what_is_set_is_asked_for_at_once(tmp_path: Path) -> None:
    async def main() -> None:
        async with node_on(tmp_path) as client:
            hello = ApiVersionsRequest(client_software_name="tester", client_software_version="1.0")
            listed = await client.ask(hello, ApiVersionsResponse, 4)
            assert not {71, 72} & {each.api_key for each in listed.api_keys}

            first = await ask(client, NO_UUID)
            assert first.client_instance_id != NO_UUID
            assert (first.push_interval_ms, first.telemetry_max_bytes) == (300_000, 1_048_576)
            assert (first.requested_metrics, first.accepted_compression_types) == ((), (4, 3, 1, 2))
            assert first.delta_temporality
            assert await push(client, first) == ErrorCode.NONE
            again = await ask(client, first.client_instance_id)
            assert again.error_code == ErrorCode.THROTTLING_QUOTA_EXCEEDED

            await change(client, "mine", metrics="a.,b.", interval_ms="100", match="client_software_name=tester")
            await change(client, "others", metrics="*", match="client_software_name=another")
            told = await ask(client, first.client_instance_id)
            assert (told.requested_metrics, told.push_interval_ms) == (("a.", "b."), 100)
            assert told.subscription_id != first.subscription_id
            assert await push(client, first) == ErrorCode.UNKNOWN_SUBSCRIPTION_ID
            await change(client, "mine", metrics=None, interval_ms=None, match=None)
            gone = await ask(client, first.client_instance_id)
            assert (gone.requested_metrics, gone.subscription_id) == ((), first.subscription_id)

    asyncio.run(main())
