"""ApiVersions, versions 0 to 4: exactly what is served."""

from collections.abc import Mapping

from odradek.broker.call import Call
from odradek.broker.dispatch import Served
from odradek.model.error_code import ErrorCode
from odradek.wire.messages.api_versions import ApiVersion, ApiVersionsRequest, ApiVersionsResponse

VERSIONS = (0, 4)


class ApiVersions:
    def __init__(self, served: Mapping[int, Served]) -> None:
        self._served = served

    def handle(self, _call: Call, request: ApiVersionsRequest | None) -> ApiVersionsResponse:
        """Without a request: the client asked in a version that we do not know."""
        keys = tuple(
            ApiVersion(api_key=key, min_version=served.versions[0], max_version=served.versions[1])
            for key, served in sorted(self._served.items())
        )
        error = ErrorCode.NONE if request is not None else ErrorCode.UNSUPPORTED_VERSION
        return ApiVersionsResponse(error_code=error, api_keys=keys)
