"""What becomes of a request that fails in a way that nobody expected."""

import asyncio
import logging
from collections.abc import Iterator, Sequence
from typing import Any, cast

import pytest

from odradek.broker.call import Call
from odradek.model.error_code import ErrorCode
from odradek.model.errors import BadRequest, StorageFailed
from odradek.wire.apis import APIS
from odradek.wire.codec import decode
from odradek.wire.header import read_response_head
from odradek.wire.schema import has_field
from support.connections import client_at
from support.failures import collected


@pytest.fixture(autouse=True)
def _planted() -> Iterator[None]:
    with collected():
        yield


class Reply:
    def __init__(self) -> None:
        self.parts: Sequence[bytes | bytearray] | None = None
        self.refusal: str | None = None

    def send(self, parts: Sequence[bytes | bytearray]) -> None:
        self.parts = parts

    def refuse(self, reason: str) -> None:
        self.refusal = reason


def call(api_key: int, version: int, reply: Reply) -> Call:
    return Call(client_at("127.0.0.1", 1234), cast("Any", reply), api_key, version, 7, "reader")


def code_in(reply: Reply, api_key: int, version: int) -> int:
    kind = APIS[api_key].response
    assert reply.parts is not None
    correlation_id, body = read_response_head(memoryview(b"".join(reply.parts))[4:], kind, version)
    assert correlation_id == 7
    return int(cast("Any", decode(kind, version, body)).error_code)


@pytest.mark.parametrize("api", APIS.values(), ids=lambda api: api.name)
def test_any_request_is_answered_with_the_error_or_closes_its_connection(api: Any) -> None:
    for version in range(api.versions[0], api.versions[1] + 1):
        reply = Reply()
        if version < api.response.spec.versions[0]:
            continue  # offered, and refused: there is no such message
        call(api.key, version, reply).fail(ValueError("a bug"))
        if has_field(api.response, "error_code", version):
            assert code_in(reply, api.key, version) == ErrorCode.UNKNOWN_SERVER_ERROR
        else:
            assert reply.refusal == "internal error"


def test_an_error_with_a_code_keeps_it() -> None:
    reply = Reply()
    call(12, 4, reply).fail(StorageFailed("the disk is gone"))
    assert code_in(reply, 12, 4) == ErrorCode.KAFKA_STORAGE_ERROR


def test_what_was_answered_already_is_not_answered_again() -> None:
    reply = Reply()
    reply.send((b"the answer",))
    call(12, 4, reply).fail(ValueError("a bug"))
    assert reply.parts == (b"the answer",)
    assert reply.refusal == "internal error"


def test_a_bad_request_is_refused_in_its_own_words(caplog: pytest.LogCaptureFixture) -> None:
    reply = Reply()
    call(12, 4, reply).fail(BadRequest("too long"))
    assert reply.refusal == "too long"
    assert caplog.records == []


def test_the_log_names_the_request(caplog: pytest.LogCaptureFixture) -> None:
    with call(1, 12, Reply()).guard():
        raise ValueError("a bug")
    (record,) = caplog.records
    assert record.levelno == logging.ERROR
    assert record.exc_info is not None
    fields = {key: record.__dict__[key] for key in ("api", "version", "client", "correlation_id", "peer")}
    assert fields == {
        "api": "Fetch",
        "version": 12,
        "client": "reader",
        "correlation_id": 7,
        "peer": "127.0.0.1:1234",
    }


def test_cancellation_passes() -> None:
    reply = Reply()
    with pytest.raises(asyncio.CancelledError), call(1, 12, reply).guard():
        raise asyncio.CancelledError
    assert (reply.parts, reply.refusal) == (None, None)
