"""Topics made over the protocol by a plain blocking socket, which works also where an event loop runs already."""

import socket
from collections.abc import Mapping

from odradek.testing.broker import BrokerFailed
from odradek.wire.codec import decode
from odradek.wire.frame import request_frame
from odradek.wire.header import read_response_head
from odradek.wire.messages.create_topics import (
    CreatableTopic,
    CreatableTopicConfig,
    CreateTopicsRequest,
    CreateTopicsResponse,
)

_VERSION = 7
_ANSWER_S = 60


def create(address: tuple[str, int], name: str, partitions: int, configs: Mapping[str, str]) -> None:
    """Returns when it can be used. Raises BrokerFailed if the broker refuses."""
    given = tuple(CreatableTopicConfig(name=key, value=value) for key, value in configs.items())
    topic = CreatableTopic(name=name, num_partitions=partitions, replication_factor=1, assignments=(), configs=given)
    request = CreateTopicsRequest(topics=(topic,), timeout_ms=_ANSWER_S * 1000)
    with socket.create_connection(address, timeout=_ANSWER_S) as sock, sock.makefile("rwb") as stream:
        for part in request_frame(request, _VERSION, 1, "odradek-testing"):
            if not isinstance(part, (bytes, bytearray, memoryview)):
                raise TypeError("requests are in memory")
            stream.write(part)
        stream.flush()
        size = int.from_bytes(stream.read(4), "big")
        _, body = read_response_head(memoryview(stream.read(size)), CreateTopicsResponse, _VERSION)
    answer = decode(CreateTopicsResponse, _VERSION, body).topics[0]
    if answer.error_code:
        raise BrokerFailed(f"the broker refused to create {name}: {answer.error_message} (code {answer.error_code})")
