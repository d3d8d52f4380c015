"""What stands before the body of a request and of a response.

A request: api key int16, version int16, correlation id int32, client id as a nullable string that is never compact; if
that version of the request is flexible, tagged fields. A response: correlation id int32; if flexible, tagged fields.
The response to ApiVersions has none in any version, since it is read before the versions are agreed on.
"""

from __future__ import annotations

from struct import Struct as Packing
from typing import NamedTuple

from odradek.model.errors import BadRequest, CorruptBatch
from odradek.wire.apis import API_VERSIONS, APIS, NEVER
from odradek.wire.reading import skip_tags
from odradek.wire.schema import Message, field, int16, int32


class RequestHeader(Message, versions=(1, 2), flexible=2):
    request_api_key: int16
    request_api_version: int16
    correlation_id: int32
    client_id: str | None = field(default="", compact=False)


class ResponseHeader(Message, versions=(0, 1), flexible=1):
    correlation_id: int32


class RequestHead(NamedTuple):
    """The header of a request as it arrives, and where its body is."""

    api_key: int
    version: int
    correlation_id: int
    client_id: str | None
    body: memoryview


_new = tuple.__new__
"""Of the named tuple here, in half the time."""
_REQUEST = Packing(">hhih")
_REQUEST_SIZE = _REQUEST.size
_RESPONSE = Packing(">i")
_FLEXIBLE = {api.key: api.flexible for api in APIS.values()}


def read_request_head(frame: memoryview) -> RequestHead:
    """Also for an API or a version that nobody here knows, so that it can be refused with an answer."""
    if len(frame) < _REQUEST_SIZE:
        raise BadRequest(f"{len(frame)} bytes are too few for the header of a request")
    key, version, correlation_id, length = _REQUEST.unpack_from(frame)
    at = _REQUEST_SIZE
    client_id = None
    if length >= 0:
        at += length
        client_id = str(frame[_REQUEST_SIZE:at], "utf-8", "replace")
    body = _body(frame, at, version >= _FLEXIBLE.get(key, NEVER))
    return _new(RequestHead, (key, version, correlation_id, client_id, body))


def write_request_head(out: bytearray, request: Message, version: int, correlation_id: int, client: bytes) -> None:
    out += _REQUEST.pack(request.spec.key, version, correlation_id, len(client))
    out += client
    if version >= request.spec.flexible:
        out.append(0)


def read_response_head(frame: memoryview, kind: type[Message], version: int) -> tuple[int, memoryview]:
    """The correlation id, and the body of a response that should be a `kind` of that version."""
    if len(frame) < _RESPONSE.size:
        raise BadRequest(f"{len(frame)} bytes are too few for the header of a response")
    (correlation_id,) = _RESPONSE.unpack_from(frame)
    return correlation_id, _body(frame, _RESPONSE.size, has_tagged_header(kind, version))


def has_tagged_header(response: type[Message], version: int) -> bool:
    return version >= response.spec.flexible and response.spec.key != API_VERSIONS


def _body(frame: memoryview, at: int, is_flexible: bool) -> memoryview:
    """What follows a header, of which only tagged fields may be left at `at`."""
    try:
        end = at
        if is_flexible:
            end = skip_tags(frame, at) if frame[at] else at + 1  # mostly there are none
    except (IndexError, CorruptBatch):
        raise BadRequest(f"tagged fields of a header make no sense at {at}") from None
    if end > len(frame):
        raise BadRequest(f"header of {end} bytes in a frame of {len(frame)}")
    return frame[end:]
