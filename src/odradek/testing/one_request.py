"""A single request over a plain blocking socket, which works also where an event loop runs already."""

import socket
from typing import TypeVar

from odradek.wire.codec import decode
from odradek.wire.frame import request_frame
from odradek.wire.header import read_response_head
from odradek.wire.schema import Message

ANSWER_S = 60

M = TypeVar("M", bound=Message)


def ask(address: tuple[str, int], request: Message, kind: type[M], version: int) -> M:
    """Raises OSError where the other side is not there, or goes away before it has answered."""
    with socket.create_connection(address, timeout=ANSWER_S) as sock, sock.makefile("rwb") as stream:
        for part in request_frame(request, version, 1, "odradek-testing"):
            if not isinstance(part, (bytes, bytearray, memoryview)):
                raise TypeError("requests are in memory")
            stream.write(part)
        stream.flush()
        size = int.from_bytes(stream.read(4), "big")
        frame = stream.read(size)
    if not frame or len(frame) < size:
        raise ConnectionError("the connection was closed before the end of the answer")
    _, body = read_response_head(memoryview(frame), kind, version)
    return decode(kind, version, body)
