"""Records as `odradek consume` prints them: values, a form of the user's own, or JSON."""

import re
from base64 import b64encode
from collections.abc import Callable
from datetime import UTC, datetime
from json.encoder import encode_basestring_ascii as quoted

from confluent_kafka import TIMESTAMP_CREATE_TIME, TIMESTAMP_NOT_AVAILABLE, Message

from odradek.cli.streams import CONTROLS
from odradek.model.errors import OdradekError

Print = Callable[[Message], bytes]
Raw = Callable[[bytes], bytes]

NULL = b"null"
FIELDS = "topic, partition, offset, timestamp, time, key, value, headers"

_PLACE = re.compile(r"\{(\w+)\}|\\(.)", re.DOTALL)
_ESCAPES = {"n": "\n", "t": "\t", "r": "\r", "0": "\0"}


class BadFormat(OdradekError):
    """A format that names what records have not."""


def on_terminal(data: bytes) -> bytes:
    """What a producer sent must not move the cursor, let alone more."""
    return data.decode(errors="replace").translate(CONTROLS).encode(errors="replace")


def as_it_is(data: bytes) -> bytes:
    return data


def value_line(raw: Raw) -> Print:
    def line(message: Message) -> bytes:
        value = message.value()
        return (NULL if value is None else raw(value)) + b"\n"

    return line


def formatted(template: str, raw: Raw) -> Print:
    """Fields stand in braces; a backslash makes a newline, a tab, a zero byte or stands for what follows it."""
    parts: list[bytes | Print] = []
    at = 0
    for place in _PLACE.finditer(template):
        parts.append(template[at : place.start()].encode(errors="surrogateescape"))
        name, escaped = place.groups()
        parts.append(_field(name, raw) if name is not None else _ESCAPES.get(escaped, escaped).encode())
        at = place.end()
    parts.append(template[at:].encode(errors="surrogateescape") + b"\n")
    return lambda message: b"".join([part if isinstance(part, bytes) else part(message) for part in parts])


def _field(name: str, raw: Raw) -> Print:
    def shown(data: bytes | str | None) -> bytes:
        return NULL if data is None else raw(data.encode() if isinstance(data, str) else data)

    fields: dict[str, Print] = {
        "topic": lambda message: (message.topic() or "").encode(),
        "partition": lambda message: b"%d" % (message.partition() or 0),
        "offset": lambda message: b"%d" % (message.offset() or 0),
        "timestamp": lambda message: b"%d" % message.timestamp()[1],
        "time": lambda message: _time(message.timestamp()[1]),
        "key": lambda message: shown(message.key()),
        "value": lambda message: shown(message.value()),
        "headers": lambda message: b",".join(
            raw(name.encode()) + b"=" + shown(value) for name, value in _headers(message)
        ),
    }
    if name not in fields:
        raise BadFormat(f"--format: there is no field {name!r}; there are {FIELDS}")
    return fields[name]


def _time(timestamp_ms: int) -> bytes:
    try:
        return datetime.fromtimestamp(timestamp_ms / 1000, UTC).isoformat(timespec="milliseconds").encode()
    except (ValueError, OverflowError, OSError):
        return b"%d" % timestamp_ms  # further away than the calendar goes


def json_line(*, base64: bool) -> Print:
    """One object. What is not text in UTF-8 has its name with `_base64` behind it, as all has if `base64`."""

    def line(message: Message) -> bytes:
        kind, timestamp = message.timestamp()
        if kind == TIMESTAMP_NOT_AVAILABLE:
            when = '"timestamp": null, "timestamp_type": null'
        else:
            when = f'"timestamp": {timestamp}, "timestamp_type": '
            when += '"create"' if kind == TIMESTAMP_CREATE_TIME else '"append"'
        headers = ", ".join(
            f'{{"key": {quoted(name)}, {_member("value", value, base64)}}}' for name, value in _headers(message)
        )
        return (
            f'{{"topic": {quoted(message.topic() or "")}, "partition": {message.partition()}, '
            f'"offset": {message.offset()}, {when}, {_member("key", message.key(), base64)}, '
            f'{_member("value", message.value(), base64)}, "headers": [{headers}]}}\n'
        ).encode()

    return line


def _member(name: str, data: bytes | str | None, base64: bool) -> str:
    if data is None:
        return f'"{name}": null'
    try:
        if not base64:
            return f'"{name}": {quoted(data if isinstance(data, str) else data.decode())}'
    except UnicodeDecodeError:
        pass
    return f'"{name}_base64": "{b64encode(data.encode() if isinstance(data, str) else data).decode()}"'


def _headers(message: Message) -> list[tuple[str, str | bytes | None]]:
    headers = message.headers()
    return list(headers.items()) if isinstance(headers, dict) else headers or []
