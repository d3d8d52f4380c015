"""Frames: each message on a connection comes behind its size, an int32 that does not count itself."""

from struct import Struct as Packing

from odradek.model.buffer import Buffer
from odradek.wire.codec import encode_onto
from odradek.wire.header import has_tagged_header, write_request_head
from odradek.wire.schema import InFile, Message
from odradek.wire.writing import Parts, size_of

_SIZE = Packing(">i")
_START = Packing(">ii")


def request_frame(request: Message, version: int, correlation_id: int, client_id: str) -> Parts:
    """The frame of a request, in parts to be sent one after the other."""
    out = bytearray(_SIZE.size)
    write_request_head(out, request, version, correlation_id, client_id.encode())
    parts: Parts = []
    parts.append(encode_onto(out, parts, request, version))
    _SIZE.pack_into(out, 0, _sum(parts) - _SIZE.size)
    return parts


def response_frame(response: Message, version: int, correlation_id: int) -> Parts:
    """The frame of a response, in parts to be sent one after the other: mostly one."""
    out = bytearray(_START.size + has_tagged_header(type(response), version))
    parts: Parts = []
    parts.append(encode_onto(out, parts, response, version))
    size = len(out) if len(parts) == 1 else _sum(parts)
    _START.pack_into(out, 0, size - _SIZE.size, correlation_id)
    return parts


def _sum(parts: list[Buffer | InFile]) -> int:
    return sum(map(size_of, parts))
