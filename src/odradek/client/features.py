"""What a cluster is made of: its brokers, and the levels of its features."""

from collections.abc import Mapping
from dataclasses import dataclass
from enum import IntEnum
from typing import NamedTuple

from odradek.client.client import Client
from odradek.client.errors import Refused, TooOld, refusal
from odradek.model.address import Address
from odradek.model.error_code import ErrorCode
from odradek.model.errors import UnsupportedVersion
from odradek.wire.messages.api_versions import ApiVersionsRequest, ApiVersionsResponse
from odradek.wire.messages.describe_cluster import DescribeClusterRequest, DescribeClusterResponse
from odradek.wire.messages.update_features import FeatureUpdateKey, UpdateFeaturesRequest, UpdateFeaturesResponse

_SOFTWARE = "odradek"


class BrokerView(NamedTuple):
    node_id: int
    address: Address
    rack: str | None
    is_fenced: bool
    """It is registered, and out of service. Never so where the broker that was asked is too old to say."""


@dataclass(frozen=True, slots=True)
class ClusterDescription:
    cluster_id: str
    controller_id: int
    """-1 where there is none."""
    brokers: tuple[BrokerView, ...]


class FeatureView(NamedTuple):
    level: int | None
    """None where it has none: it was never turned on."""
    least: int
    most: int
    """Levels that the broker that was asked supports."""


class Upgrade(IntEnum):
    """What may happen to a feature."""

    UPGRADE = 1
    SAFE_DOWNGRADE = 2
    UNSAFE_DOWNGRADE = 3


async def describe_cluster(client: Client) -> ClusterDescription:
    """With brokers that are out of service, if the broker that is asked can tell of them (from 4.0 on)."""

    async def attempt() -> DescribeClusterResponse:
        try:
            return await _ask_for_brokers(client, with_fenced=True)
        except UnsupportedVersion:
            return await _ask_for_brokers(client, with_fenced=False)

    response = await client.persist(attempt)
    brokers = (
        BrokerView(each.broker_id, Address(each.host, each.port), each.rack, each.is_fenced)
        for each in response.brokers
    )
    return ClusterDescription(response.cluster_id, response.controller_id, tuple(sorted(brokers)))


async def _ask_for_brokers(client: Client, *, with_fenced: bool) -> DescribeClusterResponse:
    request = DescribeClusterRequest(include_cluster_authorized_operations=False, include_fenced_brokers=with_fenced)
    response = await client.ask(request, DescribeClusterResponse)
    if response.error_code:
        raise Refused(response.error_code, response.error_message)
    return response


async def describe_features(client: Client) -> dict[str, FeatureView]:
    """In the order of their names."""
    request = ApiVersionsRequest(client_software_name=_SOFTWARE, client_software_version="1")

    async def attempt() -> ApiVersionsResponse:
        response = await client.ask(request, ApiVersionsResponse)
        if response.error_code:
            raise Refused(response.error_code)
        return response

    response = await client.persist(attempt)
    levels = {each.name: each.max_version_level for each in response.finalized_features}
    supported = {each.name: (each.min_version, each.max_version) for each in response.supported_features}
    return {name: FeatureView(levels.get(name), *supported.get(name, (0, 0))) for name in sorted({*levels, *supported})}


async def update_features(
    client: Client, levels: Mapping[str, int], upgrade: Upgrade, *, validate_only: bool = False
) -> dict[str, Refused | None]:
    """All of them or none. Raises Refused for what is wrong with all, and TooOld where the broker cannot say it."""
    updates = tuple(
        FeatureUpdateKey(feature=name, max_version_level=level, upgrade_type=upgrade) for name, level in levels.items()
    )
    timeout_ms = int(client.setting.request_timeout_s * 1000)
    request = UpdateFeaturesRequest(timeout_ms=timeout_ms, feature_updates=updates, validate_only=validate_only)

    async def attempt() -> UpdateFeaturesResponse:
        response = await client.ask_controller(request, UpdateFeaturesResponse)
        if response.error_code == ErrorCode.NOT_CONTROLLER:
            raise Refused(response.error_code)
        return response

    try:
        response = await client.persist(attempt)
    except UnsupportedVersion as error:
        raise TooOld(f"the broker is too old: {error}") from None
    if response.error_code:
        raise Refused(response.error_code, response.error_message)
    outcomes = {each.feature: refusal(each.error_code, each.error_message) for each in response.results}
    return {name: outcomes.get(name) for name in levels}
