"""Java's property files, the form of `server.properties`.

One property a line: a name, then `=`, `:` or white space, then the value. White space around the separator and before
the name does not count, white space after the value does, as in Java; whoever reads a setting strips it. A line that
starts with `#` or `!` is a comment. A backslash at the end of a line joins the next one to it, without the white space
that it starts with. Elsewhere it takes the next character as it is, apart from t, n, r and f, which stand for what they
do in Python, and u, which four hexadecimal digits follow.
"""

import re
from collections.abc import Iterator
from typing import NamedTuple

from odradek.model.errors import InvalidConfig

_SPACE = " \t\f"
_LINE_END = re.compile(r"\r\n|\r|\n")
_HEX = re.compile(r"[0-9a-fA-F]{4}")
_NAME = re.compile(r"(?:\\.|[^\\=: \t\f])*", re.DOTALL)
_SEPARATOR = re.compile(r"[ \t\f]*[=:]?[ \t\f]*")
_ESCAPE = re.compile(r"\\(u.{0,4}|.|$)", re.DOTALL)
_SPECIAL = {"t": "\t", "n": "\n", "r": "\r", "f": "\f"}


class Property(NamedTuple):
    name: str
    value: str
    line: int
    """Counts from 1; the first one, where there are several."""


def parse(text: str) -> Iterator[Property]:
    """The properties of a file in their order; a name may come more than once. Raises InvalidConfig with the line."""
    for number, line in _logical_lines(text):
        match = _NAME.match(line)
        name = match[0] if match else ""
        separator = _SEPARATOR.match(line, len(name))
        value = line[separator.end() if separator else len(name) :]
        try:
            yield Property(_unescape(name), _unescape(value), number)
        except ValueError as error:
            raise InvalidConfig(f"line {number}: {error}") from None


def format_property(name: str, value: str) -> str:
    """A line that reads as this property."""
    return f"{_escape(name, '=: ')}={_escape(value, '')}"


def _logical_lines(text: str) -> Iterator[tuple[int, str]]:
    parts: list[str] = []
    first = 0
    for number, raw in enumerate(_LINE_END.split(text), start=1):
        line = raw.lstrip(_SPACE)
        if not parts:
            if not line or line[0] in "#!":
                continue
            first = number
        continues = (len(line) - len(line.rstrip("\\"))) % 2 == 1
        parts.append(line[:-1] if continues else line)
        if not continues:
            if any(parts):
                yield first, "".join(parts)
            parts = []
    if any(parts):
        yield first, "".join(parts)


def _unescape(text: str) -> str:
    if "\\" not in text:
        return text
    plain = _ESCAPE.sub(_unescape_one, text)
    try:
        # Java writes characters beyond 16 bits as two escapes.
        return plain.encode("utf-16", "surrogatepass").decode("utf-16")
    except UnicodeDecodeError:
        raise ValueError("half a character: \\uD800 to \\uDFFF come in pairs") from None


def _unescape_one(match: re.Match[str]) -> str:
    escape = match[1]
    if not escape.startswith("u"):
        return _SPECIAL.get(escape, escape)
    if not _HEX.fullmatch(escape[1:]):
        raise ValueError(f"\\{escape} must be \\u and four hexadecimal digits")
    return chr(int(escape[1:], 16))


def _escape(text: str, more: str) -> str:
    escapes = {"\\": "\\\\", "\t": "\\t", "\n": "\\n", "\r": "\\r", "\f": "\\f"}
    escaped = "".join(escapes.get(each, f"\\{each}" if each in more else each) for each in text)
    # What would not count, or would make a comment or a separator of it, at the start.
    return f"\\{escaped}" if escaped[:1] in (" ", "#", "!", "=", ":") and escaped else escaped
