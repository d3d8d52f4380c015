"""Stored records as JSON, in the words and the form of Kafka's own converters.

Names are in camel case, ids and bytes in base 64 (two kinds of it). A tagged field that has its default is left out.
"""

from base64 import b64encode
from decimal import Decimal
from math import isfinite
from typing import Any

from odradek.metadata.uuids import to_text
from odradek.wire.schema import Message, Slot, Struct, slots_of

_ESCAPES = {code: f"\\u{code:04X}" for code in range(0x20)} | {
    ord(plain): f"\\{short}" for plain, short in zip('"\\\b\t\n\f\r', '"\\btnfr', strict=True)
}
_DECIMAL_LEAST, _DECIMAL_END = 1e-3, 1e7
"""Between these Java writes numbers without an exponent."""

Names = dict[str, str]
"""Fields of an object as text, by name."""


def of_message(message: Message, version: int) -> str:
    return of_object(fields_of(message, message, version))


def of_object(fields: Names) -> str:
    return "{" + ",".join(f"{of_text(name)}:{text}" for name, text in fields.items()) + "}"


def of_text(text: str) -> str:
    return f'"{text.translate(_ESCAPES)}"'


def fields_of(struct: Struct, message: Message, version: int) -> Names:
    """Those of `struct`, which is `message` or a part of it, that this version has."""
    flexible = version >= message.spec.flexible
    fields: Names = {}
    for slot in slots_of(type(struct), version, flexible=flexible):
        value = getattr(struct, slot.name)
        if slot.is_present and (slot.tag is None or value != slot.default):
            fields[_camel_case(slot.name)] = _value(slot, value, message, version)
    return fields


def _camel_case(name: str) -> str:
    first, *others = name.split("_")
    return first + "".join(word.title() for word in others)


def _value(slot: Slot, value: Any, message: Message, version: int) -> str:
    if value is None:
        return "null"
    if slot.is_array:
        return "[" + ",".join(_item(slot, item, message, version) for item in value) + "]"
    return _item(slot, value, message, version)


def _item(slot: Slot, item: Any, message: Message, version: int) -> str:
    if slot.struct is not None:
        return of_object(fields_of(item, message, version))
    match slot.kind:
        case "str":
            return of_text(item)
        case "bool":
            return "true" if item else "false"
        case "uuid":
            return of_text(to_text(item))
        case "bytes":
            return of_text(b64encode(item).decode())
        case "float64":
            return _double(item)
        case _:
            return str(item)


def _double(number: float) -> str:
    """As Java prints it: 0.5, 1048576.0, 1.0E7."""
    if not isfinite(number):
        return of_text(str(number).replace("nan", "NaN").replace("inf", "Infinity"))
    if not number or _DECIMAL_LEAST <= abs(number) < _DECIMAL_END:
        return repr(number)
    sign, digits, _ = Decimal(repr(number)).normalize().as_tuple()
    first, *others = map(str, digits)
    return f"{'-' * sign}{first}.{''.join(others) or '0'}E{Decimal(repr(number)).adjusted()}"
