"""Records for `odradek produce`: from lines of text, or from JSON objects, one a line."""

import binascii
import json
from base64 import b64decode
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from typing import Any

from odradek.model.errors import OdradekError

Headers = list[tuple[str, str | bytes | None]]
Outgoing = tuple[bytes | None, bytes | None, int, int, Headers | None]
"""Value, key, partition, timestamp and headers. Not a class: there are a million of them a second."""

ANY_PARTITION = -1
NOW = 0

_IGNORED = frozenset({"topic", "offset", "timestamp_type"})
"""What `odradek consume --json` says beside, so that its output can be sent again."""
_KNOWN = frozenset({"key", "key_base64", "value", "value_base64", "headers", "partition", "timestamp"}) | _IGNORED


class BadInput(OdradekError):
    """A line that is no record."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Common:
    """What all records have, unless they say otherwise."""

    key: bytes | None = None
    partition: int = ANY_PARTITION
    timestamp: int = NOW
    headers: Headers | None = None


def from_values(values: Iterable[bytes], common: Common) -> Iterator[Outgoing]:
    key, partition, timestamp, headers = common.key, common.partition, common.timestamp, common.headers
    for value in values:
        yield value, key, partition, timestamp, headers


def from_keyed(values: Iterable[bytes], separator: bytes, common: Common) -> Iterator[Outgoing]:
    """`key SEPARATOR value`, split at the first separator."""
    for number, line in enumerate(values, start=1):
        key, found, value = line.partition(separator)
        if not found:
            raise BadInput(f"line {number} has no key: there is no {separator.decode(errors='replace')!r} in it")
        yield value, key, common.partition, common.timestamp, common.headers


def from_json(lines: Iterable[bytes], common: Common) -> Iterator[Outgoing]:
    """Empty lines are skipped."""
    for number, line in enumerate(lines, start=1):
        if line.strip():
            try:
                yield _record(json.loads(line), common)
            except (ValueError, TypeError) as error:
                raise BadInput(f"line {number}: {error}") from None


def without_line_ends(lines: Iterable[bytes]) -> Iterator[bytes]:
    for line in lines:
        yield line[:-1] if line.endswith(b"\n") else line


def _record(fields: Any, common: Common) -> Outgoing:
    if not isinstance(fields, dict):
        raise TypeError("not a JSON object")
    unknown = fields.keys() - _KNOWN
    if unknown:
        raise ValueError(f"unknown field {min(unknown)!r}")
    key = _bytes(fields, "key") if "key" in fields or "key_base64" in fields else common.key
    headers = _headers(fields["headers"]) if fields.get("headers") else common.headers
    partition = _number(fields, "partition", common.partition)
    timestamp = _number(fields, "timestamp", common.timestamp)
    return _bytes(fields, "value"), key, partition, max(timestamp, NOW), headers


def _number(fields: dict[str, Any], name: str, default: int) -> int:
    value = fields.get(name)
    if value is None:
        return default
    if not isinstance(value, int) or isinstance(value, bool):
        raise TypeError(f"{name} is {value!r}, not a whole number")
    return value


def _bytes(fields: dict[str, Any], name: str) -> bytes | None:
    """Text as it is, anything else as JSON; or bytes in base64 under another name."""
    encoded = fields.get(f"{name}_base64")
    if encoded is not None:
        try:
            return b64decode(encoded, validate=True)
        except (binascii.Error, TypeError, ValueError):
            raise ValueError(f"{name}_base64 is not base64") from None
    value = fields.get(name)
    if value is None:
        return None
    if isinstance(value, str):
        return value.encode()
    return json.dumps(value, separators=(",", ":"), ensure_ascii=False).encode()


def _headers(given: Any) -> Headers:
    """An object; or a list of objects with `key` and `value`, since a name may come more than once."""
    if isinstance(given, dict):
        given = [{"key": name, "value": value} for name, value in given.items()]
    headers: Headers = []
    for each in given if isinstance(given, list) else [given]:
        if not isinstance(each, dict) or not isinstance(each.get("key"), str):
            raise TypeError("headers must be an object, or a list of objects with key and value")
        headers.append((each["key"], _bytes(each, "value")))
    return headers
