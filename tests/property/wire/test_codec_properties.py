"""What is written is read again as it was, in every version that has a place for it."""

from contextlib import suppress
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from odradek.model.errors import BadRequest
from odradek.wire.apis import APIS
from odradek.wire.codec import decode, encode, encode_onto
from odradek.wire.records.classic_group import GroupMetadataValue
from odradek.wire.records.consumer_group import ConsumerGroupMemberMetadataValue
from odradek.wire.records.metadata import PartitionChangeRecord, RegisterBrokerRecord
from odradek.wire.records.transaction import TransactionLogValue
from odradek.wire.schema import Message, Slot, Struct, slots_of

pytestmark = pytest.mark.slow

APIS_TRIED = (0, 1, 3, 8, 9, 11, 18, 19, 24, 32, 48, 68, 75, 88)  # between them, nearly every type and kind of change
MESSAGES: list[type[Message]] = [kind for key in APIS_TRIED for kind in (APIS[key].request, APIS[key].response)]
MESSAGES += [GroupMetadataValue, ConsumerGroupMemberMetadataValue, TransactionLogValue]
MESSAGES += [PartitionChangeRecord, RegisterBrokerRecord]


def integers(bits: int) -> st.SearchStrategy[int]:
    return st.integers(-(1 << bits - 1), (1 << bits - 1) - 1)


SCALARS: dict[str, st.SearchStrategy[Any]] = {
    "bool": st.booleans(),
    "int8": integers(8),
    "int16": integers(16),
    "int32": integers(32),
    "int64": integers(64),
    "uint16": st.integers(0, (1 << 16) - 1),
    "uint32": st.integers(0, (1 << 32) - 1),
    "float64": st.floats(allow_nan=False),
    "uuid": st.binary(min_size=16, max_size=16),
    "str": st.text(st.characters(exclude_categories=["Cs"]), max_size=20) | st.just("x" * 200),
    "bytes": st.binary(max_size=20) | st.just(bytes(200)),
    "records": st.binary(max_size=20) | st.just(bytes(2000)),
    "sendable_records": st.binary(max_size=20) | st.just(bytes(2000)),
}


@st.composite
def structs(draw: st.DrawFn, kind: type[Struct], version: int) -> Struct:
    """With defaults for what this version has not."""
    present = [slot for slot in slots_of(kind, version, flexible=False) if slot.is_present]
    return kind(**{slot.name: draw(values(slot, version)) for slot in present})


def values(slot: Slot, version: int) -> st.SearchStrategy[Any]:
    made: st.SearchStrategy[Any]
    made = SCALARS[slot.kind] if slot.struct is None else structs(slot.struct, version)
    if slot.is_array:
        made = st.lists(made, max_size=3 if slot.struct is not None else 40).map(tuple)
    return made | st.none() if slot.is_nullable else made


@st.composite
def messages(draw: st.DrawFn) -> tuple[Message, int]:
    kind = draw(st.sampled_from(MESSAGES))
    version = draw(st.integers(*kind.spec.versions))
    message = draw(structs(kind, version))
    assert isinstance(message, Message)
    return message, version


@given(messages())
def test_what_is_written_is_read_again(given_message: tuple[Message, int]) -> None:
    message, version = given_message
    data = encode(message, version)
    assert decode(type(message), version, data) == message
    parts: list[Any] = []
    last = encode_onto(bytearray(b"before"), parts, message, version)
    assert b"".join((*parts, last)) == b"before" + data


@given(messages(), st.data())
def test_bytes_of_another_version_are_refused_or_read_as_something_else(
    given_message: tuple[Message, int], data: st.DataObject
) -> None:
    message, version = given_message
    kind = type(message)
    other = data.draw(st.integers(*kind.spec.versions))
    with suppress(BadRequest):
        found = decode(kind, other, encode(message, version))
        rewritten = encode(found, other)
        assert encode(decode(kind, other, rewritten), other) == rewritten


@given(st.sampled_from(MESSAGES), st.data(), st.binary(max_size=80))
def test_garbage_raises_nothing_but_bad_request(kind: type[Message], data: st.DataObject, garbage: bytes) -> None:
    version = data.draw(st.integers(*kind.spec.versions))
    with suppress(BadRequest):
        encode(decode(kind, version, garbage), version)
