"""Records of the metadata log and of internal topics, as Kafka's tool prints them: keys and values as JSON."""

import re
from collections.abc import Callable
from struct import Struct as Packing
from typing import NamedTuple

from odradek.cli.dump import java_json
from odradek.model.errors import BadRequest, UnsupportedVersion
from odradek.records.record import Record
from odradek.wire.codec import decode
from odradek.wire.records.classic_group import GroupMetadataValue, MemberMetadata
from odradek.wire.records.consumer_protocol import ConsumerProtocolAssignment, ConsumerProtocolSubscription
from odradek.wire.schema import Message
from odradek.wire.stored import (
    CONSUMER_OFFSETS,
    SHARE_GROUP_STATE,
    TRANSACTION_STATE,
    CoordinatorTopic,
    read_metadata_record,
)

_WORD = re.compile(r"(?<!^)(?=[A-Z])")
_VERSION = Packing(">h")


class Decoded(NamedTuple):
    key: str | None
    value: str | None
    problem: str | None = None
    """Why the record makes no sense. What is printed in its place says so, too."""


Decoder = Callable[[Record], Decoded]


def cluster_metadata(record: Record) -> Decoded:
    try:
        message, version = read_metadata_record(record.value or b"")
    except (BadRequest, UnsupportedVersion) as error:
        return Decoded(None, f"Error at {record.offset}, skipping. {error}", str(error))
    name = _WORD.sub("_", type(message).__name__).upper()
    data = java_json.of_message(message, version)
    fields = {"type": java_json.of_text(name), "version": str(version), "data": data}
    return Decoded(None, java_json.of_object(fields))


def offsets(record: Record) -> Decoded:
    return _coordinator_record(CONSUMER_OFFSETS, record)


def transaction_log(record: Record) -> Decoded:
    return _coordinator_record(TRANSACTION_STATE, record)


def share_group_state(record: Record) -> Decoded:
    return _coordinator_record(SHARE_GROUP_STATE, record)


def _coordinator_record(topic: CoordinatorTopic, record: Record) -> Decoded:
    offset = record.offset
    if record.key is None:
        return Decoded(f"Error at offset {offset}, skipping. It has no key", None, "the record has no key")
    try:
        key = topic.read_key(record.key)
    except UnsupportedVersion:
        # Of a newer Kafka, or of none: brokers pass over it.
        kind = _VERSION.unpack_from(record.key)[0]
        return Decoded(f"Unknown record type {kind} at offset {offset}, skipping.", None)
    except BadRequest as error:
        return Decoded(f"Error at offset {offset}, skipping. {error}", None, f"the key: {error}")
    shown = {"type": java_json.of_text(str(key.spec.key)), "data": java_json.of_message(key, 0)}
    if record.value is None:
        return Decoded(java_json.of_object(shown), "<DELETE>")
    try:
        value, version = topic.read_value(key, record.value)
    except (BadRequest, UnsupportedVersion) as error:
        return Decoded(f"Error at offset {offset}, skipping. {error}", None, f"the value: {error}")
    return Decoded(java_json.of_object(shown), _value(value, version))


def _value(value: Message, version: int) -> str:
    fields = java_json.fields_of(value, value, version)
    if isinstance(value, GroupMetadataValue) and value.protocol_type == "consumer":
        members = (java_json.of_object(_member(member, value, version)) for member in value.members)
        fields["members"] = f"[{','.join(members)}]"
    shown = {"version": java_json.of_text(str(version)), "data": java_json.of_object(fields)}
    return java_json.of_object(shown)


def _member(member: MemberMetadata, group: GroupMetadataValue, version: int) -> java_json.Names:
    """What consumers tell each other is decoded too, where it can be."""
    fields = java_json.fields_of(member, group, version)
    for name, kind, data in (
        ("subscription", ConsumerProtocolSubscription, member.subscription),
        ("assignment", ConsumerProtocolAssignment, member.assignment),
    ):
        told = _told(kind, data)
        if told is not None:
            fields[name] = told
    return fields


def _told(kind: type[Message], data: bytes) -> str | None:
    """None if it is nothing that consumers of Kafka's would send."""
    if len(data) < _VERSION.size:
        return None
    version = _VERSION.unpack_from(data)[0]
    try:
        return java_json.of_message(decode(kind, version, data[_VERSION.size :]), version)
    except (BadRequest, UnsupportedVersion):
        return None
