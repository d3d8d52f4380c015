"""Functions in the making: what readers and writers share to write themselves as Python source."""

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from functools import cache
from struct import Struct as Packing
from struct import calcsize
from typing import Any

from odradek.model.buffer import Buffer
from odradek.wire.schema import Message, Slot, Struct, slots_of

FORMATS = {
    "bool": "?",
    "int8": "b",
    "int16": "h",
    "int32": "i",
    "int64": "q",
    "uint16": "H",
    "uint32": "I",
    "float64": "d",
    "uuid": "16s",
}
"""Types of a fixed size, as the struct module writes them."""

BYTES = frozenset({"bytes", "records", "sendable_records"})
RECORDS = frozenset({"records", "sendable_records"})


Pack = Callable[..., bytes]
Unpack = Callable[[Buffer, int], tuple[Any, ...]]


@cache
def pack(form: str) -> Pack:
    return Packing(">" + form).pack


@cache
def unpack(form: str) -> Unpack:
    return Packing(">" + form).unpack_from


def fixed_size(form: str) -> int:
    return calcsize(">" + form)


class Source:
    """Lines of one function, and the values that names in it stand for."""

    def __init__(self, kind: type[Message], version: int) -> None:
        self.kind = kind
        self.version = version
        self.flexible = version >= kind.spec.flexible
        self.names: dict[str, Any] = {}
        self.run: list[tuple[str, str]] = []
        """Neighbours of a fixed size, by format and expression: they will be one call of the struct module."""
        self._lines: list[str] = []
        self._depth = 0
        self._count = 0

    def line(self, text: str) -> None:
        self._lines.append("    " * self._depth + text)

    @contextmanager
    def block(self, head: str) -> Iterator[None]:
        self.line(head)
        self._depth += 1
        yield
        self._depth -= 1

    def fresh(self, stem: str) -> str:
        self._count += 1
        return f"{stem}{self._count}"

    def name(self, stem: str, value: object) -> str:
        """A name for `value`, the same for the same object."""
        for name, known in self.names.items():
            if known is value:
                return name
        name = self.fresh(stem)
        self.names[name] = value
        return name

    def literal(self, value: object) -> str:
        """An expression for a default."""
        if value is None or isinstance(value, (bool, int, float, str)) or value == ():
            return repr(value)
        return self.name("default", value)

    def slots(self, kind: type[Struct]) -> list[Slot]:
        return slots_of(kind, self.version, flexible=self.flexible)

    def text(self) -> str:
        return "\n".join(self._lines) + "\n"

    def compile(self, what: str) -> Callable[..., Any]:
        """The function, whose name in the source is `what`."""
        title = f"<{what} {self.kind.__name__} {self.version}>"
        exec(compile(self.text(), title, "exec"), self.names)
        made: Callable[..., Any] = self.names[what]
        return made


def has_records(kind: type[Struct], version: int) -> bool:
    """Whether this version of it, or of a struct in it, has a field of record batches."""
    return any(
        slot.kind in RECORDS or (slot.struct is not None and has_records(slot.struct, version))
        for slot in slots_of(kind, version, flexible=False)
        if slot.is_present
    )
