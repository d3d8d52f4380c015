"""Reading gives the values that Kafka wrote, and writing them gives its bytes."""

from typing import Any

import pytest

from odradek.wire.codec import decode, encode
from odradek.wire.schema import Message

TYPES = ("request", "response", "header", "metadata", "coordinator-key", "coordinator-value", "data")

pytestmark = pytest.mark.slow


def test_every_class_has_vectors_in_every_version(messages: dict[str, type[Message]], vectors: list[Any]) -> None:
    expected = {
        (kind, version)
        for kind in messages.values()
        for version in range(kind.spec.versions[0], kind.spec.versions[1] + 1)
    }
    assert {(vector.kind, vector.version) for vector in vectors} == expected
    assert {vector.type for vector in vectors} == set(TYPES)
    assert len(vectors) == 2167


@pytest.mark.parametrize("type_", TYPES)
@pytest.mark.parametrize("buffer", [bytes, bytearray, memoryview])
def test_reading_gives_what_kafka_wrote(vectors: list[Any], type_: str, buffer: type[Any]) -> None:
    for vector in vectors:
        if vector.type == type_:
            assert decode(vector.kind, vector.version, buffer(vector.data)) == vector.message, str(vector)


@pytest.mark.parametrize("type_", TYPES)
def test_writing_gives_the_bytes_of_kafka(vectors: list[Any], type_: str) -> None:
    for vector in vectors:
        if vector.type == type_:
            assert encode(vector.message, vector.version).hex() == vector.data.hex(), str(vector)
