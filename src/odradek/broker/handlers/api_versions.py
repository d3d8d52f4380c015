"""ApiVersions, versions 0 to 4: what is served to every client, and the features of the cluster."""

import re
from collections.abc import Mapping

from odradek.broker.broker import Broker
from odradek.broker.call import Call
from odradek.broker.dispatch import Served
from odradek.metadata.features import KRAFT_VERSION, SUPPORTED
from odradek.model.error_code import ErrorCode
from odradek.wire.messages.api_versions import (
    ApiVersion,
    ApiVersionsRequest,
    ApiVersionsResponse,
    FinalizedFeatureKey,
    SupportedFeatureKey,
)

VERSIONS = (0, 4)
_NAME = re.compile(r"[a-zA-Z0-9](?:[a-zA-Z0-9\-.]*[a-zA-Z0-9])?")


class ApiVersions:
    def __init__(self, served: Mapping[int, Served], broker: Broker) -> None:
        self._served = served
        self._broker = broker

    def handle(self, call: Call, request: ApiVersionsRequest | None) -> ApiVersionsResponse:
        """Without a request: the client asked in a version that we do not know."""
        if request is not None and call.version >= 3 and not _is_named(request):
            return ApiVersionsResponse(error_code=ErrorCode.INVALID_REQUEST)
        if request is not None and call.version >= 3:
            call.client.software_name = request.client_software_name
            call.client.software_version = request.client_software_version
        keys = tuple(
            ApiVersion(api_key=key, min_version=served.versions[0], max_version=served.versions[1])
            for key, served in sorted(self._served.items())
        )
        if request is None:
            return ApiVersionsResponse(error_code=ErrorCode.UNSUPPORTED_VERSION, api_keys=keys)
        return ApiVersionsResponse(
            api_keys=keys,
            supported_features=_supported(call.version),
            finalized_features_epoch=self._broker.image.offset,
            finalized_features=self._finalized(),
        )

    def _finalized(self) -> tuple[FinalizedFeatureKey, ...]:
        levels = {**self._broker.image.features, KRAFT_VERSION: self._broker.image.voters.kraft_version}
        return tuple(
            FinalizedFeatureKey(name=name, max_version_level=level, min_version_level=level)
            for name, level in levels.items()
            if level > 0
        )


def _is_named(request: ApiVersionsRequest) -> bool:
    names = (request.client_software_name, request.client_software_version)
    return all(map(_NAME.fullmatch, names))


def _supported(version: int) -> tuple[SupportedFeatureKey, ...]:
    """Clients of version 3 fail at a feature whose least level is 0: these are left out for them."""
    return tuple(
        SupportedFeatureKey(name=name, min_version=levels.least, max_version=levels.most)
        for name, levels in SUPPORTED.items()
        if version > 3 or levels.least > 0
    )
