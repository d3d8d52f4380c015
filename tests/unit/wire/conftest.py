"""Every message of Apache Kafka 4.3.0 in every version, as its own classes wrote it."""

import json
import lzma
from base64 import b64decode, urlsafe_b64decode
from importlib import import_module
from pathlib import Path
from pkgutil import iter_modules
from typing import Any, NamedTuple

import pytest

import odradek.wire.messages
import odradek.wire.records
from odradek.wire.schema import Message, Slot, Struct, slots_of

GOLDEN = Path(__file__).parents[2] / "golden"


class Vector(NamedTuple):
    kind: type[Message]
    type: str
    version: int
    variant: str
    message: Message
    data: bytes

    def __str__(self) -> str:
        return f"{self.kind.__name__} {self.version} {self.variant}"


@pytest.fixture(scope="session")
def messages() -> dict[str, type[Message]]:
    """All classes of messages and stored records, by name."""
    modules = [import_module("odradek.wire.header")]
    for package in (odradek.wire.messages, odradek.wire.records):
        modules += [import_module(f"{package.__name__}.{found.name}") for found in iter_modules(package.__path__)]
    declared = [value for module in modules for value in vars(module).values() if isinstance(value, type)]
    return {kind.__name__: kind for kind in declared if issubclass(kind, Message) and kind is not Message}


@pytest.fixture(scope="session")
def vectors(messages: dict[str, type[Message]]) -> list[Vector]:
    with lzma.open(GOLDEN / "wire-vectors.jsonl.xz", "rt", encoding="utf-8") as lines:
        return [_vector(messages, json.loads(line)) for line in lines]


def _vector(messages: dict[str, type[Message]], line: dict[str, Any]) -> Vector:
    kind = messages[line["name"]]
    message = _struct(kind, line["value"])
    assert isinstance(message, Message)
    return Vector(kind, line["type"], line["version"], line["variant"], message, bytes.fromhex(line["hex"]))


def _struct(kind: type[Struct], value: dict[str, Any]) -> Struct:
    """From names in camel case, which are ours but for capitals and underscores."""
    slots = {slot.name.replace("_", ""): slot for slot in slots_of(kind, 0, flexible=False)}
    given = [(slots[name.lower()], item) for name, item in value.items()]
    return kind(**{slot.name: _value(slot, item) for slot, item in given})


def _value(slot: Slot, value: Any) -> Any:
    if value is None:
        return None
    if slot.is_array:
        return tuple(_item(slot, item) for item in value)
    return _item(slot, value)


def _item(slot: Slot, value: Any) -> Any:
    if slot.struct is not None:
        return _struct(slot.struct, value)
    if slot.kind == "uuid":
        return urlsafe_b64decode(value + "==")
    if slot.kind in ("bytes", "records", "sendable_records"):
        return b64decode(value)
    return value
