"""The versions that both sides of a connection have, and answers read in them."""

from collections.abc import Mapping
from typing import TypeVar

from odradek import __version__
from odradek.client.errors import NotServed, Refused
from odradek.model.address import Address
from odradek.model.error_code import ErrorCode
from odradek.wire.apis import API_VERSIONS, APIS
from odradek.wire.codec import decode
from odradek.wire.header import read_response_head
from odradek.wire.messages.api_versions import ApiVersionsRequest, ApiVersionsResponse
from odradek.wire.schema import Message

M = TypeVar("M", bound=Message)
Served = Mapping[int, tuple[int, int]]
"""The first and the last version of each API, as a broker tells."""

ASKED_FIRST = ApiVersionsRequest(client_software_name="odradek", client_software_version=__version__)
ASKED_IN = (APIS[API_VERSIONS].versions[1], 0)
"""The newest way to ask for the versions, and where that is not known, the oldest."""

_UNSUPPORTED = ErrorCode.UNSUPPORTED_VERSION.to_bytes(2, "big")


def served_by(answer: ApiVersionsResponse) -> Served | None:
    """None where it has to be asked in another way; raises Refused."""
    if answer.error_code == ErrorCode.UNSUPPORTED_VERSION:
        return None
    if answer.error_code:
        raise Refused(answer.error_code)
    return {each.api_key: (each.min_version, each.max_version) for each in answer.api_keys}


def agreed_version(kind: type[Message], served: Served, address: Address) -> int:
    """The highest version that both sides have of the API of this request or answer. Raises NotServed."""
    api = APIS[kind.spec.key or 0]
    first, last = served.get(api.key, (1, 0))
    least, most = kind.spec.versions
    version = min(last, most, api.versions[1])
    if version < max(first, least, api.versions[0]):
        raise NotServed(address, api.name)
    return version


def read_answer(frame: memoryview, kind: type[M], version: int) -> M:
    """Raises BadRequest."""
    if kind is ApiVersionsResponse and frame[4:6] == _UNSUPPORTED:
        version = 0  # who does not know the version that was asked for answers in the first
    _, body = read_response_head(frame, kind, version)
    return decode(kind, version, body)
