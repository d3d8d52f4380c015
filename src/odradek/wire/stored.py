"""Stored records as values: what stands before their fields, and which class has them.

The metadata log: a frame version (1), the record's key and its version, as unsigned varints, then the fields. Topics of
coordinators: the record's key begins with its type, its value with its version, as int16; the type of the key is also
that of the value. A value of null, which no function here reads, deletes the record.
"""

from __future__ import annotations

from functools import cache
from importlib import import_module
from struct import Struct as Packing
from typing import TYPE_CHECKING

from odradek.model.errors import BadRequest, CorruptBatch, UnsupportedVersion
from odradek.records.varint import read_unsigned, write_unsigned
from odradek.wire.codec import decode, encode
from odradek.wire.schema import Message

if TYPE_CHECKING:
    from collections.abc import Mapping

    from odradek.model.buffer import Buffer

_INT16 = Packing(">h")
_FRAME_VERSION = 1


@cache
def metadata_records() -> Mapping[int, type[Message]]:
    """The records of the metadata log by their key."""
    module = import_module("odradek.wire.records.metadata")
    kinds = [kind for kind in vars(module).values() if isinstance(kind, type) and issubclass(kind, Message)]
    return {kind.spec.key: kind for kind in kinds if kind is not Message and kind.spec.key is not None}


def read_metadata_record(data: Buffer) -> tuple[Message, int]:
    """A record of the metadata log, and its version. Raises UnsupportedVersion for one that Kafka 4.3 has not."""
    try:
        frame_version, at = read_unsigned(data, 0)
        key, at = read_unsigned(data, at)
        version, at = read_unsigned(data, at)
    except (IndexError, CorruptBatch):
        raise BadRequest("metadata record with a broken head") from None
    if frame_version != _FRAME_VERSION:
        raise UnsupportedVersion(f"metadata record in a frame of version {frame_version}")
    kind = metadata_records().get(key)
    if kind is None:
        raise UnsupportedVersion(f"metadata record with the unknown key {key}")
    return decode(kind, version, data[at:]), version


def write_metadata_record(record: Message, version: int) -> bytes:
    assert record.spec.key is not None
    head = b"".join(map(write_unsigned, (_FRAME_VERSION, record.spec.key, version)))
    return head + encode(record, version)


class CoordinatorTopic:
    """The records of one internal topic."""

    def __init__(self, types: Mapping[int, str]) -> None:
        """`types` has for each type a module of `records` and what the names of its two classes begin with."""
        self._types = types
        self._loaded: dict[int, tuple[type[Message], type[Message]]] = {}

    def kinds(self, number: int) -> tuple[type[Message], type[Message]]:
        """The classes of key and value of a type. Raises UnsupportedVersion for one that Kafka 4.3 has not."""
        return self._loaded.get(number) or self._load(number)

    def _load(self, number: int) -> tuple[type[Message], type[Message]]:
        if number not in self._types:
            raise UnsupportedVersion(f"record of the unknown type {number}")
        module_name, _, name = self._types[number].partition(".")
        module = import_module(f"odradek.wire.records.{module_name}")
        found = self._loaded[number] = getattr(module, f"{name}Key"), getattr(module, f"{name}Value")
        return found

    def read_key(self, data: Buffer) -> Message:
        key, _ = self.kinds(_read_int16(data))
        return decode(key, 0, data[_INT16.size :])

    def read_value(self, key: Message, data: Buffer) -> tuple[Message, int]:
        """The value of a record with that key, and its version."""
        assert key.spec.key is not None
        _, value = self.kinds(key.spec.key)
        version = _read_int16(data)
        return decode(value, version, data[_INT16.size :]), version


def write_coordinator_key(key: Message) -> bytes:
    return _INT16.pack(key.spec.key) + encode(key, 0)


def write_coordinator_value(value: Message, version: int) -> bytes:
    return _INT16.pack(version) + encode(value, version)


def _read_int16(data: Buffer) -> int:
    if len(data) < _INT16.size:
        raise BadRequest(f"{len(data)} bytes are too few for a coordinator's record")
    (number,) = _INT16.unpack_from(data)
    return int(number)


CONSUMER_OFFSETS = CoordinatorTopic(
    {
        0: "offsets.LegacyOffsetCommit",
        1: "offsets.OffsetCommit",
        2: "classic_group.GroupMetadata",
        3: "consumer_group.ConsumerGroupMetadata",
        4: "consumer_group.ConsumerGroupPartitionMetadata",
        5: "consumer_group.ConsumerGroupMemberMetadata",
        6: "consumer_group.ConsumerGroupTargetAssignmentMetadata",
        7: "consumer_group.ConsumerGroupTargetAssignmentMember",
        8: "consumer_group.ConsumerGroupCurrentMemberAssignment",
        10: "share_group.ShareGroupMemberMetadata",
        11: "share_group.ShareGroupMetadata",
        12: "share_group.ShareGroupTargetAssignmentMetadata",
        13: "share_group.ShareGroupTargetAssignmentMember",
        14: "share_group.ShareGroupCurrentMemberAssignment",
        15: "share_group.ShareGroupStatePartitionMetadata",
        16: "consumer_group.ConsumerGroupRegularExpression",
        17: "streams_group.StreamsGroupMetadata",
        19: "streams_group.StreamsGroupMemberMetadata",
        20: "streams_group.StreamsGroupTargetAssignmentMetadata",
        21: "streams_group.StreamsGroupTargetAssignmentMember",
        22: "streams_group.StreamsGroupCurrentMemberAssignment",
        23: "streams_group.StreamsGroupTopology",
    }
)

TRANSACTION_STATE = CoordinatorTopic({0: "transaction.TransactionLog"})

SHARE_GROUP_STATE = CoordinatorTopic({0: "share_state.ShareSnapshot", 1: "share_state.ShareUpdate"})
